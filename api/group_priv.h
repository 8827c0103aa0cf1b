/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct groups, shared by the group*.c files. All functions here are called with the
 * lock held. */
#ifndef API_GROUP_PRIV_H
#define API_GROUP_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/fullest.h"
#include "api/group.h"
#include "api/group_admin.h"
#include "queue/ktab.h"

/* Idle buckets of a group that are kept for their counters. */
#define GROUP_IDLE_MAX 64u
/* What is done under one hold of the lock. */
#define GROUP_STEP 64u

enum bucket_state {
    BUCKET_REST,     /* nothing can be let in */
    BUCKET_READY,    /* something can: in the list of turns */
    BUCKET_BLOCKED,  /* … but its room was full: in the room's list */
    BUCKET_DRAINING, /* a drain has its first in hand */
};

/* Guarded by the groups' lock. Exists while something of it is parked or holds a permit, and for a
 * while after. */
struct group_bucket {
    struct ktab_node tab;           /* key: of the group, its attribute and the value */
    struct group *group;            /* borrowed: lives as long as its buckets */
    enum group_attribute attribute; /* the group's, when it was made */
    char name[GROUP_BUCKET_LEN];
    char account[GROUP_BUCKET_LEN];
    struct list_node parked; /* node, by arrival; without the one in hand of a drain */
    enum bucket_state state;
    struct group_room *room; /* borrowed: that it is BLOCKED by, or was woken for; or NULL */
    struct list_node turn;   /* of groups.turns or of a room, or of group.idle */
    uint64_t turn_sweep;     /* the sweep after which its state changed */
    bool is_probed;          /* the sweep made it READY though it had been BLOCKED */
    struct group_counts n;   /* queued_current counts the one in hand, too */
    struct fullest_node by_entries, by_bytes;
    struct list_node of_group; /* group.buckets */
    bool is_idle;
    int64_t left_last; /* when a permit was given back while another waited for one */
    int64_t gap;       /* average time between these; 0: not known */
};

/* Guarded by the groups' lock. */
struct group {
    struct list_node node; /* groups.rules or groups.zombies */
    /* owned: the texts of the match, one behind the other, each with its NUL; the walk over the
     * groups touches these alone. */
    char *patterns;
    struct group_conf conf;
    enum group_source source;
    bool is_zombie; /* matches nothing any more; lets in what is parked */
    uint64_t id;
    struct group_counts n;
    struct list_node buckets; /* owned: all, also idle ones */
    struct list_node idle;    /* the one idle for longest first: turn */
    size_t n_buckets, n_idle;
    size_t n_parking; /* buckets with something parked */
    struct fullest by_entries, by_bytes;
    struct list_node ages; /* group_age: what is parked, the oldest first */
};

/* Guarded by the groups' lock. Exists while something of that order key is parked. */
struct group_key {
    struct ktab_node tab;
    struct group_bucket *bucket; /* borrowed: they are parked in it */
    size_t n;
};

/* Guarded by the groups' lock. Exists while something of that owner is parked. */
struct group_owner {
    struct ktab_node tab;
    struct list_node parked; /* owner_node; without what is in hand */
    size_t n;
};

/* Guarded by `lock`, but for the atomics. */
struct groups {
    pthread_mutex_t lock;
    struct clock clock;
    atomic_uint active;       /* rules and zombies */
    atomic_uint n_ready;      /* buckets in turns */
    struct list_node rules;   /* owned: by order of matching */
    struct list_node zombies; /* owned */
    size_t n_rules;
    /* The same in the order of matching: the walk over them touches little memory. */
    struct group_rule {
        const char *patterns; /* borrowed: of the group */
        struct group *group;  /* borrowed: in rules */
    } index[GROUPS_MAX];
    uint64_t generation; /* of rules; never 0 */
    struct ktab buckets, keys, owners;
    struct list_node turns;
    struct list_node hands;
    struct wheel due;
    int64_t cancel_after;
    uint64_t last_id;
    bool closed;
    uint64_t sweeps, swept_cancelled, swept_admitted;
};

/* group.c */

/* What becomes of an arrival, and its bucket (or NULL). GROUP_ADMITTED: the permit is taken;
 * GROUP_PARK, GROUP_OFF: nothing is counted yet, and the bucket is to be judged. */
enum group_verdict group_judge_arrival(struct groups *gs, const struct group_who *who,
                                       struct group_bucket **out);
/* The group of that name that is in force, or NULL. */
struct group *group_named(struct groups *gs, const char *name);
/* Counts a refusal. The bucket may be gone after it. */
void group_refuse(struct groups *gs, struct group_bucket *b, struct group_answer *out);

#define GROUP_COUNT(b, field) ((b)->n.field++, (b)->group->n.field++)

#endif
