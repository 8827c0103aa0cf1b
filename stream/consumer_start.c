/* SPDX-License-Identifier: Apache-2.0 */
/* Where a new consumer begins in its stream, and how much is ahead of it. */
#include <stdlib.h>

#include "server/base/mem.h"
#include "stream/consumer_priv.h"

/* The last sequences of the subjects that the filter takes. */
struct lasts {
    uint64_t *v; /* owned */
    size_t n, cap;
    bool failed;
};

static bool
add_last(void *arg, const struct mlog_subject *s)
{
    struct lasts *l = arg;
    if (l->n == l->cap) {
        size_t cap = l->cap > 0 ? l->cap * 2 : 64;
        uint64_t *v = mem_realloc(l->v, cap * sizeof *v);
        if (v == NULL) {
            l->failed = true;
            return false;
        }
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = s->last;
    return true;
}

static int
by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static enum status
start_at_lasts(struct consumer *c, const struct mlog_state *st)
{
    if (c->stream->cfg->max_msgs_per == 1) {
        c->next = st->first_seq;
        return ST_OK;
    }
    struct lasts l = {0};
    mlog_each_subject(c->stream->log, c->filter, add_last, &l);
    if (l.failed) {
        mem_free(l.v);
        return ST_NOMEM;
    }
    if (l.n == 0) {
        mem_free(l.v);
        c->next = st->last_seq;
        return ST_OK;
    }
    qsort(l.v, l.n, sizeof *l.v, by_value);
    c->skip = l.v;
    c->n_skip = l.n;
    c->next = l.v[0];
    c->resume = st->last_seq + 1;
    return ST_OK;
}

enum status
consumer_select_start(struct consumer *c)
{
    struct mlog *log = c->stream->log;
    struct mlog_state st;
    mlog_state(log, &st);
    enum status result = ST_OK;
    switch (c->cfg->deliver) {
    case DELIVER_LAST:
        c->next = mlog_prev(log, c->filter, st.last_seq); /* none: from the first */
        break;
    case DELIVER_NEW:
        c->next = st.last_seq + 1;
        break;
    case DELIVER_BY_START_SEQUENCE:
        c->next = c->cfg->opt_start_seq;
        break;
    case DELIVER_BY_START_TIME:
        c->next = mlog_seq_at(log, c->cfg->opt_start_time);
        break;
    case DELIVER_LAST_PER_SUBJECT:
        result = start_at_lasts(c, &st);
        break;
    case DELIVER_ALL:
    default:
        c->next = st.first_seq;
        break;
    }
    if (c->next < st.first_seq) {
        c->next = st.first_seq;
    }
    c->next = c->next > 0 ? c->next : 1;
    c->dseq = 1;
    c->delivered = c->floor = c->next - 1;
    return result;
}
