/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/apiq.h"

#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/queue_kit.h"

static void
test_apiq_new_survives_each_failed_allocation(void **state)
{
    (void)state;
    struct clock_fake fake = {1};
    struct clock clk = clock_fake_of(&fake);
    struct apiq *q = NULL;
    long before = mem_live();
    for (long n = 0;; n++) {
        mem_fail_at(n);
        enum status st = apiq_new(&q, &clk, 0);
        bool fired = mem_fail_fired() != 0;
        mem_fail_at(-1);
        if (st == ST_OK) {
            assert_false(fired);
            break;
        }
        assert_int_equal(st, ST_NOMEM);
        assert_int_equal(mem_live(), before);
    }
    apiq_free(q);
    apiq_free(NULL);
    assert_int_equal(mem_live(), before);
}

static void
test_apiq_push_without_memory_changes_nothing(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    struct apiq_item *it = kit_item(&k);
    struct list_node fallen;
    list_init(&fallen);
    it->order_key = 5;
    it->owner = 6;
    unsigned failed = 0;
    for (long n = 0;; n++) {
        mem_fail_at(n);
        enum status st = apiq_push(k.q, it, &fallen);
        mem_fail_at(-1);
        if (st == ST_OK) {
            break;
        }
        failed++;
        assert_int_equal(st, ST_NOMEM);
        assert_int_equal(it->state, APIQ_IDLE);
        assert_int_equal(kit_stats(&k, APIQ_NORMAL).depth, 0);
        assert_int_equal(kit_stats(&k, APIQ_NORMAL).flows, 0);
        assert_int_equal(kit_pull(&k), 0);
    }
    assert_true(failed >= 3);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).refused, failed);
    assert_int_equal(kit_serve(&k), it->id);
    kit_close(&k);
}

static void
test_apiq_fifo_gives_the_oldest_and_lifo_the_newest(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    for (int i = 0; i < 6; i++) {
        (void)kit_add(&k);
    }
    assert_int_equal(kit_serve(&k), 1);
    KIT_SET(&k, order, APIQ_LIFO);
    assert_int_equal(kit_serve(&k), 6);
    assert_int_equal(kit_serve(&k), 5);
    KIT_SET(&k, order, APIQ_FIFO);
    assert_int_equal(kit_serve(&k), 2);
    assert_int_equal(kit_serve(&k), 3);
    assert_int_equal(kit_serve(&k), 4);
    assert_int_equal(kit_serve(&k), 0);
    kit_close(&k);
}

static void
test_apiq_full_evicts_oldest_only(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, max_entries, 3);
    for (int i = 0; i < 3; i++) {
        (void)kit_add(&k);
    }
    for (uint64_t i = 1; i <= 20; i++) {
        assert_int_equal(kit_add_evicts(&k, 1), i);
        assert_int_equal(kit_stats(&k, APIQ_NORMAL).depth, 3);
    }
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).evicted, 20);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).peak, 3);
    kit_close(&k);
}

static void
test_apiq_full_evicts_from_the_flow_that_holds_most(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, max_entries, 5);
    uint64_t small = kit_add_flow(&k, 2);
    uint64_t first = kit_add_flow(&k, 1);
    for (int i = 0; i < 3; i++) {
        (void)kit_add_flow(&k, 1);
    }
    assert_int_equal(kit_add_evicts(&k, 3), first);
    assert_int_equal(kit_add_evicts(&k, 2), first + 1);
    assert_int_equal(kit_of(&k, small)->state, APIQ_WAITING);
    kit_close(&k);
}

static void
test_apiq_newest_is_not_evicted_when_all_flows_hold_one(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, max_entries, 1);
    uint64_t last = kit_add_flow(&k, 100);
    for (uint64_t flow = 101; flow < 120; flow++) {
        assert_int_equal(kit_add_evicts(&k, flow), last);
        last++;
    }
    kit_close(&k);
}

static void
test_apiq_bytes_limit_evicts_as_few_as_make_room(void **state)
{
    (void)state;
    struct kit k;
    struct list_node fallen;
    kit_open(&k, 0);
    KIT_SET(&k, max_bytes, 1000);
    for (int i = 0; i < 10; i++) {
        struct apiq_item *it = kit_item(&k);
        it->bytes = 100;
        (void)kit_push(&k, it);
    }
    struct apiq_item *big = kit_item(&k);
    big->bytes = 250;
    big->flow = 2;
    list_init(&fallen);
    assert_int_equal(apiq_push(k.q, big, &fallen), ST_OK);
    for (uint64_t id = 1; id <= 3; id++) {
        assert_int_equal(apiq_fallen_pop(&fallen)->id, id);
    }
    assert_null(apiq_fallen_pop(&fallen));
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).bytes, 950);
    /* The flow of the newest holds most by far now, but it is the newest. */
    big = kit_item(&k);
    big->bytes = 900;
    big->flow = 3;
    assert_int_equal(apiq_push(k.q, big, &fallen), ST_OK);
    assert_int_equal(big->state, APIQ_WAITING);
    assert_true(kit_stats(&k, APIQ_NORMAL).bytes <= 1000);
    kit_close(&k);
}

static void
test_apiq_limit_of_zero_refuses_all_even_when_idle(void **state)
{
    (void)state;
    struct kit k;
    struct list_node fallen;
    kit_open(&k, 0);
    list_init(&fallen);
    KIT_SET(&k, max_entries, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(apiq_push(k.q, kit_item(&k), &fallen), ST_FULL);
    }
    KIT_SET(&k, max_entries, 10);
    KIT_SET(&k, max_bytes, 99);
    struct apiq_item *it = kit_item(&k);
    it->bytes = 100;
    assert_int_equal(apiq_push(k.q, it, &fallen), ST_FULL);
    assert_int_equal(it->state, APIQ_IDLE);
    it->bytes = 99;
    assert_int_equal(apiq_push(k.q, it, &fallen), ST_OK);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).refused, 4);
    assert_true(list_is_empty(&fallen));
    kit_close(&k);
}

static void
test_apiq_pushing_again_honours_the_limit(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, max_entries, 2);
    uint64_t id = kit_add(&k);
    (void)kit_add(&k);
    assert_int_equal(kit_serve(&k), id);
    (void)kit_add(&k);
    struct apiq_item *it = kit_of(&k, id);
    struct list_node fallen;
    list_init(&fallen);
    apiq_item_init(it);
    it->level = APIQ_NORMAL;
    it->flow = 1;
    it->id = id;
    assert_int_equal(apiq_push(k.q, it, &fallen), ST_OK);
    assert_int_equal(apiq_fallen_pop(&fallen)->id, 2);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).depth, 2);
    kit_close(&k);
}

static void
test_apiq_expired_comes_out_and_is_never_run(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 1);
    KIT_SET(&k, deadline_ns, CLOCK_S);
    for (int i = 0; i < 3; i++) {
        (void)kit_add(&k);
    }
    assert_int_equal(kit_pull(&k), 1);
    kit_advance(&k, CLOCK_S - 1);
    (void)kit_add(&k);
    assert_int_equal(kit_pull(&k), 0);
    kit_advance(&k, 1);
    /* The only slot is taken, and yet they come out. */
    assert_int_equal(kit_expired(&k), 2);
    assert_int_equal(kit_expired(&k), 3);
    assert_int_equal(kit_pull(&k), 0);
    kit_done(&k, 1);
    assert_int_equal(kit_serve(&k), 4);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).expired, 2);
    kit_close(&k);
}

static void
test_apiq_deadlines_count_from_arrival_or_push(void **state)
{
    (void)state;
    struct kit k;
    struct list_node fallen;
    kit_open(&k, 0);
    list_init(&fallen);
    KIT_SET(&k, deadline_ns, 2 * CLOCK_S);
    struct apiq_item *own = kit_item(&k);
    own->deadline_ns = CLOCK_S;
    own->arrived_ns = clock_now(&k.clk) - CLOCK_S / 2;
    (void)kit_push(&k, own);
    struct apiq_item *late = kit_item(&k);
    late->deadline_ns = CLOCK_S;
    late->arrived_ns = clock_now(&k.clk) - CLOCK_S;
    assert_int_equal(apiq_push(k.q, late, &fallen), ST_EXPIRED);
    assert_int_equal(late->state, APIQ_IDLE);
    struct apiq_item *never = kit_item(&k);
    never->deadline_ns = -1;
    (void)kit_push(&k, never);
    (void)kit_add(&k);
    kit_advance(&k, CLOCK_S / 2);
    assert_int_equal(kit_expired(&k), own->id);
    /* The level's deadline is also that of those waiting. */
    KIT_SET(&k, deadline_ns, CLOCK_S / 2);
    assert_int_equal(kit_expired(&k), 4);
    kit_advance(&k, 1000 * CLOCK_S);
    assert_int_equal(kit_serve(&k), never->id);
    kit_close(&k);
}

static void
test_apiq_many_expired_do_not_hold_up_the_living(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, deadline_ns, CLOCK_S);
    KIT_SET(&k, order, APIQ_LIFO);
    for (int i = 0; i < 5000; i++) {
        (void)kit_add(&k);
    }
    kit_advance(&k, CLOCK_S);
    uint64_t fresh = kit_add(&k);
    unsigned before = 0;
    struct apiq_item *it;
    while (apiq_pull(k.q, APIQ_LANE_ANY, &it) == ST_EXPIRED) {
        before++;
    }
    assert_int_equal(it->id, fresh);
    assert_true(before <= 16);
    apiq_done(k.q, it);
    for (unsigned i = before; i < 5000; i++) {
        (void)kit_expired(&k);
    }
    assert_int_equal(kit_pull(&k), 0);
    kit_close(&k);
}

static void
test_apiq_cancel_has_exactly_one_outcome(void **state)
{
    (void)state;
    struct kit k;
    struct list_node fallen;
    kit_open(&k, 0);
    list_init(&fallen);
    for (int i = 0; i < 4; i++) {
        (void)kit_add(&k);
    }
    /* At the head, in the middle, at the tail; none of them blocks, none counts any more. */
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 1)), ST_OK);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 4)), ST_OK);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 4)), ST_NOTFOUND);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).depth, 2);
    assert_int_equal(kit_pull(&k), 2);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 2)), ST_NOTFOUND);
    kit_done(&k, 2);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 2)), ST_NOTFOUND);
    assert_int_equal(kit_serve(&k), 3);
    struct apiq_item *never = kit_item(&k);
    assert_int_equal(apiq_cancel(k.q, never), ST_AGAIN);
    assert_int_equal(apiq_cancel(k.q, never), ST_AGAIN);
    assert_int_equal(apiq_push(k.q, never, &fallen), ST_CANCELLED);
    assert_int_equal(kit_pull(&k), 0);
    kit_close(&k);
}

static void
test_apiq_cancelled_makes_room_under_the_limit(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, max_entries, 2);
    (void)kit_add(&k);
    uint64_t id = kit_add(&k);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, id)), ST_OK);
    (void)kit_add(&k);
    assert_int_equal(kit_add_evicts(&k, 1), 1);
    kit_close(&k);
}

static void
test_apiq_cancel_owner_takes_all_that_wait_for_it(void **state)
{
    (void)state;
    struct kit k;
    struct list_node out;
    kit_open(&k, 0);
    list_init(&out);
    for (int i = 0; i < 10000; i++) {
        struct apiq_item *it = kit_item(&k);
        it->owner = 1 + (uint64_t)i % 2;
        it->flow = (uint64_t)i % 7;
        (void)kit_push(&k, it);
    }
    uint64_t running = kit_pull(&k);
    uint64_t owner = kit_of(&k, running)->owner;
    assert_int_equal(apiq_cancel_owner(k.q, owner, &out), 4999);
    for (int i = 0; i < 4999; i++) {
        assert_int_equal(apiq_fallen_pop(&out)->owner, owner);
    }
    assert_true(list_is_empty(&out));
    assert_int_equal(apiq_cancel_owner(k.q, owner, &out), 0);
    assert_int_equal(apiq_cancel_owner(k.q, 0, &out), 0);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).depth, 5000);
    kit_done(&k, running);
    kit_close(&k);
}

static void
test_apiq_close_gives_out_the_rest_and_takes_no_more(void **state)
{
    (void)state;
    struct kit k;
    struct list_node fallen;
    struct apiq_item *it;
    kit_open(&k, 1);
    list_init(&fallen);
    uint64_t running = kit_add_key(&k, 9);
    (void)kit_add_key(&k, 9);
    (void)kit_add_level(&k, APIQ_INFO);
    (void)kit_add_level(&k, APIQ_OPERATOR);
    assert_int_equal(kit_serve(&k), 4);
    assert_int_equal(kit_pull(&k), running);
    apiq_close(k.q);
    apiq_close(k.q);
    assert_int_equal(apiq_push(k.q, kit_item(&k), &fallen), ST_CLOSED);
    assert_int_equal(apiq_pull(k.q, APIQ_LANE_OPERATOR, &it), ST_CANCELLED);
    assert_int_equal(it->id, 2);
    assert_int_equal(apiq_pull(k.q, APIQ_LANE_ANY, &it), ST_CANCELLED);
    assert_int_equal(it->id, 3);
    assert_int_equal(apiq_pull(k.q, APIQ_LANE_ANY, &it), ST_CLOSED);
    assert_null(it);
    kit_done(&k, running);
    kit_close(&k);
}

static void
test_apiq_slots_bound_what_runs_and_done_frees_one(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 2);
    for (int i = 0; i < 5; i++) {
        (void)kit_add(&k);
    }
    (void)kit_add_level(&k, APIQ_OPERATOR);
    assert_int_equal(kit_pull(&k), 6);
    assert_int_equal(kit_pull(&k), 1);
    assert_int_equal(kit_pull(&k), 2);
    assert_int_equal(kit_pull(&k), 0);
    kit_done(&k, 1);
    assert_int_equal(kit_pull(&k), 3);
    assert_int_equal(kit_pull(&k), 0);
    apiq_set_slots(k.q, 3);
    assert_int_equal(kit_pull(&k), 4);
    apiq_set_slots(k.q, 1);
    kit_done(&k, 2);
    kit_done(&k, 3);
    assert_int_equal(kit_pull(&k), 0);
    kit_done(&k, 4);
    assert_int_equal(kit_serve(&k), 5);
    kit_done(&k, 6);
    kit_close(&k);
}

static void
test_apiq_deferred_gives_its_slot_back_until_too_many_are_pending(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 1);
    KIT_SET(&k, max_pending, 2);
    for (int i = 0; i < 4; i++) {
        (void)kit_add(&k);
    }
    for (uint64_t id = 1; id <= 2; id++) {
        assert_int_equal(kit_pull(&k), id);
        assert_int_equal(kit_pull(&k), 0);
        apiq_defer(k.q, kit_of(&k, id));
    }
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).pending, 2);
    assert_int_equal(kit_pull(&k), 0);
    uint64_t info = kit_add_level(&k, APIQ_INFO);
    assert_int_equal(kit_serve(&k), info);
    kit_done(&k, 2);
    assert_int_equal(kit_serve(&k), 3);
    kit_done(&k, 1);
    assert_int_equal(kit_serve(&k), 4);
    kit_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apiq_new_survives_each_failed_allocation),
        cmocka_unit_test(test_apiq_push_without_memory_changes_nothing),
        cmocka_unit_test(test_apiq_fifo_gives_the_oldest_and_lifo_the_newest),
        cmocka_unit_test(test_apiq_full_evicts_oldest_only),
        cmocka_unit_test(test_apiq_full_evicts_from_the_flow_that_holds_most),
        cmocka_unit_test(test_apiq_newest_is_not_evicted_when_all_flows_hold_one),
        cmocka_unit_test(test_apiq_bytes_limit_evicts_as_few_as_make_room),
        cmocka_unit_test(test_apiq_limit_of_zero_refuses_all_even_when_idle),
        cmocka_unit_test(test_apiq_pushing_again_honours_the_limit),
        cmocka_unit_test(test_apiq_expired_comes_out_and_is_never_run),
        cmocka_unit_test(test_apiq_deadlines_count_from_arrival_or_push),
        cmocka_unit_test(test_apiq_many_expired_do_not_hold_up_the_living),
        cmocka_unit_test(test_apiq_cancel_has_exactly_one_outcome),
        cmocka_unit_test(test_apiq_cancelled_makes_room_under_the_limit),
        cmocka_unit_test(test_apiq_cancel_owner_takes_all_that_wait_for_it),
        cmocka_unit_test(test_apiq_close_gives_out_the_rest_and_takes_no_more),
        cmocka_unit_test(test_apiq_slots_bound_what_runs_and_done_frees_one),
        cmocka_unit_test(test_apiq_deferred_gives_its_slot_back_until_too_many_are_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
