/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <string.h>

#include "stream/jtidy.h"

static void
becomes(const char *in, const char *want)
{
    struct buf b;
    buf_init(&b);
    enum status st = jtidy(in, strlen(in), &b);
    if (want == NULL) {
        assert_int_equal(st, ST_NOTFOUND);
        assert_int_equal(b.len, 0);
    } else {
        assert_int_equal(st, ST_OK);
        buf_putc(&b, '\0');
        assert_string_equal(b.data, want);
    }
    buf_fini(&b);
}

static void
test_what_jansson_reads_stays_as_it_is(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "{\"a\":-12,\"b\":[0,999999999999999999]}",
        "\"\xc3\xbc \xe2\x98\x83 \xf0\x9f\x98\x80\"",
        "\"\\ud83d\\ude00 \\u00fc \\\\ud800 \\n\"",
        "\"1.5 1e3\"",
        "{\"a",
        "\"\\",
        "\"\\u12",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        becomes(texts[i], NULL);
    }
}

static void
test_what_is_no_character_is_replaced_as_go_does(void **state)
{
    (void)state;
    becomes("\"a\xff\xc3z\"", "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
    becomes("\"\xed\xa0\x80\"", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    becomes("\"\xf4\x90\x80\x80\"", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    becomes("\"\xc0\x80\"", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    becomes("\"\xe2\x98\"", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    becomes("\"\\ud800\"", "\"\xef\xbf\xbd\"");
    becomes("\"\\udc00x\\uD83D\\n\"", "\"\xef\xbf\xbdx\xef\xbf\xbd\\n\"");
}

static const json_t *
number(json_t **o, const char *text)
{
    char all[100];
    (void)snprintf(all, sizeof all, "{\"a\":%s}", text);
    json_decref(*o);
    *o = jtidy_load(all, strlen(all), 0, NULL);
    assert_non_null(*o);
    return json_object_get(*o, "a");
}

static void
test_numbers_are_what_they_say(void **state)
{
    (void)state;
    json_t *o = NULL;
    int64_t i;
    uint64_t u;
    assert_true(jtidy_int(number(&o, "-9223372036854775808"), &i) && i == INT64_MIN);
    assert_false(jtidy_int(number(&o, "-9223372036854775809"), &i));
    assert_false(jtidy_int(number(&o, "9223372036854775808"), &i));
    assert_true(jtidy_int(number(&o, "-0"), &i) && i == 0);
    assert_true(jtidy_int(number(&o, "17"), &i) && i == 17);
    assert_true(jtidy_uint(number(&o, "18446744073709551615"), &u) && u == UINT64_MAX);
    assert_false(jtidy_uint(number(&o, "18446744073709551616"), &u));
    assert_false(jtidy_uint(number(&o, "-0"), &u));
    assert_false(jtidy_uint(number(&o, "-1"), &u));
    assert_false(jtidy_int(number(&o, "1e2"), &i));
    assert_false(jtidy_int(number(&o, "1.5"), &i));
    assert_false(jtidy_int(number(&o, "\"1\""), &i));
    assert_string_equal(jtidy_number(number(&o, "1e999")), "1e999");
    assert_null(jtidy_number(number(&o, "\"\\u0001x\"")));
    assert_null(jtidy_number(number(&o, "5")));
    json_decref(o);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_jansson_reads_stays_as_it_is),
        cmocka_unit_test(test_what_is_no_character_is_replaced_as_go_does),
        cmocka_unit_test(test_numbers_are_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
