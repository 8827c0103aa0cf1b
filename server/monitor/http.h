/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP side of the monitor: libevent's server on the monitor's event base. Owned by its
 * thread, but for what says otherwise. */
#ifndef SERVER_MONITOR_HTTP_H
#define SERVER_MONITOR_HTTP_H

#include <jansson.h>
#include <stdint.h>

#include "server/base/status.h"

struct event_base;
struct http;
struct server;

/* Binds the address and logs it. base and s are borrowed until http_free. ST_IO: *why (mem_free)
 * says what failed, as nats-server words it. */
struct http_opts {
    const char *host;      /* borrowed for the call */
    int port;              /* < 0: any free one; else one of config_check_port */
    const char *base_path; /* borrowed for the call; NULL or "" or "/": none */
};
enum status http_new(struct http **out, struct event_base *base, struct server *s,
                     const struct http_opts *opts, char **why) MUST_CHECK;
void http_free(struct http *h);

/* Once a second, from the base's thread. now: monotonic ns. */
void http_tick(struct http *h, int64_t now);

/* The port really bound. Any thread. */
int http_port(const struct http *h);

/* Requests by path since the start, those asked for at least once. Any thread. New reference, NULL
 * without memory. */
json_t *http_stats(const struct http *h);

#endif
