/* SPDX-License-Identifier: Apache-2.0 */
/* Two that let in at once, arrivals, and room that comes, between two holds of the groups' lock:
 * nothing is dispatched twice, nothing overtakes, no wake-up is lost */
#include "tests/support/cmk.h"
#include "tests/support/park_kit.h"

/* ---- scenario 7: two drains, one request -------------------------------------------------------
 */

static void
another_drains(struct parked *p)
{
    (void)p;
    while (groups_drain(kit.gs, 10)) {
    }
}

static void
test_group_two_drains_never_dispatch_one_request_twice(void **state)
{
    (void)state;
    struct parked p[4];
    struct group_bucket *permit = park_kit_admitted();
    for (int i = 0; i < 4; i++) {
        park_kit_park(&p[i], 1, 0);
    }
    park_kit_set(3, 10);
    kit.meanwhile = another_drains;
    park_kit_drain();
    assert_int_equal(park_kit_counts().running, 3);
    groups_leave(kit.gs, permit);
    kit.meanwhile = another_drains;
    park_kit_drain();
    kit.meanwhile = another_drains;
    park_kit_leave(&p[0]);
    for (int i = 0; i < 4; i++) {
        park_kit_ran(&p[i]);
        assert_int_equal(p[i].offered, 1);
    }
    for (int i = 1; i < 4; i++) {
        park_kit_leave(&p[i]);
    }
}

static struct group_bucket *other_permit;
static void
another_ends(struct parked *p)
{
    (void)p;
    groups_leave(kit.gs, other_permit);
    while (groups_drain(kit.gs, 10)) {
    }
}

static void
test_group_permit_that_comes_back_while_one_is_dispatched_is_not_forgotten(void **state)
{
    (void)state;
    struct parked a;
    struct parked b;
    park_kit_set(2, 10);
    struct group_bucket *permit = park_kit_admitted();
    other_permit = park_kit_admitted();
    park_kit_park(&a, 1, 0);
    park_kit_park(&b, 1, 0);
    kit.meanwhile = another_ends;
    groups_leave(kit.gs, permit);
    park_kit_drain();
    park_kit_ran(&a);
    park_kit_ran(&b);
    park_kit_leave(&a);
    park_kit_leave(&b);
}

/* ---- scenarios 9, 12, 15 ------------------------------------------------------------------------
 */

static void
one_arrives(struct parked *p)
{
    struct group_answer ans;
    (void)p;
    groups_enter(kit.gs, &kit.who, &ans);
    assert_int_equal(ans.verdict, GROUP_PARK);
}

static void
test_group_arrival_does_not_overtake_one_that_is_being_dispatched(void **state)
{
    (void)state;
    struct parked a;
    park_kit_set(2, 10);
    struct group_bucket *permit = park_kit_admitted();
    struct group_bucket *second = park_kit_admitted();
    park_kit_park(&a, 1, 0);
    /* Two permits are free, one of them for the one in hand: the arrival parks behind it. */
    groups_leave(kit.gs, permit);
    groups_leave(kit.gs, second);
    kit.meanwhile = one_arrives;
    park_kit_drain();
    park_kit_ran(&a);
    park_kit_leave(&a);
}

/* In the queue's level that was full something goes, after the offer and before the bucket is
 * put aside. */
static void
something_leaves(struct parked *p)
{
    struct apiq_item *it;
    (void)p;
    assert_int_equal(apiq_pull(kit.queue, APIQ_LANE_ANY, &it), ST_OK);
    apiq_done(kit.queue, it);
}

static void
test_group_room_that_comes_between_offer_and_block_is_seen(void **state)
{
    (void)state;
    struct parked a;
    struct list_node fallen;
    list_init(&fallen);
    struct apiq_item filler;
    apiq_item_init(&filler);
    filler.level = APIQ_NORMAL;
    assert_int_equal(apiq_push(kit.queue, &filler, &fallen), ST_OK);
    struct group_bucket *permit = park_kit_admitted();
    park_kit_park(&a, 1, 0);
    kit.meanwhile = something_leaves;
    kit.outcome = ST_AGAIN;
    groups_leave(kit.gs, permit);
    park_kit_drain();
    assert_int_equal(a.offered, 2);
    park_kit_ran(&a);
    park_kit_leave(&a);
}

static void
parking_shrinks(struct parked *p)
{
    (void)p;
    park_kit_set(1, 1);
}

static void
test_group_one_that_comes_back_takes_its_old_place_and_no_other(void **state)
{
    (void)state;
    struct parked a;
    struct parked b;
    struct group_bucket *permit = park_kit_admitted();
    park_kit_park(&a, 1, 0);
    park_kit_park(&b, 1, 0);
    kit.meanwhile = parking_shrinks;
    kit.outcome = ST_AGAIN;
    groups_leave(kit.gs, permit);
    (void)groups_drain(kit.gs, 10);
    struct group_counts n = park_kit_counts();
    assert_int_equal(n.queued_current, 2);
    assert_int_equal(n.queue_peak, 2);
    assert_int_equal(n.running, 0);
    /* The parking is over its size: nobody else gets in, in front of them or behind. */
    struct parked c;
    park_kit_park(&c, 3, 0);
    assert_int_equal(c.verdict, GROUP_FULL);
    groups_room(kit.gs, &kit.room);
    park_kit_drain();
    park_kit_ran(&a);
    assert_int_equal(b.offered, 0);
    park_kit_leave(&a);
    park_kit_ran(&b);
    park_kit_leave(&b);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, park_kit_set_up, park_kit_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_group_two_drains_never_dispatch_one_request_twice),
        TEST(test_group_permit_that_comes_back_while_one_is_dispatched_is_not_forgotten),
        TEST(test_group_arrival_does_not_overtake_one_that_is_being_dispatched),
        TEST(test_group_room_that_comes_between_offer_and_block_is_seen),
        TEST(test_group_one_that_comes_back_takes_its_old_place_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
