/* SPDX-License-Identifier: Apache-2.0 */
/* The waiting items of one flow of one level, and which of them goes next. Private to queue/.
 * Not thread-safe: guarded by the queue's lock. */
#ifndef QUEUE_FLOW_H
#define QUEUE_FLOW_H

#include <stdbool.h>

#include "queue/apiq_conf.h"
#include "queue/ktab.h"

enum flow_list {
    FLOW_BLOCKED, /* an earlier one of its order key waits or runs */
    FLOW_FRESH,   /* runnable since its push */
    FLOW_WOKEN,   /* runnable since an earlier one of its order key ended */
    FLOW_STALE,   /* runnable, but its client has probably left */
};

/* Guarded by the queue's lock. Exists while anything of it waits. */
struct apiq_flow {
    struct ktab_node node;
    struct list_node all;   /* by age: flow_node */
    struct list_node fresh; /* by age: ready_node */
    struct list_node woken; /* nearly by arrival (see flow_wake): ready_node */
    struct list_node stale; /* by the time they became so: ready_node */
    size_t depth;
    size_t bytes;
    size_t runnable; /* in fresh, woken and stale */
    size_t n_stale;
    uint32_t weight;
    uint32_t turns;       /* pulls left in its turn */
    uint32_t turn_weight; /* what it counts among the flows that take turns */
    uint32_t owed; /* turns that passed while it had nothing, and that it takes beside its own */
    bool newest_first;
    unsigned since_aged;        /* pulls under newest first since one tried an old item */
    int64_t catching_up;        /* until then, after a standstill; 0: not */
    struct list_node *late;     /* borrowed: in all, where the last late item stands, or its head */
    struct list_node *aged;     /* borrowed: in fresh, or its head. Up to here all have too little
                                 * time left for an aged pull */
    struct list_node turn_node; /* in its level's turns, while runnable > 0 */
    struct list_node depth_node; /* heavy.h */
    struct list_node bytes_node;
    struct heavy_group *group; /* borrowed: heavy.h frees it after the last flow has left */
    unsigned bytes_class;
};

/* What the choice depends on. */
struct flow_rule {
    const struct apiq_conf *conf; /* borrowed: for the call */
    int64_t now;
    int64_t median_ns; /* service time; 0: not known */
    int64_t ahead_ns;  /* how long it will take to serve what waits; 0: not known */
};

/* A zeroed flow becomes an empty one. */
void flow_init(struct apiq_flow *f);

/* The new item goes to the end; a late one (late_ns) to its place by age, which is looked for in so
 * many steps. One that lay unread for half the adaptive bound or more has the flow catch up. */
void flow_add(struct apiq_flow *f, struct apiq_item *it, bool runnable,
              const struct apiq_conf *conf);
void flow_remove(struct apiq_flow *f, struct apiq_item *it);
/* A blocked item becomes runnable. */
void flow_wake(struct apiq_flow *f, struct apiq_item *it);

/* Sets newest_first by the discipline and the age of the oldest runnable item that is not stale.
 * Under adaptive, an item without a deadline of its own that has waited twice adaptive_wait (what
 * its client is presumed to wait) is stale: it goes when nothing else of the flow is runnable. */
void flow_judge(struct apiq_flow *f, const struct flow_rule *rule);

/* The next item will be taken for its age, if one has the time: median_ns is wanted. */
bool flow_wants_aged(const struct apiq_flow *f, const struct flow_rule *rule);

/* The runnable item that is next, and *aged: it was taken for its age. runnable > 0. */
struct apiq_item *flow_next(struct apiq_flow *f, const struct flow_rule *rule, bool *aged);

/* The newest runnable item, where it did not come late; else NULL. */
struct apiq_item *flow_prompt(struct apiq_flow *f);

/* NULL: empty. */
struct apiq_item *flow_oldest(const struct apiq_flow *f);

/* The oldest item but `keep` (which may be NULL); NULL: there is none. */
struct apiq_item *flow_victim(const struct apiq_flow *f, const struct apiq_item *keep);

/* True if enough time is left that the run will not have been in vain. */
bool flow_has_time(const struct apiq_item *it, const struct flow_rule *rule);

/* Whether an item that comes late would be stale when it is pushed. */
bool flow_is_stale_at_once(const struct apiq_item *it, const struct apiq_conf *conf);

/* When the item expires; INT64_MAX: never. */
int64_t flow_due(const struct apiq_item *it, const struct apiq_conf *conf);

#endif
