/* SPDX-License-Identifier: Apache-2.0 */
/* Letting in what is parked. A bucket with something parked and a permit free is READY and waits
 * for its turn; a drain takes its first entry in hand, offers it to the queue without a lock, and
 * judges the bucket anew. Where the queue has no room the entry goes back to its place and the
 * bucket is BLOCKED until something leaves the queue (groups_room).
 *
 * No wake-up is lost: whoever makes a bucket READY drains afterwards; and who makes one BLOCKED
 * looks once more at what has left the queue since before the offer. */
#include "api/group.h"
#include "api/group_park.h"
#include "api/group_turn.h"
#include "server/base/assert.h"

/* Takes the first of the bucket whose turn it is in hand. NULL: no bucket is READY. */
static struct group_entry *
take(struct groups *gs, struct group_hand *h)
{
    if (list_is_empty(&gs->turns)) {
        return NULL;
    }
    struct group_bucket *b = LIST_ENTRY(gs->turns.next, struct group_bucket, turn);
    struct group_entry *e = LIST_ENTRY(b->parked.next, struct group_entry, node);
    group_turn(gs, b, BUCKET_DRAINING, NULL);
    *h = (struct group_hand){.bucket = b,
                             .room = e->room,
                             .ops = e->ops,
                             .key = e->key,
                             .own = e->own,
                             .owner = e->owner,
                             .due = e->due,
                             .bytes = e->bytes,
                             .age = {.since = e->age.since, .in_hand = true}};
    list_insert_after(&e->age.node, &h->age.node);
    group_unlink(gs, e);
    list_push_back(&gs->hands, &h->node);
    GROUP_COUNT(b, running);
    GROUP_COUNT(b, total_admitted);
    e->permit = b;
    return e;
}

static void
note_wait(struct group_counts *n, int64_t wait)
{
    n->wait_ns += wait;
    n->wait_max_ns = wait > n->wait_max_ns ? wait : n->wait_max_ns;
}

/* It is in the queue, or has ended on its way. */
static void
let_in(struct groups *gs, struct group_hand *h)
{
    struct group_bucket *b = h->bucket;
    int64_t wait = clock_now(&gs->clock) - h->age.since;
    list_remove(&h->age.node);
    group_settle(gs, b, h);
    GROUP_COUNT(b, queue_wait_count);
    note_wait(&b->n, wait);
    note_wait(&b->group->n, wait);
    gs->swept_admitted += b->is_probed ? 1 : 0;
    b->is_probed = false;
    group_turn(gs, b, BUCKET_REST, NULL);
    group_judge(gs, b);
}

/* Why what a drain has in hand does not go back to its place; false: it does. */
static bool
is_over(const struct groups *gs, const struct group_hand *h, enum group_why *why)
{
    *why = h->gone ? GROUP_GONE : gs->closed ? GROUP_CLOSED : GROUP_ROOM_GONE;
    return h->gone || gs->closed || h->room->closed;
}

/* There was no room: back to its place; or, if its owner left or all ends, out. True: out. */
static bool
take_back(struct groups *gs, struct group_hand *h, struct group_entry *e, enum group_why *why)
{
    struct group_bucket *b = h->bucket;
    e->permit = NULL;
    b->n.running--;
    b->group->n.running--;
    b->n.total_admitted--;
    b->group->n.total_admitted--;
    group_relink(gs, e, h);
    group_turn(gs, b, BUCKET_BLOCKED, h->room);
    b->is_probed = false;
    if (is_over(gs, h, why)) {
        group_unpark(gs, e, *why);
        return true;
    }
    group_judge(gs, b);
    return false;
}

/* What has become of the entry in hand. True: its owner left and it is in the queue. */
static bool
conclude(struct groups *gs, struct group_hand *h, struct group_entry *e, enum status st)
{
    bool out = false;
    enum group_why why;
    pthread_mutex_lock(&gs->lock);
    list_remove(&h->node);
    if (st == ST_OK) {
        let_in(gs, h);
    } else {
        out = take_back(gs, h, e, &why);
    }
    pthread_mutex_unlock(&gs->lock);
    if (out) {
        e->ops->drop(e, why);
    }
    return st == ST_OK && h->gone;
}

/* False: no bucket is READY. */
static bool
let_one_in(struct groups *gs)
{
    struct group_hand h;
    pthread_mutex_lock(&gs->lock);
    struct group_entry *e = take(gs, &h);
    pthread_mutex_unlock(&gs->lock);
    if (e == NULL) {
        return false;
    }
    /* NB: what is in hand keeps its room; once it is offered, only we do. */
    if (h.ops->keep != NULL) {
        h.ops->keep(h.room);
    }
    uint64_t before = apiq_departed(h.room->queue, h.room->level);
    enum status st = h.ops->offer(e);
    if (conclude(gs, &h, e, st)) {
        h.ops->chase(h.room, h.owner);
    }
    /* After one there may be room for another. */
    if (st == ST_OK || apiq_departed(h.room->queue, h.room->level) != before) {
        groups_room(gs, h.room);
    }
    if (h.ops->unkeep != NULL) {
        h.ops->unkeep(h.room);
    }
    return true;
}

bool
groups_drain(struct groups *gs, unsigned max)
{
    for (unsigned i = 0; i < max; i++) {
        if (atomic_load(&gs->n_ready) == 0 || !let_one_in(gs)) {
            return false;
        }
    }
    return atomic_load(&gs->n_ready) > 0;
}

void
groups_room(struct groups *gs, struct group_room *room)
{
    if (atomic_load(&room->n_blocked) == 0) {
        return;
    }
    pthread_mutex_lock(&gs->lock);
    group_wake(gs, room);
    pthread_mutex_unlock(&gs->lock);
}

/* ---- what is due --------------------------------------------------------------------------------
 */

/* Ends parked entries whose own deadline has passed. */
static void
take_expired(struct groups *gs, int64_t now, unsigned *budget, struct list_node *out)
{
    struct wheel_node *n;
    while ((n = wheel_pop(&gs->due, now, budget)) != NULL) {
        struct group_entry *e = LIST_ENTRY(n, struct group_entry, due_node);
        group_unpark(gs, e, GROUP_DEADLINE);
        list_push_back(out, &e->node);
    }
}

/* When to look again for one that a drain has in hand now and may put back: it must not be
 * forgotten because nobody saw it while it was in hand. */
static int64_t
look_again(int64_t due, int64_t now)
{
    return due > now ? due : now + WHEEL_TICK;
}

static int64_t
next_in_hand(const struct groups *gs, int64_t now)
{
    int64_t next = INT64_MAX;
    for (const struct list_node *n = gs->hands.next; n != &gs->hands; n = n->next) {
        const struct group_hand *h = LIST_ENTRY(n, struct group_hand, node);
        int64_t due = h->due == 0 ? INT64_MAX : look_again(h->due, now);
        next = due < next ? due : next;
    }
    return next;
}

/* Ends what is parked for too long in one group; returns when the next is. */
static int64_t
take_old(struct groups *gs, struct group *g, int64_t now, unsigned *budget, struct list_node *out)
{
    int64_t next = INT64_MAX;
    struct list_node *at = g->ages.next;
    while (at != &g->ages) {
        struct group_age *a = LIST_ENTRY(at, struct group_age, node);
        int64_t due = group_cancel_at(gs, g, a->since);
        at = at->next;
        if (a->in_hand && due != INT64_MAX) {
            next = next < look_again(due, now) ? next : look_again(due, now);
        }
        if (a->in_hand) {
            continue;
        }
        if (due > now || *budget == 0) {
            return due < next ? due : next;
        }
        --*budget;
        struct group_entry *e = LIST_ENTRY(a, struct group_entry, age);
        group_unpark(gs, e, GROUP_CANCEL_AFTER);
        list_push_back(out, &e->node);
    }
    return next;
}

int64_t
groups_tick(struct groups *gs)
{
    struct list_node expired;
    struct list_node old;
    list_init(&expired);
    list_init(&old);
    unsigned budget = GROUP_STEP;
    pthread_mutex_lock(&gs->lock);
    int64_t now = clock_now(&gs->clock);
    take_expired(gs, now, &budget, &expired);
    int64_t next = wheel_next(&gs->due);
    int64_t in_hand = next_in_hand(gs, now);
    next = in_hand < next ? in_hand : next;
    for (struct list_node *n = gs->rules.next; n != &gs->rules; n = n->next) {
        int64_t due = take_old(gs, LIST_ENTRY(n, struct group, node), now, &budget, &old);
        next = due < next ? due : next;
    }
    pthread_mutex_unlock(&gs->lock);
    (void)groups_drop(&expired, GROUP_DEADLINE);
    (void)groups_drop(&old, GROUP_CANCEL_AFTER);
    return budget == 0 ? now : next;
}
