/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/text.h"

#include <string.h>

#include "server/base/clock.h"
#include "tests/support/cmk.h"

static void
test_text_uptime_shows_whole_seconds_and_years_as_days(void **state)
{
    (void)state;
    static const struct {
        int64_t s;
        const char *text;
    } rows[] = {
        {0, "0s"},        {59, "59s"},         {63, "1m3s"},
        {3600, "1h0m0s"}, {90061, "1d1h1m1s"}, {365 * 86400 + 2 * 86400 + 5, "1y2d0h0m5s"},
    };
    char out[TEXT_LEN];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(text_uptime(rows[i].s * CLOCK_S + 999, out), rows[i].text);
    }
}

static void
test_text_duration_prints_as_go_does(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {0, "0s"},
        {1, "1ns"},
        {1500, "1.5\xC2\xB5s"},
        {209000, "209\xC2\xB5s"},
        {1234567, "1.234567ms"},
        {15 * CLOCK_S, "15s"},
        {90 * CLOCK_S + 250 * CLOCK_MS, "1m30.25s"},
        {3600 * CLOCK_S, "1h0m0s"},
        {-CLOCK_MS, "-1ms"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };
    char out[TEXT_LEN];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(text_duration(rows[i].ns, out), rows[i].text);
    }
}

static void
test_text_numbers_are_read_as_strconv_reads_them(void **state)
{
    (void)state;
    int64_t i = 0;
    uint64_t u = 0;
    bool b = false;
    const char *why;
    assert_true(text_parse_int("-12", &i, &why));
    assert_int_equal(i, -12);
    assert_true(text_parse_int("+7", &i, &why));
    assert_false(text_parse_int("1x", &i, &why));
    assert_string_equal(why, "invalid syntax");
    assert_false(text_parse_int("-", &i, &why));
    assert_false(text_parse_int("99999999999999999999", &i, &why));
    assert_string_equal(why, "value out of range");
    assert_true(text_parse_uint("18446744073709551615", &u, &why));
    assert_false(text_parse_uint("-1", &u, &why));
    assert_string_equal(why, "invalid syntax");
    assert_true(text_parse_bool("T", &b, &why));
    assert_true(b);
    assert_true(text_parse_bool("0", &b, &why));
    assert_false(b);
    assert_false(text_parse_bool("yes", &b, &why));
}

static void
test_text_ids_are_22_letters_and_digits_and_differ(void **state)
{
    (void)state;
    char a[TEXT_ID_LEN];
    char b[TEXT_ID_LEN];
    assert_int_equal(strlen(text_new_id(a)), 22);
    assert_int_equal(strspn(a, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
                     22);
    assert_string_not_equal(a, text_new_id(b));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_uptime_shows_whole_seconds_and_years_as_days),
        cmocka_unit_test(test_text_duration_prints_as_go_does),
        cmocka_unit_test(test_text_numbers_are_read_as_strconv_reads_them),
        cmocka_unit_test(test_text_ids_are_22_letters_and_digits_and_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
