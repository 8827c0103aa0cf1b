/* SPDX-License-Identifier: Apache-2.0 */
/* num_pending counts the messages that the filter takes from `next` up to `counted`; what was
 * committed since is added when somebody asks, and what goes is subtracted as it goes, so that no
 * answer needs a look at all of them. */
#include "stream/consumer_priv.h"

static int64_t
count_range(struct consumer *c, uint64_t from, uint64_t to)
{
    return from <= to ? (int64_t)mlog_count(c->stream->log, c->filter, from, to) : 0;
}

void
consumer_recount(struct consumer *c)
{
    c->counted = mlog_committed(c->stream->log);
    c->recount = false;
    if (c->skip == NULL) {
        c->num_pending = count_range(c, c->next, c->counted);
        return;
    }
    c->num_pending = count_range(c, c->resume, c->counted);
    for (size_t i = c->at_skip; i < c->n_skip; i++) {
        c->num_pending += consumer_stream_has(c, c->skip[i]);
    }
}

uint64_t
consumer_num_pending(struct consumer *c)
{
    uint64_t committed = mlog_committed(c->stream->log);
    if (c->recount) {
        consumer_recount(c);
    } else if (committed > c->counted) {
        uint64_t from = c->counted + 1;
        uint64_t begin = c->skip != NULL ? c->resume : c->next;
        c->num_pending += count_range(c, from > begin ? from : begin, committed);
        c->counted = committed;
    }
    return c->num_pending > 0 ? (uint64_t)c->num_pending : 0;
}

/* The place of seq in the list of last ones, or of what would come behind it. */
static size_t
find_skip(const struct consumer *c, uint64_t seq)
{
    size_t lo = c->at_skip, hi = c->n_skip;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->skip[mid] < seq) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

bool
consumer_counts(const struct consumer *c, uint64_t seq, const char *subject, size_t len)
{
    if (c->recount || seq < c->next || seq > c->counted) {
        return false;
    }
    if (c->skip != NULL && seq < c->resume) {
        size_t at = find_skip(c, seq);
        return at < c->n_skip && c->skip[at] == seq;
    }
    return mfilter_takes(c->filter, subject, len);
}

void
consumer_count_drop(struct consumer *c, uint64_t seq)
{
    if (c->recount || c->next >= seq) {
        return;
    }
    if (seq > c->counted) {
        c->num_pending = 0;
        return;
    }
    uint64_t from = c->next;
    if (c->skip != NULL) {
        for (size_t i = c->at_skip; i < c->n_skip && c->skip[i] < seq; i++) {
            c->num_pending -= consumer_stream_has(c, c->skip[i]);
        }
        from = c->resume;
    }
    c->num_pending -= count_range(c, from, seq - 1);
}
