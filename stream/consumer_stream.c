/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream tells its consumers. */
#include "server/base/mem.h"
#include "stream/consumer_priv.h"
#include "stream/js_advisory.h"

#define OF(it) LIST_ENTRY(it, struct consumer, node)

void
consumers_on_commit(struct stream *s)
{
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        struct consumer *c = OF(it);
        if (c->is_push ? c->push.active : c->pull.n_waiting > 0) {
            consumer_pump(c);
        }
    }
}

void
consumers_on_remove(struct stream *s, uint64_t seq, uint32_t size)
{
    (void)size;
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        struct consumer *c = OF(it);
        struct unacked *u = unacked_find(&c->unacked, seq);
        if (u != NULL) {
            consumer_lost(c, u, "Unacknowledged message was deleted");
        } else if (seq >= c->next && seq <= c->counted) {
            /* Whether it was counted is only clear where all are. */
            if (c->filter == NULL && c->skip == NULL && !c->recount) {
                c->num_pending--;
            } else {
                c->recount = true;
            }
        }
    }
}

/* Those below `first` are gone. */
static void
forget_below(struct consumer *c, uint64_t first)
{
    struct unacked_tab *t = &c->unacked;
    struct unacked *u;
    while ((u = unacked_first(t)) != NULL && u->seq < first) {
        if (u->dseq > c->floor_dseq) {
            c->floor_dseq = u->dseq;
        }
        c->floor = u->seq;
        unacked_drop(t, u);
    }
    for (size_t i = 0; t->n > t->n_pending && i < t->n_buckets; i++) {
        for (struct unacked *d = t->buckets[i]; d != NULL;) {
            struct unacked *next = d->next;
            if (d->seq < first) {
                unacked_drop(t, d);
            }
            d = next;
        }
    }
}

static void
purged(struct consumer *c, uint64_t first)
{
    forget_below(c, first);
    if (c->next < first) {
        if (c->skip != NULL) {
            while (c->at_skip < c->n_skip && c->skip[c->at_skip] < first) {
                c->at_skip++;
            }
            c->next = c->at_skip < c->n_skip ? c->skip[c->at_skip] : c->resume;
        }
        if (c->skip == NULL || c->at_skip == c->n_skip) {
            mem_free(c->skip);
            c->skip = NULL;
            c->next = first > c->next ? first : c->next;
        }
        if (c->unacked.n_pending == 0) {
            c->delivered = c->floor = c->next - 1;
            c->delivered_dseq = c->floor_dseq = c->dseq - 1;
        }
    } else if (c->floor + 1 < first) {
        consumer_move_floor(c, first - 1, c->floor_dseq + 1);
    }
    consumer_recount(c);
    consumer_touch(c);
    consumer_arm(c, consumer_now(c));
}

void
consumers_on_purge(struct stream *s)
{
    uint64_t first = mlog_first_seq(s->log);
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        purged(OF(it), first);
    }
}

void
consumers_on_update(struct stream *s)
{
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        struct consumer *c = OF(it);
        push_set_rate(c);
        c->recount = true;
        consumer_arm(c, consumer_now(c));
    }
    if (s->cfg->retention != RETENTION_LIMITS && s->consumers.n > 0) {
        retention_sweep(s, mlog_first_seq(s->log));
    }
}

void
consumers_on_delete(struct stream *s)
{
    while (!list_is_empty(&s->consumer_order)) {
        struct consumer *c = OF(s->consumer_order.next);
        consumer_remove(c, 0, true);
    }
}

void
consumers_stop(struct stream *s)
{
    while (!list_is_empty(&s->consumer_order)) {
        struct consumer *c = OF(s->consumer_order.next);
        if (!c->is_push) {
            pull_release(c, "409 Server Shutdown", true);
        }
        consumer_save(c);
        consumer_forget(c);
    }
}
