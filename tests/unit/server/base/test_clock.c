/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <time.h>

#include "server/base/clock.h"

static void
test_clock_real_never_goes_back(void **state)
{
    (void)state;
    int64_t last = clock_now(&clock_real);
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_now(&clock_real);
        assert_true(now >= last);
        last = now;
    }
    assert_true(clock_mono_ns() >= last);
}

static void
test_clock_wall_is_past_2020(void **state)
{
    (void)state;
    assert_true(clock_wall_ns() > INT64_C(1577836800) * CLOCK_S);
}

static void
test_clock_fake_moves_only_by_hand(void **state)
{
    (void)state;
    struct clock_fake f = {5};
    struct clock c = clock_fake_of(&f);
    assert_int_equal(clock_now(&c), 5);
    assert_int_equal(clock_now(&c), 5);
    clock_fake_advance(&f, 3 * CLOCK_S);
    assert_int_equal(clock_now(&c), 5 + 3 * CLOCK_S);
}

static void
test_clock_rfc3339_is_as_go_writes_it(void **state)
{
    (void)state;
    char out[CLOCK_RFC3339_LEN];
    const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z"},
        {INT64_C(1796062607) * CLOCK_S + 546600000, "2026-11-30T18:16:47.5466Z"},
        {1, "1970-01-01T00:00:00.000000001Z"},
        {10 * CLOCK_MS, "1970-01-01T00:00:00.01Z"},
        {-1, "1969-12-31T23:59:59.999999999Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(clock_rfc3339(cases[i].ns, out), cases[i].text);
    }
    /* Each seventh of a day or so that there is. */
    for (int64_t s = INT64_MIN / CLOCK_S + 1; s < INT64_MAX / CLOCK_S - 600000; s += 604801) {
        char want[CLOCK_RFC3339_LEN];
        time_t t = (time_t)s;
        struct tm tm;
        (void)gmtime_r(&t, &tm);
        (void)strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%SZ", &tm);
        assert_string_equal(clock_rfc3339(s * CLOCK_S, out), want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_real_never_goes_back),
        cmocka_unit_test(test_clock_wall_is_past_2020),
        cmocka_unit_test(test_clock_fake_moves_only_by_hand),
        cmocka_unit_test(test_clock_rfc3339_is_as_go_writes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
