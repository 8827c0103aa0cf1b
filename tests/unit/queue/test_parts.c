/* SPDX-License-Identifier: Apache-2.0 */
/* The parts below the queue: the hash table, the heaviest flow, the meter. */
#include "queue/heavy.h"
#include "queue/ktab.h"
#include "queue/meter.h"

#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"

struct entry {
    struct ktab_node node;
    uint64_t value;
};

static void
test_ktab_keeps_many_keys_and_forgets_the_removed(void **state)
{
    (void)state;
    struct ktab t;
    bool created;
    long before = mem_live();
    assert_int_equal(ktab_init(&t, sizeof(struct entry)), ST_OK);
    for (uint64_t key = 0; key < 5000; key++) {
        struct entry *e = ktab_get(&t, key * 977, &created);
        assert_true(created);
        assert_int_equal(e->value, 0);
        e->value = key;
    }
    for (uint64_t key = 0; key < 5000; key++) {
        struct entry *e = ktab_get(&t, key * 977, &created);
        assert_false(created);
        assert_int_equal(e->value, key);
        if (key % 2 == 0) {
            ktab_del(&t, e);
        }
    }
    for (uint64_t key = 0; key < 5000; key++) {
        struct entry *e = ktab_find(&t, key * 977);
        assert_true((e != NULL) == (key % 2 == 1));
        if (e != NULL) {
            ktab_del(&t, e);
        }
    }
    assert_int_equal(t.count, 0);
    ktab_fini(&t);
    assert_int_equal(mem_live(), before);
}

static void
test_ktab_without_memory_to_grow_still_works(void **state)
{
    (void)state;
    struct ktab t;
    bool created;
    assert_int_equal(ktab_init(&t, sizeof(struct entry)), ST_OK);
    for (uint64_t key = 1; key <= 1000; key++) {
        mem_fail_at(1);
        assert_non_null(ktab_get(&t, key, &created));
        mem_fail_at(-1);
    }
    mem_fail_at(0);
    assert_null(ktab_get(&t, 5000, &created));
    mem_fail_at(-1);
    for (uint64_t key = 1; key <= 1000; key++) {
        ktab_del(&t, ktab_find(&t, key));
    }
    ktab_fini(&t);
}

static void
change(struct heavy *h, struct apiq_flow *f, bool up)
{
    f->depth = up ? f->depth + 1 : f->depth - 1;
    f->bytes = f->depth * 100;
    heavy_update(h, f);
}

static void
test_heavy_finds_the_deepest_flow_exactly(void **state)
{
    (void)state;
    static struct heavy h;
    static struct apiq_flow flows[40];
    static struct apiq_item nowhere;
    unsigned random = 7;
    heavy_init(&h);
    memset(flows, 0, sizeof(flows));
    for (int i = 0; i < 40; i++) {
        flow_init(&flows[i]);
        assert_int_equal(heavy_add(&h, &flows[i]), ST_OK);
        change(&h, &flows[i], true);
    }
    for (int step = 0; step < 50000; step++) {
        random = random * 1103515245u + 12345u;
        struct apiq_flow *f = &flows[(random >> 16) % 40];
        change(&h, f, f->depth == 1 || (random >> 8) % 2 == 0);
        const struct apiq_flow *top = heavy_by_entries(&h);
        size_t bytes = heavy_by_bytes(&h, &nowhere)->bytes;
        for (int i = 0; i < 40; i++) {
            assert_true(flows[i].depth <= top->depth);
            assert_true(flows[i].bytes <= bytes + bytes / 8);
        }
    }
    size_t seen = 0;
    size_t last = SIZE_MAX;
    for (const struct apiq_flow *f = heavy_by_entries(&h); f != NULL; f = heavy_after(&h, f)) {
        assert_true(f->depth <= last);
        last = f->depth;
        seen++;
    }
    assert_int_equal(seen, 40);
    for (int i = 0; i < 40; i++) {
        while (flows[i].depth > 0) {
            change(&h, &flows[i], false);
        }
        heavy_drop(&h, &flows[i]);
    }
    assert_null(heavy_by_entries(&h));
    heavy_fini(&h);
}

static void
test_meter_median_is_near_and_follows(void **state)
{
    (void)state;
    static struct meter m;
    memset(&m, 0, sizeof(m));
    assert_int_equal(meter_median(&m), 0);
    for (int64_t ns = 1; ns < INT64_MAX / 8; ns *= 7) {
        memset(&m, 0, sizeof(m));
        for (int i = 0; i < 9; i++) {
            meter_service(&m, i < 4 ? ns * 5 : ns);
        }
        double ratio = (double)meter_median(&m) / (double)ns;
        assert_true(ns < 4 || (ratio > 0.87 && ratio < 1.14));
    }
    memset(&m, 0, sizeof(m));
    for (int i = 0; i < 100000; i++) {
        meter_service(&m, CLOCK_MS);
    }
    for (int i = 0; i < 1024; i++) {
        meter_service(&m, CLOCK_S);
    }
    assert_true(meter_median(&m) > CLOCK_S / 2);
}

static void
test_meter_rate_counts_only_time_with_a_backlog(void **state)
{
    (void)state;
    static struct meter m;
    memset(&m, 0, sizeof(m));
    int64_t now = CLOCK_S;
    assert_true(meter_rate(&m, now) == 0.0);
    for (int i = 0; i < 1000; i++) {
        meter_backlog(&m, now);
        now += 5 * CLOCK_MS;
        meter_done(&m, now, true);
        now += 5 * CLOCK_MS;
        meter_done(&m, now, false);
        now += CLOCK_S;
    }
    double rate = meter_rate(&m, now);
    assert_true(rate > 199.0 && rate < 201.0);
    for (int i = 0; i < 1000; i++) {
        meter_backlog(&m, now);
        now += 50 * CLOCK_MS;
        meter_done(&m, now, true);
    }
    rate = meter_rate(&m, now);
    assert_true(rate > 19.9 && rate < 20.1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ktab_keeps_many_keys_and_forgets_the_removed),
        cmocka_unit_test(test_ktab_without_memory_to_grow_still_works),
        cmocka_unit_test(test_heavy_finds_the_deepest_flow_exactly),
        cmocka_unit_test(test_meter_median_is_near_and_follows),
        cmocka_unit_test(test_meter_rate_counts_only_time_with_a_backlog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
