/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/unacked.h"

#include <stdlib.h>

#include "server/base/assert.h"
#include "server/base/mem.h"

enum { SPARE_MAX = 1024, BUCKETS_MIN = 16 };

void
unacked_init(struct unacked_tab *t)
{
    *t = (struct unacked_tab){0};
    list_init(&t->pending);
    list_init(&t->redeliver);
}

void
unacked_clear(struct unacked_tab *t)
{
    for (size_t i = 0; i < t->n_buckets; i++) {
        while (t->buckets[i] != NULL) {
            struct unacked *u = t->buckets[i];
            t->buckets[i] = u->next;
            mem_free(u);
        }
    }
    list_init(&t->pending);
    list_init(&t->redeliver);
    t->n = t->n_pending = t->n_redeliver = t->n_redelivered = t->n_heap = 0;
}

void
unacked_fini(struct unacked_tab *t)
{
    unacked_clear(t);
    while (t->spare != NULL) {
        struct unacked *u = t->spare;
        t->spare = u->next;
        mem_free(u);
    }
    mem_free(t->buckets);
    mem_free(t->heap);
    unacked_init(t);
}

/* Sequences are dense: a multiplicative hash spreads runs with gaps too. */
static size_t
bucket_of(const struct unacked_tab *t, uint64_t seq)
{
    return (size_t)((seq * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (t->n_buckets - 1);
}

struct unacked *
unacked_find(const struct unacked_tab *t, uint64_t seq)
{
    if (t->n == 0) {
        return NULL;
    }
    struct unacked *u = t->buckets[bucket_of(t, seq)];
    while (u != NULL && u->seq != seq) {
        u = u->next;
    }
    return u;
}

static enum status
grow_buckets(struct unacked_tab *t)
{
    size_t n = t->n_buckets > 0 ? t->n_buckets * 2 : BUCKETS_MIN;
    struct unacked **fresh = mem_alloc_array(n, sizeof(struct unacked *));
    if (fresh == NULL) {
        return t->n_buckets > 0 ? ST_OK : ST_NOMEM; /* longer chains will do */
    }
    struct unacked **old = t->buckets;
    size_t n_old = t->n_buckets;
    t->buckets = fresh;
    t->n_buckets = n;
    for (size_t i = 0; i < n_old; i++) {
        while (old[i] != NULL) {
            struct unacked *u = old[i];
            old[i] = u->next;
            size_t b = bucket_of(t, u->seq);
            u->next = fresh[b];
            fresh[b] = u;
        }
    }
    mem_free(old);
    return ST_OK;
}

/* Room in the heap for one more than all that there are, so that waiting cannot fail. */
static enum status
reserve(struct unacked_tab *t)
{
    if (t->n >= t->n_buckets && grow_buckets(t) != ST_OK) {
        return ST_NOMEM;
    }
    if (t->n < t->cap_heap) {
        return ST_OK;
    }
    size_t cap = t->cap_heap > 0 ? t->cap_heap * 2 : BUCKETS_MIN;
    struct unacked **heap = mem_realloc(t->heap, cap * sizeof(struct unacked *));
    if (heap == NULL) {
        return ST_NOMEM;
    }
    t->heap = heap;
    t->cap_heap = cap;
    return ST_OK;
}

enum status
unacked_add(struct unacked_tab *t, uint64_t seq, uint64_t dseq, struct unacked **out)
{
    if (reserve(t) != ST_OK) {
        return ST_NOMEM;
    }
    struct unacked *u = t->spare;
    if (u != NULL) {
        t->spare = u->next;
        t->n_spare--;
    } else if ((u = mem_alloc_raw(sizeof *u)) == NULL) {
        return ST_NOMEM;
    }
    *u = (struct unacked){.seq = seq, .dseq = dseq};
    size_t b = bucket_of(t, seq);
    u->next = t->buckets[b];
    t->buckets[b] = u;
    t->n++;
    struct list_node *pos = t->pending.prev;
    while (pos != &t->pending && LIST_ENTRY(pos, struct unacked, node)->seq > seq) {
        pos = pos->prev;
    }
    list_insert_after(pos, &u->node);
    t->n_pending++;
    *out = u;
    return ST_OK;
}

static void
heap_put(struct unacked_tab *t, size_t i, struct unacked *u)
{
    t->heap[i] = u;
    u->at = (uint32_t)i + 1;
}

static void
heap_up(struct unacked_tab *t, size_t i, struct unacked *u)
{
    while (i > 0 && t->heap[(i - 1) / 2]->due > u->due) {
        heap_put(t, i, t->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(t, i, u);
}

static void
heap_down(struct unacked_tab *t, size_t i, struct unacked *u)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= t->n_heap) {
            break;
        }
        if (child + 1 < t->n_heap && t->heap[child + 1]->due < t->heap[child]->due) {
            child++;
        }
        if (t->heap[child]->due >= u->due) {
            break;
        }
        heap_put(t, i, t->heap[child]);
        i = child;
    }
    heap_put(t, i, u);
}

static void
heap_remove(struct unacked_tab *t, struct unacked *u)
{
    if (u->at == 0) {
        return;
    }
    size_t i = u->at - 1;
    u->at = 0;
    struct unacked *last = t->heap[--t->n_heap];
    if (last == u) {
        return;
    }
    if (i > 0 && t->heap[(i - 1) / 2]->due > last->due) {
        heap_up(t, i, last);
    } else {
        heap_down(t, i, last);
    }
}

void
unacked_rest(struct unacked_tab *t, struct unacked *u)
{
    heap_remove(t, u);
    if (list_is_linked(&u->again)) {
        list_remove(&u->again);
        t->n_redeliver--;
    }
}

void
unacked_wait(struct unacked_tab *t, struct unacked *u, int64_t due)
{
    ASSERT(!u->dead);
    unacked_rest(t, u);
    u->due = due;
    heap_up(t, t->n_heap++, u);
}

void
unacked_queue(struct unacked_tab *t, struct unacked *u)
{
    ASSERT(!u->dead);
    unacked_rest(t, u);
    list_push_back(&t->redeliver, &u->again);
    t->n_redeliver++;
}

void
unacked_kill(struct unacked_tab *t, struct unacked *u)
{
    unacked_rest(t, u);
    if (!u->dead) {
        list_remove(&u->node);
        t->n_pending--;
        u->dead = true;
    }
}

void
unacked_drop(struct unacked_tab *t, struct unacked *u)
{
    unacked_kill(t, u);
    unacked_set_redelivered(t, u, 0);
    struct unacked **link = &t->buckets[bucket_of(t, u->seq)];
    while (*link != u) {
        link = &(*link)->next;
    }
    *link = u->next;
    t->n--;
    if (t->n_spare < SPARE_MAX) {
        u->next = t->spare;
        t->spare = u;
        t->n_spare++;
    } else {
        mem_free(u);
    }
}

void
unacked_set_redelivered(struct unacked_tab *t, struct unacked *u, uint32_t n)
{
    t->n_redelivered += (size_t)(n > 0) - (size_t)(u->redelivered > 0);
    u->redelivered = n;
}

static int
by_seq(const void *a, const void *b)
{
    uint64_t x = (*(struct unacked *const *)a)->seq;
    uint64_t y = (*(struct unacked *const *)b)->seq;
    return (x > y) - (x < y);
}

/* The expired ones are taken off the heap into its own tail, which is free for them. */
void
unacked_expire(struct unacked_tab *t, int64_t now, void (*fn)(void *arg, struct unacked *u),
               void *arg)
{
    size_t end = t->n_heap;
    while (t->n_heap > 0 && t->heap[0]->due <= now) {
        struct unacked *u = t->heap[0];
        heap_remove(t, u);
        t->heap[t->n_heap] = u;
    }
    size_t n = end - t->n_heap;
    if (n == 0) {
        return;
    }
    struct unacked **due = &t->heap[t->n_heap];
    qsort(due, n, sizeof(struct unacked *), by_seq);
    for (size_t i = 0; i < n; i++) {
        fn(arg, due[i]);
    }
}

int64_t
unacked_first_due(const struct unacked_tab *t)
{
    return t->n_heap > 0 ? t->heap[0]->due : INT64_MAX;
}
