/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <string.h>

#include "server/proto/wirejson.h"

static json_t *
load(const char *text)
{
    return wirejson_load(text, strlen(text), NULL);
}

static void
check_text(const char *text, const char *want)
{
    json_t *o = load(text);
    if (o == NULL || json_string_value(json_object_get(o, "a")) == NULL ||
        strcmp(json_string_value(json_object_get(o, "a")), want) != 0) {
        fail_msg("%s: wanted %s", text, want);
    }
    json_decref(o);
}

static void
test_wirejson_puts_the_replacement_character_where_text_is_broken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"a\":\"plain\"}", "plain"},
        {"{\"a\":\"\xc3\xa9\"}", "\xc3\xa9"},
        {"{\"a\":\"x\xff\xfey\"}", "x\xef\xbf\xbd\xef\xbf\xbdy"},
        {"{\"a\":\"\xc3\"}", "\xef\xbf\xbd"},
        {"{\"a\":\"\xc0\x80\"}", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"{\"a\":\"\xed\xa0\x80\"}", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"{\"a\":\"\xf0\x9f\x98\x80\xff\"}", "\xf0\x9f\x98\x80\xef\xbf\xbd"},
        {"{\"a\":\"\xf4\x90\x80\x80\"}", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"{\"a\":\"\\ud800x\"}", "\xef\xbf\xbdx"},
        {"{\"a\":\"\\udc00\"}", "\xef\xbf\xbd"},
        {"{\"a\":\"\\ud800\\u0041\"}", "\xef\xbf\xbd\x41"},
        {"{\"a\":\"\\uD83D\\uDE00\\ud83d\"}", "\xf0\x9f\x98\x80\xef\xbf\xbd"},
        {"{\"a\":\"\\\\\\\"\xff\"}", "\\\"\xef\xbf\xbd"},
        {"{\"b\":1e999,\"a\":\"x\"}", "x"},
        {"{\"b\":[-12345678901234567890, 1.5e9999],\"a\":\"x\"}", "x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_text(cases[i].text, cases[i].want);
    }
}

static void
test_wirejson_keeps_nul_in_a_text(void **state)
{
    (void)state;
    json_t *o = load("{\"a\":\"x\\u0000y\",\"b\":1e999}");
    assert_int_equal(json_string_length(json_object_get(o, "a")), 3);
    assert_memory_equal(json_string_value(json_object_get(o, "a")), "x\0y", 3);
    json_decref(o);
}

static void
test_wirejson_numbers_past_all_bounds_are_no_integers(void **state)
{
    (void)state;
    json_t *o = load("{\"a\":99999999999999999999,\"b\":-7,\"c\":123456789012345678}");
    assert_false(json_is_integer(json_object_get(o, "a")));
    assert_int_equal(json_integer_value(json_object_get(o, "b")), -7);
    assert_int_equal(json_integer_value(json_object_get(o, "c")), INT64_C(123456789012345678));
    json_decref(o);
}

static void
test_wirejson_refuses_what_is_no_json(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "{\xff}",
        "{\"a\":01}",
        "{\"a\":1e}",
        "{\"a\":-}",
        "{\"a\":1.}",
        "{\"a\":\"\x01\"}",
        "{\"a\":\"x}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":1}x",
        "{\"a\":\"\\",
        "nul",
        "{\"a\":\"\\x\"}",
        "1e999x",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (load(bad[i]) != NULL) {
            fail_msg("%s was taken", bad[i]);
        }
    }
    json_error_t err;
    assert_null(wirejson_load("{\"a\":\0}", 7, &err));
    assert_true(err.text[0] != '\0');
}

static void
test_wirejson_takes_any_value(void **state)
{
    (void)state;
    static const char *const good[] = {"null", "1", "\"x\"", "[]", "true", "\"\xff\"", "1e999"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        json_t *v = load(good[i]);
        assert_non_null(v);
        json_decref(v);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wirejson_puts_the_replacement_character_where_text_is_broken),
        cmocka_unit_test(test_wirejson_keeps_nul_in_a_text),
        cmocka_unit_test(test_wirejson_numbers_past_all_bounds_are_no_integers),
        cmocka_unit_test(test_wirejson_refuses_what_is_no_json),
        cmocka_unit_test(test_wirejson_takes_any_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
