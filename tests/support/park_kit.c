/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/park_kit.h"

#include "queue/apiq.h"
#include "tests/support/cmk.h"

struct park_kit kit;
static unsigned kept;

static struct parked *
parked_of(struct group_entry *e)
{
    return LIST_ENTRY(e, struct parked, e);
}

static enum status
offer(struct group_entry *e)
{
    struct parked *p = parked_of(e);
    void (*f)(struct parked *) = kit.meanwhile;
    enum status st = kit.outcome;
    p->offered++;
    assert_non_null(e->permit);
    assert_true(kept > 0);
    kit.meanwhile = NULL;
    kit.outcome = ST_OK;
    if (f != NULL) {
        f(p);
    }
    p->queued += st == ST_OK ? 1 : 0;
    return st;
}

static void
drop(struct group_entry *e, enum group_why why)
{
    struct parked *p = parked_of(e);
    p->dropped++;
    p->why = why;
    assert_null(e->permit);
}

/* The queue's part: it cancels what it has of that owner. */
static void
chase(struct group_room *r, uint64_t owner)
{
    assert_ptr_equal(r, &kit.room);
    assert_int_equal(owner, PARK_KIT_OWNER);
    kit.chased++;
    if (kit.of_owner != NULL) {
        groups_leave(kit.gs, kit.of_owner->e.permit);
    }
}

static void
keep(struct group_room *r)
{
    assert_ptr_equal(r, &kit.room);
    kept++;
}

static void
unkeep(struct group_room *r)
{
    assert_ptr_equal(r, &kit.room);
    kept--;
}

static const struct group_ops ops = {
    .offer = offer, .drop = drop, .chase = chase, .keep = keep, .unkeep = unkeep};

void
park_kit_set(int64_t limit, int64_t size)
{
    struct group_conf c;
    char err[128];
    assert_int_equal(group_conf_init(&c, "g", err, sizeof(err)), ST_OK);
    c.limit = limit;
    c.size = size;
    assert_int_equal(groups_set(kit.gs, GROUP_FROM_CONFIG, &c, 1), ST_OK);
}

struct group_counts
park_kit_counts(void)
{
    struct group_info i;
    assert_int_equal(groups_find(kit.gs, "g", &i), ST_OK);
    const struct group_counts *n = &i.counts;
    assert_int_equal(n->total_admitted, n->total_released + n->running);
    assert_int_equal(n->total_queued, n->queue_wait_count + n->total_cancelled +
                                          n->total_displaced + n->queued_current);
    return *n;
}

int
park_kit_set_up(void **state)
{
    (void)state;
    struct clock c = clock_fake_of(&kit.now);
    kit = (struct park_kit){.outcome = ST_OK};
    kit.who = (struct group_who){.account = "A", .account_key = 2, .user = "u"};
    kit.who.client = "";
    kit.who.subject = "$JS.API.X";
    kit.now.t = 1000 * CLOCK_S;
    kept = 0;
    assert_int_equal(groups_new(&kit.gs, &c), ST_OK);
    assert_int_equal(apiq_new(&kit.queue, &c, 0), ST_OK);
    group_room_init(&kit.room, kit.queue, APIQ_NORMAL, NULL);
    park_kit_set(1, 10);
    return 0;
}

int
park_kit_tear_down(void **state)
{
    (void)state;
    struct groups_totals t;
    groups_sweep(kit.gs);
    groups_totals(kit.gs, &t);
    assert_int_equal(t.swept_admitted + t.swept_cancelled, 0);
    assert_int_equal(t.parked + t.running, 0);
    assert_int_equal(kept, 0);
    groups_close(kit.gs);
    groups_free(kit.gs);
    apiq_free(kit.queue);
    return 0;
}

struct group_bucket *
park_kit_admitted(void)
{
    struct group_answer ans;
    groups_enter(kit.gs, &kit.who, &ans);
    assert_int_equal(ans.verdict, GROUP_ADMITTED);
    return ans.permit;
}

void
park_kit_park(struct parked *p, uint64_t owner, int64_t due)
{
    struct group_answer ans;
    struct list_node displaced;
    list_init(&displaced);
    *p = (struct parked){.e = {.ops = &ops,
                               .room = &kit.room,
                               .owner = owner,
                               .bytes = 1,
                               .label = "",
                               .name = "",
                               .due = due == 0 ? 0 : kit.now.t + due}};
    groups_park(kit.gs, &p->e, &kit.who, &displaced, &ans);
    p->verdict = ans.verdict;
}

void
park_kit_drain(void)
{
    while (groups_drain(kit.gs, 10)) {
    }
}

void
park_kit_tick(void)
{
    while (groups_tick(kit.gs) <= kit.now.t) {
    }
}

void
park_kit_ran(const struct parked *p)
{
    assert_int_equal(p->verdict, GROUP_PARK);
    assert_int_equal(p->queued, 1);
    assert_int_equal(p->dropped, 0);
}

void
park_kit_dropped(const struct parked *p, enum group_why why)
{
    assert_int_equal(p->verdict, GROUP_PARK);
    assert_int_equal(p->queued, 0);
    assert_int_equal(p->dropped, 1);
    assert_int_equal(p->why, why);
}

void
park_kit_leave(const struct parked *p)
{
    groups_leave(kit.gs, p->e.permit);
    park_kit_drain();
    (void)park_kit_counts();
}
