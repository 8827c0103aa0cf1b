/* SPDX-License-Identifier: Apache-2.0 */
/* Settings changed while items wait and run. */
#include "queue/apiq_conf.h"

#include "tests/support/cmk.h"
#include "tests/support/queue_kit.h"

static void
test_conf_defaults_are_those_documented(void **state)
{
    (void)state;
    struct apiq_conf c;
    apiq_conf_default(APIQ_NORMAL, &c);
    assert_int_equal(c.order, APIQ_ADAPTIVE);
    assert_int_equal(c.max_entries, 10000);
    assert_int_equal(c.max_bytes, 64 << 20);
    assert_int_equal(c.deadline_ns, 5 * CLOCK_S);
    assert_true(c.adaptive_age == 0.5);
    assert_int_equal(c.adaptive_wait_ns, 500 * CLOCK_MS);
    assert_int_equal(c.aged_share, 64);
    apiq_conf_default(APIQ_OPERATOR, &c);
    assert_int_equal(c.max_entries, 256);
}

static void
test_conf_refuses_bad_values_and_changes_nothing(void **state)
{
    (void)state;
    struct kit k;
    struct apiq_conf good;
    struct apiq_conf after;
    struct list_node none;
    kit_open(&k, 0);
    list_init(&none);
    kit_get(&k, &good);
    struct apiq_conf bad[7];
    for (int i = 0; i < 7; i++) {
        bad[i] = good;
        bad[i].max_entries = 7;
    }
    bad[0].order = APIQ_ORDERS;
    bad[1].deadline_ns = -1;
    bad[2].adaptive_age = 0.0;
    bad[3].adaptive_age = 1.01;
    bad[4].adaptive_wait_ns = -1;
    bad[5].min_share = 1;
    bad[6].adaptive_age = 0.0 / (good.adaptive_age - 0.5); /* not a number */
    for (int i = 0; i < 7; i++) {
        assert_int_equal(apiq_configure(k.q, APIQ_NORMAL, &bad[i], &none), ST_INVAL);
        kit_get(&k, &after);
        assert_int_equal(after.max_entries, good.max_entries);
    }
    good.max_entries = APIQ_OPERATOR_MAX + 1;
    assert_int_equal(apiq_configure(k.q, APIQ_OPERATOR, &good, &none), ST_INVAL);
    kit_close(&k);
}

static void
test_operator_level_holds_256(void **state)
{
    (void)state;
    struct kit k;
    struct list_node fallen;
    kit_open(&k, 0);
    list_init(&fallen);
    for (int i = 0; i < 256; i++) {
        (void)kit_add_level(&k, APIQ_OPERATOR);
    }
    struct apiq_item *it = kit_item(&k);
    it->level = APIQ_OPERATOR;
    assert_int_equal(apiq_push(k.q, it, &fallen), ST_OK);
    assert_int_equal(apiq_fallen_pop(&fallen)->id, 1);
    assert_null(apiq_fallen_pop(&fallen));
    kit_close(&k);
}

static void
test_shrinking_below_the_depth_gives_back_the_oldest_of_the_heaviest(void **state)
{
    (void)state;
    struct kit k;
    struct apiq_conf conf;
    struct list_node fallen;
    kit_open(&k, 0);
    list_init(&fallen);
    for (int i = 0; i < 6; i++) {
        (void)kit_add_flow(&k, 1);
    }
    (void)kit_add_flow(&k, 2);
    (void)kit_add_flow(&k, 2);
    kit_get(&k, &conf);
    conf.max_entries = 4;
    assert_int_equal(apiq_configure(k.q, APIQ_NORMAL, &conf, &fallen), ST_OK);
    for (uint64_t id = 1; id <= 4; id++) {
        assert_int_equal(apiq_fallen_pop(&fallen)->id, id);
    }
    assert_null(apiq_fallen_pop(&fallen));
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).depth, 4);
    conf.max_entries = 0;
    assert_int_equal(apiq_configure(k.q, APIQ_NORMAL, &conf, &fallen), ST_OK);
    unsigned n = 0;
    while (apiq_fallen_pop(&fallen) != NULL) {
        n++;
    }
    assert_int_equal(n, 4);
    assert_int_equal(kit_pull(&k), 0);
    conf.max_entries = 10;
    kit_set(&k, &conf);
    assert_int_equal(kit_add(&k), 9);
    assert_int_equal(kit_serve(&k), 9);
    kit_close(&k);
}

static void
test_shrinking_bytes_gives_back_until_it_fits(void **state)
{
    (void)state;
    struct kit k;
    struct apiq_conf conf;
    struct list_node fallen;
    kit_open(&k, 0);
    list_init(&fallen);
    for (int i = 0; i < 10; i++) {
        struct apiq_item *it = kit_item(&k);
        it->bytes = 10;
        (void)kit_push(&k, it);
    }
    kit_get(&k, &conf);
    conf.max_bytes = 65;
    assert_int_equal(apiq_configure(k.q, APIQ_NORMAL, &conf, &fallen), ST_OK);
    unsigned n = 0;
    while (apiq_fallen_pop(&fallen) != NULL) {
        n++;
    }
    assert_int_equal(n, 4);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).bytes, 60);
    kit_close(&k);
}

/* Each of 3,000 items runs once, although everything that can change does so on the way. */
static void
test_changing_everything_loses_nothing_and_runs_nothing_twice(void **state)
{
    (void)state;
    struct kit k;
    struct apiq_conf conf;
    unsigned runs[3001] = {0};
    kit_open(&k, 0);
    for (int i = 0; i < 3000; i++) {
        struct apiq_item *it = kit_item(&k);
        it->flow = (uint64_t)i % 5;
        it->order_key = i % 4 == 0 ? (uint64_t)i % 11 + 1 : 0;
        (void)kit_push(&k, it);
    }
    kit_get(&k, &conf);
    for (unsigned i = 0; i < 3000; i++) {
        conf.order = (enum apiq_order)(i % APIQ_ORDERS);
        conf.aged_share = i % 7;
        conf.max_entries = 10000 - i;
        conf.adaptive_wait_ns = (int64_t)(i % 3) * CLOCK_MS;
        conf.deadline_ns = i % 2 == 0 ? 0 : 3600 * CLOCK_S;
        kit_set(&k, &conf);
        uint64_t id = kit_serve(&k);
        assert_true(id != 0);
        runs[id]++;
        kit_advance(&k, CLOCK_MS);
    }
    for (unsigned i = 1; i <= 3000; i++) {
        assert_int_equal(runs[i], 1);
    }
    assert_int_equal(kit_serve(&k), 0);
    kit_close(&k);
}

/* Whoever changes settings does not undo what a pool has set meanwhile. */
static void
test_configure_leaves_max_running_alone(void **state)
{
    (void)state;
    struct kit k;
    struct apiq_conf conf;
    kit_open(&k, 0);
    kit_get(&k, &conf);
    apiq_set_max_running(k.q, APIQ_NORMAL, 1);
    kit_set(&k, &conf);
    (void)kit_add(&k);
    (void)kit_add(&k);
    assert_int_equal(kit_pull(&k), 1);
    assert_int_equal(kit_pull(&k), 0);
    kit_get(&k, &conf);
    assert_int_equal(conf.max_running, 1);
    kit_done(&k, 1);
    kit_close(&k);
}

static void
test_order_in_force_follows_a_change_at_once(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, order, APIQ_ADAPTIVE);
    (void)kit_add(&k);
    kit_advance(&k, CLOCK_S);
    (void)kit_add(&k);
    assert_true(kit_stats(&k, APIQ_NORMAL).newest_first);
    KIT_SET(&k, order, APIQ_FIFO);
    assert_false(kit_stats(&k, APIQ_NORMAL).newest_first);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).newest_flows, 0);
    KIT_SET(&k, order, APIQ_LIFO);
    assert_true(kit_stats(&k, APIQ_NORMAL).newest_first);
    KIT_SET(&k, order, APIQ_ADAPTIVE);
    assert_true(kit_stats(&k, APIQ_NORMAL).newest_first);
    assert_int_equal(kit_stats(&k, APIQ_NORMAL).switches, 3);
    kit_close(&k);
}

static void
test_names_of_orders_and_levels(void **state)
{
    (void)state;
    enum apiq_order order;
    for (int i = 0; i < APIQ_ORDERS; i++) {
        assert_int_equal(apiq_order_parse(apiq_order_name((enum apiq_order)i), &order), ST_OK);
        assert_int_equal(order, i);
    }
    assert_int_equal(apiq_order_parse("random", &order), ST_INVAL);
    assert_null(apiq_order_name(APIQ_ORDERS));
    assert_string_equal(apiq_level_name(APIQ_INFO), "info");
    assert_null(apiq_level_name(APIQ_LEVELS));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conf_defaults_are_those_documented),
        cmocka_unit_test(test_conf_refuses_bad_values_and_changes_nothing),
        cmocka_unit_test(test_operator_level_holds_256),
        cmocka_unit_test(test_shrinking_below_the_depth_gives_back_the_oldest_of_the_heaviest),
        cmocka_unit_test(test_shrinking_bytes_gives_back_until_it_fits),
        cmocka_unit_test(test_changing_everything_loses_nothing_and_runs_nothing_twice),
        cmocka_unit_test(test_configure_leaves_max_running_alone),
        cmocka_unit_test(test_order_in_force_follows_a_change_at_once),
        cmocka_unit_test(test_names_of_orders_and_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
