/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an apiq, shared by the apiq_*.c files. Private to queue/. All functions here are
 * called with the lock held. */
#ifndef QUEUE_APIQ_PRIV_H
#define QUEUE_APIQ_PRIV_H

#include <pthread.h>

#include "queue/apiq_conf.h"
#include "queue/apiq_view.h"
#include "queue/heavy.h"
#include "queue/meter.h"

/* Items that live equally long stand together, by arrival, so that the head of each class is the
 * first of it to expire (within a factor of two where deadlines are the items' own). */
#define DUE_LEVEL   0u /* the level's deadline */
#define DUE_NEVER   1u
#define DUE_OWN     2u /* its own: from here on one class for each octave of time left */
#define DUE_CLASSES 64u
/* So many flows that have left are remembered, and so many turns are owed to one at most. */
#define LEFT_FLOWS 16u
#define OWED_MAX   16u

/* A flow that had nothing more to wait: what it is owed when it comes back. */
struct apiq_left {
    bool used;
    uint64_t flow;
    double at; /* the level's `rounds` when it left */
    unsigned owed;
};

/* Guarded by the queue's lock. */
struct apiq_lv {
    struct apiq_conf conf;
    struct ktab flows;
    struct heavy heavy;
    struct list_node turns; /* flows with runnable items, the one whose turn it is first */
    uint64_t turns_weight;  /* of the flows in `turns` */
    double rounds;          /* that their turns have gone round: a pull is 1 / turns_weight */
    struct apiq_left left[LEFT_FLOWS];
    unsigned left_next;
    uint64_t due_used; /* which of due[] are not empty */
    struct list_node due[DUE_CLASSES];
    size_t runnable;
    uint64_t departed;  /* see apiq_departed */
    unsigned passed;    /* pulls of upper levels since one of this, while it could run something */
    int64_t late_until; /* late items have come in lately: until then. See apiq_late.c */
    int64_t hold_from;  /* while they do, from then */
    int64_t hold_until; /* to then they are held */
    struct meter meter;
    struct apiq_level_stats st;
};

/* Guarded by the queue's lock. Exists while an item of that key waits, runs or is pending. */
struct apiq_key {
    struct ktab_node node;
    struct list_node waiting; /* by arrival: key_node */
    bool busy;                /* one of it runs or is pending */
};

/* Guarded by the queue's lock. Exists while an item of that owner waits. */
struct apiq_owner {
    struct ktab_node node;
    struct list_node waiting; /* owner_node */
};

/* Guarded by `lock`. */
struct apiq {
    pthread_mutex_t lock;
    pthread_cond_t wake[2]; /* by lane */
    unsigned idle[2];       /* sleepers by lane */
    unsigned woken[2];      /* of these, those that were signalled and have not come up yet */
    unsigned timed;         /* sleepers, of both lanes, that look again after a while */
    struct clock clk;
    unsigned slots;
    unsigned busy; /* RUNNING items of the lower levels */
    bool closed;
    unsigned expired_row; /* expired items given out since one to be run */
    size_t depth;         /* of all levels */
    uint64_t seq;
    struct ktab keys;
    struct ktab owners;
    struct apiq_lv lv[APIQ_LEVELS];
};

/* apiq_link.c: an item's place in all lists. */

/* ST_NOMEM: nothing changed. */
enum status apiq_link(struct apiq *q, struct apiq_item *it, int64_t now) MUST_CHECK;
/* Takes a waiting item out of everything; the next one of its order key becomes runnable, unless
 * the item is to run. Its state is the caller's to set. */
void apiq_unlink(struct apiq *q, struct apiq_item *it, bool to_run);
/* The running item's order key is free for the next. */
void apiq_key_release(struct apiq *q, struct apiq_item *it);
/* The order in force of the flow and its level, after anything it depends on has changed. */
void apiq_judge(struct apiq_lv *lv, struct apiq_flow *f, int64_t now);
/* What the level has served in a second lately; 0: not known. */
double apiq_rate(const struct apiq_lv *lv, int64_t now);
/* An item that has expired, or NULL. Looks at the first of each class only. */
struct apiq_item *apiq_find_expired(struct apiq *q, int64_t now);
/* Ends waiting items of the level until its limits hold; never `keep` (or NULL). */
void apiq_evict(struct apiq_lv *lv, struct apiq *q, const struct apiq_item *keep,
                struct list_node *fallen);
/* Ends a waiting item as cancelled; it is appended to `out`, if that is not NULL. */
void apiq_drop_cancelled(struct apiq *q, struct apiq_item *it, struct list_node *out);

/* apiq_late.c */

/* A late item has come in. */
void apiq_note_late(struct apiq_lv *lv, int64_t late_ns, int64_t now);
/* True while late items have come in for a while and are held; not longer than twice adaptive_wait,
 * nor than the first was late. Not with more than HOLD_FLOWS flows, to keep the cost constant. */
bool apiq_holds_late(const struct apiq *q, const struct apiq_lv *lv);
/* The first flow of which something may be run all the same: it is no crowd, or flow_prompt (and
 * nothing else) may be. NULL: none. */
struct apiq_flow *apiq_unheld(const struct apiq_lv *lv);
bool apiq_is_crowded(const struct apiq_flow *f);
/* True if nothing of the level is to be run while late items come in: all of it came late and is
 * held, or is stale. Not with more than HOLD_FLOWS flows. */
bool apiq_is_held(const struct apiq *q, const struct apiq_lv *lv);
/* How long a timed sleeper sleeps: `usual`, or less where a hold may end. */
int64_t apiq_next_look(const struct apiq *q, int64_t now, int64_t usual);

/* apiq_wait.c */

/* True if a puller would get something to run of this level. patient: a sleeper, who looks again
 * after a while; else held items count too. */
bool apiq_level_servable(const struct apiq *q, enum apiq_level level, bool patient);
/* Unlocks, and wakes sleepers as the state asked for: the unlock after each change. */
void apiq_unlock_kick(struct apiq *q);

/* apiq.c */
enum status apiq_pull_locked(struct apiq *q, enum apiq_lane lane, bool patient,
                             struct apiq_item **out);

#endif
