/* SPDX-License-Identifier: Apache-2.0 */
#include "api/weights.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/jobj.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

struct pair {
    char *account; /* owned */
    uint32_t weight;
};

/* `lock` guards the list, which is written only by who holds `changing`, too; count may be read
 * without. */
struct weights {
    pthread_mutex_t changing;
    pthread_rwlock_t lock;
    atomic_size_t count;
    struct pair *list; /* owned; sorted */
};

enum status
weights_new(struct weights **out)
{
    struct weights *w = mem_alloc(sizeof(*w));
    if (w == NULL) {
        return ST_NOMEM;
    }
    ASSERT(pthread_mutex_init(&w->changing, NULL) == 0);
    ASSERT(pthread_rwlock_init(&w->lock, NULL) == 0);
    *out = w;
    return ST_OK;
}

static void
free_list(struct pair *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mem_free(list[i].account);
    }
    mem_free(list);
}

void
weights_free(struct weights *w)
{
    if (w == NULL) {
        return;
    }
    free_list(w->list, atomic_load(&w->count));
    pthread_rwlock_destroy(&w->lock);
    pthread_mutex_destroy(&w->changing);
    mem_free(w);
}

static int
by_account(const void *a, const void *b)
{
    const struct pair *x = a;
    const struct pair *y = b;
    return strcmp(x->account, y->account);
}

/* Both consumed: `fresh` comes into force, what was before is freed. */
static void
replace(struct weights *w, struct pair *fresh, size_t n)
{
    qsort(fresh, n, sizeof(*fresh), by_account);
    pthread_rwlock_wrlock(&w->lock);
    struct pair *old = w->list;
    size_t n_old = atomic_load(&w->count);
    w->list = fresh;
    atomic_store(&w->count, n);
    pthread_rwlock_unlock(&w->lock);
    free_list(old, n_old);
}

/* Appends a copy. ST_NOMEM: list is as it was. */
static enum status
append(struct pair *list, size_t *n, const char *account, uint32_t weight)
{
    list[*n] = (struct pair){mem_strdup(account), weight};
    if (list[*n].account == NULL) {
        return ST_NOMEM;
    }
    ++*n;
    return ST_OK;
}

enum status
weights_set(struct weights *w, const struct api_weight *list, size_t n)
{
    size_t k = 0;
    struct pair *fresh = mem_alloc_array(n, sizeof(*fresh));
    if (fresh == NULL) {
        return ST_NOMEM;
    }
    while (k < n) {
        if (append(fresh, &k, list[k].account, (uint32_t)list[k].weight) != ST_OK) {
            free_list(fresh, k);
            return ST_NOMEM;
        }
    }
    pthread_mutex_lock(&w->changing);
    replace(w, fresh, k);
    pthread_mutex_unlock(&w->changing);
    return ST_OK;
}

static const struct api_weight *
named(const struct api_weight *list, size_t n, const char *account)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].account, account) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

/* Those that are not named, then those that are. Nobody else changes w->list meanwhile. */
static enum status
merge(const struct weights *w, const struct api_weight *list, size_t n, struct pair *out,
      size_t *out_n)
{
    enum status st = ST_OK;
    size_t had = atomic_load(&w->count);
    for (size_t i = 0; i < had && st == ST_OK; i++) {
        if (named(list, n, w->list[i].account) == NULL) {
            st = append(out, out_n, w->list[i].account, w->list[i].weight);
        }
    }
    for (size_t i = 0; i < n && st == ST_OK; i++) {
        if (list[i].weight != 1) {
            st = append(out, out_n, list[i].account, (uint32_t)list[i].weight);
        }
    }
    return st == ST_OK && *out_n > WEIGHTS_MAX ? ST_FULL : st;
}

enum status
weights_update(struct weights *w, const struct api_weight *list, size_t n)
{
    size_t k = 0;
    pthread_mutex_lock(&w->changing);
    struct pair *fresh = mem_alloc_array(atomic_load(&w->count) + n, sizeof(*fresh));
    enum status st = fresh == NULL ? ST_NOMEM : merge(w, list, n, fresh, &k);
    if (st == ST_OK) {
        replace(w, fresh, k);
    }
    pthread_mutex_unlock(&w->changing);
    if (st != ST_OK && fresh != NULL) {
        free_list(fresh, k);
    }
    return st;
}

json_t *
weights_json(struct weights *w)
{
    json_t *o = json_object();
    pthread_rwlock_rdlock(&w->lock);
    for (size_t i = 0; i < atomic_load(&w->count); i++) {
        jobj_int(&o, w->list[i].account, w->list[i].weight);
    }
    pthread_rwlock_unlock(&w->lock);
    return o;
}

uint32_t
weights_of(struct weights *w, const char *account)
{
    if (atomic_load_explicit(&w->count, memory_order_relaxed) == 0) {
        return 1;
    }
    struct pair key = {.account = (char *)(uintptr_t)account};
    pthread_rwlock_rdlock(&w->lock);
    const struct pair *p =
        bsearch(&key, w->list, atomic_load(&w->count), sizeof(*w->list), by_account);
    uint32_t weight = p == NULL ? 1 : p->weight;
    pthread_rwlock_unlock(&w->lock);
    return weight;
}
