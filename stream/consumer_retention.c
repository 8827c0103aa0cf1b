/* SPDX-License-Identifier: Apache-2.0 */
/* Interest and work-queue retention: a message goes when no consumer needs it any more, nor a
 * stream that takes from this one. */
#include <string.h>

#include "stream/consumer_priv.h"
#include "stream/stream_inner.h"
#include "stream/stream_links.h"

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
    return stream_links_need(s, seq, subject, len);
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
    (void)!mlog_remove(s->log, seq, false);
}

void
retention_sweep(struct stream *s, uint64_t from)
{
    if (s->consumers.n == 0 && stream_links_count(s) == 0) {
        uint64_t n;
        (void)!stream_drop_before(s, mlog_committed(s->log) + 1, &n);
        return;
    }
    uint64_t last = mlog_committed(s->log);
    for (uint64_t seq = mlog_next(s->log, NULL, from); seq != 0 && seq <= last;
         seq = mlog_next(s->log, NULL, seq + 1)) {
        const char *subject;
        uint32_t size;
        unsigned flags;
        if (mlog_peek(s->log, seq, &subject, &size, &flags) && !is_needed(s, seq, subject)) {
            (void)!mlog_remove(s->log, seq, false);
        }
    }
}

void
retention_release(struct stream *s, struct mfilter *filter, uint64_t from, uint64_t to)
{
    const char *subject;
    uint32_t size;
    unsigned flags;
    uint64_t seq = from;
    while (s->cfg->retention != RETENTION_LIMITS && (seq = mlog_next(s->log, filter, seq)) != 0 &&
           seq < to) {
        if (mlog_peek(s->log, seq, &subject, &size, &flags) && !is_needed(s, seq, subject) &&
            stream_remove(s, seq) != ST_OK) {
            return;
        }
        seq++;
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
