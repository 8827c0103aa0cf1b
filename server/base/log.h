/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines in nats-server's form, each one write(2), from any thread:
 *   [pid] 2026/11/29 18:16:47.546672 [INF] text
 * No secrets and no payloads go into a line. A line is cut at 4 KiB unless it is a trace. */
#ifndef SERVER_BASE_LOG_H
#define SERVER_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "server/base/status.h"

enum log_level { LVL_TRACE, LVL_DEBUG, LVL_INFO, LVL_WARN, LVL_ERROR, LVL_FATAL };

/* All of it may change at run time (reload, SIGUSR1). */
struct log_opts {
    const char *file;          /* NULL or "": the next two, else standard error */
    const char *remote_syslog; /* without a file: "udp://host:514", "tcp://…", "unix:///…" */
    bool syslog;               /* without those: syslog(3) */
    bool time;                 /* print the time stamp */
    bool utc;
    bool debug;
    bool trace;
    int64_t size_limit; /* > 0: past it the file is renamed with a time stamp and begun anew */
    int64_t max_files;  /* > 0: so many are kept, the current one included */
};

/* Copies what it needs. What fails leaves all as it was. ST_IO: the file cannot be opened, or the
 * syslog is not there (errno says why; 0: no such host); ST_INVAL: remote_syslog is not such an
 * address. */
enum status log_open(const struct log_opts *opts) MUST_CHECK;
/* Opens the file anew by its name (SIGUSR1). ST_IO as log_open. */
enum status log_reopen(void) MUST_CHECK;
void log_close(void);

/* True if a line of that level would be written: asked before a costly trace is made. */
bool log_enabled(enum log_level level);

void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_trace(...) log_write(LVL_TRACE, __VA_ARGS__)
#define log_debug(...) log_write(LVL_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LVL_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LVL_WARN, __VA_ARGS__)
#define log_error(...) log_write(LVL_ERROR, __VA_ARGS__)
#define log_fatal(...) log_write(LVL_FATAL, __VA_ARGS__)

/* Lets one line a second through, so that logging never becomes the collapse:
 *   static struct log_limit lim; uint64_t held;
 *   if (log_limit_pass(&lim, &held)) log_warn("… (%llu more)", held);
 * held: lines that were kept back since the last one. Any thread; zeroed is ready. */
struct log_limit {
    _Atomic int64_t next_ns;
    _Atomic uint64_t held;
};
bool log_limit_pass(struct log_limit *lim, uint64_t *held);

#endif
