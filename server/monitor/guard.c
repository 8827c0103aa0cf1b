/* SPDX-License-Identifier: Apache-2.0 */
/* evhttp asks for a bufferevent per accepted connection before that has its socket, and tells
 * nobody when it frees one. So each new bufferevent is held for one turn of the loop, its socket
 * and peer are noted, and once a second a socket that no longer has that peer is struck off. */
#include "server/monitor/guard.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "server/base/clock.h"
#include "server/base/errtext.h"
#include "server/base/log.h"
#include "server/base/mem.h"

struct entry {
    int fd;
    int64_t since; /* of the last complete request, or of the accept; monotonic ns */
    struct sockaddr_storage peer;
};

/* Owner: the thread of the event base. */
struct guard {
    struct evconnlistener *listener;      /* borrowed: outlives us */
    struct event *settle;                 /* owned: runs in the turn after an accept */
    struct bufferevent *fresh[GUARD_MAX]; /* ref each */
    size_t n_fresh;
    struct entry entries[GUARD_MAX];
    size_t n;
};

static bool
peer_of(int fd, struct sockaddr_storage *out)
{
    socklen_t len = sizeof *out;
    memset(out, 0, sizeof *out);
    return getpeername(fd, (struct sockaddr *)out, &len) == 0;
}

static void
rest_if_full(struct guard *g)
{
    if (g->n + g->n_fresh >= GUARD_MAX) {
        evconnlistener_disable(g->listener);
    }
}

/* Out of descriptors, say. The connection stays in the backlog and would call for us again at once:
 * the listener rests until the next tick. */
static void
on_accept_error(struct evconnlistener *listener, void *arg)
{
    static struct log_limit limit;
    char why[ERRTEXT_LEN];
    uint64_t held;
    (void)arg; /* evhttp's */
    if (log_limit_pass(&limit, &held)) {
        log_error("Temporary Monitor Accept Error (%s), sleeping", errtext(errno, why));
    }
    evconnlistener_disable(listener);
}

static struct bufferevent *
on_accept(struct event_base *base, void *arg)
{
    struct guard *g = arg;
    /* NB: it closes its socket itself, when the last reference goes and its events have left the
     * base. If evhttp closed it, a client could get the number while we still hold the events. */
    struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (bev == NULL || g->n + g->n_fresh >= GUARD_MAX) {
        return bev; /* one too many in the same turn: it only has evhttp's timeout */
    }
    bufferevent_incref(bev);
    g->fresh[g->n_fresh++] = bev;
    event_active(g->settle, EV_TIMEOUT, 0);
    rest_if_full(g);
    return bev;
}

static void
on_settle(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct guard *g = arg;
    int64_t now = clock_mono_ns();
    for (size_t i = 0; i < g->n_fresh; i++) {
        struct entry *e = &g->entries[g->n];
        e->fd = bufferevent_getfd(g->fresh[i]);
        e->since = now;
        if (e->fd >= 0 && peer_of(e->fd, &e->peer)) {
            g->n++;
        }
        bufferevent_decref(g->fresh[i]);
    }
    g->n_fresh = 0;
}

enum status
guard_new(struct guard **out, struct event_base *base, struct evhttp *http,
          struct evconnlistener *listener)
{
    struct guard *g = mem_alloc(sizeof *g);
    if (g == NULL) {
        return ST_NOMEM;
    }
    g->listener = listener;
    g->settle = event_new(base, -1, 0, on_settle, g);
    if (g->settle == NULL) {
        mem_free(g);
        return ST_NOMEM;
    }
    evhttp_set_bevcb(http, on_accept, g);
    evconnlistener_set_error_cb(listener, on_accept_error);
    *out = g;
    return ST_OK;
}

void
guard_free(struct guard *g)
{
    if (g == NULL) {
        return;
    }
    for (size_t i = 0; i < g->n_fresh; i++) {
        bufferevent_decref(g->fresh[i]);
    }
    event_free(g->settle);
    mem_free(g);
}

void
guard_touch(struct guard *g, struct evhttp_request *req)
{
    struct evhttp_connection *conn = evhttp_request_get_connection(req);
    int fd = conn != NULL ? bufferevent_getfd(evhttp_connection_get_bufferevent(conn)) : -1;
    for (size_t i = 0; i < g->n; i++) {
        if (g->entries[i].fd == fd) {
            g->entries[i].since = clock_mono_ns();
        }
    }
}

void
guard_tick(struct guard *g, int64_t now)
{
    for (size_t i = 0; i < g->n;) {
        struct entry *e = &g->entries[i];
        struct sockaddr_storage peer;
        if (!peer_of(e->fd, &peer) || memcmp(&peer, &e->peer, sizeof peer) != 0) {
            g->entries[i] = g->entries[--g->n];
            continue;
        }
        if (now - e->since > GUARD_PATIENCE_S * CLOCK_S) {
            shutdown(e->fd, SHUT_RDWR); /* evhttp sees the end and frees it */
        }
        i++;
    }
    if (g->n + g->n_fresh < GUARD_MAX) {
        evconnlistener_enable(g->listener);
    }
}
