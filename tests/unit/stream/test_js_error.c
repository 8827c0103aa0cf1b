/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <string.h>

#include "stream/js_error.h"

static void
test_js_error_has_the_numbers_and_texts_of_the_reference(void **state)
{
    (void)state;
    struct js_fail f = {0};
    assert_int_equal(js_fail_plain(&f, JS_ERR_STREAM_NOT_FOUND), JS_ERR_STREAM_NOT_FOUND);
    assert_int_equal(f.code, 404);
    assert_int_equal(f.err_code, 10059);
    assert_string_equal(f.text, "stream not found");
}

static void
test_js_error_fills_its_placeholders_in_their_order(void **state)
{
    (void)state;
    struct js_fail f = {0};
    js_fail_set(&f, JS_ERR_STREAM_EXTERNAL_API_OVERLAP, 2, "pre", "sub");
    assert_string_equal(f.text, "stream external api prefix pre must not overlap with sub");
    js_fail_num(&f, JS_ERR_STREAM_WRONG_LAST_SEQUENCE, 42);
    assert_string_equal(f.text, "wrong last sequence: 42");
    js_fail_text(&f, JS_ERR_STREAM_NOT_FOUND, "unused");
    assert_string_equal(f.text, "stream not found");
}

static void
test_js_error_a_long_argument_is_cut(void **state)
{
    (void)state;
    struct js_fail f = {0};
    char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    js_fail_text(&f, JS_ERR_STREAM_GENERAL_ERROR, text);
    assert_int_equal(strlen(f.text), sizeof(f.text) - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_js_error_has_the_numbers_and_texts_of_the_reference),
        cmocka_unit_test(test_js_error_fills_its_placeholders_in_their_order),
        cmocka_unit_test(test_js_error_a_long_argument_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
