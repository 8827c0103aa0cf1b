/* SPDX-License-Identifier: Apache-2.0 */
/* What waits in an apiq: one entry, embedded in the caller's request, so that neither push nor
 * pull allocates for it. */
#ifndef QUEUE_ITEM_H
#define QUEUE_ITEM_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/list.h"

/* Upper levels first. The names say what they are meant for; the queue treats all alike, except
 * that APIQ_OPERATOR is the level of the lane of that name and takes no slot. */
enum apiq_level { APIQ_OPERATOR, APIQ_NORMAL, APIQ_INFO, APIQ_LEVELS };

/* Where an item is. Changes only under the queue's lock. */
enum apiq_state {
    APIQ_IDLE,      /* not pushed yet: the caller's */
    APIQ_WAITING,   /* in the queue */
    APIQ_RUNNING,   /* pulled, and not yet ended with apiq_done */
    APIQ_PENDING,   /* as RUNNING, but holds no slot (apiq_defer) */
    APIQ_ENDED,     /* done, evicted, expired, cancelled or fallen out at the close: the caller's */
    APIQ_CANCELLED, /* cancelled before it was pushed: its push will say so */
};

/* Guarded by the queue's lock from apiq_push on until the item has ended; before and after, it is
 * the caller's.
 * The part above `link` is set by the caller between apiq_item_init and apiq_push and must not
 * change until the item has ended; the part below is the queue's. `flow`, `order_key` and `owner`
 * are any 64-bit names (ids, hashes, addresses): the queue only compares them. */
struct apiq_item {
    enum apiq_level level;
    uint32_t weight;    /* share of its flow among the flows of the level; 0 counts as 1 */
    uint64_t flow;      /* who it is for (an account): flows take turns */
    uint64_t order_key; /* != 0: runs after all earlier ones of that key have ended */
    uint64_t owner;     /* != 0: apiq_cancel_owner finds it (a connection) */
    uint64_t id;        /* for lists and cancelling by id; the queue does not check it */
    uint64_t tag;       /* the caller's; lists and cancelling can ask for it (a group) */
    size_t bytes;       /* what it counts against the limit in bytes */
    int64_t arrived_ns; /* when its own deadline began; 0: at the push */
    int64_t late_ns;    /* how long it lay unread before the push (after a standstill): counts as
                           waiting */
    int64_t
        deadline_ns;   /* > 0: its own, from arrived_ns; 0: the level's, from the push; < 0: none */
    const char *label; /* borrowed: valid as long as the item; what it is (a subject), or NULL */
    const char *name;  /* borrowed: valid as long as the item; who it is for, or NULL */

    struct list_node link; /* the caller's, but in a list of fallen items */

    enum apiq_state state;
    uint8_t ready;     /* which list of its flow `ready_node` is in; 0: none, it is blocked */
    uint8_t due_class; /* which list of its level `due_node` is in */
    int64_t
        pushed_ns; /* when it came in, less late_ns; the age of a waiting item counts from here */
    int64_t pulled_ns;     /* when it was pulled to be run */
    uint64_t seq;          /* order of arrival in the queue */
    struct apiq_flow *fl;  /* borrowed: lives while anything of it waits */
    struct apiq_key *key;  /* borrowed: lives while anything of it waits or runs; or NULL */
    struct apiq_owner *ow; /* borrowed: lives while anything of it waits; or NULL */
    struct list_node flow_node;
    struct list_node ready_node;
    struct list_node key_node;
    struct list_node due_node;
    struct list_node owner_node;
};

/* Zeroes it: level APIQ_OPERATOR must be replaced by what is meant. Also makes an ended item ready
 * to be pushed again (which then is a new push like any other, with the limits of one). */
static inline void
apiq_item_init(struct apiq_item *it)
{
    *it = (struct apiq_item){.state = APIQ_IDLE};
}

/* The next item of a list of fallen ones, unlinked; NULL when it is empty. */
struct apiq_item *apiq_fallen_pop(struct list_node *fallen);

#endif
