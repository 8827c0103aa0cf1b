/* SPDX-License-Identifier: Apache-2.0 */
/* The index: chunks of 16,384 entries, the newest grows as it fills. */
#include <string.h>

#include "server/base/mem.h"
#include "stream/mlog_priv.h"

enum { FIRST_CAP = 16 };

struct mchunk *
mindex_chunk(const struct mlog *l, uint64_t number)
{
    if (number < l->dir_first || number - l->dir_first >= l->n_chunks) {
        return NULL;
    }
    return l->chunks[number - l->dir_first];
}

struct mentry *
mindex_at(const struct mlog *l, uint64_t off)
{
    struct mchunk *c = mindex_chunk(l, off >> CHUNK_BITS);
    uint64_t i = off & (CHUNK_SIZE - 1);
    if (c == NULL || i >= c->cap || c->entries[i].subject == 0) {
        return NULL;
    }
    return &c->entries[i];
}

static enum status
reserve_dir(struct mlog *l, uint64_t number)
{
    if (l->n_chunks == 0) {
        l->dir_first = number;
    }
    size_t want = (size_t)(number - l->dir_first) + 1;
    if (want > l->cap_chunks) {
        size_t cap = want * 2 > 8 ? want * 2 : 8;
        struct mchunk **v = mem_realloc(l->chunks, cap * sizeof(struct mchunk *));
        if (v == NULL) {
            return ST_NOMEM;
        }
        l->chunks = v;
        l->cap_chunks = cap;
    }
    while (l->n_chunks < want) {
        l->chunks[l->n_chunks++] = NULL;
    }
    return ST_OK;
}

static enum status
reserve_entries(struct mlog *l, uint64_t number, uint32_t want)
{
    struct mchunk *c = mindex_chunk(l, number);
    if (c == NULL) {
        c = mem_alloc(sizeof(*c));
        if (c == NULL) {
            return ST_NOMEM;
        }
        l->chunks[number - l->dir_first] = c;
    }
    if (want <= c->cap) {
        return ST_OK;
    }
    uint32_t cap = c->cap == 0 ? FIRST_CAP : c->cap;
    while (cap < want) {
        cap *= 2;
    }
    struct mentry *v = mem_realloc(c->entries, cap * sizeof(*v));
    if (v == NULL) {
        return ST_NOMEM;
    }
    memset(v + c->cap, 0, (cap - c->cap) * sizeof(*v));
    c->entries = v;
    c->cap = cap;
    return ST_OK;
}

enum status
mindex_reserve(struct mlog *l, uint64_t from, uint64_t n)
{
    enum status st = ST_OK;
    for (uint64_t at = from; at < from + n && st == ST_OK;) {
        uint64_t number = at >> CHUNK_BITS;
        uint64_t end = (number + 1) << CHUNK_BITS;
        if (end > from + n) {
            end = from + n;
        }
        st = reserve_dir(l, number);
        if (st == ST_OK) {
            st = reserve_entries(l, number, (uint32_t)((end - 1) & (CHUNK_SIZE - 1)) + 1);
        }
        if (st == ST_OK) {
            st = mindex_outdate(l, at);
        }
        at = end;
    }
    return st;
}

/* The store must know before the change does: a start would believe the saved chunk. */
enum status
mindex_outdate(struct mlog *l, uint64_t off)
{
    struct mchunk *c = mindex_chunk(l, off >> CHUNK_BITS);
    if (c == NULL || !c->saved) {
        return ST_OK;
    }
    struct store_op *op =
        mlog_op(l, STORE_DROP_CHUNK, STORE_ROW(l->opts.stream, off >> CHUNK_BITS), 0);
    if (op == NULL) {
        return ST_NOMEM;
    }
    op->when = STORE_LAZILY;
    c->saved = false;
    store_push(l->opts.store, op);
    return ST_OK;
}

void
mindex_put(struct mlog *l, uint64_t off, struct mentry e)
{
    struct mchunk *c = mindex_chunk(l, off >> CHUNK_BITS);
    c->entries[off & (CHUNK_SIZE - 1)] = e;
    c->live++;
}

void
mindex_clear(struct mlog *l, uint64_t off)
{
    struct mchunk *c = mindex_chunk(l, off >> CHUNK_BITS);
    c->entries[off & (CHUNK_SIZE - 1)] = (struct mentry){0};
    c->live--;
}

static void
chunk_free(struct mchunk *c)
{
    if (c != NULL) {
        mem_free(c->entries);
        mem_free(c);
    }
}

void
mindex_cut(struct mlog *l, uint64_t below)
{
    size_t n = 0;
    while (n < l->n_chunks && ((l->dir_first + n + 1) << CHUNK_BITS) <= below) {
        if (l->chunks[n] != NULL) {
            /* NB: without memory it stays in the store; a start skips what is below the first. */
            (void)!mindex_outdate(l, (l->dir_first + n) << CHUNK_BITS);
            chunk_free(l->chunks[n]);
        }
        n++;
    }
    if (n > 0) {
        memmove(l->chunks, l->chunks + n, (l->n_chunks - n) * sizeof(struct mchunk *));
        l->n_chunks -= n;
        l->dir_first += n;
    }
}

uint64_t
mindex_next(const struct mlog *l, uint64_t from, uint64_t end)
{
    uint64_t at = from;
    while (at < end) {
        const struct mchunk *c = mindex_chunk(l, at >> CHUNK_BITS);
        uint64_t i = at & (CHUNK_SIZE - 1);
        if (c != NULL && c->live > 0) {
            while (i < c->cap && c->entries[i].subject == 0) {
                i++;
            }
        }
        if (c != NULL && c->live > 0 && i < c->cap) {
            at = (at & ~(uint64_t)(CHUNK_SIZE - 1)) + i;
            return at < end ? at : end;
        }
        at = ((at >> CHUNK_BITS) + 1) << CHUNK_BITS;
    }
    return end;
}

uint64_t
mindex_prev(const struct mlog *l, uint64_t from, uint64_t begin)
{
    uint64_t at = from;
    while (at >= begin && at != UINT64_MAX) {
        const struct mchunk *c = mindex_chunk(l, at >> CHUNK_BITS);
        if (c == NULL || c->live == 0) {
            at = ((at >> CHUNK_BITS) << CHUNK_BITS) - 1;
            continue;
        }
        uint64_t i = at & (CHUNK_SIZE - 1);
        if (i < c->cap && c->entries[i].subject != 0) {
            return at;
        }
        at--;
    }
    return UINT64_MAX;
}

uint64_t
mindex_count(const struct mlog *l, uint64_t from, uint64_t end)
{
    uint64_t n = 0;
    uint64_t at = from;
    while (at < end) {
        const struct mchunk *c = mindex_chunk(l, at >> CHUNK_BITS);
        uint64_t next = ((at >> CHUNK_BITS) + 1) << CHUNK_BITS;
        if (c != NULL && next <= end && (at & (CHUNK_SIZE - 1)) == 0) {
            n += c->live;
        } else if (c != NULL && c->live > 0) {
            uint64_t stop = next < end ? next : end;
            while ((at = mindex_next(l, at, stop)) < stop) {
                n++;
                at++;
            }
        }
        at = next;
    }
    return n;
}

void
mindex_fini(struct mlog *l)
{
    for (size_t i = 0; i < l->n_chunks; i++) {
        chunk_free(l->chunks[i]);
    }
    mem_free(l->chunks);
}
