/* SPDX-License-Identifier: Apache-2.0 */
/* Listing and cancelling what is parked, the end of all, and the backstop. */
#include <stdio.h>
#include <string.h>

#include "api/group_admin.h"
#include "api/group_park.h"
#include "api/group_turn.h"

/* The backstop leaves what is due for less than this to who has to do it. */
#define SWEEP_GRACE CLOCK_S

static struct group *
group_of(struct list_node *n)
{
    return LIST_ENTRY(n, struct group, node);
}

/* The group behind g (NULL: the first), those that go last. NULL: there is none. */
static struct group *
next_group(struct groups *gs, struct group *g)
{
    struct list_node *n = g == NULL ? gs->rules.next : g->node.next;
    n = n == &gs->rules ? gs->zombies.next : n;
    return n == &gs->zombies ? NULL : group_of(n);
}

/* As struct group_pick says; room: only what is parked for it. */
struct choice {
    const struct group_pick *pick; /* borrowed; NULL: any */
    const struct group_room *room; /* borrowed; NULL: any */
};

static bool
is_match(const struct group_entry *e, const struct apiq_match *m)
{
    return (m->id == 0 || m->id == e->id) && (m->flow == 0 || m->flow == e->flow) &&
           (m->owner == 0 || m->owner == e->owner) &&
           (m->levels == 0 || (e->room->gate == NULL && (m->levels & 1U << e->room->level) != 0));
}

static bool
is_meant(const struct group_entry *e, const struct choice *c)
{
    const struct group_pick *p = c->pick;
    if (c->room != NULL && e->room != c->room) {
        return false;
    }
    return p == NULL ||
           (is_match(e, &p->match) &&
            (p->gate == NULL || (e->room->gate != NULL && strcmp(p->gate, e->room->gate) == 0)));
}

static bool
is_named(const struct group *g, const struct choice *c)
{
    const char *name = c->pick == NULL ? NULL : c->pick->group;
    return name == NULL || strcmp(name, g->conf.name) == 0;
}

static void
copy_entry(const struct groups *gs, const struct group_entry *e, struct group_parked_info *out)
{
    int64_t now = clock_now(&gs->clock);
    *out = (struct group_parked_info){.item = {.id = e->id,
                                               .flow = e->flow,
                                               .order_key = e->order_key,
                                               .owner = e->owner,
                                               .level = e->room->level,
                                               .bytes = e->bytes,
                                               .age_ns = now - e->age.since,
                                               .left_ns = e->due == 0 ? INT64_MAX : e->due - now}};
    (void)snprintf(out->item.label, sizeof(out->item.label), "%s", e->label);
    (void)snprintf(out->item.name, sizeof(out->item.name), "%s", e->name);
    (void)snprintf(out->gate, sizeof(out->gate), "%s", e->room->gate == NULL ? "" : e->room->gate);
    memcpy(out->group, e->bucket->group->conf.name, sizeof(out->group));
}

size_t
groups_list(struct groups *gs, const struct group_pick *pick, size_t offset,
            struct group_parked_info *out, size_t *max)
{
    const struct choice c = {.pick = pick};
    size_t seen = 0;
    size_t n = 0;
    pthread_mutex_lock(&gs->lock);
    for (struct group *g = next_group(gs, NULL); g != NULL; g = next_group(gs, g)) {
        if (!is_named(g, &c)) {
            continue;
        }
        for (struct list_node *at = g->ages.next; at != &g->ages; at = at->next) {
            struct group_age *a = LIST_ENTRY(at, struct group_age, node);
            struct group_entry *e = LIST_ENTRY(a, struct group_entry, age);
            if (a->in_hand || !is_meant(e, &c)) {
                continue;
            }
            if (seen++ >= offset && n < *max) {
                copy_entry(gs, e, &out[n++]);
            }
        }
    }
    pthread_mutex_unlock(&gs->lock);
    *max = n;
    return seen;
}

/* At most `most`, appended to out. */
static size_t
take_meant(struct groups *gs, const struct choice *c, size_t most, enum group_why why,
           struct list_node *out)
{
    size_t n = 0;
    struct group *next;
    pthread_mutex_lock(&gs->lock);
    for (struct group *g = next_group(gs, NULL); g != NULL && n < most; g = next) {
        next = next_group(gs, g); /* NB: the last entry of a zombie takes it along */
        struct list_node *at = is_named(g, c) ? g->ages.next : &g->ages;
        size_t left = g->n.queued_current;
        while (at != &g->ages && n < most && left > 0) {
            struct group_age *a = LIST_ENTRY(at, struct group_age, node);
            struct group_entry *e = LIST_ENTRY(a, struct group_entry, age);
            at = at->next;
            left--;
            if (!a->in_hand && is_meant(e, c)) {
                group_unpark(gs, e, why);
                list_push_back(out, &e->node);
                n++;
            }
        }
    }
    pthread_mutex_unlock(&gs->lock);
    return n;
}

/* Ends what is meant, at most `most`. */
static size_t
end_meant(struct groups *gs, const struct choice *c, size_t most, enum group_why why)
{
    size_t done = 0;
    size_t n;
    do {
        struct list_node out;
        list_init(&out);
        n = take_meant(gs, c, GROUP_STEP, why, &out);
        done += groups_drop(&out, why);
    } while (n > 0 && done < most);
    return done;
}

size_t
groups_cancel_match(struct groups *gs, const struct group_pick *pick)
{
    const struct choice c = {.pick = pick};
    size_t max = 0;
    /* NB: those that arrive meanwhile must not keep us here for ever. */
    size_t all = groups_list(gs, pick, 0, NULL, &max);
    return all == 0 ? 0 : end_meant(gs, &c, all, GROUP_OPERATOR);
}

void
groups_close_room(struct groups *gs, struct group_room *room)
{
    const struct choice c = {.room = room};
    pthread_mutex_lock(&gs->lock);
    room->closed = true;
    pthread_mutex_unlock(&gs->lock);
    (void)end_meant(gs, &c, SIZE_MAX, GROUP_ROOM_GONE);
}

void
groups_close(struct groups *gs)
{
    const struct choice all = {0};
    pthread_mutex_lock(&gs->lock);
    gs->closed = true;
    pthread_mutex_unlock(&gs->lock);
    (void)end_meant(gs, &all, SIZE_MAX, GROUP_CLOSED);
}

/* ---- the backstop -------------------------------------------------------------------------------
 */

static void
sweep_bucket(struct groups *gs, struct group_bucket *b)
{
    bool was_before = b->turn_sweep + 1 < gs->sweeps;
    if (b->state == BUCKET_REST && group_can_let_in(b)) {
        gs->swept_admitted++;
        group_judge(gs, b);
    } else if (b->state == BUCKET_READY && was_before) {
        gs->swept_admitted++;
        b->turn_sweep = gs->sweeps;
    } else if (b->state == BUCKET_BLOCKED && was_before && b->room->blocked.next == &b->turn) {
        struct group_room *room = b->room;
        group_turn(gs, b, BUCKET_READY, room);
        b->is_probed = true;
    }
}

/* Some buckets of group i, beginning behind those that were looked at: they go to the end of the
 * list. */
static size_t
sweep_step(struct groups *gs, size_t i, size_t looked)
{
    pthread_mutex_lock(&gs->lock);
    struct group *g = next_group(gs, NULL);
    while (g != NULL && i-- > 0) {
        g = next_group(gs, g);
    }
    size_t end = g == NULL ? 0 : g->n_buckets;
    end = end > looked + GROUP_STEP ? looked + GROUP_STEP : end;
    for (; looked < end; looked++) {
        struct group_bucket *b = LIST_ENTRY(g->buckets.next, struct group_bucket, of_group);
        list_remove(&b->of_group);
        list_push_back(&g->buckets, &b->of_group);
        if (!b->is_idle) {
            sweep_bucket(gs, b);
        }
    }
    size_t left = g == NULL ? SIZE_MAX : g->n_buckets - looked;
    pthread_mutex_unlock(&gs->lock);
    return left;
}

static void
sweep_due(struct groups *gs)
{
    struct list_node out;
    unsigned budget = GROUP_STEP;
    struct wheel_node *n;
    list_init(&out);
    pthread_mutex_lock(&gs->lock);
    gs->sweeps++;
    while ((n = wheel_pop(&gs->due, clock_now(&gs->clock) - SWEEP_GRACE, &budget)) != NULL) {
        struct group_entry *e = LIST_ENTRY(n, struct group_entry, due_node);
        group_unpark(gs, e, GROUP_DEADLINE);
        list_push_back(&out, &e->node);
        gs->swept_cancelled++;
    }
    pthread_mutex_unlock(&gs->lock);
    (void)groups_drop(&out, GROUP_DEADLINE);
}

void
groups_sweep(struct groups *gs)
{
    if (!groups_any(gs)) {
        return;
    }
    sweep_due(gs);
    size_t left = 0;
    for (size_t i = 0; left != SIZE_MAX; i++) {
        size_t looked = 0;
        do {
            left = sweep_step(gs, i, looked);
            looked += GROUP_STEP;
        } while (left != SIZE_MAX && left > 0 && left < SIZE_MAX / 2);
    }
}
