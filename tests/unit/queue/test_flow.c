/* SPDX-License-Identifier: Apache-2.0 */
/* The disciplines over time, the turns of flows and the shares of levels. */
#include "queue/flow.h"

#include "tests/support/cmk.h"
#include "tests/support/queue_kit.h"

static void
open_with_deadline(struct kit *k, int64_t deadline_ns)
{
    kit_open_adaptive(k);
    KIT_SET(k, deadline_ns, deadline_ns);
}

static void
test_adaptive_turns_at_its_share_of_the_deadline_and_back_when_drained(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, CLOCK_S / 2);
    for (int i = 0; i < 6; i++) {
        (void)kit_add(&k);
    }
    kit_advance(&k, CLOCK_S / 4 - 1);
    assert_int_equal(kit_serve(&k), 1);
    assert_false(kit_stats(&k, APIQ_NORMAL).newest_first);
    kit_advance(&k, 1);
    assert_int_equal(kit_serve(&k), 6);
    struct apiq_level_stats st = kit_stats(&k, APIQ_NORMAL);
    assert_true(st.newest_first);
    assert_int_equal(st.newest_flows, 1);
    assert_int_equal(st.switches, 1);
    assert_int_equal(st.order_since, clock_now(&k.clk));
    assert_int_equal(kit_serve(&k), 5);
    assert_int_equal(kit_serve(&k), 4);
    assert_int_equal(kit_serve(&k), 3);
    assert_int_equal(kit_serve(&k), 2);
    assert_false(kit_stats(&k, APIQ_NORMAL).newest_first);
    (void)kit_add(&k);
    (void)kit_add(&k);
    assert_int_equal(kit_serve(&k), 7);
    assert_int_equal(kit_serve(&k), 8);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).switches, 2);
    kit_close(&k);
}

static void
test_adaptive_turns_at_adaptive_wait_where_that_is_earlier(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, 5 * CLOCK_S);
    for (int i = 0; i < 3; i++) {
        (void)kit_add(&k);
    }
    kit_advance(&k, 500 * CLOCK_MS - 1);
    assert_int_equal(kit_serve(&k), 1);
    kit_advance(&k, 1);
    assert_int_equal(kit_serve(&k), 3);
    kit_close(&k);
}

static void
test_adaptive_does_not_flap_between_half_the_bound_and_the_bound(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, 10 * CLOCK_S);
    (void)kit_add(&k);
    kit_advance(&k, 200 * CLOCK_MS);
    (void)kit_add(&k);
    kit_advance(&k, 300 * CLOCK_MS);
    (void)kit_add(&k);
    assert_int_equal(kit_serve(&k), 3);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 1)), ST_OK);
    /* The oldest has waited 300 ms now: above half of the bound, so it stays newest first. */
    (void)kit_add(&k);
    assert_int_equal(kit_serve(&k), 4);
    (void)kit_add(&k);
    (void)kit_add(&k);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 2)), ST_OK);
    assert_int_equal(kit_serve(&k), 5);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).switches, 2);
    kit_close(&k);
}

static void
test_adaptive_turns_for_the_flow_that_is_late_alone(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, CLOCK_S);
    for (int i = 0; i < 4; i++) {
        (void)kit_add_flow(&k, 1);
    }
    kit_advance(&k, CLOCK_S / 2);
    for (int i = 0; i < 4; i++) {
        (void)kit_add_flow(&k, 2);
    }
    assert_int_equal(kit_serve(&k), 4);
    assert_int_equal(kit_serve(&k), 5);
    assert_int_equal(kit_serve(&k), 3);
    assert_int_equal(kit_serve(&k), 6);
    kit_close(&k);
}

static void
test_adaptive_does_not_turn_for_a_blocked_item(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, CLOCK_S);
    uint64_t slow = kit_add_key(&k, 1);
    assert_int_equal(kit_pull(&k), slow);
    (void)kit_add_key(&k, 1);
    kit_advance(&k, CLOCK_S / 2);
    (void)kit_add(&k);
    (void)kit_add(&k);
    assert_int_equal(kit_serve(&k), 3);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).switches, 0);
    kit_done(&k, slow);
    kit_close(&k);
}

/* A standstill: everything that came meanwhile comes in at once, and looks young. */
static void
test_adaptive_turns_at_once_when_the_backlog_takes_too_long(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, CLOCK_S);
    for (int i = 0; i < 40; i++) {
        (void)kit_add(&k);
    }
    for (uint64_t i = 1; i <= 30; i++) {
        assert_int_equal(kit_pull(&k), i);
        kit_advance(&k, 10 * CLOCK_MS);
        kit_done(&k, i);
    }
    for (int i = 0; i < 80; i++) {
        (void)kit_add(&k);
    }
    assert_int_equal(kit_serve(&k), 31);
    for (int i = 0; i < 100; i++) {
        (void)kit_add(&k);
    }
    assert_int_equal(kit_serve(&k), 220);
    kit_close(&k);
}

static void
test_adaptive_serves_a_stale_item_when_nothing_else_waits(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, 5 * CLOCK_S);
    (void)kit_add(&k);
    (void)kit_add(&k);
    kit_advance(&k, CLOCK_S);
    /* 1 and 2 have waited twice adaptive_wait: they are behind all others, and no reason to turn.
     */
    (void)kit_add(&k);
    (void)kit_add(&k);
    assert_int_equal(kit_serve(&k), 3);
    assert_false(kit_stats(&k, APIQ_NORMAL).newest_first);
    assert_int_equal(kit_serve(&k), 4);
    assert_int_equal(kit_serve(&k), 2);
    assert_int_equal(kit_serve(&k), 1);
    assert_int_equal(kit_serve(&k), 0);
    kit_check_sums(&k);
    kit_close(&k);
}

static void
test_adaptive_presumes_nothing_where_the_deadline_is_the_items_own(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, 5 * CLOCK_S);
    struct apiq_item *own = kit_item(&k);
    own->deadline_ns = 10 * CLOCK_S;
    (void)kit_push(&k, own);
    kit_advance(&k, 2 * CLOCK_S);
    (void)kit_add(&k);
    kit_advance(&k, 499 * CLOCK_MS);
    (void)kit_add(&k);
    /* The own deadline's owner waits: it counts as the oldest, so newest first is in force. */
    assert_int_equal(kit_serve(&k), 3);
    assert_int_equal(kit_serve(&k), 2);
    assert_int_equal(kit_serve(&k), 1);
    kit_close(&k);
}

static void
test_fifo_serves_what_adaptive_had_put_aside_first(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, 5 * CLOCK_S);
    (void)kit_add(&k);
    kit_advance(&k, CLOCK_S);
    (void)kit_add(&k);
    (void)kit_add(&k);
    assert_int_equal(kit_serve(&k), 2);
    KIT_SET(&k, order, APIQ_FIFO);
    assert_int_equal(kit_serve(&k), 1);
    assert_int_equal(kit_serve(&k), 3);
    kit_close(&k);
}

static void
test_late_items_count_as_having_waited(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, 5 * CLOCK_S);
    kit_advance(&k, 10 * CLOCK_S);
    int64_t unread[] = {3 * CLOCK_S, 600 * CLOCK_MS, 4 * CLOCK_S, 100 * CLOCK_MS};
    for (size_t i = 0; i < 4; i++) {
        struct apiq_item *it = kit_item(&k);
        it->late_ns = unread[i];
        (void)kit_push(&k, it);
    }
    /* 1 and 3 are stale; 2 has waited longer than adaptive_wait, but has time left. */
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).oldest_age_ns, 3 * CLOCK_S);
    assert_int_equal(kit_serve(&k), 2);
    assert_int_equal(kit_serve(&k), 4);
    kit_advance(&k, CLOCK_S);
    assert_int_equal(kit_expired(&k), 3);
    assert_int_equal(kit_serve(&k), 1);
    kit_close(&k);
}

static uint64_t
add_late(struct kit *k, int64_t late_ns)
{
    struct apiq_item *it = kit_item(k);
    it->late_ns = late_ns;
    return kit_push(k, it);
}

static void
test_late_items_stand_by_their_age(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    kit_advance(&k, CLOCK_S);
    (void)kit_add(&k);
    /* Two connections, each read from its oldest on. */
    const int64_t late[] = {300, 200, 100, 350, 250, 150};
    for (size_t i = 0; i < 6; i++) {
        (void)add_late(&k, late[i] * CLOCK_MS);
    }
    (void)kit_add(&k);
    const uint64_t order[] = {5, 2, 6, 3, 7, 4, 1, 8};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(kit_serve(&k), order[i]);
    }
    kit_close(&k);
}

static void
test_late_item_stands_right_after_the_last_late_one_was_cancelled(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    kit_advance(&k, CLOCK_S);
    (void)add_late(&k, 300 * CLOCK_MS);
    uint64_t last = add_late(&k, 200 * CLOCK_MS);
    (void)add_late(&k, 100 * CLOCK_MS);
    (void)add_late(&k, 250 * CLOCK_MS);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 4)), ST_OK);
    (void)add_late(&k, 150 * CLOCK_MS);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, last)), ST_OK);
    assert_int_equal(kit_serve(&k), 1);
    assert_int_equal(kit_serve(&k), 5);
    assert_int_equal(kit_serve(&k), 3);
    kit_close(&k);
}

/* What was pushed last does not fall out, even if it is the oldest by age. */
static void
test_full_level_keeps_the_late_item_that_was_pushed(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, max_entries, 2);
    kit_advance(&k, CLOCK_S);
    (void)add_late(&k, 200 * CLOCK_MS);
    (void)add_late(&k, 100 * CLOCK_MS);
    struct apiq_item *it = kit_item(&k);
    it->late_ns = 300 * CLOCK_MS;
    struct list_node fallen;
    list_init(&fallen);
    assert_int_equal(apiq_push(k.q, it, &fallen), ST_OK);
    assert_int_equal(apiq_fallen_pop(&fallen)->id, 1);
    assert_null(apiq_fallen_pop(&fallen));
    assert_int_equal(kit_serve(&k), 3);
    assert_int_equal(kit_serve(&k), 2);
    kit_close(&k);
}

static void
test_catching_up_ends_after_six_bounds(void **state)
{
    (void)state;
    struct kit k;
    open_with_deadline(&k, 5 * CLOCK_S);
    kit_advance(&k, 10 * CLOCK_S);
    for (int i = 0; i < 4; i++) {
        (void)add_late(&k, 600 * CLOCK_MS);
    }
    kit_advance(&k, 100 * CLOCK_MS);
    (void)kit_add(&k);
    assert_int_equal(kit_serve(&k), 1);
    assert_int_equal(kit_serve(&k), 2);
    kit_advance(&k, 3 * CLOCK_S - 200 * CLOCK_MS);
    uint64_t oldest = kit_add(&k);
    kit_advance(&k, 500 * CLOCK_MS);
    uint64_t newest = kit_add(&k);
    assert_int_equal(kit_serve(&k), newest);
    assert_int_equal(kit_serve(&k), oldest);
    kit_close(&k);
}

static void
test_aged_share_takes_the_oldest_that_has_time_left(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, order, APIQ_LIFO);
    KIT_SET(&k, aged_share, 4);
    KIT_SET(&k, deadline_ns, CLOCK_S);
    (void)kit_add(&k);
    kit_advance(&k, 500 * CLOCK_MS);
    (void)kit_add(&k);
    kit_advance(&k, 251 * CLOCK_MS);
    for (int i = 0; i < 10; i++) {
        (void)kit_add(&k);
    }
    /* 1 has less than a quarter of its deadline left, 2 has more. */
    assert_int_equal(kit_serve(&k), 12);
    assert_int_equal(kit_serve(&k), 11);
    assert_int_equal(kit_serve(&k), 10);
    assert_int_equal(kit_serve(&k), 2);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).aged, 1);
    KIT_SET(&k, aged_share, 0);
    for (uint64_t id = 9; id >= 3; id--) {
        assert_int_equal(kit_serve(&k), id);
    }
    assert_int_equal(kit_serve(&k), 1);
    kit_close(&k);
}

static void
test_aged_share_leaves_time_for_four_median_services(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, order, APIQ_LIFO);
    KIT_SET(&k, aged_share, 1);
    KIT_SET(&k, deadline_ns, CLOCK_S);
    for (int i = 0; i < 9; i++) {
        uint64_t id = kit_add(&k);
        assert_int_equal(kit_pull(&k), id);
        kit_advance(&k, 200 * CLOCK_MS);
        kit_done(&k, id);
    }
    (void)kit_add(&k);
    kit_advance(&k, 300 * CLOCK_MS);
    (void)kit_add(&k);
    (void)kit_add(&k);
    /* 700 ms are left for the oldest, 800 ms would be asked for. */
    assert_int_equal(kit_serve(&k), 11);
    kit_close(&k);
}

static void
test_aged_share_bounds_the_wait_of_items_without_a_deadline(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, order, APIQ_LIFO);
    for (int i = 0; i < 5; i++) {
        (void)kit_add(&k);
    }
    /* New ones come as fast as they are served, for ever. */
    uint64_t oldest = 1;
    for (int pulls = 1; pulls <= 64 * 5; pulls++) {
        (void)kit_add(&k);
        if (kit_serve(&k) == oldest) {
            assert_true((uint64_t)pulls <= 64 * oldest);
            oldest++;
        }
    }
    assert_int_equal(oldest, 6);
    kit_close(&k);
}

static void
test_flows_take_turns_by_weight(void **state)
{
    (void)state;
    struct kit k;
    unsigned got[4] = {0};
    kit_open(&k, 0);
    for (int i = 0; i < 400; i++) {
        (void)kit_add_flow(&k, 1);
    }
    for (int i = 0; i < 200; i++) {
        struct apiq_item *it = kit_item(&k);
        it->flow = 2;
        it->weight = 3;
        (void)kit_push(&k, it);
        (void)kit_add_flow(&k, 3);
    }
    for (int i = 0; i < 200; i++) {
        got[kit_of(&k, kit_serve(&k))->flow]++;
    }
    assert_int_equal(got[1], 40);
    assert_int_equal(got[2], 120);
    assert_int_equal(got[3], 40);
    kit_close(&k);
}

static void
test_one_flow_alone_is_exactly_the_discipline(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(kit_add(&k), i);
    }
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(kit_serve(&k), i);
    }
    kit_close(&k);
}

static void
test_upper_levels_go_first_but_lower_ones_get_their_share(void **state)
{
    (void)state;
    struct kit k;
    unsigned got[APIQ_LEVELS] = {0};
    kit_open(&k, 0);
    for (int i = 0; i < 250; i++) {
        (void)kit_add_level(&k, APIQ_OPERATOR);
        (void)kit_add_level(&k, APIQ_NORMAL);
        (void)kit_add_level(&k, APIQ_INFO);
    }
    /* One pull in eight for each of the two; the first of info comes right after that of normal. */
    for (int i = 0; i < 161; i++) {
        uint64_t id = kit_serve(&k);
        got[kit_of(&k, id)->level]++;
    }
    assert_int_equal(got[APIQ_OPERATOR], 121);
    assert_int_equal(got[APIQ_NORMAL], 20);
    assert_int_equal(got[APIQ_INFO], 20);
    kit_close(&k);
}

static void
test_operator_lane_runs_nothing_else_but_gives_out_expired(void **state)
{
    (void)state;
    struct kit k;
    struct apiq_item *it;
    kit_open(&k, 0);
    struct apiq_item *brief = kit_item(&k);
    brief->deadline_ns = CLOCK_S;
    (void)kit_push(&k, brief);
    assert_int_equal(apiq_pull(k.q, APIQ_LANE_OPERATOR, &it), ST_AGAIN);
    kit_advance(&k, CLOCK_S);
    assert_int_equal(apiq_pull(k.q, APIQ_LANE_OPERATOR, &it), ST_EXPIRED);
    uint64_t op = kit_add_level(&k, APIQ_OPERATOR);
    assert_int_equal(apiq_pull(k.q, APIQ_LANE_OPERATOR, &it), ST_OK);
    assert_int_equal(it->id, op);
    kit_done(&k, op);
    kit_close(&k);
}

static void
test_full_level_leaves_workers_to_the_others(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    apiq_set_max_running(k.q, APIQ_NORMAL, 2);
    for (int i = 0; i < 3; i++) {
        (void)kit_add(&k);
    }
    uint64_t info = kit_add_level(&k, APIQ_INFO);
    assert_int_equal(kit_pull(&k), 1);
    assert_int_equal(kit_pull(&k), 2);
    assert_int_equal(kit_pull(&k), info);
    assert_int_equal(kit_pull(&k), 0);
    kit_done(&k, 1);
    assert_int_equal(kit_pull(&k), 3);
    kit_done(&k, 2);
    kit_done(&k, 3);
    kit_done(&k, info);
    kit_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adaptive_turns_at_its_share_of_the_deadline_and_back_when_drained),
        cmocka_unit_test(test_adaptive_turns_at_adaptive_wait_where_that_is_earlier),
        cmocka_unit_test(test_adaptive_does_not_flap_between_half_the_bound_and_the_bound),
        cmocka_unit_test(test_adaptive_turns_for_the_flow_that_is_late_alone),
        cmocka_unit_test(test_adaptive_does_not_turn_for_a_blocked_item),
        cmocka_unit_test(test_adaptive_turns_at_once_when_the_backlog_takes_too_long),
        cmocka_unit_test(test_adaptive_serves_a_stale_item_when_nothing_else_waits),
        cmocka_unit_test(test_adaptive_presumes_nothing_where_the_deadline_is_the_items_own),
        cmocka_unit_test(test_fifo_serves_what_adaptive_had_put_aside_first),
        cmocka_unit_test(test_late_items_count_as_having_waited),
        cmocka_unit_test(test_late_items_stand_by_their_age),
        cmocka_unit_test(test_late_item_stands_right_after_the_last_late_one_was_cancelled),
        cmocka_unit_test(test_full_level_keeps_the_late_item_that_was_pushed),
        cmocka_unit_test(test_catching_up_ends_after_six_bounds),
        cmocka_unit_test(test_aged_share_takes_the_oldest_that_has_time_left),
        cmocka_unit_test(test_aged_share_leaves_time_for_four_median_services),
        cmocka_unit_test(test_aged_share_bounds_the_wait_of_items_without_a_deadline),
        cmocka_unit_test(test_flows_take_turns_by_weight),
        cmocka_unit_test(test_one_flow_alone_is_exactly_the_discipline),
        cmocka_unit_test(test_upper_levels_go_first_but_lower_ones_get_their_share),
        cmocka_unit_test(test_operator_lane_runs_nothing_else_but_gives_out_expired),
        cmocka_unit_test(test_full_level_leaves_workers_to_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
