/* SPDX-License-Identifier: Apache-2.0 */
/* The backlog of a standstill while it is read up: what is stale is held, and refused where full.
 */
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
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE));
    (void)add_late(&k, 1, 3 * CLOCK_S);
    uint64_t before = kit_stats(&k, APIQ_NORMAL).refused;
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE - 1));
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 2, STALE)); /* another holds the most */
    assert_false(apiq_refuses_late(k.q, APIQ_INFO, 1, STALE));
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).refused, before);
    assert_true(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE));
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).refused, before + 1);
    /* It holds what is stale, as if it had been pushed. */
    kit_advance(&k, 19 * CLOCK_MS);
    assert_true(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE));
    kit_advance(&k, 19 * CLOCK_MS);
    assert_int_equal(serve_patient(&k), 0);
    KIT_SET(&k, order, APIQ_FIFO);
    assert_false(apiq_refuses_late(k.q, APIQ_NORMAL, 1, STALE));
    assert_int_equal(serve_patient(&k), 1);
    kit_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stale_items_are_held_while_late_ones_come_in),
        cmocka_unit_test(test_held_items_are_served_to_who_does_not_look_again),
        cmocka_unit_test(test_a_held_level_holds_up_no_other),
        cmocka_unit_test(test_what_becomes_stale_while_late_ones_come_in_is_held),
        cmocka_unit_test(test_stale_items_are_not_held_where_another_flow_has_better),
        cmocka_unit_test(test_held_items_expire_and_fall_out_as_ever),
        cmocka_unit_test(test_full_level_refuses_what_comes_so_late_that_it_is_stale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
