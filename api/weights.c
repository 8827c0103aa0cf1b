/* SPDX-License-Identifier: Apache-2.0 */
#include "api/weights.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

struct pair {
    char *account; /* owned */
    uint32_t weight;
};

/* Its `lock` guards the list; count may be read without. */
struct weights {
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
    mem_free(w);
}

static int
by_account(const void *a, const void *b)
{
    const struct pair *x = a;
    const struct pair *y = b;
    return strcmp(x->account, y->account);
}

enum status
weights_set(struct weights *w, const struct api_weight *list, size_t n)
{
    struct pair *fresh = mem_alloc_array(n, sizeof(*fresh));
    for (size_t i = 0; fresh != NULL && i < n; i++) {
        fresh[i] = (struct pair){mem_strdup(list[i].account), (uint32_t)list[i].weight};
        if (fresh[i].account == NULL) {
            free_list(fresh, i);
            fresh = NULL;
        }
    }
    if (fresh == NULL) {
        return ST_NOMEM;
    }
    qsort(fresh, n, sizeof(*fresh), by_account);
    pthread_rwlock_wrlock(&w->lock);
    struct pair *old = w->list;
    size_t n_old = atomic_load(&w->count);
    w->list = fresh;
    atomic_store(&w->count, n);
    pthread_rwlock_unlock(&w->lock);
    free_list(old, n_old);
    return ST_OK;
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
