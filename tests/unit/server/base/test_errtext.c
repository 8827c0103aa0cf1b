/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <errno.h>

#include "server/base/errtext.h"

static void
test_errtext_speaks_in_lower_case(void **state)
{
    (void)state;
    char text[ERRTEXT_LEN];
    assert_string_equal(errtext(ENOENT, text), "no such file or directory");
    assert_string_equal(errtext(EACCES, text), "permission denied");
    assert_string_equal(errtext(EADDRINUSE, text), "address already in use");
}

static void
test_errtext_of_a_number_without_meaning_still_says_something(void **state)
{
    (void)state;
    char text[ERRTEXT_LEN];
    assert_ptr_equal(errtext(99999, text), text);
    assert_true(text[0] != '\0');
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errtext_speaks_in_lower_case),
        cmocka_unit_test(test_errtext_of_a_number_without_meaning_still_says_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
