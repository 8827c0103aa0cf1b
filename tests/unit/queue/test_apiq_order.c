/* SPDX-License-Identifier: Apache-2.0 */
/* Order keys: items of one key run one after the other, in any discipline. */
#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/queue_kit.h"

static void
test_apiq_order_key_runs_create_before_delete_under_lifo(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 16);
    KIT_SET(&k, order, APIQ_LIFO);
    uint64_t create = kit_add_key(&k, 7);
    uint64_t delete = kit_add_key(&k, 7);
    uint64_t other = kit_add(&k);
    assert_int_equal(kit_pull(&k), other);
    assert_int_equal(kit_pull(&k), create);
    assert_int_equal(kit_pull(&k), 0);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).blocked, 1);
    kit_done(&k, create);
    assert_int_equal(kit_pull(&k), delete);
    kit_done(&k, delete);
    kit_done(&k, other);
    kit_close(&k);
}

static void
test_apiq_order_key_woken_takes_its_place_by_arrival(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    uint64_t a1 = kit_add_key(&k, 1);
    uint64_t b1 = kit_add_key(&k, 2);
    uint64_t b2 = kit_add_key(&k, 2);
    uint64_t a2 = kit_add_key(&k, 1);
    uint64_t c = kit_add(&k);
    assert_int_equal(kit_pull(&k), a1);
    assert_int_equal(kit_pull(&k), b1);
    /* Woken in the other order than they came. */
    kit_done(&k, a1);
    kit_done(&k, b1);
    assert_int_equal(kit_pull(&k), b2);
    assert_int_equal(kit_pull(&k), a2);
    assert_int_equal(kit_pull(&k), c);
    kit_done(&k, a2);
    kit_done(&k, b2);
    kit_done(&k, c);
    kit_close(&k);
}

static void
test_apiq_order_key_is_held_while_pending(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    uint64_t first = kit_add_key(&k, 3);
    uint64_t second = kit_add_key(&k, 3);
    assert_int_equal(kit_pull(&k), first);
    apiq_defer(k.q, kit_of(&k, first));
    assert_int_equal(kit_pull(&k), 0);
    kit_done(&k, first);
    assert_int_equal(kit_serve(&k), second);
    kit_close(&k);
}

static void
test_apiq_order_key_goes_across_levels_and_flows(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    struct apiq_item *info = kit_item(&k);
    info->level = APIQ_INFO;
    info->order_key = 4;
    (void)kit_push(&k, info);
    struct apiq_item *normal = kit_item(&k);
    normal->flow = 99;
    normal->order_key = 4;
    (void)kit_push(&k, normal);
    assert_int_equal(kit_pull(&k), info->id);
    assert_int_equal(kit_pull(&k), 0);
    kit_done(&k, info->id);
    assert_int_equal(kit_serve(&k), normal->id);
    kit_close(&k);
}

static void
test_apiq_blocked_can_expire_be_evicted_and_cancelled(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, max_entries, 4);
    KIT_SET(&k, deadline_ns, CLOCK_S);
    uint64_t runs = kit_add_key(&k, 5);
    assert_int_equal(kit_pull(&k), runs);
    for (int i = 0; i < 4; i++) {
        (void)kit_add_key(&k, 5);
    }
    assert_int_equal(kit_pull(&k), 0);
    /* 2 3 4 5 wait, all of them blocked, and all of them count. */
    assert_int_equal(kit_add_evicts(&k, 1), 2);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 4)), ST_OK);
    assert_int_equal(kit_serve(&k), 6);
    kit_advance(&k, CLOCK_S);
    assert_int_equal(kit_expired(&k), 3);
    assert_int_equal(kit_expired(&k), 5);
    uint64_t next = kit_add_key(&k, 5);
    assert_int_equal(kit_pull(&k), 0);
    kit_done(&k, runs);
    assert_int_equal(kit_serve(&k), next);
    kit_close(&k);
}

static void
test_apiq_first_of_a_key_falling_out_lets_the_next_go(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, max_entries, 3);
    uint64_t a = kit_add_key(&k, 1);
    uint64_t b = kit_add_key(&k, 1);
    uint64_t c = kit_add_key(&k, 1);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).blocked, 2);
    assert_int_equal(kit_add_evicts(&k, 1), a);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).blocked, 1);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, b)), ST_OK);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).blocked, 0);
    assert_int_equal(kit_serve(&k), c);
    assert_int_equal(kit_serve(&k), 4);
    kit_close(&k);
}

static void
test_apiq_expired_first_of_a_key_does_not_hold_the_key(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    struct apiq_item *brief = kit_item(&k);
    brief->order_key = 8;
    brief->deadline_ns = CLOCK_S;
    (void)kit_push(&k, brief);
    uint64_t next = kit_add_key(&k, 8);
    kit_advance(&k, CLOCK_S);
    assert_int_equal(kit_expired(&k), brief->id);
    assert_int_equal(kit_serve(&k), next);
    kit_close(&k);
}

static void
test_apiq_long_chains_run_in_order_whatever_the_discipline(void **state)
{
    (void)state;
    struct kit k;
    uint64_t last[50] = {0};
    kit_open(&k, 16);
    for (int i = 0; i < 5000; i++) {
        (void)kit_add_key(&k, 1 + (uint64_t)(i * 7 % 50));
    }
    KIT_SET(&k, order, APIQ_LIFO);
    uint64_t running[16];
    for (unsigned served = 0; served < 5000;) {
        unsigned n = 0;
        uint64_t id;
        while (n < 16 && (id = kit_pull(&k)) != 0) {
            running[n++] = id;
        }
        assert_true(n > 0);
        for (unsigned i = 0; i < n; i++, served++) {
            uint64_t *prev = &last[kit_of(&k, running[i])->order_key - 1];
            assert_true(running[i] > *prev);
            *prev = running[i];
            kit_done(&k, running[i]);
        }
        if (served > 2000) {
            KIT_SET(&k, order, served % 3 == 0 ? APIQ_FIFO : APIQ_LIFO);
        }
    }
    kit_close(&k);
}

/* 32 items woken in the reverse of the order they came still go by arrival. */
static void
test_apiq_woken_in_reverse_still_go_by_arrival(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    uint64_t first[30];
    for (uint64_t i = 0; i < 30; i++) {
        first[i] = kit_add_key(&k, 100 + i);
    }
    for (uint64_t i = 0; i < 30; i++) {
        (void)kit_add_key(&k, 100 + i);
    }
    for (unsigned i = 0; i < 30; i++) {
        assert_int_equal(kit_pull(&k), first[i]);
    }
    for (unsigned i = 30; i-- > 0;) {
        kit_done(&k, first[i]);
    }
    for (uint64_t i = 31; i <= 60; i++) {
        assert_int_equal(kit_serve(&k), i);
    }
    kit_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apiq_order_key_runs_create_before_delete_under_lifo),
        cmocka_unit_test(test_apiq_order_key_woken_takes_its_place_by_arrival),
        cmocka_unit_test(test_apiq_order_key_is_held_while_pending),
        cmocka_unit_test(test_apiq_order_key_goes_across_levels_and_flows),
        cmocka_unit_test(test_apiq_blocked_can_expire_be_evicted_and_cancelled),
        cmocka_unit_test(test_apiq_first_of_a_key_falling_out_lets_the_next_go),
        cmocka_unit_test(test_apiq_expired_first_of_a_key_does_not_hold_the_key),
        cmocka_unit_test(test_apiq_long_chains_run_in_order_whatever_the_discipline),
        cmocka_unit_test(test_apiq_woken_in_reverse_still_go_by_arrival),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
