/* SPDX-License-Identifier: Apache-2.0 */
/* From the store and back: index chunks that were saved are read whole, messages in between and
 * behind are scanned; subjects and sums follow from the index. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/mlog_priv.h"

/* st: what stopped a walk through records. */
struct loading {
    struct mlog *l;
    enum status st;
    uint64_t first, next; /* as the record says */
};

static bool
on_log(void *arg, const struct store_record *r)
{
    struct loading *ld = arg;
    char text[128];
    unsigned long long first;
    unsigned long long next;
    long long ts;
    size_t n = r->data_len < sizeof(text) - 1 ? r->data_len : sizeof(text) - 1;
    memcpy(text, r->data, n);
    text[n] = '\0';
    ld->l->base = r->id;
    if (sscanf(text, "%llu %llu %lld", &first, &next, &ts) != 3) {
        ld->st = ST_INVAL;
        return false;
    }
    ld->first = first;
    ld->next = next;
    ld->l->last_ts = ts;
    return false;
}

static bool
on_subject(void *arg, const struct store_record *r)
{
    struct loading *ld = arg;
    ld->st = msubject_load(ld->l, (uint32_t)r->id, r->name, r->name_len);
    return ld->st == ST_OK;
}

static bool
on_chunk(void *arg, const struct store_record *r)
{
    struct loading *ld = arg;
    struct mlog *l = ld->l;
    uint64_t number = r->id & (STORE_ROW(1, 0) - 1);
    size_t n = r->data_len / sizeof(struct mentry);
    if (n == 0 || n > CHUNK_SIZE || ((number + 1) << CHUNK_BITS) <= ld->first) {
        return true;
    }
    ld->st = mindex_reserve(l, number << CHUNK_BITS, n);
    if (ld->st != ST_OK) {
        return false;
    }
    struct mchunk *c = mindex_chunk(l, number);
    memcpy(c->entries, r->data, n * sizeof(struct mentry));
    c->saved = true;
    for (size_t i = 0; i < n; i++) {
        uint64_t off = (number << CHUNK_BITS) + i;
        if (off < ld->first) {
            c->entries[i] = (struct mentry){0};
        }
        if (c->entries[i].subject != 0) {
            c->live++;
            l->next = off + 1;
        }
    }
    return true;
}

static bool
on_head(void *arg, const struct store_head *h)
{
    struct loading *ld = arg;
    uint64_t off = h->row & (STORE_ROW(1, 0) - 1);
    ld->st = mindex_reserve(ld->l, off, 1);
    if (ld->st != ST_OK) {
        return false;
    }
    struct mentry e = {h->subject_id, h->size | (h->hdr_len > 0 ? ENTRY_HDR : 0) |
                                          ((h->flags & MSG_MARKED) != 0 ? ENTRY_MARKED : 0)};
    mindex_put(ld->l, off, e);
    if (off + 1 > ld->l->next) {
        ld->l->next = off + 1;
    }
    if (h->ts > ld->l->last_ts) {
        ld->l->last_ts = h->ts;
    }
    return true;
}

static enum status
scan(struct loading *ld, uint64_t from, uint64_t end)
{
    uint64_t id = ld->l->opts.stream;
    if (from >= end) {
        return ST_OK;
    }
    enum status st =
        store_scan(ld->l->opts.store, STORE_ROW(id, from), STORE_ROW(id, 0) + end - 1, on_head, ld);
    return st != ST_OK ? st : ld->st;
}

/* All that no saved chunk covers. */
static enum status
scan_rest(struct loading *ld)
{
    struct mlog *l = ld->l;
    enum status st = ST_OK;
    uint64_t at = ld->first;
    for (size_t i = 0; i < l->n_chunks && st == ST_OK; i++) {
        uint64_t number = l->dir_first + i;
        if (l->chunks[i] != NULL && l->chunks[i]->saved) {
            st = scan(ld, at, number << CHUNK_BITS);
            at = (number + 1) << CHUNK_BITS;
        }
    }
    uint64_t end = UINT64_C(1) << STORE_OFFSET_BITS;
    return st == ST_OK ? scan(ld, at, end) : st;
}

/* Sums of one chunk. An entry of a subject without a text is dropped. */
static void
sum_chunk(struct mlog *l, uint64_t number, struct mchunk *c)
{
    for (uint32_t i = 0; i < c->cap && c->live > 0; i++) {
        struct mentry *e = &c->entries[i];
        if (e->subject == 0) {
            continue;
        }
        struct msubject *s = e->subject < l->n_ids ? l->subjects[e->subject] : NULL;
        if (s == NULL) {
            *e = (struct mentry){0};
            c->live--;
            continue;
        }
        msubject_add(l, s, (number << CHUNK_BITS) + i);
        l->msgs++;
        l->bytes += mlog_entry_bytes(l, e);
    }
}

/* Sums, and what each subject has. */
static void
sum_up(struct loading *ld)
{
    struct mlog *l = ld->l;
    l->first = ld->first;
    l->next = l->next > ld->next ? l->next : ld->next;
    for (size_t i = 0; i < l->n_chunks; i++) {
        if (l->chunks[i] != NULL) {
            sum_chunk(l, l->dir_first + i, l->chunks[i]);
        }
    }
    l->first = mindex_next(l, l->first, l->next);
    l->committed = l->next;
    l->marked = l->next;
    uint64_t last = mindex_prev(l, l->next - 1, l->first);
    int64_t ts = l->msgs > 0 ? mlog_ts_of(l, last) : 0;
    l->last_ts = ts > l->last_ts ? ts : l->last_ts;
    ld->st = msubjects_loaded(l);
}

static enum status
load(struct loading *ld)
{
    struct mlog *l = ld->l;
    uint64_t id = l->opts.stream;
    enum status st = store_log(l->opts.store, id, on_log, ld);
    if (st == ST_OK && ld->st == ST_OK) {
        st = store_subjects(l->opts.store, id, on_subject, ld);
    }
    if (st == ST_OK && ld->st == ST_OK) {
        st = store_chunks(l->opts.store, STORE_ROW(id, 0), STORE_ROW(id + 1, 0) - 1, on_chunk, ld);
    }
    if (st == ST_OK && ld->st == ST_OK) {
        st = scan_rest(ld);
    }
    if (st == ST_OK && ld->st == ST_OK) {
        sum_up(ld);
    }
    return st != ST_OK ? st : ld->st;
}

enum status
mlog_load(struct mlog **out, const struct mlog_opts *opts)
{
    *out = NULL;
    struct mlog *l = mem_alloc(sizeof(*l));
    if (l == NULL) {
        return ST_NOMEM;
    }
    l->opts = *opts;
    l->base = opts->first_seq > 0 ? opts->first_seq : 1;
    struct loading ld = {.l = l, .st = ST_OK};
    enum status st = load(&ld);
    if (st != ST_OK) {
        mlog_free(l);
        return st;
    }
    *out = l;
    return ST_OK;
}

static bool
save_chunk(struct mlog *l, uint64_t number, struct mchunk *c)
{
    uint32_t n = c->cap;
    while (n > 0 && c->entries[n - 1].subject == 0) {
        n--;
    }
    struct store_op *op = mlog_op(l, STORE_PUT_CHUNK, STORE_ROW(l->opts.stream, number),
                                  (n > 0 ? n : 1) * sizeof(struct mentry));
    if (op == NULL) {
        return false;
    }
    memcpy(op + 1, c->entries, n * sizeof(struct mentry));
    c->saved = true;
    store_push(l->opts.store, op);
    return true;
}

bool
mlog_checkpoint(struct mlog *l, size_t max, bool stopping)
{
    size_t done = 0;
    if (!l->touched) {
        mrecent_trim(l, 0);
    }
    l->touched = false;
    if (l->opts.memory) {
        return false;
    }
    for (size_t i = 0; i < l->n_chunks; i++) {
        struct mchunk *c = l->chunks[i];
        uint64_t number = l->dir_first + i;
        bool steady = l->backlog_msgs == 0 || ((number + 1) << CHUNK_BITS) <= l->committed;
        bool newest = i + 1 == l->n_chunks && !stopping;
        if (c == NULL || c->saved || c->live == 0 || !steady || newest) {
            continue;
        }
        if (done == max || !save_chunk(l, number, c)) {
            return true;
        }
        done++;
    }
    return false;
}
