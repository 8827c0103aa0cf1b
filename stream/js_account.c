/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/js_account.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/js_priv.h"
#include "stream/stream.h"
#include "stream/stream_priv.h"

struct stream *
js_account_stream(struct js_account *a, const char *name, size_t len)
{
    (void)pthread_mutex_lock(&a->lock);
    struct stream *s = ntab_get(&a->streams, name, len);
    if (s != NULL) {
        stream_ref(s);
    }
    (void)pthread_mutex_unlock(&a->lock);
    return s;
}

enum status
js_account_add(struct js_account *a, struct stream *s)
{
    (void)pthread_mutex_lock(&a->lock);
    enum status st = ntab_put(&a->streams, s->name, strlen(s->name), s);
    if (st == ST_OK) {
        stream_ref(s);
        list_push_back(&a->order, &s->node);
        atomic_fetch_add(&a->n_streams, 1);
    }
    (void)pthread_mutex_unlock(&a->lock);
    return st;
}

void
js_account_remove(struct js_account *a, struct stream *s)
{
    (void)pthread_mutex_lock(&a->lock);
    bool was = ntab_get(&a->streams, s->name, strlen(s->name)) == s;
    if (was) {
        (void)ntab_remove(&a->streams, s->name, strlen(s->name));
        list_remove(&s->node);
        atomic_fetch_sub(&a->n_streams, 1);
    }
    (void)pthread_mutex_unlock(&a->lock);
    if (was) {
        stream_unref(s);
    }
}

static int
by_name(const void *a, const void *b)
{
    const struct stream *const *x = a;
    const struct stream *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

enum status
js_account_streams(struct js_account *a, struct stream ***out, size_t *n)
{
    struct list_node *it;
    struct list_node *tmp;
    *n = 0;
    (void)pthread_mutex_lock(&a->lock);
    struct stream **v = mem_alloc_array(a->streams.n + 1, sizeof(struct stream *));
    if (v != NULL) {
        LIST_FOREACH_SAFE(it, tmp, &a->order)
        {
            v[(*n)++] = stream_ref(LIST_ENTRY(it, struct stream, node));
        }
    }
    (void)pthread_mutex_unlock(&a->lock);
    *out = v;
    if (v == NULL) {
        return ST_NOMEM;
    }
    qsort(v, *n, sizeof(struct stream *), by_name);
    return ST_OK;
}

void
js_streams_free(struct stream **v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        stream_unref(v[i]);
    }
    mem_free(v);
}

void
js_account_limits(struct js_account *a, struct js_limits *out)
{
    (void)pthread_mutex_lock(&a->lock);
    *out = a->limits;
    (void)pthread_mutex_unlock(&a->lock);
}

void
js_account_use(struct js_account *a, bool memory, int64_t bytes)
{
    atomic_fetch_add_explicit(memory ? &a->memory : &a->file, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(memory ? &a->js->memory_used : &a->js->file_used, bytes,
                              memory_order_relaxed);
}

bool
js_account_is_over(struct js_account *a, bool memory, int64_t more)
{
    int64_t server = memory ? a->js->max_memory : a->js->max_file;
    int64_t used = memory ? a->js->memory_used : a->js->file_used;
    if (server >= 0 && used + more > server) {
        return true;
    }
    struct js_limits limits;
    js_account_limits(a, &limits);
    int64_t max = memory ? limits.max_memory : limits.max_file;
    return max >= 0 && (memory ? a->memory : a->file) + more > max;
}
