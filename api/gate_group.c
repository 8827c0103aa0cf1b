/* SPDX-License-Identifier: Apache-2.0 */
/* Who lets the parked in may be any thread of the plane: the request goes into the queue of its
 * gate, which is pumped there and then. Permits that this frees are not followed up: the drain that
 * is under way goes on with them. */
#include "api/gate_group.h"

#include <stdio.h>

#include "api/admission.h"
#include "api/group_admin.h"
#include "api/host.h"

/* How many one thread lets in before it goes on with its own work. */
#define DRAIN_ROUND 64u

static struct gate_request *
request_of(struct group_entry *e)
{
    return LIST_ENTRY(e, struct gate_request, group);
}

static struct gate *
gate_of(struct group_room *room)
{
    return LIST_ENTRY(room, struct gate, room);
}

static void
book(struct gate_request *r, bool parked)
{
    struct gate *g = r->gate;
    pthread_mutex_lock(&g->home->lock);
    g->counts.parked += parked ? 1 : -(uint64_t)1;
    g->counts.queued += parked ? -(uint64_t)1 : 1;
    r->parked = parked;
    gates_stir(g->home);
    pthread_mutex_unlock(&g->home->lock);
}

/* It did not run, and its gate is closed. */
static void
end_closed(struct gate_request *r)
{
    if (atomic_load(&r->gate->passes)) {
        gate_pass_on(r);
    } else {
        gate_end_unrun(r, END_SHUTDOWN, 0);
    }
}

static enum status
offer(struct group_entry *e)
{
    struct gate_request *r = request_of(e);
    struct gate *g = r->gate; /* the drain keeps it */
    book(r, false);
    gate_group_turn(r);
    enum status st = apiq_offer(g->q, &r->item);
    if (st == ST_AGAIN) {
        book(r, true);
        return st;
    }
    if (st == ST_CLOSED) {
        end_closed(r);
    } else if (st != ST_OK) {
        gate_end_unrun(r, admission_end_of_push(st), 0);
    }
    gate_pump(g);
    return ST_OK;
}

static void
drop(struct group_entry *e, enum group_why why)
{
    if (why == GROUP_ROOM_GONE) {
        end_closed(request_of(e));
    } else {
        gate_end_unrun(request_of(e), admission_end_of_drop(why), 0);
    }
}

static void
chase(struct group_room *room, uint64_t owner)
{
    struct list_node gone;
    list_init(&gone);
    (void)apiq_cancel_owner(room->queue, owner, &gone);
    (void)gate_fallen(gate_of(room), &gone, END_DISCONNECT);
}

static void
keep(struct group_room *room)
{
    (void)gate_ref(gate_of(room));
}

static void
unkeep(struct group_room *room)
{
    gate_unref(gate_of(room));
}

static const struct group_ops ops = {
    .offer = offer, .drop = drop, .chase = chase, .keep = keep, .unkeep = unkeep};

void
gate_group_set(struct gate *g, const char *group)
{
    groups_link(g->home->plane.groups, &g->link, group);
    atomic_store(&g->has_group, *group != '\0');
}

enum status
gate_group_check(struct gates *gs, const char *group, char *err)
{
    struct group_info info;
    if (*group == '\0' || groups_find(gs->plane.groups, group, &info) == ST_OK) {
        return ST_OK;
    }
    (void)snprintf(err, GATE_ERR_LEN, "group: there is no workload group \"%s\"", group);
    return ST_NOTFOUND;
}

void
gate_group_ask(struct gate *g, const struct api_message *m, struct group_who *who,
               struct group_answer *out)
{
    struct groups *groups = g->home->plane.groups;
    *out = (struct group_answer){.verdict = GROUP_NONE};
    if (!atomic_load(&g->has_group) || !groups_any(groups)) {
        return;
    }
    admission_who(who, m);
    who->link = &g->link;
    groups_enter(groups, who, out);
}

void
gate_group_park(struct gate_request *r, const struct group_who *who, struct group_answer *out)
{
    struct gates *gs = r->gate->home;
    struct list_node displaced;
    list_init(&displaced);
    r->was_parked = true;
    admission_entry(&r->group, &ops, &r->gate->room, &r->item);
    groups_park(gs->plane.groups, &r->group, who, &displaced, out);
    (void)groups_drop(&displaced, GROUP_DISPLACED);
    if (out->verdict == GROUP_PARK) {
        gs->plane.wake(gs->plane.arg, out->due);
    }
}

void
gate_group_turn(struct gate_request *r)
{
    if (r->group.permit != NULL) {
        r->item.flow = groups_bucket_id(r->group.permit);
    }
}

void
gate_group_leave(struct gate_request *r)
{
    struct group_bucket *permit = r->group.permit;
    if (permit != NULL) {
        r->group.permit = NULL;
        groups_leave(r->gate->home->plane.groups, permit);
    }
}

void
gate_settle(struct gates *gs)
{
    struct groups *groups = gs->plane.groups;
    if (groups_any(groups) && groups_drain(groups, DRAIN_ROUND)) {
        gs->plane.wake(gs->plane.arg, 0);
    }
}
