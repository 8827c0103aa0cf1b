/* SPDX-License-Identifier: Apache-2.0 */
/* Which groups there are, while requests run and wait; and what an operator sees of them. Any
 * thread. */
#ifndef API_GROUP_ADMIN_H
#define API_GROUP_ADMIN_H

#include "api/group.h"
#include "api/group_conf.h"
#include "queue/apiq_view.h"

#define GROUP_BUCKET_LEN 96

enum group_source { GROUP_FROM_CONFIG, GROUP_FROM_API };

/* Replaces all groups of that source by these, in their order; those of the configuration come
 * first. A group of the same name goes on with its counters and with what runs and waits; what
 * waits in one that goes is let in. All, or nothing: ST_NOMEM; ST_FULL: more than GROUPS_MAX;
 * ST_CLOSED. Of two groups of one name, that of the configuration is in force. */
enum status groups_set(struct groups *gs, enum group_source source, const struct group_conf *conf,
                       size_t n) MUST_CHECK;
/* Changes one that is there, until it is set again. ST_NOTFOUND, ST_NOMEM. */
enum status groups_update(struct groups *gs, const struct group_conf *conf) MUST_CHECK;
/* For all groups that have none of their own; 0: none. */
void groups_set_cancel_after(struct groups *gs, int64_t ns);

struct group_counts {
    uint64_t total_admitted, total_released; /* permits */
    uint64_t total_queued;                   /* parked */
    uint64_t total_queue_rejections;         /* refused: parking full or off; displaced */
    uint64_t total_displaced;                /* of those: had been parked */
    uint64_t total_cancelled;                /* ended while parked, otherwise */
    uint64_t total_throttled;                /* arrived over the limit */
    uint64_t total_would_throttle;           /* … in mode monitor */
    uint64_t queue_wait_count;               /* let in from the parking */
    int64_t wait_ns, wait_max_ns;            /* of those */
    uint64_t queued_current, queued_bytes, queue_peak;
    uint64_t running;
};

struct group_info {
    struct group_conf conf;
    enum group_source source;
    struct group_counts counts;
    size_t buckets;        /* that run or park something */
    int64_t oldest_age_ns; /* of what is parked */
};
struct group_bucket_info {
    enum group_attribute attribute; /* that of the group may have changed since */
    char name[GROUP_BUCKET_LEN];    /* the value of the attribute */
    char account[GROUP_BUCKET_LEN]; /* "": the whole group */
    struct group_counts counts;
};

/* Group i in the order of matching; false: there are not so many. */
bool groups_at(struct groups *gs, size_t i, struct group_info *out);
/* ST_NOTFOUND. */
enum status groups_find(struct groups *gs, const char *name, struct group_info *out) MUST_CHECK;
/* The buckets that have most parked, then some of those that run or ran lately. Returns how
 * many. */
size_t groups_buckets(struct groups *gs, const char *name, struct group_bucket_info *out,
                      size_t max);

struct groups_totals {
    uint64_t groups;
    uint64_t parked, running;
    int64_t oldest_age_ns;
    uint64_t swept_cancelled, swept_admitted; /* what the backstop found; 0 in normal running */
};
void groups_totals(struct groups *gs, struct groups_totals *out);

/* The backstop, once a second: ends what is due, and lets in what a completion has missed. Counts
 * what it finds. Then groups_drain. */
void groups_sweep(struct groups *gs);

struct group_parked_info {
    struct apiq_item_info item; /* level: of its room; left_ns: until its own deadline */
    char group[GROUP_NAME_MAX + 1];
    char gate[GROUP_NAME_MAX + 1]; /* ""; or it goes to the queue of that gate */
};
/* What of the parked is meant; NULL: any. */
struct group_pick {
    struct apiq_match match; /* its tag is not looked at; levels: only those of the plane's queue */
    const char *group;
    const char *gate;
};
/* What is meant, without the first `offset`: group by group, the oldest first; *max: how many fit,
 * then how many were copied. Returns how many are meant in all. Walks what is parked under the
 * lock: for operators. */
size_t groups_list(struct groups *gs, const struct group_pick *pick, size_t offset,
                   struct group_parked_info *out, size_t *max);
/* Ends them (GROUP_OPERATOR). Returns how many. */
size_t groups_cancel_match(struct groups *gs, const struct group_pick *pick);

#endif
