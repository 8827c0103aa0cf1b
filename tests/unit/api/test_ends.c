/* SPDX-License-Identifier: Apache-2.0 */
#include "api/ends.h"

#include <string.h>

#include "tests/support/cmk.h"

static bool
is_refusal(enum ledger_end e)
{
    enum ledger_outcome o = ledger_outcome_of(e);
    return o == LEDGER_REFUSED || o == LEDGER_EVICTED || o == LEDGER_EXPIRED;
}

static void
test_ends_are_told_where_nothing_was_executed_and_somebody_listens(void **state)
{
    (void)state;
    for (enum ledger_end e = 0; e < LEDGER_END_COUNT; e++) {
        bool told = ledger_end_code(e) != 0;
        assert_int_equal(told, ledger_end_text(e) != NULL);
        if (ledger_outcome_of(e) == LEDGER_ANSWERED) {
            assert_false(told);
        } else if (is_refusal(e)) {
            assert_true(told);
        }
    }
    assert_int_equal(ledger_end_code(END_OPERATOR), 503);
    assert_int_equal(ledger_end_code(END_CANCEL_AFTER), 408);
    assert_int_equal(ledger_end_code(END_DISCONNECT), 0);
    assert_int_equal(ledger_end_code(END_NO_INTEREST), 0);
}

static void
test_ends_of_the_plane_and_of_gates_have_names_of_their_own(void **state)
{
    (void)state;
    for (enum ledger_end e = 0; e < LEDGER_END_COUNT; e++) {
        assert_true(ledger_end_is_of(e, LEDGER_BOTH));
        for (enum ledger_end other = 0; other < e; other++) {
            assert_string_not_equal(ledger_end_name(e), ledger_end_name(other));
        }
    }
}

static void
test_ends_by_a_reply_are_of_gates_alone_and_those_by_an_endpoint_of_the_plane(void **state)
{
    (void)state;
    assert_true(ledger_end_is_of(END_REPLIED, LEDGER_GATES));
    assert_false(ledger_end_is_of(END_REPLIED, LEDGER_PLANE));
    assert_true(ledger_end_is_of(END_FAILED, LEDGER_PLANE));
    assert_false(ledger_end_is_of(END_FAILED, LEDGER_GATES));
    assert_true(ledger_end_is_of(END_EVICTED, LEDGER_PLANE));
    assert_true(ledger_end_is_of(END_EVICTED, LEDGER_GATES));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_are_told_where_nothing_was_executed_and_somebody_listens),
        cmocka_unit_test(test_ends_of_the_plane_and_of_gates_have_names_of_their_own),
        cmocka_unit_test(
            test_ends_by_a_reply_are_of_gates_alone_and_those_by_an_endpoint_of_the_plane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
