/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include "server/conf/number.h"

static int64_t
size_of(const char *s)
{
    int64_t v = 0;
    assert_int_equal(number_parse_size(s, &v), ST_OK);
    return v;
}

static void
test_number_size_suffixes_are_decimal_or_binary(void **state)
{
    (void)state;
    assert_int_equal(size_of("0"), 0);
    assert_int_equal(size_of("-17"), -17);
    assert_int_equal(size_of("1k"), 1000);
    assert_int_equal(size_of("1K"), 1000);
    assert_int_equal(size_of("2KB"), 2048);
    assert_int_equal(size_of("2ki"), 2048);
    assert_int_equal(size_of("2KiB"), 2048);
    assert_int_equal(size_of("3m"), 3000000);
    assert_int_equal(size_of("3MiB"), 3145728);
    assert_int_equal(size_of("1g"), 1000000000);
    assert_int_equal(size_of("1gb"), 1073741824);
    assert_int_equal(size_of("1t"), 1000000000000);
    assert_int_equal(size_of("1pi"), 1125899906842624);
    assert_int_equal(size_of("-1e"), -1000000000000000000);
}

static void
test_number_sizes_that_are_none_are_refused(void **state)
{
    (void)state;
    int64_t v;
    assert_int_equal(number_parse_size("1kbb", &v), ST_SYNTAX);
    assert_int_equal(number_parse_size("1x", &v), ST_SYNTAX);
    assert_int_equal(number_parse_size("1ib", &v), ST_SYNTAX);
    assert_int_equal(number_parse_size("k", &v), ST_SYNTAX);
    assert_int_equal(number_parse_size("", &v), ST_SYNTAX);
    assert_int_equal(number_parse_size("1-2", &v), ST_SYNTAX);
    assert_int_equal(number_parse_size("9223372036854775808", &v), ST_LIMIT);
    assert_int_equal(number_parse_size("10e", &v), ST_LIMIT);
    assert_int_equal(number_parse_size("99999999999999999999999999999999999999999", &v), ST_LIMIT);
}

static void
test_number_flags_may_have_another_base(void **state)
{
    (void)state;
    int64_t v;
    assert_int_equal(number_parse_flag("0x10", &v), ST_OK);
    assert_int_equal(v, 16);
    assert_int_equal(number_parse_flag("-0b101", &v), ST_OK);
    assert_int_equal(v, -5);
    assert_int_equal(number_parse_flag("0o17", &v), ST_OK);
    assert_int_equal(v, 15);
    assert_int_equal(number_parse_flag("017", &v), ST_OK);
    assert_int_equal(v, 15);
    assert_int_equal(number_parse_flag("0", &v), ST_OK);
    assert_int_equal(v, 0);
    assert_int_equal(number_parse_flag("4222", &v), ST_OK);
    assert_int_equal(v, 4222);
    assert_int_equal(number_parse_flag("0x", &v), ST_SYNTAX);
    assert_int_equal(number_parse_flag("0x-1", &v), ST_SYNTAX);
    assert_int_equal(number_parse_flag("1k", &v), ST_SYNTAX);
    assert_int_equal(number_parse_flag("", &v), ST_SYNTAX);
    assert_int_equal(number_parse_flag("99999999999999999999", &v), ST_LIMIT);
}

static void
test_number_floats_are_written_as_short_as_they_read_back(void **state)
{
    (void)state;
    static const struct {
        double f;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "1"},
        {0.5, "0.5"},
        {100.25, "100.25"},
        {1000000, "1000000"},
        {0.1, "0.1"},
        {-2.5, "-2.5"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1e-7, "1e-7"},
        {0.000001, "0.000001"},
        {123456789.125, "123456789.125"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[NUMBER_FLOAT_LEN];
        assert_string_equal(number_format_float(cases[i].f, out), cases[i].text);
    }
}

static void
test_number_datetimes_are_days_that_exist(void **state)
{
    (void)state;
    assert_true(number_is_datetime("2020-02-29T23:59:59Z"));
    assert_true(number_is_datetime("2000-02-29T00:00:00Z"));
    assert_false(number_is_datetime("2021-02-29T00:00:00Z"));
    assert_false(number_is_datetime("1900-02-29T00:00:00Z"));
    assert_false(number_is_datetime("2020-13-01T00:00:00Z"));
    assert_false(number_is_datetime("2020-00-01T00:00:00Z"));
    assert_false(number_is_datetime("2020-04-31T00:00:00Z"));
    assert_false(number_is_datetime("2020-04-30T24:00:00Z"));
    assert_false(number_is_datetime("2020-04-30T00:00:60Z"));
    assert_false(number_is_datetime("2020-04-30"));
}

static void
test_number_durations_add_their_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0", 0},
        {"5s", 5000000000},
        {"1h2m3s", 3723000000000},
        {"1.5h", 5400000000000},
        {".5s", 500000000},
        {"-2ms", -2000000},
        {"+7us", 7000},
        {"7\xC2\xB5s", 7000},
        {"3ns", 3},
        {"2m30.25s", 150250000000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[NUMBER_WHY_LEN];
        int64_t ns;
        assert_int_equal(number_parse_duration(cases[i].text, &ns, why), ST_OK);
        assert_int_equal(ns, cases[i].ns);
    }
}

static void
test_number_durations_that_are_none_say_why(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"", "time: invalid duration \"\""},
        {"-", "time: invalid duration \"-\""},
        {"x", "time: invalid duration \"x\""},
        {".s", "time: invalid duration \".s\""},
        {"10", "time: missing unit in duration \"10\""},
        {"1x", "time: unknown unit \"x\" in duration \"1x\""},
        {"1s2", "time: missing unit in duration \"1s2\""},
        {"9999999999h", "time: invalid duration \"9999999999h\""},
        {"99999999999999999999s", "time: invalid duration \"99999999999999999999s\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[NUMBER_WHY_LEN] = "";
        int64_t ns;
        assert_int_equal(number_parse_duration(cases[i].text, &ns, why), ST_SYNTAX);
        assert_string_equal(why, cases[i].why);
    }
}

static void
test_number_durations_are_written_as_go_writes_them(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {1, "1ns"},
        {1500, "1.5\xC2\xB5s"},
        {250000000, "250ms"},
        {1500000000, "1.5s"},
        {120000000000, "2m0s"},
        {3723000000000, "1h2m3s"},
        {-5000000000, "-5s"},
        {86400000000000, "24h0m0s"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[NUMBER_DURATION_LEN];
        assert_string_equal(number_format_duration(cases[i].ns, out), cases[i].text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number_size_suffixes_are_decimal_or_binary),
        cmocka_unit_test(test_number_sizes_that_are_none_are_refused),
        cmocka_unit_test(test_number_flags_may_have_another_base),
        cmocka_unit_test(test_number_floats_are_written_as_short_as_they_read_back),
        cmocka_unit_test(test_number_datetimes_are_days_that_exist),
        cmocka_unit_test(test_number_durations_add_their_units),
        cmocka_unit_test(test_number_durations_that_are_none_say_why),
        cmocka_unit_test(test_number_durations_are_written_as_go_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
