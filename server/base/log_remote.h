/* SPDX-License-Identifier: Apache-2.0 */
/* A syslog server across the network. A line that cannot be sent at once is dropped: no thread
 * waits for a log. Guarded by the lock of log.c. */
#ifndef SERVER_BASE_LOG_REMOTE_H
#define SERVER_BASE_LOG_REMOTE_H

#include <stddef.h>

#include "server/base/status.h"

struct log_remote;

/* url: "udp://host:port", "tcp://host:port" or "unix:///path". Resolves and, for tcp, connects: 5 s
 * at most. ST_INVAL: not such a URL. ST_IO: no such host (errno is 0), or nobody listens. ST_NOMEM.
 */
enum status log_remote_open(struct log_remote **out, const char *url) MUST_CHECK;

/* priority as syslog(3) counts, without facility; `daemon` is added. A lost tcp connection is made
 * again, once a second at most. */
void log_remote_send(struct log_remote *r, int priority, const char *text, size_t len);

/* NULL is allowed. */
void log_remote_close(struct log_remote *r);

#endif
