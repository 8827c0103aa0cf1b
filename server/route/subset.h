/* SPDX-License-Identifier: Apache-2.0 */
/* The subscriptions on exactly one subject: plain ones and queue groups. Part of sublist.c's
 * structures and guarded by its lock. A set with one plain member needs no memory of its own. */
#ifndef SERVER_ROUTE_SUBSET_H
#define SERVER_ROUTE_SUBSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct sub;

/* Guarded by the lock of the sublist it is in. `v` is `one` while cap is 0. */
struct subset {
    union {
        struct sub *one; /* ref */
        struct sub **v;  /* owned array, ref each */
    } u;
    uint32_t n;
    uint32_t cap;
    struct subset *groups; /* owned list of the queue groups; each all of one queue name */
    struct subset *next;   /* owned: in that list */
    struct subset *root;   /* borrowed: of a group, the set that it is in; else NULL */
};

/* Adds to the plain members or to the group of its queue. Takes a reference. */
enum status subset_add(struct subset *set, struct sub *s) MUST_CHECK;
/* Removes it from where sub->set says: root itself or one of its groups. */
void subset_remove(struct subset *root, struct sub *s);
bool subset_is_empty(const struct subset *set);
void subset_fini(struct subset *set);

static inline struct sub **
subset_members(struct subset *set)
{
    return set->cap == 0 ? &set->u.one : set->u.v;
}

#endif
