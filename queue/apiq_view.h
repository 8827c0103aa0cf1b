/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator sees of an apiq: counters, the heaviest flows, the waiting items; and
 * cancelling by what is seen. Everything is copied out under the lock. Any thread. */
#ifndef QUEUE_APIQ_VIEW_H
#define QUEUE_APIQ_VIEW_H

#include "queue/apiq.h"

/* Bucket i counts waits of at most 2^i microseconds (and more than the one before); the last one
 * counts all above. */
#define APIQ_WAIT_BUCKETS 28

/* pushed = pulled + evicted + expired + cancelled + leftover + depth, and
 * pulled = done + running + pending, in each snapshot. Times in ns. Counters since apiq_new. */
struct apiq_level_stats {
    size_t depth; /* waiting now, with the blocked ones */
    size_t blocked;
    size_t bytes;
    size_t peak; /* greatest depth */
    size_t flows;
    unsigned running;
    unsigned pending;
    int64_t oldest_age_ns; /* of what waits; 0: nothing */
    uint64_t pushed, pulled, done, evicted, expired, cancelled, leftover;
    uint64_t refused;                 /* pushes that failed with ST_FULL, ST_EXPIRED or ST_NOMEM */
    uint64_t aged;                    /* pulls that took an old one under newest first */
    uint64_t wait[APIQ_WAIT_BUCKETS]; /* from push to pull, of what was pulled to run */
    int64_t wait_sum_ns, wait_max_ns;
    bool newest_first;    /* the order in force: at least one flow is served newest first */
    size_t newest_flows;  /* how many */
    int64_t order_since;  /* clock time of the last change of newest_first, or of apiq_new */
    uint64_t switches;    /* changes of newest_first */
    int64_t median_ns;    /* service time, recent; 0: none known. Within 1/4 */
    double drain_per_sec; /* completions a second while something waits, recent; 0: not known */
};

struct apiq_stats {
    int64_t now; /* clock time of the snapshot */
    unsigned slots;
    bool closed;
    struct apiq_level_stats level[APIQ_LEVELS];
};
void apiq_stats(struct apiq *q, struct apiq_stats *out);

/* How long until what waits in the level is served at the recent rate, in ns; 0: nothing waits or
 * no rate is known. Cheap: for the retry hint of a refusal. */
int64_t apiq_drain_ns(struct apiq *q, enum apiq_level level);

struct apiq_flow_info {
    uint64_t flow;
    size_t depth, bytes;
    int64_t oldest_age_ns;
    bool newest_first;
    char name[64]; /* `name` of its oldest item, cut */
};
/* Up to max flows of a level, those with the most entries first. Returns how many. */
size_t apiq_top_flows(struct apiq *q, enum apiq_level level, struct apiq_flow_info *out,
                      size_t max);

struct apiq_item_info {
    uint64_t id, flow, order_key, owner, tag;
    enum apiq_level level;
    bool blocked; /* an earlier one of its order key waits or runs */
    size_t bytes;
    int64_t age_ns;
    int64_t left_ns; /* until its deadline; INT64_MAX: none */
    char label[256]; /* cut */
    char name[64];   /* cut */
};

/* Which items: those that agree in every field that is not 0. */
struct apiq_match {
    uint64_t id, flow, owner, tag;
    unsigned levels; /* bits 1u << level; 0: all */
};

/* The waiting items that match, without the first `offset` of them: level by level, flow by flow,
 * in the order of arrival within a flow. *total (or NULL): how many match in all. Returns how many
 * were copied, at most max. Walks what waits under the lock: for operators, not for each
 * request. */
size_t apiq_list(struct apiq *q, const struct apiq_match *match, size_t offset,
                 struct apiq_item_info *out, size_t max, size_t *total);

/* Cancels at most max waiting items that match and appends them to `out`; returns how many.
 * Walks as apiq_list. */
size_t apiq_cancel_match(struct apiq *q, const struct apiq_match *match, size_t max,
                         struct list_node *out);

#endif
