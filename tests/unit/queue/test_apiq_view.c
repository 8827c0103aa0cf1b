/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/apiq_view.h"

#include <string.h>

#include "tests/support/cmk.h"
#include "tests/support/queue_kit.h"

static void
test_stats_tell_depth_age_and_waits(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 3);
    (void)kit_add(&k);
    kit_advance(&k, 3 * CLOCK_MS);
    struct apiq_item *it = kit_item(&k);
    it->bytes = 70;
    it->flow = 2;
    (void)kit_push(&k, it);
    struct apiq_stats all;
    apiq_stats(k.q, &all);
    const struct apiq_level_stats *st = &all.level[APIQ_NORMAL];
    assert_int_equal(all.slots, 3);
    assert_int_equal(st->depth, 2);
    assert_int_equal(st->flows, 2);
    assert_int_equal(st->bytes, 70);
    assert_int_equal(st->oldest_age_ns, 3 * CLOCK_MS);
    assert_int_equal(all.level[APIQ_INFO].oldest_age_ns, 0);
    assert_int_equal(kit_pull(&k), 1);
    apiq_stats(k.q, &all);
    assert_int_equal(st->running, 1);
    assert_int_equal(st->oldest_age_ns, 0);
    /* 3 ms: at most 2^12 us, more than 2^11 us. */
    assert_int_equal(st->wait[12], 1);
    assert_int_equal(st->wait_sum_ns, 3 * CLOCK_MS);
    assert_int_equal(st->wait_max_ns, 3 * CLOCK_MS);
    kit_advance(&k, 1);
    assert_int_equal(kit_serve(&k), 2);
    apiq_stats(k.q, &all);
    assert_int_equal(st->wait[0], 1);
    assert_int_equal(st->peak, 2);
    kit_done(&k, 1);
    kit_close(&k);
}

static void
test_stats_add_up_whatever_happens(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    KIT_SET(&k, max_entries, 4);
    KIT_SET(&k, deadline_ns, CLOCK_S);
    for (int i = 0; i < 4; i++) {
        (void)kit_add(&k);
    }
    assert_int_equal(kit_add_evicts(&k, 1), 1);
    assert_int_equal(apiq_cancel(k.q, kit_of(&k, 2)), ST_OK);
    assert_int_equal(kit_pull(&k), 3);
    apiq_defer(k.q, kit_of(&k, 3));
    assert_int_equal(kit_pull(&k), 4);
    kit_check_sums(&k);
    kit_advance(&k, CLOCK_S);
    assert_int_equal(kit_expired(&k), 5);
    (void)kit_add(&k);
    kit_check_sums(&k);
    kit_done(&k, 4);
    kit_done(&k, 3);
    struct apiq_level_stats st = kit_stats(&k, APIQ_NORMAL);
    assert_int_equal(st.pushed, 6);
    assert_int_equal(st.pulled, 2);
    assert_int_equal(st.done, 2);
    assert_int_equal(st.evicted, 1);
    assert_int_equal(st.cancelled, 1);
    assert_int_equal(st.expired, 1);
    kit_close(&k);
}

static void
test_drain_rate_is_that_of_a_busy_time(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 1);
    assert_int_equal(apiq_drain_ns(k.q, APIQ_NORMAL), 0);
    for (int i = 0; i < 200; i++) {
        (void)kit_add(&k);
    }
    for (int i = 0; i < 100; i++) {
        uint64_t id = kit_pull(&k);
        kit_advance(&k, 10 * CLOCK_MS);
        kit_done(&k, id);
    }
    struct apiq_level_stats st = kit_stats(&k, APIQ_NORMAL);
    assert_true(st.drain_per_sec > 99.0 && st.drain_per_sec < 101.0);
    assert_true(st.median_ns > 8 * CLOCK_MS && st.median_ns < 12 * CLOCK_MS);
    int64_t ns = apiq_drain_ns(k.q, APIQ_NORMAL);
    assert_true(ns > 990 * CLOCK_MS && ns < 1010 * CLOCK_MS);
    /* While nothing ends, it gets worse. */
    uint64_t id = kit_pull(&k);
    kit_advance(&k, 4 * CLOCK_S);
    assert_true(apiq_drain_ns(k.q, APIQ_NORMAL) > 3 * CLOCK_S);
    kit_done(&k, id);
    kit_close(&k);
}

static void
test_drain_rate_is_not_lowered_by_idleness(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 1);
    for (int i = 0; i < 100; i++) {
        (void)kit_add(&k);
        uint64_t id = kit_pull(&k);
        kit_advance(&k, 10 * CLOCK_MS);
        kit_done(&k, id);
        kit_advance(&k, CLOCK_S);
    }
    (void)kit_add(&k);
    double rate = kit_stats(&k, APIQ_NORMAL).drain_per_sec;
    assert_true(rate > 85.0 && rate < 115.0);
    kit_close(&k);
}

static void
test_top_flows_are_those_that_hold_most(void **state)
{
    (void)state;
    struct kit k;
    struct apiq_flow_info top[8];
    kit_open(&k, 0);
    for (uint64_t flow = 1; flow <= 5; flow++) {
        for (uint64_t n = 0; n < flow * 3; n++) {
            struct apiq_item *it = kit_item(&k);
            it->flow = flow;
            it->name = flow == 5 ? "the greatest" : NULL;
            (void)kit_push(&k, it);
        }
    }
    kit_advance(&k, CLOCK_S);
    assert_int_equal(apiq_top_flows(k.q, APIQ_NORMAL, top, 2), 2);
    assert_int_equal(top[0].flow, 5);
    assert_int_equal(top[0].depth, 15);
    assert_string_equal(top[0].name, "the greatest");
    assert_int_equal(top[0].oldest_age_ns, CLOCK_S);
    assert_int_equal(top[1].flow, 4);
    assert_string_equal(top[1].name, "");
    assert_int_equal(apiq_top_flows(k.q, APIQ_NORMAL, top, 8), 5);
    assert_int_equal(top[4].flow, 1);
    assert_int_equal(apiq_top_flows(k.q, APIQ_INFO, top, 8), 0);
    kit_close(&k);
}

static void
fill(struct kit *k)
{
    for (int i = 0; i < 60; i++) {
        struct apiq_item *it = kit_item(k);
        it->flow = 1 + (uint64_t)i % 3;
        it->tag = (uint64_t)i % 2;
        it->level = i < 30 ? APIQ_NORMAL : APIQ_INFO;
        it->label = "$JS.API.STREAM.INFO.S";
        (void)kit_push(k, it);
    }
}

static void
test_list_gives_pages_of_what_matches(void **state)
{
    (void)state;
    struct kit k;
    struct apiq_item_info page[100];
    unsigned seen[61] = {0};
    size_t total;
    kit_open(&k, 0);
    fill(&k);
    struct apiq_match any = {0};
    for (size_t offset = 0; offset < 60; offset += 7) {
        size_t n = apiq_list(k.q, &any, offset, page, 7, &total);
        assert_int_equal(n, offset + 7 <= 60 ? 7 : 60 - offset);
        assert_int_equal(total, 60);
        for (size_t i = 0; i < n; i++) {
            seen[page[i].id]++;
        }
    }
    for (int i = 1; i <= 60; i++) {
        assert_int_equal(seen[i], 1);
    }
    struct apiq_match some = {.flow = 2, .levels = 1u << APIQ_INFO};
    assert_int_equal(apiq_list(k.q, &some, 0, page, 100, NULL), 10);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(page[i].flow, 2);
        assert_int_equal(page[i].level, APIQ_INFO);
        assert_string_equal(page[i].label, "$JS.API.STREAM.INFO.S");
        assert_true(i == 0 || page[i].id > page[i - 1].id);
    }
    struct apiq_match one = {.id = 42};
    kit_advance(&k, CLOCK_S);
    assert_int_equal(apiq_list(k.q, &one, 0, page, 100, &total), 1);
    assert_int_equal(total, 1);
    assert_int_equal(page[0].age_ns, CLOCK_S);
    assert_int_equal(page[0].left_ns, 4 * CLOCK_S);
    assert_int_equal(apiq_list(k.q, &any, 60, page, 100, &total), 0);
    kit_close(&k);
}

static void
test_long_labels_are_cut_not_overrun(void **state)
{
    (void)state;
    struct kit k;
    struct apiq_item_info info;
    char label[1000];
    kit_open(&k, 0);
    memset(label, 'x', sizeof(label) - 1);
    label[sizeof(label) - 1] = '\0';
    struct apiq_item *it = kit_item(&k);
    it->label = label;
    it->name = label;
    (void)kit_push(&k, it);
    struct apiq_match any = {0};
    assert_int_equal(apiq_list(k.q, &any, 0, &info, 1, NULL), 1);
    assert_int_equal(strlen(info.label), sizeof(info.label) - 1);
    assert_int_equal(strlen(info.name), sizeof(info.name) - 1);
    kit_close(&k);
}

static void
test_cancel_by_what_matches_takes_at_most_so_many(void **state)
{
    (void)state;
    struct kit k;
    struct list_node out;
    kit_open(&k, 0);
    list_init(&out);
    fill(&k);
    struct apiq_match some = {.flow = 2, .tag = 1};
    assert_int_equal(apiq_cancel_match(k.q, &some, 4, &out), 4);
    assert_int_equal(apiq_cancel_match(k.q, &some, 100, &out), 6);
    assert_int_equal(apiq_cancel_match(k.q, &some, 100, &out), 0);
    for (int i = 0; i < 10; i++) {
        const struct apiq_item *it = apiq_fallen_pop(&out);
        assert_int_equal(it->flow, 2);
        assert_int_equal(it->tag, 1);
        assert_int_equal(it->state, APIQ_ENDED);
    }
    assert_true(list_is_empty(&out));
    struct apiq_match one = {.id = 60};
    assert_int_equal(apiq_cancel_match(k.q, &one, 1, &out), 1);
    assert_int_equal(apiq_fallen_pop(&out)->id, 60);
    kit_check_sums(&k);
    kit_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stats_tell_depth_age_and_waits),
        cmocka_unit_test(test_stats_add_up_whatever_happens),
        cmocka_unit_test(test_drain_rate_is_that_of_a_busy_time),
        cmocka_unit_test(test_drain_rate_is_not_lowered_by_idleness),
        cmocka_unit_test(test_top_flows_are_those_that_hold_most),
        cmocka_unit_test(test_list_gives_pages_of_what_matches),
        cmocka_unit_test(test_long_labels_are_cut_not_overrun),
        cmocka_unit_test(test_cancel_by_what_matches_takes_at_most_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
