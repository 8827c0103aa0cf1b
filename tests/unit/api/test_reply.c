/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <string.h>

#include "api/reply.h"
#include "server/base/clock.h"

#define NOT_EXECUTED ": the request was not executed\"}}"

static void
test_a_refusal_says_what_when_to_retry_and_that_nothing_was_done(void **state)
{
    struct refusal r;
    (void)state;
    reply_refusal(&r, END_EVICTED, NULL, NULL, 250 * CLOCK_MS);
    assert_string_equal(r.hdr, "NATS/1.0\r\nNats-Retry-After: 0.250\r\n\r\n");
    assert_string_equal(r.body, "{\"error\":{\"code\":503,\"err_code\":10008,\"description\":"
                                "\"the queue is full" NOT_EXECUTED);
    reply_refusal(&r, END_BAD_HEADER, NULL, NULL, CLOCK_S);
    assert_string_equal(r.hdr, "");
}

static void
test_a_refusal_names_server_and_type_before_the_error(void **state)
{
    struct refusal r;
    (void)state;
    reply_refusal(&r, END_THROTTLED, "{\"name\":\"a\"}", NULL, 0);
    assert_string_equal(r.hdr, "");
    assert_string_equal(r.body, "{\"server\":{\"name\":\"a\"},\"error\":{\"code\":429,\"err_code\":"
                                "10008,\"description\":\"over the limit of the workload "
                                "group" NOT_EXECUTED);
    reply_refusal(&r, END_EXPIRED, NULL, "io.x.y", 0);
    assert_string_equal(r.body, "{\"type\":\"io.x.y\",\"error\":{\"code\":408,\"err_code\":10008,"
                                "\"description\":\"the deadline passed" NOT_EXECUTED);
}

static void
test_the_hint_has_milliseconds_to_the_nearest(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {1, "0.000"},
        {499999, "0.000"},
        {500000, "0.001"},
        {CLOCK_MS, "0.001"},
        {999999999, "1.000"},
        {1070400000, "1.070"},
        {37 * CLOCK_S + 5 * CLOCK_MS, "37.005"},
    };
    struct refusal r;
    char want[96];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(want, sizeof(want), "NATS/1.0\r\nNats-Retry-After: %s\r\n\r\n",
                       rows[i].text);
        reply_refusal(&r, END_EVICTED, NULL, NULL, rows[i].ns);
        assert_string_equal(r.hdr, want);
    }
}

static void
test_a_server_with_a_name_beyond_all_bounds_overruns_nothing(void **state)
{
    struct refusal r[2];
    char server[2048];
    (void)state;
    memset(server, 'n', sizeof(server) - 1);
    server[sizeof(server) - 1] = '\0';
    memset(r, 'x', sizeof(r));
    reply_refusal(&r[0], END_EVICTED, server, "t", CLOCK_S);
    assert_int_equal(strlen(r[0].body), sizeof(r[0].body) - 1);
    assert_int_equal(r[1].hdr[0], 'x');
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_says_what_when_to_retry_and_that_nothing_was_done),
        cmocka_unit_test(test_a_refusal_names_server_and_type_before_the_error),
        cmocka_unit_test(test_the_hint_has_milliseconds_to_the_nearest),
        cmocka_unit_test(test_a_server_with_a_name_beyond_all_bounds_overruns_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
