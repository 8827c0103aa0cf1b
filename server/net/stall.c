/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/stall.h"

#include <stdatomic.h>

#include "server/base/clock.h"
#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/net/peer.h"
#include "server/server_loops.h"

/* A receiver with more than 1/4 of max_pending waiting makes its producers wait. */
enum { STALL_FRACTION = 4, STALL_MAX_MS = 10, MAILBOX_MAX = 64 * 1024 * 1024 };

static bool
is_much(const struct loop *l, int64_t pending)
{
    return pending > l->cfg->max_pending / STALL_FRACTION;
}

static bool
is_behind(const struct loop *l, struct peer *p)
{
    return is_much(l, atomic_load_explicit(&p->pending, memory_order_relaxed));
}

static bool
is_mailbox_full(const struct loop *l, const struct peer *p)
{
    if (p->loop == l->index) {
        return false;
    }
    const struct loop *to = server_loop(l->server, p->loop);
    return atomic_load_explicit(&to->inbox_bytes, memory_order_relaxed) > MAILBOX_MAX;
}

void
stall_note(struct conn *c, struct peer *p, int64_t pending)
{
    const struct loop *l = c->loop;
    bool behind = is_much(l, pending) && !l->cfg->no_fast_producer_stall;
    if (c->stall_on == NULL && !c->closed && (behind || is_mailbox_full(l, p))) {
        c->stall_on = peer_ref(p);
    }
}

void
stall_apply(struct conn *c)
{
    struct loop *l = c->loop;
    if (c->stall_on == NULL || c->closed || list_is_linked(&c->stall)) {
        return;
    }
    c->stall_until = clock_mono_ns() + STALL_MAX_MS * CLOCK_MS;
    c->stalls++;
    LOOP_COUNT(l->stats.stalls, 1);
    conn_pause(c, PAUSE_STALL);
    if (list_is_empty(&l->stalled)) {
        struct timeval tv = {0, 1000};
        event_add(&l->stall_timer, &tv);
    }
    list_push_back(&l->stalled, &c->stall);
}

void
stall_forget(struct conn *c)
{
    if (list_is_linked(&c->stall)) {
        list_remove(&c->stall);
    }
    peer_unref(c->stall_on);
    c->stall_on = NULL;
}

void
stall_check(struct loop *l)
{
    struct list_node todo;
    struct list_node *node;
    if (list_is_empty(&l->stalled)) {
        return;
    }
    int64_t now = clock_mono_ns();
    list_init(&todo);
    list_splice_back(&todo, &l->stalled);
    /* NB: one that goes on may close others, which then leave todo by themselves. */
    while ((node = list_pop_front(&todo)) != NULL) {
        struct conn *c = LIST_ENTRY(node, struct conn, stall);
        if (is_mailbox_full(l, c->stall_on) ||
            (is_behind(l, c->stall_on) && now < c->stall_until)) {
            list_push_back(&l->stalled, &c->stall);
            continue;
        }
        stall_forget(c);
        conn_resume(c, PAUSE_STALL);
    }
}

void
stall_on_timer(evutil_socket_t fd, short what, void *loop)
{
    (void)fd;
    (void)what;
    struct loop *l = loop;
    stall_check(l);
    if (!list_is_empty(&l->stalled)) {
        struct timeval tv = {0, 1000};
        event_add(&l->stall_timer, &tv);
    }
}
