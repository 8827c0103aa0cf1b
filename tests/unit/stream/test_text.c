/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmk.h"

static void
test_text_numbers_are_as_printf_writes_them(void **state)
{
    (void)state;
    const uint64_t v[] = {0, 1, 9, 10, 99, 100, 12345, UINT32_MAX, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        char got[TEXT_U64 + 1];
        char want[32];
        *text_put_u64(got, v[i]) = '\0';
        (void)snprintf(want, sizeof want, "%" PRIu64, v[i]);
        assert_string_equal(got, want);
    }
}

static void
test_text_put_stops_at_the_end_or_at_the_most(void **state)
{
    (void)state;
    char got[8];
    *text_put(got, "abc", 5) = '\0';
    assert_string_equal(got, "abc");
    *text_put(got, "abcdefghij", 5) = '\0';
    assert_string_equal(got, "abcde");
    assert_ptr_equal(text_put(got, "", 5), got);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_numbers_are_as_printf_writes_them),
        cmocka_unit_test(test_text_put_stops_at_the_end_or_at_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
