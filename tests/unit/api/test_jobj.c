/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"

#include "server/base/mem.h"
#include "tests/support/cmk.h"

static void
expect_text(const char *v, const char *shown)
{
    json_t *o = json_object();
    jobj_str(&o, "k", v);
    assert_non_null(o);
    assert_string_equal(json_string_value(json_object_get(o, "k")), shown);
    json_decref(o);
}

static void
test_jobj_text_that_is_not_utf8_stays_readable(void **state)
{
    (void)state;
    expect_text("svc.a", "svc.a");
    expect_text("\xc3\xbc.a", "\xc3\xbc.a");
    expect_text("svc.\xff\xfe.a", "svc.??.a");
    expect_text("", "");
}

static void
test_jobj_without_memory_or_text_turns_the_whole_into_null(void **state)
{
    (void)state;
    json_t *o = json_object();
    mem_fail_at(0);
    jobj_str(&o, "k", "\xff");
    mem_fail_at(-1);
    assert_null(o);
    jobj_str(&o, "k", "x");
    assert_null(o);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobj_text_that_is_not_utf8_stays_readable),
        cmocka_unit_test(test_jobj_without_memory_or_text_turns_the_whole_into_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
