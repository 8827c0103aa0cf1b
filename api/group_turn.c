/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_turn.h"

#include "server/base/mem.h"

void
group_drop_bucket(struct groups *gs, struct group_bucket *b)
{
    struct group *g = b->group;
    if (b->is_idle) {
        list_remove(&b->turn);
        g->n_idle--;
    }
    list_remove(&b->of_group);
    g->n_buckets--;
    ktab_del(&gs->buckets, b);
}

void
group_destroy(struct group *g)
{
    mem_free(g->patterns);
    mem_free(g);
}

void
group_reap(struct groups *gs, struct group *g)
{
    if (g->is_zombie && g->n_buckets == 0) {
        list_remove(&g->node);
        atomic_fetch_sub(&gs->active, 1);
        group_destroy(g);
    }
}

void
group_turn(struct groups *gs, struct group_bucket *b, enum bucket_state state,
           struct group_room *room)
{
    if (b->state == BUCKET_READY || b->state == BUCKET_BLOCKED) {
        list_remove(&b->turn);
        atomic_fetch_sub(b->state == BUCKET_READY ? &gs->n_ready : &b->room->n_blocked, 1);
    }
    b->state = state;
    b->room = room;
    if (state == BUCKET_READY) {
        list_push_back(&gs->turns, &b->turn);
        atomic_fetch_add(&gs->n_ready, 1);
    } else if (state == BUCKET_BLOCKED) {
        list_push_back(&room->blocked, &b->turn);
        atomic_fetch_add(&room->n_blocked, 1);
    }
    b->turn_sweep = gs->sweeps;
}

bool
group_may_admit(const struct group_bucket *b)
{
    const struct group *g = b->group;
    return g->is_zombie || g->conf.limit == 0 || g->conf.mode == GROUP_MONITOR ||
           b->n.running < (uint64_t)g->conf.limit;
}

bool
group_can_let_in(const struct group_bucket *b)
{
    return !list_is_empty(&b->parked) && group_may_admit(b);
}

void
group_wake(struct groups *gs, struct group_room *room)
{
    while (room != NULL && !list_is_empty(&room->blocked)) {
        struct group_bucket *b = LIST_ENTRY(room->blocked.next, struct group_bucket, turn);
        bool can = group_can_let_in(b);
        group_turn(gs, b, can ? BUCKET_READY : BUCKET_REST, can ? room : NULL);
        if (can) {
            return;
        }
    }
}

static void
retire(struct groups *gs, struct group_bucket *b)
{
    struct group *g = b->group;
    if (g->is_zombie) {
        group_drop_bucket(gs, b);
        group_reap(gs, g);
        return;
    }
    b->is_idle = true;
    list_push_back(&g->idle, &b->turn);
    if (++g->n_idle > GROUP_IDLE_MAX) {
        group_drop_bucket(gs, LIST_ENTRY(g->idle.next, struct group_bucket, turn));
    }
}

void
group_judge(struct groups *gs, struct group_bucket *b)
{
    if (b->state == BUCKET_DRAINING || b->is_idle) {
        return;
    }
    bool can = group_can_let_in(b);
    if (can && b->state == BUCKET_REST) {
        group_turn(gs, b, BUCKET_READY, NULL);
    } else if (!can && b->state != BUCKET_REST) {
        /* Room that it was woken for goes to the next that waits for it. */
        struct group_room *room = b->state == BUCKET_READY ? b->room : NULL;
        group_turn(gs, b, BUCKET_REST, NULL);
        group_wake(gs, room);
    }
    if (b->n.running == 0 && b->n.queued_current == 0) {
        retire(gs, b);
    }
}
