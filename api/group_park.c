/* SPDX-License-Identifier: Apache-2.0 */
/* Parking: an entry stands in the lists of its bucket, of its group by age, of its owner and of its
 * due time, and is counted by its bucket, its order key and its owner. A drain that has it in hand
 * takes it out of the lists, so that it may go to the queue without a lock, but it stays counted:
 * it keeps its place, and others park behind it. */
#include "api/group_park.h"
#include "api/group.h"
#include "api/group_turn.h"
#include "server/base/assert.h"

static struct group_entry *
entry_of(struct list_node *n)
{
    return LIST_ENTRY(n, struct group_entry, node);
}

/* ---- lists and counters -------------------------------------------------------------------------
 */

static enum status
get_key(struct groups *gs, struct group_entry *e)
{
    bool created;
    e->key = NULL;
    if (e->order_key == 0) {
        return ST_OK;
    }
    struct group_key *k = ktab_get(&gs->keys, e->order_key, &created);
    if (k == NULL) {
        return ST_NOMEM;
    }
    if (created) {
        k->bucket = e->bucket;
    }
    k->n++;
    e->key = k;
    return ST_OK;
}

static void
put_key(struct groups *gs, struct group_key *k)
{
    if (k != NULL && --k->n == 0) {
        ktab_del(&gs->keys, k);
    }
}

static enum status
get_owner(struct groups *gs, struct group_entry *e)
{
    bool created;
    e->own = NULL;
    if (e->owner == 0) {
        return ST_OK;
    }
    struct group_owner *o = ktab_get(&gs->owners, e->owner, &created);
    if (o == NULL) {
        return ST_NOMEM;
    }
    if (created) {
        list_init(&o->parked);
    }
    o->n++;
    e->own = o;
    return ST_OK;
}

static void
put_owner(struct groups *gs, struct group_owner *o)
{
    if (o != NULL && --o->n == 0) {
        ktab_del(&gs->owners, o);
    }
}

/* The part of linking that front and back have in common. */
static void
enter_lists(struct groups *gs, struct group_entry *e)
{
    if (e->own != NULL) {
        list_push_back(&e->own->parked, &e->owner_node);
    }
    if (e->due != 0) {
        wheel_add(&gs->due, &e->due_node, e->due);
    }
}

void
group_relink(struct groups *gs, struct group_entry *e, struct group_hand *h)
{
    list_push_front(&e->bucket->parked, &e->node);
    list_insert_after(&h->age.node, &e->age.node);
    list_remove(&h->age.node);
    enter_lists(gs, e);
}

void
group_unlink(struct groups *gs, struct group_entry *e)
{
    struct group_bucket *b = e->bucket;
    bool was_first = b->parked.next == &e->node;
    list_remove(&e->node);
    list_remove(&e->age.node);
    if (e->own != NULL) {
        list_remove(&e->owner_node);
    }
    wheel_remove(&gs->due, &e->due_node);
    /* The next one may be for another room; room that it was woken for goes to another bucket. NB:
     * a bucket never names a room that its first is not for: that room may be gone. */
    if (was_first && b->room != NULL) {
        struct group_room *room = b->state == BUCKET_READY ? b->room : NULL;
        group_turn(gs, b, BUCKET_REST, NULL);
        group_wake(gs, room);
    }
}

/* Counts more entries and bytes. */
static void
hold(struct group_bucket *b, int n, int64_t bytes)
{
    struct group *g = b->group;
    if (n > 0 && b->n.queued_current == 0) {
        g->n_parking++;
    }
    b->n.queued_current += (uint64_t)n;
    b->n.queued_bytes += (uint64_t)bytes;
    g->n.queued_current += (uint64_t)n;
    g->n.queued_bytes += (uint64_t)bytes;
    if (n < 0 && b->n.queued_current == 0) {
        g->n_parking--;
    }
    b->n.queue_peak = b->n.queued_current > b->n.queue_peak ? b->n.queued_current : b->n.queue_peak;
    g->n.queue_peak = g->n.queued_current > g->n.queue_peak ? g->n.queued_current : g->n.queue_peak;
    fullest_set(&g->by_entries, &b->by_entries, b->n.queued_current);
    fullest_set(&g->by_bytes, &b->by_bytes, b->n.queued_bytes);
}

void
group_settle(struct groups *gs, struct group_bucket *b, const struct group_hand *h)
{
    hold(b, -1, -(int64_t)h->bytes);
    put_key(gs, h->key);
    put_owner(gs, h->own);
}

void
group_unpark(struct groups *gs, struct group_entry *e, enum group_why why)
{
    struct group_bucket *b = e->bucket;
    struct group_hand h = {.bytes = e->bytes, .key = e->key, .own = e->own};
    group_unlink(gs, e);
    group_settle(gs, b, &h);
    if (why == GROUP_DISPLACED) {
        GROUP_COUNT(b, total_displaced);
        GROUP_COUNT(b, total_queue_rejections);
    } else {
        GROUP_COUNT(b, total_cancelled);
    }
    group_judge(gs, b);
}

/* ---- room in the parking ------------------------------------------------------------------------
 */

/* The newest of the bucket that holds most, by entries or by bytes; never of b. */
static struct group_entry *
newest_of_fullest(const struct fullest *f, size_t by, const struct group_bucket *b)
{
    struct fullest_node *n = fullest_top(f);
    if (n == NULL) {
        return NULL;
    }
    struct group_bucket *from = (struct group_bucket *)(void *)((char *)n - by);
    /* Its only one may be in hand. */
    return from == b || list_is_empty(&from->parked) ? NULL : entry_of(from->parked.prev);
}

/* Makes room for one more in a full parking, if its bucket is below its share. */
static bool
displace(struct groups *gs, const struct group_bucket *b, size_t bytes, struct list_node *displaced)
{
    struct group *g = b->group;
    uint64_t buckets = g->n_parking + (b->n.queued_current == 0 ? 1 : 0);
    bool full = g->n.queued_current >= (uint64_t)g->conf.size;
    bool heavy = g->n.queued_bytes + bytes > (uint64_t)g->conf.max_bytes;
    if ((full && b->n.queued_current >= (uint64_t)g->conf.size / buckets) ||
        (heavy && b->n.queued_bytes + bytes > (uint64_t)g->conf.max_bytes / buckets)) {
        return false;
    }
    /* NB: no more than came in falls out, also when the parking has been made smaller. */
    uint64_t freed = 0;
    while (full || (heavy && freed < bytes)) {
        struct group_entry *e =
            full ? newest_of_fullest(&g->by_entries, offsetof(struct group_bucket, by_entries), b)
                 : newest_of_fullest(&g->by_bytes, offsetof(struct group_bucket, by_bytes), b);
        if (e == NULL) {
            return false;
        }
        freed += e->bytes;
        full = false;
        group_unpark(gs, e, GROUP_DISPLACED);
        list_push_back(displaced, &e->node);
        heavy = g->n.queued_bytes + bytes > (uint64_t)g->conf.max_bytes;
    }
    return true;
}

static bool
has_place(struct groups *gs, const struct group_bucket *b, size_t bytes,
          struct list_node *displaced)
{
    const struct group *g = b->group;
    if (bytes > (uint64_t)g->conf.max_bytes || g->conf.size == 0) {
        return false;
    }
    return (g->n.queued_current < (uint64_t)g->conf.size &&
            g->n.queued_bytes + bytes <= (uint64_t)g->conf.max_bytes) ||
           displace(gs, b, bytes, displaced);
}

int64_t
group_cancel_at(const struct groups *gs, const struct group *g, int64_t since)
{
    int64_t after = g->conf.cancel_after > 0 ? g->conf.cancel_after : gs->cancel_after;
    return after > 0 && !g->is_zombie ? since + after : INT64_MAX;
}

static enum status
link_new(struct groups *gs, struct group_entry *e, int64_t now)
{
    struct group_bucket *b = e->bucket;
    if (get_key(gs, e) != ST_OK) {
        return ST_NOMEM;
    }
    if (get_owner(gs, e) != ST_OK) {
        put_key(gs, e->key);
        return ST_NOMEM;
    }
    e->age = (struct group_age){.since = now};
    list_push_back(&b->parked, &e->node);
    list_push_back(&b->group->ages, &e->age.node);
    enter_lists(gs, e);
    hold(b, 1, (int64_t)e->bytes);
    return ST_OK;
}

static enum group_verdict
park(struct groups *gs, struct group_entry *e, struct list_node *displaced,
     struct group_answer *out)
{
    struct group_bucket *b = e->bucket;
    int64_t now = clock_now(&gs->clock);
    if (!has_place(gs, b, e->bytes, displaced)) {
        group_refuse(gs, b, out);
        return GROUP_FULL;
    }
    if (link_new(gs, e, now) != ST_OK) {
        group_judge(gs, b);
        return GROUP_NOMEM;
    }
    GROUP_COUNT(b, total_throttled);
    GROUP_COUNT(b, total_queued);
    int64_t cancel = group_cancel_at(gs, b->group, now);
    out->due = e->due != 0 && e->due < cancel ? e->due : cancel;
    group_judge(gs, b);
    return GROUP_PARK;
}

void
groups_park(struct groups *gs, struct group_entry *e, const struct group_who *who,
            struct list_node *displaced, struct group_answer *out)
{
    struct group_bucket *b;
    *out = (struct group_answer){.due = INT64_MAX};
    pthread_mutex_lock(&gs->lock);
    out->verdict = e->room->closed ? GROUP_NONE : group_judge_arrival(gs, who, &b);
    if (out->verdict == GROUP_ADMITTED) {
        out->permit = b;
    } else if (out->verdict == GROUP_OFF) {
        group_refuse(gs, b, out);
    } else if (out->verdict == GROUP_PARK) {
        e->bucket = b;
        out->verdict = park(gs, e, displaced, out);
    }
    pthread_mutex_unlock(&gs->lock);
}

/* ---- cancelling ---------------------------------------------------------------------------------
 */

size_t
groups_drop(struct list_node *list, enum group_why why)
{
    size_t n = 0;
    struct list_node *node;
    while ((node = list_pop_front(list)) != NULL) {
        struct group_entry *e = entry_of(node);
        e->ops->drop(e, why);
        n++;
    }
    return n;
}

/* One step; true: there is more. */
static bool
cancel_owner_step(struct groups *gs, uint64_t owner, struct list_node *out)
{
    bool more = false;
    pthread_mutex_lock(&gs->lock);
    struct group_owner *o = ktab_find(&gs->owners, owner);
    for (unsigned i = 0; o != NULL && i < GROUP_STEP; i++) {
        if (list_is_empty(&o->parked)) {
            break;
        }
        struct group_entry *e = LIST_ENTRY(o->parked.next, struct group_entry, owner_node);
        /* NB: the owner's record goes with the last of it. */
        bool last = o->n == 1;
        group_unpark(gs, e, GROUP_GONE);
        list_push_back(out, &e->node);
        o = last ? NULL : o;
    }
    more = o != NULL && !list_is_empty(&o->parked);
    if (o != NULL && !more) {
        for (struct list_node *n = gs->hands.next; n != &gs->hands; n = n->next) {
            struct group_hand *h = LIST_ENTRY(n, struct group_hand, node);
            h->gone = h->gone || h->owner == owner;
        }
    }
    pthread_mutex_unlock(&gs->lock);
    return more;
}

size_t
groups_cancel_owner(struct groups *gs, uint64_t owner)
{
    size_t n = 0;
    bool more = owner != 0 && groups_any(gs);
    while (more) {
        struct list_node out;
        list_init(&out);
        more = cancel_owner_step(gs, owner, &out);
        n += groups_drop(&out, GROUP_GONE);
    }
    return n;
}
