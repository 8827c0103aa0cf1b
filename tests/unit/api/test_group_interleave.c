/* SPDX-License-Identifier: Apache-2.0 */
/* What ends a parked request just as it is let in, done between two holds of the groups' lock: each
 * has one outcome, and no permit is lost */
#include "tests/support/cmk.h"
#include "tests/support/park_kit.h"

/* ---- scenario 3: cancelled while it is being dispatched ----------------------------------------
 */

static void
owner_leaves(struct parked *p)
{
    (void)p;
    assert_int_equal(groups_cancel_owner(kit.gs, PARK_KIT_OWNER), 0);
}

static void
test_group_owner_that_leaves_while_its_request_goes_into_the_queue_is_chased_there(void **state)
{
    (void)state;
    struct parked a;
    struct parked next;
    struct group_bucket *permit = park_kit_admitted();
    park_kit_park(&a, PARK_KIT_OWNER, 0);
    park_kit_park(&next, 9, 0);
    kit.meanwhile = owner_leaves;
    kit.of_owner = &a;
    groups_leave(kit.gs, permit);
    park_kit_drain();
    park_kit_ran(&a); /* it is in the queue, which cancels it: the chase */
    assert_int_equal(kit.chased, 1);
    park_kit_ran(&next);
    assert_int_equal(park_kit_counts().running, 1);
    park_kit_leave(&next);
}

static void
test_group_owner_that_leaves_while_the_queue_has_no_room_gets_its_request_ended(void **state)
{
    (void)state;
    struct parked a;
    struct parked next;
    struct group_bucket *permit = park_kit_admitted();
    park_kit_park(&a, PARK_KIT_OWNER, 0);
    park_kit_park(&next, 9, 0);
    kit.meanwhile = owner_leaves;
    kit.outcome = ST_AGAIN;
    groups_leave(kit.gs, permit);
    park_kit_drain();
    park_kit_dropped(&a, GROUP_GONE);
    assert_int_equal(kit.chased, 0);
    park_kit_ran(&next);
    park_kit_leave(&next);
}

static void
operator_cancels(struct parked *p)
{
    (void)p;
    assert_int_equal(groups_cancel_match(kit.gs, &(struct group_pick){.group = "g"}), 1);
}

static void
test_group_operator_who_cancels_while_one_is_dispatched_gets_the_others(void **state)
{
    (void)state;
    struct parked a;
    struct parked next;
    struct group_bucket *permit = park_kit_admitted();
    park_kit_park(&a, 1, 0);
    park_kit_park(&next, 1, 0);
    kit.meanwhile = operator_cancels;
    groups_leave(kit.gs, permit);
    park_kit_drain();
    park_kit_ran(&a);
    park_kit_dropped(&next, GROUP_OPERATOR);
    park_kit_leave(&a);
}

static void
all_closes(struct parked *p)
{
    (void)p;
    groups_close(kit.gs);
}

static void
room_closes(struct parked *p)
{
    (void)p;
    groups_close_room(kit.gs, &kit.room);
}

static void
test_group_closing_while_one_is_dispatched_ends_it_once(void **state)
{
    static const struct {
        void (*close)(struct parked *p);
        enum group_why why;
    } ways[] = {{all_closes, GROUP_CLOSED}, {room_closes, GROUP_ROOM_GONE}};
    for (int i = 0; i < 4; i++) {
        struct parked a;
        struct parked next;
        bool enters = i % 2 == 0;
        park_kit_tear_down(state);
        park_kit_set_up(state);
        struct group_bucket *permit = park_kit_admitted();
        park_kit_park(&a, 1, 0);
        park_kit_park(&next, 1, 0);
        kit.meanwhile = ways[i / 2].close;
        kit.outcome = enters ? ST_OK : ST_AGAIN;
        groups_leave(kit.gs, permit);
        park_kit_drain();
        park_kit_dropped(&next, ways[i / 2].why);
        if (enters) {
            park_kit_ran(&a);
            park_kit_leave(&a);
        } else {
            park_kit_dropped(&a, ways[i / 2].why);
        }
    }
}

static void
group_goes(struct parked *p)
{
    (void)p;
    assert_int_equal(groups_set(kit.gs, GROUP_FROM_CONFIG, NULL, 0), ST_OK);
}

static void
test_group_deleted_while_one_is_dispatched_lets_all_in(void **state)
{
    (void)state;
    struct parked p[3];
    struct group_bucket *permit = park_kit_admitted();
    for (int i = 0; i < 3; i++) {
        park_kit_park(&p[i], 1, 0);
    }
    kit.meanwhile = group_goes;
    groups_leave(kit.gs, permit);
    park_kit_drain();
    for (int i = 0; i < 3; i++) {
        park_kit_ran(&p[i]);
        groups_leave(kit.gs, p[i].e.permit);
    }
    assert_false(groups_any(kit.gs));
}

/* ---- scenario 4: the permit comes as the waiter's time is over ---------------------------------
 */

static void
test_group_permit_freed_for_one_whose_time_ends_before_the_drain_goes_to_the_next(void **state)
{
    (void)state;
    struct parked late;
    struct parked next;
    for (int i = 0; i < 2; i++) {
        struct group_bucket *permit = park_kit_admitted();
        park_kit_park(&late, PARK_KIT_OWNER, CLOCK_S);
        park_kit_park(&next, 9, 0);
        groups_leave(kit.gs, permit); /* it is the head's turn */
        if (i == 0) {
            clock_fake_advance(&kit.now, 2 * CLOCK_S);
            park_kit_tick();
        } else {
            assert_int_equal(groups_cancel_owner(kit.gs, PARK_KIT_OWNER), 1);
        }
        park_kit_dropped(&late, i == 0 ? GROUP_DEADLINE : GROUP_GONE);
        park_kit_drain();
        park_kit_ran(&next);
        assert_int_equal(park_kit_counts().running, 1);
        park_kit_leave(&next);
    }
}

static void
test_group_one_whose_time_ended_before_the_permit_came_takes_none(void **state)
{
    (void)state;
    struct parked late;
    struct parked next;
    struct group_bucket *permit = park_kit_admitted();
    park_kit_park(&late, PARK_KIT_OWNER, CLOCK_S);
    park_kit_park(&next, 9, 0);
    clock_fake_advance(&kit.now, 2 * CLOCK_S);
    park_kit_tick();
    groups_leave(kit.gs, permit);
    park_kit_drain();
    park_kit_dropped(&late, GROUP_DEADLINE);
    assert_int_equal(late.offered, 0);
    park_kit_ran(&next);
    park_kit_leave(&next);
}

static void
time_ends(struct parked *p)
{
    (void)p;
    clock_fake_advance(&kit.now, 2 * CLOCK_S);
    park_kit_tick();
}

static void
test_group_one_whose_time_ends_while_it_is_dispatched_has_one_outcome(void **state)
{
    (void)state;
    struct parked late;
    struct parked next;
    struct group_bucket *permit = park_kit_admitted();
    park_kit_park(&late, PARK_KIT_OWNER, CLOCK_S);
    park_kit_park(&next, 9, 0);
    kit.meanwhile = time_ends;
    groups_leave(kit.gs, permit);
    park_kit_drain();
    park_kit_ran(&late); /* the queue's now, which gives it out as expired */
    assert_int_equal(next.offered, 0);
    park_kit_leave(&late);
    park_kit_ran(&next);
    park_kit_leave(&next);
    /* And back from a full kit.queue: ended by the next tick. */
    permit = park_kit_admitted();
    park_kit_park(&late, PARK_KIT_OWNER, CLOCK_S);
    kit.meanwhile = time_ends;
    kit.outcome = ST_AGAIN;
    groups_leave(kit.gs, permit);
    park_kit_drain();
    clock_fake_advance(&kit.now, WHEEL_TICK);
    park_kit_tick();
    park_kit_dropped(&late, GROUP_DEADLINE);
    assert_int_equal(park_kit_counts().running, 0);
}

static int64_t looked_at; /* when groups_tick wants to be called again, while one is in hand */
static void
nothing_is_due_yet(struct parked *p)
{
    (void)p;
    looked_at = groups_tick(kit.gs);
}

static void
test_group_time_of_one_in_hand_is_not_forgotten(void **state)
{
    (void)state;
    struct parked p;
    for (int i = 0; i < 2; i++) {
        groups_set_cancel_after(kit.gs, i == 0 ? 0 : CLOCK_S);
        struct group_bucket *permit = park_kit_admitted();
        if (i == 0) {
            park_kit_park(&p, PARK_KIT_OWNER, CLOCK_S);
        } else {
            park_kit_park(&p, 1, 0);
        }
        int64_t due = kit.now.t + CLOCK_S;
        kit.meanwhile = nothing_is_due_yet;
        kit.outcome = ST_AGAIN;
        groups_leave(kit.gs, permit);
        park_kit_drain();
        assert_in_range(looked_at, 1, due);
        clock_fake_advance(&kit.now, looked_at - kit.now.t + WHEEL_TICK);
        park_kit_tick();
        park_kit_dropped(&p, i == 0 ? GROUP_DEADLINE : GROUP_CANCEL_AFTER);
    }
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, park_kit_set_up, park_kit_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_group_owner_that_leaves_while_its_request_goes_into_the_queue_is_chased_there),
        TEST(test_group_owner_that_leaves_while_the_queue_has_no_room_gets_its_request_ended),
        TEST(test_group_operator_who_cancels_while_one_is_dispatched_gets_the_others),
        TEST(test_group_closing_while_one_is_dispatched_ends_it_once),
        TEST(test_group_deleted_while_one_is_dispatched_lets_all_in),
        TEST(test_group_permit_freed_for_one_whose_time_ends_before_the_drain_goes_to_the_next),
        TEST(test_group_one_whose_time_ended_before_the_permit_came_takes_none),
        TEST(test_group_one_whose_time_ends_while_it_is_dispatched_has_one_outcome),
        TEST(test_group_time_of_one_in_hand_is_not_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
