/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps an evhttp server from being held up by its clients: at most GUARD_MAX connections (past it
 * the listener rests), and none lives longer than GUARD_PATIENCE_S without a complete request.
 * evhttp's own timeout sees only silence, not a client that sends a byte now and then. The listener
 * also rests, until the next tick, when a connection cannot be accepted.
 * Owned by the thread of the event base. */
#ifndef SERVER_MONITOR_GUARD_H
#define SERVER_MONITOR_GUARD_H

#include <stdint.h>

#include "server/base/status.h"

struct evconnlistener;
struct event_base;
struct evhttp;
struct evhttp_request;
struct guard;

enum { GUARD_MAX = 256, GUARD_PATIENCE_S = 60 };

/* Installs itself in http. base, http and listener are borrowed and must outlive the guard, but
 * http must be freed before it (its connections are only then gone). */
enum status guard_new(struct guard **out, struct event_base *base, struct evhttp *http,
                      struct evconnlistener *listener) MUST_CHECK;
void guard_free(struct guard *g);

/* A complete request came in: its connection begins anew. */
void guard_touch(struct guard *g, struct evhttp_request *req);

/* Once a second. now: monotonic ns. */
void guard_tick(struct guard *g, int64_t now);

#endif
