/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/ktab.h"

#include <string.h>

#include "server/base/assert.h"
#include "server/base/hash.h"
#include "server/base/mem.h"

#define FIRST_BUCKETS 64u
#define MAX_SPARES    64u

enum status
ktab_init(struct ktab *t, size_t node_size)
{
    *t = (struct ktab){.mask = FIRST_BUCKETS - 1, .node_size = node_size};
    t->buckets = mem_alloc_array(FIRST_BUCKETS, sizeof(*t->buckets));
    return t->buckets == NULL ? ST_NOMEM : ST_OK;
}

void
ktab_fini(struct ktab *t)
{
    ASSERT(t->count == 0);
    while (t->spare != NULL) {
        struct ktab_node *n = t->spare;
        t->spare = n->next;
        mem_free(n);
    }
    mem_free(t->buckets);
    t->buckets = NULL;
}

static struct ktab_node **
bucket_of(const struct ktab *t, uint64_t key)
{
    return &t->buckets[hash_bytes(&key, sizeof(key)) & t->mask];
}

void *
ktab_find(const struct ktab *t, uint64_t key)
{
    struct ktab_node *n = *bucket_of(t, key);
    while (n != NULL && n->key != key) {
        n = n->next;
    }
    return n;
}

/* Without memory the table stays as it is: its chains get longer, nothing else. */
static void
grow(struct ktab *t)
{
    size_t old = t->mask + 1;
    struct ktab_node **buckets = mem_alloc_array(old * 2, sizeof(struct ktab_node *));
    if (buckets == NULL) {
        return;
    }
    struct ktab_node **from = t->buckets;
    t->buckets = buckets;
    t->mask = old * 2 - 1;
    for (size_t i = 0; i < old; i++) {
        struct ktab_node *n = from[i];
        while (n != NULL) {
            struct ktab_node *next = n->next;
            struct ktab_node **b = bucket_of(t, n->key);
            n->next = *b;
            *b = n;
            n = next;
        }
    }
    mem_free(from);
}

void *
ktab_get(struct ktab *t, uint64_t key, bool *created)
{
    struct ktab_node *n = ktab_find(t, key);
    *created = false;
    if (n != NULL) {
        return n;
    }
    n = t->spare;
    if (n != NULL) {
        t->spare = n->next;
        t->spares--;
        memset(n, 0, t->node_size);
    } else {
        n = mem_alloc(t->node_size);
        if (n == NULL) {
            return NULL;
        }
    }
    if (t->count > 2 * t->mask) {
        grow(t);
    }
    struct ktab_node **b = bucket_of(t, key);
    n->key = key;
    n->next = *b;
    *b = n;
    t->count++;
    *created = true;
    return n;
}

void
ktab_del(struct ktab *t, void *node)
{
    struct ktab_node *n = node;
    struct ktab_node **at = bucket_of(t, n->key);
    while (*at != n) {
        ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = n->next;
    t->count--;
    if (t->spares >= MAX_SPARES) {
        mem_free(n);
        return;
    }
    n->next = t->spare;
    t->spare = n;
    t->spares++;
}
