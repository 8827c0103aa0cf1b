/* SPDX-License-Identifier: Apache-2.0 */
/* The backlog of a standstill while it is read up: what came late is held, and refused where the
 * level is full of it. */
#include <unistd.h>

#include "queue/apiq.h"
#include "queue/apiq_priv.h"
#include "tests/support/cmk.h"
#include "tests/support/queue_kit.h"

#define STALE CLOCK_S /* twice adaptive_wait */

/* After so long that nothing is earlier than the clock. */
static void
open_aged(struct kit *k, size_t max_entries)
{
    kit_open_adaptive(k);
    KIT_SET(k, max_entries, max_entries);
    kit_advance(k, 100 * CLOCK_S);
}

static uint64_t
add_late(struct kit *k, uint64_t flow, int64_t late_ns)
{
    struct apiq_item *it = kit_item(k);
    it->flow = flow;
    it->late_ns = late_ns;
    return kit_push(k, it);
}

/* What a sleeping worker would get: the id, or 0 for nothing. It is ended. */
static uint64_t
serve_patient(struct kit *k)
{
    struct apiq_item *it;
    pthread_mutex_lock(&k->q->lock);
    enum status st = apiq_pull_locked(k->q, APIQ_LANE_ANY, true, &it);
    pthread_mutex_unlock(&k->q->lock);
    if (st == ST_AGAIN) {
        return 0;
    }
    assert_int_equal(st, ST_OK);
    kit_done(k, it->id);
    return it->id;
}

/* Late items come in as long as this one asks for, one each 19 ms. */
static void
read_on(struct kit *k, int64_t ns)
{
    for (int64_t t = 0; t < ns; t += 19 * CLOCK_MS) {
        kit_advance(k, 19 * CLOCK_MS);
        (void)add_late(k, 9, 100 * CLOCK_MS);
    }
}

/* Late items come in until what is late is held: five more of the flow. */
static void
read_a_while(struct kit *k, uint64_t flow, int64_t late_ns)
{
    for (int i = 0; i < 5; i++) {
        kit_advance(k, 20 * CLOCK_MS - 1);
        (void)add_late(k, flow, late_ns);
    }
    kit_advance(k, 5);
}

/* So many of the flow as make a crowd, 100 ms ago. The next one has the id 70. */
static void
open_crowded(struct kit *k, uint64_t flow, int64_t late_ns)
{
    open_aged(k, 1000);
    for (int i = 0; i < 64; i++) {
        (void)add_late(k, flow, late_ns);
    }
    read_a_while(k, flow, late_ns);
}

static void
test_late_items_are_held_while_more_come_in(void **state)
{
    (void)state;
    struct kit k;
    open_crowded(&k, 1, 300 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 0);
    (void)add_late(&k, 1, 200 * CLOCK_MS);
    kit_advance(&k, 19 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 0);
    kit_advance(&k, CLOCK_MS);
    for (uint64_t id = 1; id <= 70; id++) {
        assert_int_equal(serve_patient(&k), id);
    }
    kit_check_sums(&k);
    kit_close(&k);
}

static void
test_late_items_are_not_held_at_first(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 1000);
    for (int i = 0; i < 1000; i++) {
        (void)add_late(&k, 1, 300 * CLOCK_MS);
    }
    assert_int_equal(serve_patient(&k), 1);
    kit_close(&k);
}

static void
test_few_late_items_are_not_held_beside_a_crowd(void **state)
{
    (void)state;
    struct kit k;
    open_crowded(&k, 1, 300 * CLOCK_MS);
    (void)add_late(&k, 2, 300 * CLOCK_MS);
    (void)add_late(&k, 2, 300 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 70);
    assert_int_equal(serve_patient(&k), 71);
    assert_int_equal(serve_patient(&k), 0);
    kit_close(&k);
}

/* All of one order key: one of them is runnable. */
static void
test_what_waits_for_its_order_key_counts_as_waiting(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 100);
    for (int i = 0; i < 64; i++) {
        struct apiq_item *it = kit_item(&k);
        it->order_key = 7;
        it->late_ns = 300 * CLOCK_MS;
        (void)kit_push(&k, it);
    }
    read_a_while(&k, 1, 300 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 0);
    kit_close(&k);
}

static void
test_what_did_not_come_late_goes_meanwhile_newest_first(void **state)
{
    (void)state;
    struct kit k;
    open_crowded(&k, 1, 300 * CLOCK_MS);
    uint64_t early = kit_add_flow(&k, 1);
    uint64_t newer = kit_add_flow(&k, 1);
    uint64_t other = kit_add_flow(&k, 2);
    assert_int_equal(serve_patient(&k), newer);
    assert_int_equal(serve_patient(&k), other);
    assert_int_equal(serve_patient(&k), early);
    assert_int_equal(serve_patient(&k), 0);
    kit_check_sums(&k);
    kit_close(&k);
}

static void
test_late_items_are_not_held_among_many_flows(void **state)
{
    (void)state;
    struct kit k;
    open_crowded(&k, 1, 300 * CLOCK_MS);
    for (uint64_t flow = 2; flow <= 4; flow++) {
        (void)add_late(&k, flow, 300 * CLOCK_MS);
    }
    assert_int_equal(serve_patient(&k), 70);
    (void)add_late(&k, 5, 300 * CLOCK_MS);
    (void)add_late(&k, 6, 300 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 1);
    kit_close(&k);
}

static void
test_late_items_are_held_for_a_second_at_most(void **state)
{
    (void)state;
    struct kit k;
    open_crowded(&k, 9, 3 * CLOCK_S);
    read_on(&k, 880 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 0);
    read_on(&k, 19 * CLOCK_MS);
    assert_true(serve_patient(&k) > 69); /* the others are stale */
    kit_close(&k);
}

static void
test_late_items_are_held_no_longer_than_the_first_was_late(void **state)
{
    (void)state;
    struct kit k;
    open_crowded(&k, 9, 200 * CLOCK_MS);
    read_on(&k, 76 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 0);
    read_on(&k, 38 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 1);
    kit_close(&k);
}

static void
test_late_items_are_held_once_in_a_standstill(void **state)
{
    (void)state;
    struct kit k;
    open_crowded(&k, 1, 110 * CLOCK_MS);
    kit_advance(&k, CLOCK_S);
    read_a_while(&k, 1, 300 * CLOCK_MS);
    assert_int_not_equal(serve_patient(&k), 0);
    kit_advance(&k, CLOCK_S + 21 * CLOCK_MS);
    (void)add_late(&k, 1, 300 * CLOCK_MS);
    read_a_while(&k, 1, 300 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 0);
    kit_close(&k);
}

/* A clock that each look moves. */
static int64_t
tick(void *arg)
{
    return (*(int64_t *)arg)++;
}

/* One pull looks more than once, and the hold may end in between. */
static void
test_a_pull_at_the_end_of_the_hold_comes_to_an_end(void **state)
{
    (void)state;
    alarm(60);
    for (int64_t before = 0; before < 16; before++) {
        struct kit k;
        open_crowded(&k, 1, 300 * CLOCK_MS);
        int64_t now = clock_now(&k.clk) + 20 * CLOCK_MS - 5 - before;
        k.q->clk = (struct clock){tick, &now};
        uint64_t id = serve_patient(&k);
        assert_true(before > 0 || id == 1);
        assert_true(before < 15 || id == 0);
        k.q->clk = k.clk;
        kit_close(&k);
    }
    alarm(0);
}

static void
test_stale_items_are_held_while_late_ones_come_in(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 100);
    (void)add_late(&k, 1, STALE);
    assert_int_equal(serve_patient(&k), 0);
    kit_advance(&k, 19 * CLOCK_MS);
    (void)add_late(&k, 1, 100 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 2);
    kit_advance(&k, 19 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 0);
    kit_advance(&k, CLOCK_MS);
    assert_int_equal(serve_patient(&k), 1);
    kit_check_sums(&k);
    kit_close(&k);
}

static void
test_held_items_are_served_to_who_does_not_look_again(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 100);
    (void)add_late(&k, 1, STALE);
    assert_int_equal(serve_patient(&k), 0);
    assert_int_equal(kit_serve(&k), 1);
    kit_close(&k);
}

static void
test_a_held_level_holds_up_no_other(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 100);
    (void)add_late(&k, 1, STALE);
    uint64_t info = kit_add_level(&k, APIQ_INFO);
    assert_int_equal(serve_patient(&k), info);
    assert_int_equal(serve_patient(&k), 0);
    kit_advance(&k, 20 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 1);
    kit_close(&k);
}

/* It became stale while it waited, and is only now seen to be. */
static void
test_what_becomes_stale_while_late_ones_come_in_is_held(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 100);
    (void)add_late(&k, 1, STALE - 10 * CLOCK_MS);
    kit_advance(&k, 10 * CLOCK_MS);
    uint64_t info = kit_add_level(&k, APIQ_INFO);
    assert_int_equal(serve_patient(&k), info);
    assert_int_equal(serve_patient(&k), 0);
    kit_advance(&k, 10 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 1);
    kit_close(&k);
}

static void
test_stale_items_are_not_held_where_another_flow_has_better(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 100);
    (void)add_late(&k, 1, STALE);
    (void)add_late(&k, 2, 100 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 1);
    assert_int_equal(serve_patient(&k), 2);
    kit_close(&k);
}

static void
test_held_items_expire_and_fall_out_as_ever(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 2);
    (void)add_late(&k, 1, 4 * CLOCK_S);
    (void)add_late(&k, 1, 4 * CLOCK_S);
    (void)kit_add_evicts(&k, 1);
    (void)kit_add_evicts(&k, 1);
    assert_int_equal(serve_patient(&k), 3);
    kit_check_sums(&k);
    kit_close(&k);
    open_aged(&k, 2);
    (void)add_late(&k, 1, 5 * CLOCK_S - 5 * CLOCK_MS);
    kit_advance(&k, 5 * CLOCK_MS);
    assert_int_equal(kit_expired(&k), 1);
    kit_close(&k);
}

static void
test_full_level_refuses_what_comes_so_late_that_it_is_stale(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 2);
    (void)add_late(&k, 1, 4 * CLOCK_S);
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE, 0));
    (void)add_late(&k, 1, 3 * CLOCK_S);
    uint64_t before = kit_stats(&k, APIQ_NORMAL).refused;
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE - 1, 0));
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 2, STALE, 0)); /* another holds the most */
    assert_false(apiq_refuses_late(k.q, APIQ_INFO, 1, STALE, 0));
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).refused, before);
    assert_true(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE, 0));
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).refused, before + 1);
    /* It holds what is stale, as if it had been pushed. */
    kit_advance(&k, 19 * CLOCK_MS);
    assert_true(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE, 0));
    kit_advance(&k, 19 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 0);
    KIT_SET(&k, order, APIQ_FIFO);
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE, 0));
    assert_int_equal(serve_patient(&k), 1);
    kit_close(&k);
}

/* A level that serves 1,000 a second, one at a time. */
static void
make_known_rate(struct kit *k)
{
    for (int i = 0; i < 32; i++) {
        (void)kit_add(k);
        (void)kit_add(k);
        for (int j = 0; j < 2; j++) {
            uint64_t id = kit_pull(k);
            kit_advance(k, CLOCK_MS);
            kit_done(k, id);
        }
    }
}

static void
test_full_level_refuses_what_newer_ones_would_push_out(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 100);
    make_known_rate(&k);
    for (int i = 0; i < 100; i++) {
        assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, 500 * CLOCK_MS, 0)); /* room */
        (void)add_late(&k, 1, 500 * CLOCK_MS);
    }
    uint64_t before = kit_stats(&k, APIQ_NORMAL).refused;
    assert_true(apiq_refuses_late(k.q, APIQ_NORMAL, 1, 120 * CLOCK_MS, 0));
    assert_true(apiq_refuses_late(k.q, APIQ_NORMAL, 1, 120 * CLOCK_MS, CLOCK_S));
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).refused, before + 2);
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, 80 * CLOCK_MS, 0)); /* 80 are behind it */
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 2, 120 * CLOCK_MS, 0));
    KIT_SET(&k, order, APIQ_LIFO);
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, 120 * CLOCK_MS, 0));
    kit_check_sums(&k);
    kit_close(&k);
}

/* What would fall out has no time left to be served. */
static void
test_full_level_refuses_none_in_favour_of_what_is_too_old(void **state)
{
    (void)state;
    struct kit k;
    open_aged(&k, 100);
    make_known_rate(&k);
    (void)add_late(&k, 1, 800 * CLOCK_MS);
    for (int i = 0; i < 99; i++) {
        (void)add_late(&k, 1, 500 * CLOCK_MS);
    }
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, 120 * CLOCK_MS, 0));
    (void)kit_add_evicts(&k, 1);
    assert_true(apiq_refuses_late(k.q, APIQ_NORMAL, 1, 120 * CLOCK_MS, 0));
    kit_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_items_are_held_while_more_come_in),
        cmocka_unit_test(test_late_items_are_not_held_at_first),
        cmocka_unit_test(test_few_late_items_are_not_held_beside_a_crowd),
        cmocka_unit_test(test_what_waits_for_its_order_key_counts_as_waiting),
        cmocka_unit_test(test_what_did_not_come_late_goes_meanwhile_newest_first),
        cmocka_unit_test(test_late_items_are_not_held_among_many_flows),
        cmocka_unit_test(test_late_items_are_held_for_a_second_at_most),
        cmocka_unit_test(test_late_items_are_held_no_longer_than_the_first_was_late),
        cmocka_unit_test(test_late_items_are_held_once_in_a_standstill),
        cmocka_unit_test(test_a_pull_at_the_end_of_the_hold_comes_to_an_end),
        cmocka_unit_test(test_stale_items_are_held_while_late_ones_come_in),
        cmocka_unit_test(test_held_items_are_served_to_who_does_not_look_again),
        cmocka_unit_test(test_a_held_level_holds_up_no_other),
        cmocka_unit_test(test_what_becomes_stale_while_late_ones_come_in_is_held),
        cmocka_unit_test(test_stale_items_are_not_held_where_another_flow_has_better),
        cmocka_unit_test(test_held_items_expire_and_fall_out_as_ever),
        cmocka_unit_test(test_full_level_refuses_what_comes_so_late_that_it_is_stale),
        cmocka_unit_test(test_full_level_refuses_what_newer_ones_would_push_out),
        cmocka_unit_test(test_full_level_refuses_none_in_favour_of_what_is_too_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
