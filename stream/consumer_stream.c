/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream tells its consumers. */
#include <string.h>

#include "server/base/mem.h"
#include "server/base/subject.h"
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
consumers_on_remove(struct stream *s, uint64_t seq, const char *subject)
{
    struct list_node *it, *tmp;
    size_t len = strlen(subject);
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        struct consumer *c = OF(it);
        struct unacked *u = unacked_find(&c->unacked, seq);
        if (u != NULL) {
            consumer_lost(c, u, "Unacknowledged message was deleted");
        } else if (consumer_counts(c, seq, subject, len)) {
            c->num_pending--;
        }
    }
}

void
consumers_before_drop(struct stream *s, uint64_t seq)
{
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        consumer_count_drop(OF(it), seq);
    }
}

void
consumers_recount(struct stream *s)
{
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        OF(it)->recount = true;
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
    consumer_touch(c);
    consumer_arm(c, consumer_now(c));
}

/* True: the consumer is to take notice of a purge of that subject. *first, the first of the
 * stream, is moved to the first that may be left for a consumer of nothing else. */
static bool
concerns(struct consumer *c, const char *filter, uint64_t *first)
{
    const char *const *v;
    size_t n = consumer_filters(c->cfg, &v), inside = 0;
    bool wider = n == 0;
    for (size_t i = 0; i < n; i++) {
        inside += subject_is_inside(v[i], strlen(v[i]), filter, strlen(filter));
        wider |= subject_is_inside(filter, strlen(filter), v[i], strlen(v[i]));
    }
    if (n > 0 && inside == n) {
        uint64_t seq = mlog_next(c->stream->log, c->filter, *first);
        *first = seq != 0 ? seq : mlog_last_seq(c->stream->log) + 1;
    }
    return wider || inside > 0;
}

void
consumers_on_purge(struct stream *s, const char *filter)
{
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        struct consumer *c = OF(it);
        uint64_t first = mlog_first_seq(s->log);
        if (filter == NULL || concerns(c, filter, &first)) {
            purged(c, first);
        }
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
    /* A work queue keeps what no consumer takes for one that comes later. */
    if (s->cfg->retention == RETENTION_INTEREST && s->consumers.n > 0) {
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
        consumer_save_last(c);
        consumer_forget(c);
    }
}
