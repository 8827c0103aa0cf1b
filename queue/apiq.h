/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded priority queue that stays useful under overload: levels, fair between flows, oldest-
 * or newest-first by the age of what waits, deadlines, order keys, eviction of the oldest.
 *
 * Every item that was pushed (ST_OK) ends in exactly one of these ways, and is the caller's then:
 *   run        apiq_pull gave ST_OK; the caller ends it with one apiq_done
 *   expired    apiq_pull gave ST_EXPIRED: past its deadline, never to be run
 *   evicted    it came back in a `fallen` list of apiq_push or apiq_configure
 *   cancelled  apiq_cancel gave ST_OK, or it came back from another apiq_cancel_*
 *   left over  apiq_pull gave ST_CANCELLED after apiq_close
 * Whoever receives it answers it. An item whose push failed was never in the queue.
 *
 * Any thread may call anything. The lock is inside, nothing is called back under it, and all but
 * the listings of apiq_view.h and apiq_cancel_match take constant time in what waits.
 *
 * Order. Levels: the uppermost that has something runnable, but each lower one that is passed over
 * gets one pull in `min_share`. In a level, flows take turns, `weight` pulls each; one that comes
 * back first takes turns that it let pass, up to 16. In a flow, the level's discipline: oldest
 * first, newest first, or adaptive: oldest first until the oldest runnable item has waited the
 * bound: adaptive_age of its deadline or adaptive_wait, whichever is earlier; or what waits would
 * take twice that long at the recent rate. Then newest first until both are below half of this.
 * Under adaptive, one without a deadline of its own that has waited twice adaptive_wait is stale:
 * its client has probably left, so it is run when nothing else of its flow is runnable. While late
 * items come in, sleepers run none that is stale and, for twice adaptive_wait, no late crowd.
 * For six bounds after a standstill (an item came late by half a bound or more), newest first
 * becomes the oldest that has the time (as for aged_share): the load before it was served.
 * An item with an order key is runnable when no earlier one of its key waits or runs; until then it
 * blocks nobody, counts against the limits, and can expire, be evicted and be cancelled.
 *
 * Age. What is run is never older than its deadline, in any order. Under newest first, one pull in
 * `aged_share` of a flow takes the oldest that still has max(deadline / 4, 4 x the median service
 * time) left, where twice adaptive_wait stands for a longer deadline that is not the item's own
 * (its client may well have left before that); so a runnable item without a deadline, with n older
 * ones in its flow, is run within aged_share x (n + 1) pulls of its flow. Oldest first at less than
 * capacity, an item is run when it has waited the adaptive bound plus one service time, or before.
 *
 * Full. A push over a limit puts out the oldest item of the flow that holds most, never the pushed
 * one: exactly one for the limit in entries, as few as make room for the limit in bytes (where the
 * heaviest flow is found within 1/8). Late items: see apiq_refuses_late. */
#ifndef QUEUE_APIQ_H
#define QUEUE_APIQ_H

#include <stdatomic.h>
#include <stdbool.h>

#include "queue/item.h"
#include "server/base/clock.h"
#include "server/base/status.h"

struct apiq;
/* What a puller may run. Expired and left-over items come out on every lane. */
enum apiq_lane {
    APIQ_LANE_ANY,      /* every level */
    APIQ_LANE_OPERATOR, /* the operator level only */
};
/* With the defaults of apiq_conf.h. slots: how many items of the lower levels may be RUNNING at
 * once; 0: no bound but the pullers'. The clock is copied, its arg borrowed. ST_NOMEM. */
enum status apiq_new(struct apiq **out, const struct clock *clk, unsigned slots) MUST_CHECK;

/* Nothing may wait or run, and no thread may be in it. NULL is allowed. */
void apiq_free(struct apiq *q);

/* Queues the item. fallen: an initialised list; evicted items are appended to it (on their `link`)
 * and are the caller's, who answers them after the call.
 * On any error the item was not queued and is the caller's:
 *   ST_FULL       it alone is over the limit of its level (a limit of 0 refuses all)
 *   ST_EXPIRED    its deadline has passed already
 *   ST_CANCELLED  apiq_cancel came first
 *   ST_CLOSED     after apiq_close; ST_NOMEM */
enum status apiq_push(struct apiq *q, struct apiq_item *it, struct list_node *fallen) MUST_CHECK;

/* As apiq_push, but puts nothing out: ST_AGAIN where there is no room now, and the item is as it
 * was. Room may have come when apiq_departed differs from what it was before the offer. */
enum status apiq_offer(struct apiq *q, struct apiq_item *it) MUST_CHECK;
/* True if an item that comes so late is not worth a push: its level is full of its flow, and it
 * would be stale at once, or pushed out by what is newer and on its way. */
bool apiq_refuses_late(struct apiq *q, enum apiq_level level, uint64_t flow, int64_t late_ns,
                       int64_t deadline_ns);
/* Counts what left the level and changes of its limits. */
uint64_t apiq_departed(struct apiq *q, enum apiq_level level);

/* Takes one item.
 *   ST_OK         run it, then apiq_done
 *   ST_EXPIRED    answer it as expired; takes no slot, no apiq_done
 *   ST_CANCELLED  the queue is closed: answer it as not executed; takes no slot, no apiq_done
 *   ST_AGAIN      nothing for this lane now (empty, blocked, no slot, too much pending); *out NULL
 *   ST_CLOSED     closed, and nothing waits any more; *out NULL
 * Without threads: pull until ST_AGAIN after each push and each apiq_done. */
enum status apiq_pull(struct apiq *q, enum apiq_lane lane, struct apiq_item **out) MUST_CHECK;

/* As apiq_pull, but sleeps instead of ST_AGAIN; ST_AGAIN means that *stop is true (set it, then
 * call apiq_wake). stop may be NULL. Needs clock_real, by which sleepers wake. */
enum status apiq_pull_wait(struct apiq *q, enum apiq_lane lane, const atomic_bool *stop,
                           struct apiq_item **out) MUST_CHECK;
void apiq_wake(struct apiq *q);

/* The run of a pulled item has ended, however it ended: frees its slot, lets the next one of its
 * order key go. Once for each ST_OK of a pull; the item is the caller's after it. */
void apiq_done(struct apiq *q, struct apiq_item *it);
/* The same before an apiq_pull_wait of the same thread: wakes no other for what that takes. */
void apiq_done_pulling(struct apiq *q, struct apiq_item *it);

/* Another thread will end the running item: gives its slot back now, keeps its order key, counts it
 * as pending (levels stop being pulled at max_pending). Before that thread can see the item. */
void apiq_defer(struct apiq *q, struct apiq_item *it);

/* The caller must know that the item's memory is still there.
 *   ST_OK        it waited; it is out and the caller's
 *   ST_AGAIN     not pushed yet: its push will give ST_CANCELLED, and the pusher answers it
 *   ST_NOTFOUND  too late: it runs or has ended otherwise */
enum status apiq_cancel(struct apiq *q, struct apiq_item *it) MUST_CHECK;

/* All that waits for this owner (not 0) is appended to `out`, in steps that let others in between;
 * returns how many. Items pushed meanwhile may or may not be among them. */
size_t apiq_cancel_owner(struct apiq *q, uint64_t owner, struct list_node *out);

/* No more pushes; sleepers wake; pulls give what is left, then ST_CLOSED. */
void apiq_close(struct apiq *q);
#endif
