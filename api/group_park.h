/* SPDX-License-Identifier: Apache-2.0 */
/* What is parked, and its places in all lists. Private to group*.c; all functions are called with
 * the groups' lock held. */
#ifndef API_GROUP_PARK_H
#define API_GROUP_PARK_H

#include "api/group_priv.h"

/* Guarded by the groups' lock. What a drain knows of the entry it has in hand, which it may not
 * touch once that is in the queue. On the stack of the drain. */
struct group_hand {
    struct list_node node;       /* groups.hands */
    struct group_bucket *bucket; /* borrowed: it does not go while DRAINING */
    struct group_room *room;     /* borrowed: of the entry */
    const struct group_ops *ops; /* borrowed: of the entry */
    struct group_key *key;       /* borrowed: counts the entry; or NULL */
    struct group_owner *own;     /* borrowed: counts the entry; or NULL */
    struct group_age age;        /* in the entry's place */
    uint64_t owner;
    int64_t due; /* as the entry's */
    size_t bytes;
    bool gone; /* its owner left meanwhile */
};

/* The parked entry ends without being let in: out of all lists and counters. */
void group_unpark(struct groups *gs, struct group_entry *e, enum group_why why);
/* Out of all lists, but it is still counted. */
void group_unlink(struct groups *gs, struct group_entry *e);
/* Back to where it was. */
void group_relink(struct groups *gs, struct group_entry *e, struct group_hand *h);
/* No longer counted. */
void group_settle(struct groups *gs, struct group_bucket *b, const struct group_hand *h);
/* When it is cancelled for being parked too long; INT64_MAX: never. */
int64_t group_cancel_at(const struct groups *gs, const struct group *g, int64_t since);

#endif
