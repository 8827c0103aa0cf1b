/* SPDX-License-Identifier: Apache-2.0 */
/* Appending, removing, purging. An append reserves all that it needs before it changes anything. */
#include "stream/mlog.h"

#include <stdio.h>
#include <string.h>

#include "server/base/assert.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "stream/mlog_priv.h"

#define RECENT_BYTES ((size_t)4 << 20)
/* A gap takes 8 bytes for 16,384 sequences. */
#define GAP_MAX (UINT64_C(1) << 36)

uint64_t
mlog_size(bool memory, size_t subject_len, size_t hdr_len, size_t data_len)
{
    if (memory) {
        return subject_len + hdr_len + data_len + 16;
    }
    return 30 + subject_len + (hdr_len > 0 ? 4 : 0) + hdr_len + data_len;
}

uint64_t
mlog_entry_bytes(const struct mlog *l, const struct mentry *e)
{
    size_t body = e->size & ENTRY_SIZE;
    size_t hdr = (e->size & ENTRY_HDR) != 0 ? 1U : 0U;
    return mlog_size(l->opts.memory, l->subjects[e->subject]->len, hdr, body - hdr);
}

struct store_op *
mlog_op(const struct mlog *l, enum store_kind kind, uint64_t row, size_t extra)
{
    struct store_op *op = mem_alloc(sizeof(*op) + extra);
    if (op != NULL) {
        op->kind = kind;
        op->stream = l->opts.stream;
        op->row = row;
        if (extra > 0) {
            op->data = op + 1;
            op->data_len = extra;
        }
    }
    return op;
}

enum status
mlog_push_record(struct mlog *l, struct list_node *ops)
{
    if (!l->opts.memory) {
        char text[128];
        int n = snprintf(text, sizeof(text), "%llu %llu %lld", (unsigned long long)l->first,
                         (unsigned long long)l->next, (long long)l->last_ts);
        struct store_op *op = mlog_op(l, STORE_PUT_LOG, l->base, (size_t)n);
        if (op == NULL) {
            return ST_NOMEM;
        }
        memcpy(op + 1, text, (size_t)n);
        list_push_front(ops, &op->node);
    }
    store_push_list(l->opts.store, ops);
    return ST_OK;
}

enum status
mlog_new(struct mlog **out, const struct mlog_opts *opts)
{
    *out = NULL;
    struct mlog *l = mem_alloc(sizeof(*l));
    if (l == NULL) {
        return ST_NOMEM;
    }
    l->opts = *opts;
    l->base = opts->first_seq > 0 ? opts->first_seq : 1;
    struct list_node ops;
    list_init(&ops);
    if (mlog_push_record(l, &ops) != ST_OK) {
        mem_free(l);
        return ST_NOMEM;
    }
    *out = l;
    return ST_OK;
}

void
mlog_free(struct mlog *l)
{
    if (l == NULL) {
        return;
    }
    for (size_t i = 0; i < l->recent_n; i++) {
        msg_unref(l->recent[(l->recent_at + i) & (l->recent_cap - 1)]);
    }
    mem_free(l->recent);
    mindex_fini(l);
    msubjects_fini(l);
    mem_free(l);
}

/* ---- appending ---- */

static void
let_go_ops(struct list_node *ops)
{
    struct list_node *n;
    while ((n = list_pop_front(ops)) != NULL) {
        mem_free(LIST_ENTRY(n, struct store_op, node));
    }
}

/* Numbers the subject; what the store must know of it goes into ops. */
static enum status
intern(struct mlog *l, struct store_op *op, struct list_node *ops)
{
    struct msubject *s;
    bool is_new;
    const struct msg *m = op->msg;
    enum status st = msubject_intern(l, msg_subject(m), m->subject_len, &s, &is_new);
    if (st != ST_OK) {
        return st;
    }
    op->subject_id = s->id;
    if (!is_new || l->opts.memory) {
        return ST_OK;
    }
    struct store_op *put = mlog_op(l, STORE_PUT_SUBJECT, 0, m->subject_len);
    if (put == NULL) {
        msubject_release(l, s);
        return ST_NOMEM;
    }
    memcpy(put + 1, msg_subject(m), m->subject_len);
    put->subject_id = s->id;
    put->name = put->data;
    put->name_len = m->subject_len;
    list_push_back(ops, &put->node);
    return ST_OK;
}

static enum status
prepare(struct mlog *l, struct list_node *puts, struct list_node *ops)
{
    struct list_node *it;
    struct list_node *tmp;
    uint64_t n = 0;
    enum status st = ST_OK;
    LIST_FOREACH_SAFE(it, tmp, puts)
    {
        n++;
        struct store_op *op = LIST_ENTRY(it, struct store_op, node);
        if (st == ST_OK && op->msg->hdr_len + op->msg->data_len > ENTRY_SIZE) {
            st = ST_INVAL;
        }
        if (st == ST_OK) {
            st = intern(l, op, ops);
        }
    }
    if (st == ST_OK && l->next + n >= UINT64_C(1) << STORE_OFFSET_BITS) {
        st = ST_LIMIT;
    }
    if (st == ST_OK) {
        st = mindex_reserve(l, l->next, n);
    }
    return st == ST_OK ? mrecent_reserve(l, (size_t)n) : st;
}

/* Subjects that only a failed append brought. */
static void
undo(struct mlog *l, struct list_node *ops)
{
    struct list_node *it;
    struct list_node *tmp;
    LIST_FOREACH_SAFE(it, tmp, ops)
    {
        struct msubject *s = l->subjects[LIST_ENTRY(it, struct store_op, node)->subject_id];
        if (s != NULL && s->msgs == 0) {
            msubject_release(l, s);
        }
    }
    let_go_ops(ops);
}

static void
append_one(struct mlog *l, struct store_op *op, int64_t ts)
{
    struct msg *m = op->msg;
    uint64_t off = l->next++;
    struct mentry e = {op->subject_id, (m->hdr_len + m->data_len) |
                                           (m->hdr_len > 0 ? ENTRY_HDR : 0) |
                                           ((m->flags & MSG_MARKED) != 0 ? ENTRY_MARKED : 0)};
    m->seq = off + l->base;
    m->ts = ts;
    op->kind = STORE_APPEND;
    op->stream = l->opts.stream;
    op->row = STORE_ROW(l->opts.stream, off);
    mindex_put(l, off, e);
    msubject_add(l, l->subjects[e.subject], off);
    if (l->msgs++ == 0) {
        l->first = off;
    }
    l->bytes += mlog_entry_bytes(l, &e);
    l->backlog_msgs++;
    l->backlog_bytes += m->hdr_len + m->data_len;
    mrecent_push(l, m);
}

enum status
mlog_append(struct mlog *l, struct list_node *puts, int64_t ts)
{
    struct list_node ops;
    struct list_node *it;
    struct list_node *tmp;
    list_init(&ops);
    enum status st = prepare(l, puts, &ops);
    if (st != ST_OK) {
        undo(l, &ops);
        return st;
    }
    ts = ts != 0 ? ts : clock_wall_ns();
    if (ts < l->last_ts) {
        ts = l->last_ts;
    }
    l->last_ts = ts;
    l->touched = true;
    LIST_FOREACH_SAFE(it, tmp, puts)
    {
        append_one(l, LIST_ENTRY(it, struct store_op, node), ts);
    }
    list_splice_back(&ops, puts);
    store_push_list(l->opts.store, &ops);
    return ST_OK;
}

static void
drop_entry(struct mlog *l, uint64_t off, const struct mentry *at)
{
    struct mentry e = *at;
    uint64_t bytes = mlog_entry_bytes(l, &e);
    struct msubject *subject = l->subjects[e.subject];
    mindex_clear(l, off);
    l->msgs--;
    l->bytes -= bytes;
    if (l->msgs == 0) {
        l->first = l->next;
    } else if (off == l->first) {
        l->first = mindex_next(l, off + 1, l->next);
    }
    if (off >> CHUNK_BITS != l->first >> CHUNK_BITS) {
        mindex_cut(l, l->first);
    }
    if (l->opts.on_remove != NULL) {
        l->opts.on_remove(l->opts.ctx, off + l->base, subject->text, (uint32_t)bytes);
    }
    msubject_remove(l, subject, off);
}

static void
commit_one(struct mlog *l, const struct store_op *op, enum status st)
{
    uint64_t off = op->row & (STORE_ROW(1, 0) - 1);
    l->backlog_msgs--;
    l->backlog_bytes -= op->msg->hdr_len + op->msg->data_len;
    l->committed = off + 1;
    const struct mentry *e = st != ST_OK ? mindex_at(l, off) : NULL;
    if (e != NULL) {
        drop_entry(l, off, e);
    }
}

void
mlog_commit(struct mlog *l, struct store_op *first, struct list_node *more, enum status st)
{
    struct list_node *it;
    struct list_node *tmp;
    commit_one(l, first, st);
    LIST_FOREACH_SAFE(it, tmp, more)
    {
        commit_one(l, LIST_ENTRY(it, struct store_op, node), st);
    }
    struct list_node none;
    list_init(&none);
    if (st != ST_OK) {
        /* The record must remember sequences that no message has. */
        (void)!mlog_push_record(l, &none);
    }
    mrecent_trim(l, RECENT_BYTES);
}

/* ---- removing ---- */

enum status
mlog_remove(struct mlog *l, uint64_t seq, bool erase)
{
    uint64_t off = seq - l->base;
    const struct mentry *e = mindex_at(l, off);
    struct list_node ops;
    if (e == NULL || off < l->first || off >= l->next) {
        return ST_NOTFOUND;
    }
    enum store_kind kind = erase ? STORE_ERASE : STORE_REMOVE;
    struct store_op *op = mlog_op(l, kind, STORE_ROW(l->opts.stream, off), 0);
    if (op == NULL || mindex_outdate(l, off) != ST_OK) {
        mem_free(op);
        return ST_NOMEM;
    }
    op->when = STORE_LAZILY;
    list_init(&ops);
    list_push_back(&ops, &op->node);
    l->touched = true;
    /* The record is what remembers the last sequence. */
    if (off + 1 == l->next) {
        if (mlog_push_record(l, &ops) != ST_OK) {
            mem_free(op);
            return ST_NOMEM;
        }
    } else {
        store_push_list(l->opts.store, &ops);
    }
    drop_entry(l, off, e);
    return ST_OK;
}

/* All of it: no entry need be looked at. */
static uint64_t
purge_all(struct mlog *l)
{
    uint64_t n = l->msgs;
    for (uint32_t id = 1; id < l->n_ids; id++) {
        if (l->subjects[id] != NULL) {
            msubject_release(l, l->subjects[id]);
        }
    }
    for (size_t i = 0; i < l->n_chunks; i++) {
        struct mchunk *c = l->chunks[i];
        bool goes = ((l->dir_first + i + 1) << CHUNK_BITS) <= l->next; /* by mindex_cut */
        if (c != NULL) {
            memset(c->entries, 0, goes ? 0 : c->cap * sizeof(*c->entries));
            c->live = 0;
        }
    }
    l->n_subjects = 0;
    l->msgs = 0;
    l->bytes = 0;
    return n;
}

static uint64_t
purge_chunk(struct mlog *l, uint64_t number, uint64_t below)
{
    struct mchunk *c = mindex_chunk(l, number);
    uint64_t begin = number << CHUNK_BITS;
    uint64_t n = 0;
    for (uint64_t i = 0; c != NULL && c->live > 0 && i < c->cap && begin + i < below; i++) {
        struct mentry e = c->entries[i];
        if (e.subject != 0) {
            l->bytes -= mlog_entry_bytes(l, &e);
            c->entries[i] = (struct mentry){0};
            c->live--;
            n++;
            msubject_remove(l, l->subjects[e.subject], begin + i);
        }
    }
    return n;
}

static uint64_t
purge_entries(struct mlog *l, uint64_t below)
{
    uint64_t n = 0;
    if (below == l->next) {
        return purge_all(l);
    }
    for (size_t i = 0; i < l->n_chunks && ((l->dir_first + i) << CHUNK_BITS) < below; i++) {
        n += purge_chunk(l, l->dir_first + i, below);
    }
    l->msgs -= n;
    return n;
}

enum status
mlog_purge_to(struct mlog *l, uint64_t seq, uint64_t *n)
{
    uint64_t off = seq - l->base;
    struct list_node ops;
    list_init(&ops);
    *n = 0;
    if (seq <= l->first + l->base) {
        return ST_OK;
    }
    bool all = seq >= l->next + l->base;
    uint64_t below = all ? l->next : off;
    if (below > l->first) {
        struct store_op *op =
            mlog_op(l, STORE_REMOVE_RANGE, STORE_ROW(l->opts.stream, l->first), 0);
        if (op == NULL) {
            return ST_NOMEM;
        }
        op->row_end = STORE_ROW(l->opts.stream, below - 1);
        list_push_back(&ops, &op->node);
    }
    struct mlog before = {.base = l->base, .first = l->first};
    if (all) {
        l->base = seq - l->next;
    }
    l->first = below;
    if (mlog_push_record(l, &ops) != ST_OK) {
        l->base = before.base;
        l->first = before.first;
        let_go_ops(&ops);
        return ST_NOMEM;
    }
    l->first = before.first;
    *n = purge_entries(l, below);
    l->first = mindex_next(l, below, l->next);
    l->touched = true;
    mindex_cut(l, l->first);
    return ST_OK;
}

enum status
mlog_skip_to(struct mlog *l, uint64_t next)
{
    uint64_t n;
    struct list_node ops;
    list_init(&ops);
    if (next <= l->next + l->base) {
        return ST_OK;
    }
    if (l->msgs == 0) {
        return mlog_purge_to(l, next, &n);
    }
    uint64_t before = l->next;
    if (next - l->base - before > GAP_MAX || next - l->base >= UINT64_C(1) << STORE_OFFSET_BITS) {
        return ST_LIMIT;
    }
    l->next = next - l->base;
    enum status st = mlog_push_record(l, &ops);
    if (st != ST_OK) {
        l->next = before;
    }
    return st;
}

enum status
mlog_pass(struct mlog *l, int64_t ts)
{
    int64_t before = l->last_ts;
    l->last_ts = ts > before ? ts : before;
    enum status st = mlog_skip_to(l, l->next + l->base + 1);
    if (st != ST_OK) {
        l->last_ts = before;
    }
    return st;
}

/* ---- state ---- */

uint64_t
mlog_last_seq(const struct mlog *l)
{
    return l->next + l->base - 1;
}

uint64_t
mlog_first_seq(const struct mlog *l)
{
    return l->first + l->base;
}

uint64_t
mlog_committed(const struct mlog *l)
{
    return l->backlog_msgs == 0 ? mlog_last_seq(l) : l->committed + l->base - 1;
}

void
mlog_backlog(const struct mlog *l, uint64_t *msgs, uint64_t *bytes)
{
    *msgs = l->backlog_msgs;
    *bytes = l->backlog_bytes;
}
