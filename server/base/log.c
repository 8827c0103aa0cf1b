/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/log_file.h"
#include "server/base/log_remote.h"
#include "server/base/mem.h"

enum { LINE_MAX_BYTES = 4096 };

/* Guarded by lock, but for the atomics. */
static struct {
    pthread_mutex_t lock;
    struct log_file file;
    struct log_remote *remote; /* owned; NULL: none */
    bool to_syslog;
    _Atomic bool time;
    _Atomic bool utc;
    _Atomic bool debug;
    _Atomic bool trace;
} lg = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = {.fd = STDERR_FILENO}, .time = true};

/* syslog(3) tells nobody that nobody listens. */
static enum status
probe_syslog(void)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof un.sun_path, "%s", _PATH_LOG);
    const int types[] = {SOCK_DGRAM, SOCK_STREAM};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        int fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            return ST_IO;
        }
        int rc = connect(fd, (const struct sockaddr *)&un, sizeof un);
        int saved = errno;
        close(fd);
        errno = saved;
        if (rc == 0) {
            return ST_OK;
        }
    }
    return ST_IO;
}

/* With the lock held. */
static void
use_syslog(bool on)
{
    if (on && !lg.to_syslog) {
        openlog("sluice", LOG_PID | LOG_NDELAY, LOG_DAEMON);
    } else if (!on && lg.to_syslog) {
        closelog();
    }
    lg.to_syslog = on;
}

enum status
log_open(const struct log_opts *opts)
{
    enum status st = ST_OK;
    struct log_remote *remote = NULL;
    bool to_file = opts->file != NULL && opts->file[0] != '\0';
    bool to_remote = !to_file && opts->remote_syslog != NULL && opts->remote_syslog[0] != '\0';
    bool to_syslog = !to_file && !to_remote && opts->syslog;
    if (to_remote && (st = log_remote_open(&remote, opts->remote_syslog)) != ST_OK) {
        return st;
    }
    if (to_syslog && (st = probe_syslog()) != ST_OK) {
        return st;
    }
    pthread_mutex_lock(&lg.lock);
    st = log_file_open(&lg.file, opts->file);
    if (st == ST_OK) {
        struct log_remote *old = lg.remote;
        lg.remote = remote;
        remote = old;
        lg.file.size_limit = opts->size_limit;
        lg.file.max_files = opts->max_files;
        use_syslog(to_syslog);
    }
    pthread_mutex_unlock(&lg.lock);
    int saved = errno;
    log_remote_close(remote);
    errno = saved;
    if (st != ST_OK) {
        return st;
    }
    atomic_store(&lg.time, opts->time);
    atomic_store(&lg.utc, opts->utc);
    atomic_store(&lg.debug, opts->debug);
    atomic_store(&lg.trace, opts->trace);
    return ST_OK;
}

enum status
log_reopen(void)
{
    pthread_mutex_lock(&lg.lock);
    enum status st = log_file_reopen(&lg.file);
    pthread_mutex_unlock(&lg.lock);
    return st;
}

void
log_close(void)
{
    pthread_mutex_lock(&lg.lock);
    log_file_close(&lg.file);
    log_remote_close(lg.remote);
    lg.remote = NULL;
    use_syslog(false);
    pthread_mutex_unlock(&lg.lock);
}

bool
log_enabled(enum log_level level)
{
    if (level == LVL_TRACE) {
        return atomic_load_explicit(&lg.trace, memory_order_relaxed);
    }
    if (level == LVL_DEBUG) {
        return atomic_load_explicit(&lg.debug, memory_order_relaxed);
    }
    return true;
}

static size_t
put_prefix(char *line, size_t cap, enum log_level level)
{
    static const char *const names[] = {"TRC", "DBG", "INF", "WRN", "ERR", "FTL"};
    int n = snprintf(line, cap, "[%d] ", (int)getpid());
    if (atomic_load(&lg.time)) {
        int64_t now = clock_wall_ns();
        time_t sec = (time_t)(now / CLOCK_S);
        struct tm tm;
        if (atomic_load(&lg.utc)) {
            gmtime_r(&sec, &tm);
        } else {
            localtime_r(&sec, &tm);
        }
        n += (int)strftime(line + n, cap - (size_t)n, "%Y/%m/%d %H:%M:%S", &tm);
        n += snprintf(line + n, cap - (size_t)n, ".%06d ", (int)(now % CLOCK_S / CLOCK_US));
    }
    n += snprintf(line + n, cap - (size_t)n, "[%s] ", names[level]);
    return (size_t)n;
}

static int
syslog_priority(enum log_level level)
{
    switch (level) {
    case LVL_TRACE:
    case LVL_DEBUG:
        return 7;
    case LVL_INFO:
        return 5;
    case LVL_WARN:
        return 4;
    case LVL_ERROR:
        return 3;
    case LVL_FATAL:
        return 2;
    }
    return 5;
}

/* Where a line goes: exactly one of the three. `line` ends in LF. */
static void
put(enum log_level level, const char *line, size_t len, size_t prefix)
{
    pthread_mutex_lock(&lg.lock);
    if (lg.remote != NULL) {
        log_remote_send(lg.remote, syslog_priority(level), line + prefix, len - prefix - 1);
    } else if (lg.to_syslog) {
        syslog(syslog_priority(level), "%.*s", (int)(len - prefix - 1), line + prefix);
    } else {
        log_file_write(&lg.file, line, len);
    }
    pthread_mutex_unlock(&lg.lock);
}

/* A trace that does not fit into a line of the usual size; without memory for it, it is cut after
 * all. */
__attribute__((format(printf, 4, 0))) static bool
put_long_trace(const char *prefix, size_t prefix_len, size_t text_len, const char *fmt, va_list ap)
{
    char *line = mem_alloc_raw(prefix_len + text_len + 2);
    if (line == NULL) {
        return false;
    }
    memcpy(line, prefix, prefix_len);
    vsnprintf(line + prefix_len, text_len + 1, fmt, ap);
    line[prefix_len + text_len] = '\n';
    put(LVL_TRACE, line, prefix_len + text_len + 1, prefix_len);
    mem_free(line);
    return true;
}

void
log_write(enum log_level level, const char *fmt, ...)
{
    if (!log_enabled(level)) {
        return;
    }
    int saved = errno;
    char line[LINE_MAX_BYTES];
    size_t prefix = put_prefix(line, sizeof line, level);
    va_list ap;
    va_list again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(line + prefix, sizeof line - prefix - 1, fmt, ap);
    size_t text = n > 0 ? (size_t)n : 0;
    bool fits = prefix + text <= sizeof line - 2;
    if (fits || level != LVL_TRACE || !put_long_trace(line, prefix, text, fmt, again)) {
        size_t len = fits ? prefix + text : sizeof line - 2;
        line[len] = '\n';
        put(level, line, len + 1, prefix);
    }
    va_end(again);
    va_end(ap);
    errno = saved;
}

bool
log_limit_pass(struct log_limit *lim, uint64_t *held)
{
    int64_t now = clock_mono_ns();
    int64_t next = atomic_load(&lim->next_ns);
    if (now < next || !atomic_compare_exchange_strong(&lim->next_ns, &next, now + CLOCK_S)) {
        atomic_fetch_add(&lim->held, 1);
        return false;
    }
    *held = atomic_exchange(&lim->held, 0);
    return true;
}
