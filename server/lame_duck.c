/* SPDX-License-Identifier: Apache-2.0 */
/* Lame-duck mode: no new clients, those that are here are told, and after the grace period they
 * are closed one by one, spread over the duration, so that they do not all reconnect at once. */
#include <event2/event.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/inspect.h"
#include "server/monitor/events.h"
#include "server/net/conn.h"
#include "server/net/listener.h"
#include "server/net/loop.h"
#include "server/priv.h"
#include "server/proto/info.h"

/* Owner: the main thread. */
struct lame_duck {
    struct server *server; /* borrowed: owns it */
    struct event timer;
    uint64_t *cids; /* owned: those still to be closed, in random order */
    size_t n;
    int64_t interval; /* ns between two closes */
    bool closing;
};

static void
arm(struct lame_duck *d, int64_t ns)
{
    struct timeval tv = {(time_t)(ns / CLOCK_S), (suseconds_t)(ns % CLOCK_S / 1000)};
    event_add(&d->timer, &tv);
}

static enum status
list_clients(struct lame_duck *d)
{
    struct inspect_query q = {.state = CONN_STATE_OPEN};
    struct conn_info *v;
    size_t n;
    enum status st = inspect_conns(d->server, &q, &v, &n);
    if (st != ST_OK) {
        return st;
    }
    d->cids = mem_alloc_array(n, sizeof *d->cids);
    if (d->cids != NULL) {
        for (size_t i = 0; i < n; i++) {
            size_t at = (size_t)random() % (i + 1);
            d->cids[i] = d->cids[at];
            d->cids[at] = v[i].cid;
        }
        d->n = n;
    }
    inspect_free_conns(v, n);
    return d->cids != NULL ? ST_OK : ST_NOMEM;
}

static void
begin_closing(struct lame_duck *d)
{
    const struct config *cfg = d->server->config;
    log_info("Closing existing clients");
    d->closing = true;
    if (list_clients(d) != ST_OK) {
        log_error("Lame duck mode: the clients cannot be listed, all are closed at once");
    }
    if (d->n == 0) {
        return;
    }
    int64_t rest = cfg->lame_duck_duration - cfg->lame_duck_grace_period;
    if (rest <= 0) {
        rest = CLOCK_S;
    }
    d->interval = rest / (int64_t)d->n;
    if (d->interval > CLOCK_S) {
        d->interval = CLOCK_S;
    }
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct lame_duck *d = arg;
    struct server *s = d->server;
    if (!d->closing) {
        begin_closing(d);
    }
    /* At least one a tick; with very many clients as many as fall into a millisecond. */
    int64_t batch = d->interval > 0 && d->interval < CLOCK_MS ? CLOCK_MS / d->interval : 1;
    while (d->n > 0 && batch-- > 0) {
        server_close_conn(s, d->cids[--d->n], CLOSE_SHUTDOWN, NULL);
    }
    if (d->n == 0 || server_count_conns(s, 0) == 0) {
        server_stop(s);
        return;
    }
    /* At random between half of the interval and the whole. */
    int64_t half = d->interval / 2;
    int64_t wait = half + (half > 0 ? random() % half : 0);
    arm(d, wait > CLOCK_MS ? wait : CLOCK_MS);
}

void
lame_duck_begin(struct server *s)
{
    if (s->lame_duck != NULL || s->stopping) {
        return;
    }
    struct lame_duck *d = mem_alloc(sizeof *d);
    struct info *info = NULL;
    if (d == NULL || reload_make_info(s, s->config, true, &info) != ST_OK) {
        log_error("out of memory: lame duck mode was not entered");
        mem_free(d);
        return;
    }
    log_info("Entering lame duck mode, stop accepting new clients");
    d->server = s;
    s->lame_duck = d;
    atomic_store(&s->is_lame_duck, true);
    events_lame_duck(s);
    listener_free(s->listener);
    s->listener = NULL;
    info_unref(s->info);
    s->info = info;
    event_assign(&d->timer, s->base, -1, 0, on_timer, d);
    if (server_count_conns(s, 0) == 0) {
        server_stop(s);
        return;
    }
    if (reload_tell_loops(s) != ST_OK) {
        log_error("out of memory: not every client was told of lame duck mode");
    }
    int64_t grace = s->config->lame_duck_grace_period;
    arm(d, grace < 0 ? -grace : grace);
}

void
lame_duck_fini(struct server *s)
{
    struct lame_duck *d = s->lame_duck;
    if (d == NULL) {
        return;
    }
    event_del(&d->timer);
    mem_free(d->cids);
    mem_free(d);
    s->lame_duck = NULL;
}

struct tell_msg {
    struct loop_msg msg;
    uint64_t cid;
    struct info *info; /* ref */
};

static void
on_tell(struct loop *l, struct loop_msg *msg)
{
    struct tell_msg *m = LIST_ENTRY(msg, struct tell_msg, msg);
    struct conn *c = loop_find(l, m->cid);
    if (c != NULL) {
        struct info *usual = l->info;
        l->info = m->info;
        info_send(c, false);
        l->info = usual;
    }
    info_unref(m->info);
    mem_free(m);
}

void
lame_duck_tell(struct server *s, uint64_t cid)
{
    struct tell_msg *m = mem_alloc(sizeof *m);
    struct config *cfg = server_config(s);
    if (m == NULL || reload_make_info(s, cfg, true, &m->info) != ST_OK) {
        server_count_dropped(s);
        mem_free(m);
    } else {
        m->msg.run = on_tell;
        m->cid = cid;
        loop_post(s->loops[cid % s->n_loops], &m->msg);
    }
    config_unref(cfg);
}
