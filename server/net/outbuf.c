/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/outbuf.h"

#include <string.h>

#include "server/base/assert.h"
#include "server/base/mem.h"

/* A chunk (ref NULL: data points into bytes, cap is OUTBUF_CHUNK) or a reference (cap 0). */
struct outseg {
    struct outseg *next; /* owned: the list */
    char *data;          /* borrowed: own bytes, or inside ref */
    size_t len;
    size_t cap;
    struct block *ref; /* ref or NULL */
    char bytes[];
};

void
outpool_init(struct outpool *p, uint32_t keep)
{
    *p = (struct outpool){.keep = keep};
}

void
outpool_fini(struct outpool *p)
{
    while (p->free != NULL) {
        struct outseg *s = p->free;
        p->free = s->next;
        mem_free(s);
    }
    p->n = 0;
}

static struct outseg *
take_chunk(struct outpool *p)
{
    struct outseg *s = p->free;
    if (s != NULL) {
        p->free = s->next;
        p->n--;
    } else {
        s = mem_alloc_raw(sizeof *s + OUTBUF_CHUNK);
        if (s == NULL) {
            return NULL;
        }
    }
    s->next = NULL;
    s->data = s->bytes;
    s->len = 0;
    s->cap = OUTBUF_CHUNK;
    s->ref = NULL;
    return s;
}

static void
give_back(struct outpool *p, struct outseg *s)
{
    if (s->cap == 0) {
        block_unref(s->ref);
        mem_free(s);
    } else if (p->n < p->keep) {
        s->next = p->free;
        p->free = s;
        p->n++;
    } else {
        mem_free(s);
    }
}

static void
link_tail(struct outbuf *o, struct outseg *s)
{
    if (o->tail != NULL) {
        o->tail->next = s;
    } else {
        o->head = s;
    }
    o->tail = s;
}

/* Room behind the tail's bytes; consumed bytes at the front of a chunk are not used again. */
static size_t
room(const struct outseg *s)
{
    return s == NULL || s->cap == 0 ? 0 : (size_t)(s->bytes + s->cap - (s->data + s->len));
}

char *
outbuf_reserve(struct outbuf *o, struct outpool *p, size_t n)
{
    ASSERT(n <= OUTBUF_CHUNK);
    if (room(o->tail) < n) {
        struct outseg *s = take_chunk(p);
        if (s == NULL) {
            return NULL;
        }
        link_tail(o, s);
    }
    return o->tail->data + o->tail->len;
}

void
outbuf_commit(struct outbuf *o, size_t n)
{
    o->tail->len += n;
    o->pending += (int64_t)n;
}

enum status
outbuf_append(struct outbuf *o, struct outpool *p, const void *data, size_t n)
{
    const char *from = data;
    while (n > 0) {
        size_t part = room(o->tail);
        if (part == 0) {
            part = OUTBUF_CHUNK;
        }
        if (part > n) {
            part = n;
        }
        char *at = outbuf_reserve(o, p, part);
        if (at == NULL) {
            return ST_NOMEM;
        }
        memcpy(at, from, part);
        outbuf_commit(o, part);
        from += part;
        n -= part;
    }
    return ST_OK;
}

enum status
outbuf_append_block(struct outbuf *o, struct outpool *p, struct block *b, const char *data,
                    size_t n)
{
    (void)p;
    struct outseg *s = mem_alloc_raw(sizeof *s);
    if (s == NULL) {
        return ST_NOMEM;
    }
    s->next = NULL;
    /* The bytes are only read: iovec has no const. */
    memcpy(&s->data, &data, sizeof s->data);
    s->len = n;
    s->cap = 0;
    s->ref = block_ref(b);
    link_tail(o, s);
    o->pending += (int64_t)n;
    return ST_OK;
}

int
outbuf_iov(const struct outbuf *o, struct iovec *iov, int max)
{
    int n = 0;
    for (const struct outseg *s = o->head; s != NULL && n < max; s = s->next) {
        if (s->len > 0) {
            iov[n].iov_base = s->data;
            iov[n].iov_len = s->len;
            n++;
        }
    }
    return n;
}

void
outbuf_consume(struct outbuf *o, struct outpool *p, size_t n)
{
    o->pending -= (int64_t)n;
    while (o->head != NULL && n >= o->head->len) {
        struct outseg *s = o->head;
        n -= s->len;
        o->head = s->next;
        give_back(p, s);
    }
    if (o->head == NULL) {
        o->tail = NULL;
    } else {
        o->head->data += n;
        o->head->len -= n;
    }
}

void
outbuf_clear(struct outbuf *o, struct outpool *p)
{
    while (o->head != NULL) {
        struct outseg *s = o->head;
        o->head = s->next;
        give_back(p, s);
    }
    o->tail = NULL;
    o->pending = 0;
}
