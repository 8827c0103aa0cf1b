/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/js_account.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
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

/* ---- the tables; under the lock ---- */

static int
by_name(const void *a, const void *b)
{
    const struct stream *const *x = a;
    const struct stream *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Where a stream of that name is among the n sorted ones, or would be. */
static size_t
place(const struct js_account *a, size_t n, const char *name)
{
    size_t lo = 0;
    while (lo < n) {
        size_t mid = lo + (n - lo) / 2;
        if (strcmp(a->sorted[mid]->name, name) < 0) {
            lo = mid + 1;
        } else {
            n = mid;
        }
    }
    return lo;
}

static enum status
reserve(struct js_account *a)
{
    if (a->streams.n < a->sorted_cap) {
        return ST_OK;
    }
    size_t cap = a->sorted_cap == 0 ? 16 : a->sorted_cap * 2;
    struct stream **v = mem_realloc(a->sorted, cap * sizeof(struct stream *));
    if (v == NULL) {
        return ST_NOMEM;
    }
    a->sorted = v;
    a->sorted_cap = cap;
    return ST_OK;
}

static void
remove_subjects(struct js_account *a, struct stream *s, const struct stream_config *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ptrie_remove(&a->subjects, c->subjects[i], s);
    }
}

static enum status
add_subjects(struct js_account *a, struct stream *s, const struct stream_config *c)
{
    for (size_t i = 0; i < c->n_subjects; i++) {
        if (ptrie_add(&a->subjects, c->subjects[i], s) != ST_OK) {
            remove_subjects(a, s, c, i);
            return ST_NOMEM;
        }
    }
    return ST_OK;
}

/* ---- adding, removing ---- */

static enum status
add(struct js_account *a, struct stream *s)
{
    size_t len = strlen(s->name);
    size_t n = a->streams.n;
    enum status st = reserve(a);
    if (st == ST_OK) {
        st = ntab_put(&a->streams, s->name, len, s);
    }
    if (st != ST_OK) {
        return st;
    }
    st = add_subjects(a, s, s->cfg);
    if (st != ST_OK) {
        (void)ntab_remove(&a->streams, s->name, len);
        return st;
    }
    size_t at = place(a, n, s->name);
    memmove(a->sorted + at + 1, a->sorted + at, (n - at) * sizeof(struct stream *));
    a->sorted[at] = stream_ref(s);
    atomic_fetch_add(&a->n_streams, 1);
    return ST_OK;
}

enum status
js_account_add(struct js_account *a, struct stream *s)
{
    (void)pthread_mutex_lock(&a->lock);
    enum status st = add(a, s);
    (void)pthread_mutex_unlock(&a->lock);
    return st;
}

void
js_account_remove(struct js_account *a, struct stream *s)
{
    (void)pthread_mutex_lock(&a->lock);
    bool was = ntab_get(&a->streams, s->name, strlen(s->name)) == s;
    if (was) {
        size_t at = place(a, a->streams.n, s->name);
        (void)ntab_remove(&a->streams, s->name, strlen(s->name));
        memmove(a->sorted + at, a->sorted + at + 1, (a->streams.n - at) * sizeof(struct stream *));
        remove_subjects(a, s, s->cfg, s->cfg->n_subjects);
        atomic_fetch_sub(&a->n_streams, 1);
    }
    (void)pthread_mutex_unlock(&a->lock);
    if (was) {
        stream_unref(s);
    }
}

enum status
js_account_add_subjects(struct js_account *a, struct stream *s, const struct stream_config *c)
{
    (void)pthread_mutex_lock(&a->lock);
    enum status st = add_subjects(a, s, c);
    (void)pthread_mutex_unlock(&a->lock);
    return st;
}

void
js_account_remove_subjects(struct js_account *a, struct stream *s, const struct stream_config *c)
{
    (void)pthread_mutex_lock(&a->lock);
    remove_subjects(a, s, c, c->n_subjects);
    (void)pthread_mutex_unlock(&a->lock);
}

/* ---- lists ---- */

/* What a filter has found, each stream once, in no order. */
struct found {
    struct js_account *a; /* borrowed for the search */
    struct stream **v;    /* owned */
    size_t n, cap;
    bool failed;
};

static bool
on_found(void *arg, const char *pattern, void *value)
{
    (void)pattern;
    struct found *f = arg;
    struct stream *s = value;
    if (s->mark == f->a->mark) {
        return true;
    }
    if (f->n == f->cap) {
        size_t cap = f->cap == 0 ? 16 : f->cap * 2;
        struct stream **v = mem_realloc(f->v, cap * sizeof(struct stream *));
        f->failed = v == NULL;
        if (f->failed) {
            return false;
        }
        f->v = v;
        f->cap = cap;
    }
    s->mark = f->a->mark;
    f->v[f->n++] = s;
    return true;
}

/* Many are in order sooner by a look at all that are in order already. */
static void
sort(const struct js_account *a, struct found *f)
{
    if (f->n < a->streams.n / 16) {
        qsort(f->v, f->n, sizeof(struct stream *), by_name);
        return;
    }
    for (size_t i = 0, n = 0; n < f->n; i++) {
        if (a->sorted[i]->mark == a->mark) {
            f->v[n++] = a->sorted[i];
        }
    }
}

static enum status
page_of(struct js_page *p, struct stream *const *v, size_t n)
{
    size_t from = p->offset < n ? p->offset : n;
    p->total = n;
    p->n = n - from < p->limit ? n - from : p->limit;
    p->v = mem_alloc_array(p->n + 1, sizeof(struct stream *));
    if (p->v == NULL) {
        p->n = 0;
        return ST_NOMEM;
    }
    for (size_t i = 0; i < p->n; i++) {
        p->v[i] = stream_ref(v[from + i]);
    }
    return ST_OK;
}

static enum status
page_filtered(struct js_account *a, struct js_page *p)
{
    struct found f = {.a = a};
    enum status st = ST_NOMEM;
    a->mark++;
    ptrie_overlaps(&a->subjects, p->filter, strlen(p->filter), on_found, &f);
    if (!f.failed) {
        if (f.n > 0) {
            sort(a, &f);
        }
        st = page_of(p, f.v, f.n);
    }
    mem_free(f.v);
    return st;
}

enum status
js_account_page(struct js_account *a, struct js_page *p)
{
    p->v = NULL;
    p->n = p->total = 0;
    (void)pthread_mutex_lock(&a->lock);
    enum status st = p->filter != NULL ? page_filtered(a, p) : page_of(p, a->sorted, a->streams.n);
    (void)pthread_mutex_unlock(&a->lock);
    return st;
}

enum status
js_account_streams(struct js_account *a, struct stream ***out, size_t *n)
{
    struct js_page p = {.limit = SIZE_MAX};
    enum status st = js_account_page(a, &p);
    *out = p.v;
    *n = p.n;
    return st;
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

enum js_error
js_account_check_room(struct js_account *a, bool memory, int64_t more, struct js_fail *f)
{
    static struct log_limit lim;
    uint64_t held;
    enum status st = store_failing(js_store(a->js, memory), NULL);
    if (st != ST_OK) {
        return js_fail_status(f, st);
    }
    int64_t server = memory ? a->js->max_memory : a->js->max_file;
    int64_t used = memory ? a->js->memory_used : a->js->file_used;
    if (server >= 0 && used > server) {
        if (log_limit_pass(&lim, &held)) {
            log_error("JetStream %s resource limits exceeded for server",
                      memory ? "memory" : "file");
        }
        return js_fail_plain(f, JS_ERR_INSUFFICIENT_RESOURCES);
    }
    struct js_limits limits;
    js_account_limits(a, &limits);
    int64_t max = memory ? limits.max_memory : limits.max_file;
    return max >= 0 && (memory ? a->memory : a->file) + more > max
               ? js_fail_plain(f, JS_ERR_ACCOUNT_RESOURCES_EXCEEDED)
               : JS_OK;
}
