/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: recent messages from memory, others from the store, ahead of a cursor that goes on. */
#include <string.h>

#include "server/base/mem.h"
#include "stream/mlog_priv.h"

enum { AHEAD_MAX = 256, NEAR = 1024, LOOK_PART = 4, FEW = 64, FETCH = 16 };
#define AHEAD_BYTES ((size_t)512 << 10)

/* What was read ahead, by sequence. Owned by its reader, used under the stream's lock. */
struct mcursor {
    struct msg *ahead[AHEAD_MAX]; /* ref each */
    size_t n, at, used, run;
};

/* ---- recent messages ---- */

enum status
mrecent_reserve(struct mlog *l, size_t n)
{
    if (l->recent_n + n <= l->recent_cap) {
        return ST_OK;
    }
    size_t cap = l->recent_cap == 0 ? 16 : l->recent_cap;
    while (cap < l->recent_n + n) {
        cap *= 2;
    }
    struct msg **v = mem_alloc_array(cap, sizeof(struct msg *));
    if (v == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < l->recent_n; i++) {
        v[i] = l->recent[(l->recent_at + i) & (l->recent_cap - 1)];
    }
    mem_free(l->recent);
    l->recent = v;
    l->recent_at = 0;
    l->recent_cap = cap;
    return ST_OK;
}

static size_t
weight(const struct msg *m)
{
    return sizeof(*m) + m->subject_len + m->hdr_len + m->data_len;
}

void
mrecent_push(struct mlog *l, struct msg *m)
{
    l->recent[(l->recent_at + l->recent_n++) & (l->recent_cap - 1)] = msg_ref(m);
    l->recent_bytes += weight(m);
}

/* Before which sequence the store reads all back. One mark at a time: what is committed after it
 * waits for the next. */
static uint64_t
drained_end(struct mlog *l)
{
    while (store_is_drained(l->opts.store, l->mark)) {
        l->undrained = l->marked;
        if (l->marked == l->committed) {
            return l->backlog_msgs == 0 ? UINT64_MAX : l->committed + l->base;
        }
        l->mark = store_mark(l->opts.store);
        l->marked = l->committed;
    }
    return l->undrained + l->base;
}

void
mrecent_trim(struct mlog *l, size_t max_bytes)
{
    uint64_t end = drained_end(l);
    while (l->recent_n > 0 && l->recent_bytes > max_bytes) {
        struct msg *m = l->recent[l->recent_at];
        if (m->seq >= end) {
            return;
        }
        l->recent_bytes -= weight(m);
        l->recent_at = (l->recent_at + 1) & (l->recent_cap - 1);
        l->recent_n--;
        msg_unref(m);
    }
    if (l->recent_n == 0 && l->recent_cap > 1024) {
        mem_free(l->recent);
        l->recent = NULL;
        l->recent_cap = 0;
        l->recent_at = 0;
    }
}

static struct msg *
recent_at(const struct mlog *l, size_t i)
{
    return l->recent[(l->recent_at + i) & (l->recent_cap - 1)];
}

struct msg *
mrecent_find(const struct mlog *l, uint64_t seq)
{
    if (l->recent_n == 0 || seq < recent_at(l, 0)->seq) {
        return NULL;
    }
    /* Without gaps it lies just there. */
    uint64_t guess = seq - recent_at(l, 0)->seq;
    if (guess < l->recent_n && recent_at(l, (size_t)guess)->seq == seq) {
        return recent_at(l, (size_t)guess);
    }
    size_t lo = 0;
    size_t hi = l->recent_n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (recent_at(l, mid)->seq < seq) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < l->recent_n && recent_at(l, lo)->seq == seq ? recent_at(l, lo) : NULL;
}

/* ---- the store ---- */

static const char *
subject_text(void *ctx, uint32_t id, size_t *len)
{
    const struct mlog *l = ctx;
    const struct msubject *s = id < l->n_ids ? l->subjects[id] : NULL;
    if (s == NULL) {
        return NULL;
    }
    *len = s->len;
    return s->text;
}

static enum status
read_from(struct mlog *l, uint64_t off, size_t max, struct msg **out, size_t *n)
{
    struct store_range r = {.lo = STORE_ROW(l->opts.stream, off),
                            .hi = STORE_ROW(l->opts.stream, l->next - 1),
                            .base = l->base,
                            .n = max,
                            .max_bytes = AHEAD_BYTES,
                            .subject = subject_text,
                            .ctx = l};
    if (l->recent_n > 0) {
        r.hi = STORE_ROW(l->opts.stream, recent_at(l, 0)->seq - l->base - 1);
    }
    enum status st = store_read(l->opts.store, &r, out, n);
    if (st == ST_OK && (*n == 0 || out[0]->seq != off + l->base)) {
        for (size_t i = 0; i < *n; i++) {
            msg_unref(out[i]);
        }
        *n = 0;
        st = ST_IO;
    }
    return st;
}

enum status
mcursor_new(struct mcursor **out)
{
    *out = mem_alloc(sizeof(**out));
    return *out != NULL ? ST_OK : ST_NOMEM;
}

static void
cursor_reset(struct mcursor *c)
{
    for (size_t i = c->at; i < c->n; i++) {
        msg_unref(c->ahead[i]);
    }
    c->n = 0;
    c->at = 0;
}

void
mcursor_free(struct mcursor *c)
{
    if (c != NULL) {
        cursor_reset(c);
        mem_free(c);
    }
}

/* Takes it from what was read ahead, letting go of those before it. NULL: not there. */
static struct msg *
cursor_take(struct mcursor *c, uint64_t seq)
{
    if (c->at < c->n && c->ahead[c->at]->seq > seq) {
        return NULL;
    }
    while (c->at < c->n && c->ahead[c->at]->seq < seq) {
        msg_unref(c->ahead[c->at++]);
    }
    if (c->at < c->n && c->ahead[c->at]->seq == seq) {
        c->used++;
        return c->ahead[c->at++];
    }
    return NULL;
}

static enum status
cursor_load(struct mlog *l, struct mcursor *c, uint64_t off)
{
    /* Twice as far where most of the last run was of use. */
    if (c->n > 0 && c->at == c->n && c->used * 2 >= c->n) {
        c->run = c->run * 2 < AHEAD_MAX ? c->run * 2 : AHEAD_MAX;
    } else {
        c->run = c->run / 2;
    }
    c->run = c->run < 4 ? 4 : c->run;
    c->used = 0;
    cursor_reset(c);
    return read_from(l, off, c->run, c->ahead, &c->n);
}

enum status
mlog_get(struct mlog *l, uint64_t seq, struct mcursor *c, struct msg **out)
{
    uint64_t off = seq - l->base;
    size_t n;
    *out = NULL;
    if (off < l->first || off >= l->next || mindex_at(l, off) == NULL) {
        return ST_NOTFOUND;
    }
    struct msg *m = mrecent_find(l, seq);
    if (m != NULL) {
        *out = msg_ref(m);
        return ST_OK;
    }
    if (c == NULL) {
        return read_from(l, off, 1, out, &n);
    }
    *out = cursor_take(c, seq);
    if (*out != NULL) {
        return ST_OK;
    }
    enum status st = cursor_load(l, c, off);
    *out = st == ST_OK ? cursor_take(c, seq) : NULL;
    return st;
}

bool
mlog_peek(struct mlog *l, uint64_t seq, const char **subject, uint32_t *size, unsigned *flags)
{
    uint64_t off = seq - l->base;
    const struct mentry *e = off >= l->first && off < l->next ? mindex_at(l, off) : NULL;
    if (e == NULL) {
        return false;
    }
    *subject = l->subjects[e->subject]->text;
    *size = (uint32_t)mlog_entry_bytes(l, e);
    *flags = ((e->size & ENTRY_HDR) != 0 ? MSG_HAS_HDR : 0U) |
             ((e->size & ENTRY_MARKED) != 0 ? MSG_MARKED : 0U);
    return true;
}

/* ---- finding ---- */

/* Where the messages of a few subjects lie. */
struct bounds {
    uint64_t lo, hi; /* between which is asked */
    uint64_t first, last;
    unsigned n;
};

static bool
widen(void *arg, struct msubject *s)
{
    struct bounds *b = arg;
    if (s->last >= b->lo && s->first <= b->hi) {
        b->first = b->first < s->first ? b->first : s->first;
        b->last = b->last > s->last ? b->last : s->last;
        b->n++;
    }
    return b->n <= FEW;
}

/* Where the filter lets the search begin and end, if it takes few subjects and `most` looks show
 * that. False: nowhere. */
static bool
narrow(struct mlog *l, const struct mfilter *f, size_t most, uint64_t *lo, uint64_t *hi)
{
    size_t len;
    struct bounds b = {.lo = *lo, .hi = *hi, .first = UINT64_MAX};
    const char *one = mfilter_literal(f, &len);
    if (one != NULL) {
        struct msubject *s = ntab_get(&l->by_name, one, len);
        if (s == NULL || s->msgs == 0) {
            return false;
        }
        msubject_settle(l, s);
        (void)widen(&b, s);
    } else if (mfilter_is_all(f) || most == 0 || !msubject_each(l, f, most, widen, &b)) {
        return true;
    }
    *lo = *lo > b.first ? *lo : b.first;
    *hi = *hi < b.last ? *hi : b.last;
    return *lo <= *hi;
}

static bool
is_taken(struct mlog *l, struct mfilter *f, uint64_t off)
{
    return mfilter_takes_id(f, l, mindex_at(l, off)->subject);
}

/* A look at more and more messages, and between at the subjects, a part of as many: so that it is
 * no more than twice what either alone would be. */
uint64_t
mlog_next(struct mlog *l, struct mfilter *f, uint64_t from)
{
    uint64_t lo = from > l->first + l->base ? from - l->base : l->first;
    uint64_t hi = l->next - 1;
    if (l->msgs == 0 || from > mlog_last_seq(l) || !narrow(l, f, 0, &lo, &hi)) {
        return 0;
    }
    for (uint64_t n = NEAR;; n *= LOOK_PART) {
        uint64_t end = hi - lo < n ? hi + 1 : lo + n;
        for (uint64_t at = mindex_next(l, lo, end); at < end; at = mindex_next(l, at + 1, end)) {
            if (is_taken(l, f, at)) {
                return at + l->base;
            }
        }
        lo = end;
        if (lo > hi || !narrow(l, f, (size_t)(n / LOOK_PART), &lo, &hi)) {
            return 0;
        }
    }
}

uint64_t
mlog_prev(struct mlog *l, struct mfilter *f, uint64_t from)
{
    uint64_t lo = l->first;
    uint64_t hi = from < mlog_last_seq(l) ? from - l->base : l->next - 1;
    if (l->msgs == 0 || from < mlog_first_seq(l) || !narrow(l, f, 0, &lo, &hi)) {
        return 0;
    }
    for (uint64_t n = NEAR;; n *= LOOK_PART) {
        uint64_t begin = hi - lo < n ? lo : hi - n + 1;
        for (uint64_t at = mindex_prev(l, hi, begin); at != UINT64_MAX && at >= begin;
             at = mindex_prev(l, at - 1, begin)) {
            if (is_taken(l, f, at)) {
                return at + l->base;
            }
        }
        if (begin == lo) {
            return 0;
        }
        hi = begin - 1;
        if (!narrow(l, f, (size_t)(n / LOOK_PART), &lo, &hi)) {
            return 0;
        }
    }
}

struct sum {
    uint64_t lo, hi, n;
};

/* False: some of its messages lie between, and some do not. */
static bool
add_msgs(void *arg, struct msubject *s)
{
    struct sum *sum = arg;
    if (s->last < sum->lo || s->first > sum->hi) {
        return true;
    }
    sum->n += s->msgs;
    return s->first >= sum->lo && s->last <= sum->hi;
}

/* By what is known of the subjects, where that says it all and is less than to look at the
 * messages. */
static bool
sum_up(struct mlog *l, const struct mfilter *f, uint64_t lo, uint64_t hi, uint64_t *n)
{
    bool whole = lo <= l->first && hi == l->next - 1;
    struct sum sum = {.lo = whole ? 0 : lo, .hi = whole ? UINT64_MAX : hi};
    if (!whole && hi - lo < NEAR) {
        return false;
    }
    if (!msubject_each(l, f, whole ? SIZE_MAX : (size_t)(hi - lo) / LOOK_PART, add_msgs, &sum)) {
        return false;
    }
    *n = sum.n;
    return true;
}

/* From lo to hi or to the end of its chunk. */
static uint64_t
count_in_chunk(const struct mlog *l, struct mfilter *f, uint64_t lo, uint64_t hi)
{
    const struct mchunk *c = mindex_chunk(l, lo >> CHUNK_BITS);
    uint64_t i = lo & (CHUNK_SIZE - 1);
    uint64_t end = hi - lo < CHUNK_SIZE - i ? i + (hi - lo) + 1 : CHUNK_SIZE;
    uint64_t n = 0;
    if (c == NULL || c->live == 0) {
        return 0;
    }
    for (end = end < c->cap ? end : c->cap; i < end; i++) {
        uint32_t id = c->entries[i].subject;
        if (i + FETCH < end && c->entries[i + FETCH].subject != 0) {
            __builtin_prefetch(l->subjects[c->entries[i + FETCH].subject]);
        }
        n += id != 0 && mfilter_takes_id(f, l, id) ? 1 : 0;
    }
    return n;
}

uint64_t
mlog_count(struct mlog *l, struct mfilter *f, uint64_t from, uint64_t to)
{
    uint64_t n = 0;
    uint64_t lo = from > l->first + l->base ? from - l->base : l->first;
    uint64_t hi = to == 0 || to > mlog_last_seq(l) ? l->next - 1 : to - l->base;
    if (l->msgs == 0 || from > mlog_last_seq(l) || (to != 0 && to < mlog_first_seq(l))) {
        return 0;
    }
    if (mfilter_is_all(f)) {
        return lo <= l->first && hi == l->next - 1 ? l->msgs : mindex_count(l, lo, hi + 1);
    }
    if (sum_up(l, f, lo, hi, &n) || !narrow(l, f, 0, &lo, &hi)) {
        return n;
    }
    for (uint64_t at = lo; at <= hi; at = ((at >> CHUNK_BITS) + 1) << CHUNK_BITS) {
        n += count_in_chunk(l, f, at, hi);
    }
    return n;
}

/* ---- times ---- */

static bool
keep_ts(void *arg, const struct store_head *h)
{
    *(int64_t *)arg = h->ts;
    return false;
}

int64_t
mlog_ts_of(struct mlog *l, uint64_t off)
{
    int64_t ts = 0;
    const struct msg *m = mrecent_find(l, off + l->base);
    if (m != NULL) {
        return m->ts;
    }
    uint64_t row = STORE_ROW(l->opts.stream, off);
    return store_scan(l->opts.store, row, row, keep_ts, &ts) == ST_OK ? ts : 0;
}

static int64_t
first_ts(struct mlog *l)
{
    if (l->msgs == 0) {
        return 0;
    }
    if (l->first_ts_of != l->first + 1) {
        l->first_ts = mlog_ts_of(l, l->first);
        l->first_ts_of = l->first_ts != 0 ? l->first + 1 : 0;
    }
    return l->first_ts;
}

uint64_t
mlog_seq_at(struct mlog *l, int64_t ts)
{
    if (l->msgs == 0 || ts > l->last_ts) {
        return mlog_last_seq(l) + 1;
    }
    if (ts <= first_ts(l)) {
        return mlog_first_seq(l);
    }
    uint64_t lo = l->first;
    uint64_t hi = l->next;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        uint64_t at = mindex_next(l, mid, hi);
        if (at < hi && mlog_ts_of(l, at) < ts) {
            lo = at + 1;
        } else {
            hi = mid;
        }
    }
    return mindex_next(l, lo, l->next) + l->base;
}

void
mlog_state(struct mlog *l, struct mlog_state *out)
{
    *out = (struct mlog_state){.msgs = l->msgs,
                               .bytes = l->bytes,
                               .first_seq = mlog_first_seq(l),
                               .last_seq = mlog_last_seq(l),
                               .first_ts = first_ts(l),
                               .last_ts = l->last_ts,
                               .num_deleted = l->next - l->first - l->msgs,
                               .num_subjects = l->n_subjects};
}
