/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/status.h"

static void
test_status_each_has_a_text_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(ST_OK, 0);
    for (int i = 0; i < ST_COUNT_; i++) {
        assert_true(strlen(status_text((enum status)i)) > 0);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(status_text((enum status)i), status_text((enum status)k));
        }
    }
}

static void
test_status_a_value_that_is_none_has_a_text_too(void **state)
{
    (void)state;
    assert_string_equal(status_text(ST_COUNT_), "unknown status");
    assert_string_equal(status_text((enum status) - 1), "unknown status");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_each_has_a_text_of_its_own),
        cmocka_unit_test(test_status_a_value_that_is_none_has_a_text_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
