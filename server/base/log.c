/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/mem.h"

enum { LINE_MAX_BYTES = 4096 };

/* Guarded by lock, but for the atomics. */
static struct {
    pthread_mutex_t lock;
    char *path; /* owned; NULL: standard error */
    int fd;
    bool to_syslog;
    int64_t size;
    int64_t size_limit;
    _Atomic bool time;
    _Atomic bool utc;
    _Atomic bool debug;
    _Atomic bool trace;
} lg = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO, .time = true};

static enum status
open_file(const char *path, int *fd, int64_t *size)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (*fd < 0) {
        return ST_IO;
    }
    struct stat st;
    *size = fstat(*fd, &st) == 0 ? (int64_t)st.st_size : 0;
    return ST_OK;
}

static void
swap_file(int fd, char *path, int64_t size)
{
    if (lg.fd != STDERR_FILENO) {
        close(lg.fd);
    }
    if (lg.path != path) {
        mem_free(lg.path);
    }
    lg.fd = fd;
    lg.path = path;
    lg.size = size;
}

enum status
log_open(const struct log_opts *opts)
{
    int fd = STDERR_FILENO;
    int64_t size = 0;
    char *path = NULL;
    if (opts->file != NULL && opts->file[0] != '\0') {
        path = mem_strdup(opts->file);
        if (path == NULL) {
            return ST_NOMEM;
        }
        if (open_file(path, &fd, &size) != ST_OK) {
            int saved = errno;
            mem_free(path);
            errno = saved;
            return ST_IO;
        }
    }
    pthread_mutex_lock(&lg.lock);
    swap_file(fd, path, size);
    lg.size_limit = opts->size_limit;
    lg.to_syslog = opts->syslog;
    if (opts->syslog) {
        openlog("sluice", LOG_PID | LOG_NDELAY, LOG_DAEMON);
    }
    pthread_mutex_unlock(&lg.lock);
    atomic_store(&lg.time, opts->time);
    atomic_store(&lg.utc, opts->utc);
    atomic_store(&lg.debug, opts->debug);
    atomic_store(&lg.trace, opts->trace);
    return ST_OK;
}

enum status
log_reopen(void)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&lg.lock);
    if (lg.path != NULL) {
        int fd;
        int64_t size;
        st = open_file(lg.path, &fd, &size);
        if (st == ST_OK) {
            swap_file(fd, lg.path, size);
        }
    }
    pthread_mutex_unlock(&lg.lock);
    return st;
}

void
log_close(void)
{
    pthread_mutex_lock(&lg.lock);
    swap_file(STDERR_FILENO, NULL, 0);
    if (lg.to_syslog) {
        closelog();
        lg.to_syslog = false;
    }
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

static void
rotate(void)
{
    char name[LINE_MAX_BYTES];
    int64_t now = clock_wall_ns();
    time_t sec = (time_t)(now / CLOCK_S);
    struct tm tm;
    gmtime_r(&sec, &tm);
    char stamp[32];
    strftime(stamp, sizeof stamp, "%Y.%m.%d.%H.%M.%S", &tm);
    snprintf(name, sizeof name, "%s.%s.%09ld", lg.path, stamp, (long)(now % CLOCK_S));
    int fd;
    int64_t size;
    if (rename(lg.path, name) == 0 && open_file(lg.path, &fd, &size) == ST_OK) {
        swap_file(fd, lg.path, size);
    }
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
    va_start(ap, fmt);
    int n = vsnprintf(line + prefix, sizeof line - prefix - 1, fmt, ap);
    va_end(ap);
    size_t len = prefix + (n > 0 ? (size_t)n : 0);
    if (len > sizeof line - 2) {
        len = sizeof line - 2;
    }
    line[len] = '\n';
    pthread_mutex_lock(&lg.lock);
    if (lg.to_syslog) {
        syslog(syslog_priority(level), "%.*s", (int)(len - prefix), line + prefix);
    } else {
        ssize_t wrote = write(lg.fd, line, len + 1);
        lg.size += wrote > 0 ? wrote : 0;
        if (lg.path != NULL && lg.size_limit > 0 && lg.size > lg.size_limit) {
            rotate();
        }
    }
    pthread_mutex_unlock(&lg.lock);
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
