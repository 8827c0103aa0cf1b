/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/clock.h"
#include "stream/consumer_ack.h"
#include "stream/consumer_request.h"
#include "stream/consumer_text.h"

static void
test_duration_is_written_as_go_does(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0s"},
                 {5, "5ns"},
                 {1500, "1.5\xc2\xb5s"},
                 {20 * CLOCK_MS, "20ms"},
                 {1500 * CLOCK_MS, "1.5s"},
                 {120 * CLOCK_S, "2m0s"},
                 {3661 * CLOCK_S, "1h1m1s"},
                 {-5 * CLOCK_S, "-5s"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[DURATION_TEXT];
        int64_t back;
        assert_string_equal(duration_text(cases[i].ns, text), cases[i].text);
        assert_int_equal(duration_parse(text, strlen(text), &back), ST_OK);
        assert_int_equal(back, cases[i].ns);
    }
}

static void
test_duration_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "5", "s", "1x", "1.s.", "-", "5s5", "99999999999h"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ns;
        assert_int_equal(duration_parse(bad[i], strlen(bad[i]), &ns), ST_SYNTAX);
    }
}

static void
test_ack_subject_of_both_forms_is_read(void **state)
{
    (void)state;
    static const char v1[] = "$JS.ACK.S.C.3.10.7.123.4";
    static const char v2[] = "$JS.ACK.dom.hash.S.C.3.10.7.123.4.x.y";
    struct ack_subject a;
    assert_true(ack_subject_parse(v1, sizeof v1 - 1, &a));
    assert_int_equal(a.seq, 10);
    assert_int_equal(a.dseq, 7);
    assert_int_equal(a.deliveries, 3);
    assert_true(ack_subject_parse(v2, sizeof v2 - 1, &a));
    assert_memory_equal(a.stream, "S.", 2);
    assert_int_equal(a.seq, 10);
    static const char *const bad[] = {"$JS.ACK",
                                      "$JS.ACK.S.C.1.2.3.4",
                                      "$JS.ACK.a.S.C.1.2.3.4.5",
                                      "x.ACK.S.C.3.10.7.123.4",
                                      "........",
                                      ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(ack_subject_parse(bad[i], strlen(bad[i]), &a));
    }
}

static void
test_pull_body_is_read_in_all_its_forms(void **state)
{
    (void)state;
    struct pull_spec s;
    char why[160];
    assert_true(pull_spec_parse("", 0, &s, why));
    assert_int_equal(s.n, 1);
    assert_true(pull_spec_parse(" 12 ", 4, &s, why));
    assert_int_equal(s.n, 12);
    assert_true(pull_spec_parse("nonsense", 8, &s, why));
    assert_int_equal(s.n, 1);
    static const char body[] =
        "{\"batch\":3,\"group\":\"g\",\"id\":\"0123456789012345678901234567890"
        "123456789\",\"priority\":4,\"unknown\":1}";
    assert_true(pull_spec_parse(body, sizeof body - 1, &s, why));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.priority, 4);
    assert_string_equal(s.group, "g");
    assert_false(pull_spec_parse("{", 1, &s, why));
    assert_string_equal(why, "400 Bad Request - unexpected end of JSON input");
    assert_false(pull_spec_parse("{\"batch\":\"x\"}", 13, &s, why));
    assert_int_equal(strncmp(why, "400 Bad Request - json: cannot unmarshal string", 47), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duration_is_written_as_go_does),
        cmocka_unit_test(test_duration_that_is_none_is_refused),
        cmocka_unit_test(test_ack_subject_of_both_forms_is_read),
        cmocka_unit_test(test_pull_body_is_read_in_all_its_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
