/* SPDX-License-Identifier: Apache-2.0 */
/* Interest and work-queue retention: a message goes when no consumer needs it any more. */
#include <string.h>

#include "stream/consumer_priv.h"

static bool
needs(const struct consumer *c, uint64_t seq, const char *subject, size_t len)
{
    if (!mfilter_takes(c->filter, subject, len)) {
        return false;
    }
    const struct unacked *u = unacked_find(&c->unacked, seq);
    if (u != NULL) {
        return true;
    }
    if (c->cfg->ack == ACK_EXPLICIT) {
        return seq > c->floor && seq >= c->next;
    }
    return seq > c->floor;
}

static bool
is_needed(struct stream *s, uint64_t seq, const char *subject)
{
    size_t len = strlen(subject);
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        if (needs(LIST_ENTRY(it, struct consumer, node), seq, subject, len)) {
            return true;
        }
    }
    return false;
}

void
retention_done(struct consumer *c, uint64_t seq)
{
    struct stream *s = c->stream;
    const char *subject;
    uint32_t size;
    unsigned flags;
    if (s->cfg->retention == RETENTION_LIMITS || seq < mlog_first_seq(s->log) ||
        !mlog_peek(s->log, seq, &subject, &size, &flags) || is_needed(s, seq, subject)) {
        return;
    }
    (void)!mlog_remove(s->log, seq);
}

void
retention_sweep(struct stream *s, uint64_t from)
{
    if (s->consumers.n == 0) {
        uint64_t n;
        (void)!mlog_purge_to(s->log, mlog_committed(s->log) + 1, &n);
        return;
    }
    uint64_t last = mlog_committed(s->log);
    for (uint64_t seq = mlog_next(s->log, NULL, from); seq != 0 && seq <= last;
         seq = mlog_next(s->log, NULL, seq + 1)) {
        const char *subject;
        uint32_t size;
        unsigned flags;
        if (mlog_peek(s->log, seq, &subject, &size, &flags) && !is_needed(s, seq, subject)) {
            (void)!mlog_remove(s->log, seq);
        }
    }
}

bool
consumers_want(struct stream *s, const char *subject, size_t len)
{
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        if (mfilter_takes(LIST_ENTRY(it, struct consumer, node)->filter, subject, len)) {
            return true;
        }
    }
    return false;
}
