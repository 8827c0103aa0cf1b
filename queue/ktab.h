/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from 64-bit keys to nodes of one size, which it allocates. Some removed nodes are
 * kept for the next use, so that a key that comes and goes costs no allocation. Not thread-safe. */
#ifndef QUEUE_KTAB_H
#define QUEUE_KTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

/* First member of what is kept in a table. */
struct ktab_node {
    struct ktab_node *next; /* borrowed: the table's, or NULL */
    uint64_t key;
};

/* Guarded by whoever owns it. */
struct ktab {
    struct ktab_node **buckets; /* owned */
    size_t mask;
    size_t count;
    size_t node_size;
    struct ktab_node *spare; /* owned: removed nodes for the next use */
    size_t spares;
};

/* ST_NOMEM. node_size: of the struct that begins with a ktab_node. */
enum status ktab_init(struct ktab *t, size_t node_size) MUST_CHECK;
/* The table must be empty. */
void ktab_fini(struct ktab *t);

/* The node of that key; where there is none, a new one, zeroed but for its key, with *created
 * true. NULL: out of memory. The node is the table's until ktab_del. */
void *ktab_get(struct ktab *t, uint64_t key, bool *created) MUST_CHECK;
/* NULL if there is none. */
void *ktab_find(const struct ktab *t, uint64_t key);
/* Takes a node of this table. */
void ktab_del(struct ktab *t, void *node);

#endif
