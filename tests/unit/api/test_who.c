/* SPDX-License-Identifier: Apache-2.0 */
#include "api/who.h"

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"

static int endpoints[4]; /* only their addresses count */

static const struct api_endpoint *
ep(int i)
{
    return (const struct api_endpoint *)(const void *)&endpoints[i];
}

static struct who *
make(void)
{
    struct who *w;
    assert_int_equal(who_new(&w), ST_OK);
    return w;
}

static void
test_who_heavy_pairs_stay_among_thousands_of_light_ones(void **state)
{
    (void)state;
    struct who *w = make();
    int64_t now = CLOCK_S;
    for (uint64_t i = 0; i < 100000; i++) {
        now += CLOCK_MS / 10;
        rate_add(&who_get(w, 1000 + i, "light", ep(0), now)->arrivals, 1, now, RATE_RECENT);
        if (i % 50 == 0) {
            rate_add(&who_get(w, 1 + i / 50 % 5, "heavy", ep(1), now)->arrivals, 1, now,
                     RATE_RECENT);
        }
    }
    struct who_pair top[5];
    assert_int_equal(who_top(w, WHO_ARRIVALS, now, top, 5), 5);
    for (int i = 0; i < 5; i++) {
        assert_in_range(top[i].account_key, 1, 5);
    }
    who_free(w);
}

static void
test_who_pairs_in_use_keep_their_place_and_the_rest_share_one(void **state)
{
    (void)state;
    struct who *w = make();
    for (uint64_t i = 0; i < WHO_MAX; i++) {
        struct who_pair *p = who_get(w, i + 1, "a", ep(0), CLOCK_S);
        assert_int_equal(p->account_key, i + 1);
        p->waiting = 1;
    }
    struct who_pair *shared = who_get(w, 999999, "late", ep(0), CLOCK_S);
    assert_int_equal(shared->account_key, 0);
    assert_string_equal(shared->account, "");
    assert_ptr_equal(shared, who_get(w, 999998, "later", ep(1), CLOCK_S));
    for (uint64_t i = 0; i < WHO_MAX; i++) {
        assert_int_equal(who_get(w, i + 1, "a", ep(0), CLOCK_S)->waiting, 1);
    }
    who_free(w);
}

static void
test_who_top_is_sorted_and_forgets_what_is_long_past(void **state)
{
    (void)state;
    struct who *w = make();
    for (uint64_t i = 1; i <= 20; i++) {
        struct who_pair *p = who_get(w, i, "a", ep((int)i % 4), CLOCK_S);
        rate_add(&p->arrivals, (double)i, CLOCK_S, RATE_RECENT);
        rate_add(&p->worker_ns, 1e6 * (double)(21 - i), CLOCK_S, RATE_RECENT);
        p->waiting = i % 3;
    }
    struct who_pair top[20];
    assert_int_equal(who_top(w, WHO_ARRIVALS, CLOCK_S, top, 3), 3);
    assert_int_equal(top[0].account_key, 20);
    assert_int_equal(top[2].account_key, 18);
    assert_int_equal(who_top(w, WHO_WORKERS, CLOCK_S, top, 3), 3);
    assert_int_equal(top[0].account_key, 1);
    assert_int_equal(who_top(w, WHO_WAITING, CLOCK_S, top, 20), 14);
    assert_int_equal(top[0].waiting, 2);
    assert_int_equal(top[13].waiting, 1);
    assert_int_equal(who_top(w, WHO_ARRIVALS, 3600 * CLOCK_S, top, 20), 0);
    assert_int_equal(who_top(w, WHO_ARRIVALS, CLOCK_S, top, 0), 0);
    who_free(w);
}

static void
test_who_a_steady_rate_is_told_a_second(void **state)
{
    (void)state;
    struct rate r = {0};
    int64_t now = 0;
    for (int i = 0; i < 100 * 200; i++) {
        now += CLOCK_S / 200;
        rate_add(&r, 1, now, RATE_RECENT);
    }
    double v = rate_per_sec(&r, now, RATE_RECENT);
    assert_true(v > 190 && v < 210);
    double later = rate_per_sec(&r, now + RATE_RECENT, RATE_RECENT);
    assert_true(later > v * 0.48 && later < v * 0.52);
}

static void
test_who_new_without_memory_says_so(void **state)
{
    (void)state;
    struct who *w;
    mem_fail_at(0);
    assert_int_equal(who_new(&w), ST_NOMEM);
    mem_fail_at(-1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_heavy_pairs_stay_among_thousands_of_light_ones),
        cmocka_unit_test(test_who_pairs_in_use_keep_their_place_and_the_rest_share_one),
        cmocka_unit_test(test_who_top_is_sorted_and_forgets_what_is_long_past),
        cmocka_unit_test(test_who_a_steady_rate_is_told_a_second),
        cmocka_unit_test(test_who_new_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
