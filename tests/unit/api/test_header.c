/* SPDX-License-Identifier: Apache-2.0 */
#include "api/header.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "tests/support/cmk.h"

static int64_t
ns(const char *s)
{
    int64_t v = INT64_MIN;
    return header_duration(s, strlen(s), &v) == ST_OK ? v : INT64_MIN;
}

static void
test_header_duration_takes_what_go_writes_and_plain_milliseconds(void **state)
{
    (void)state;
    assert_int_equal(ns("1s"), CLOCK_S);
    assert_int_equal(ns("500ms"), 500 * CLOCK_MS);
    assert_int_equal(ns("1m30s"), 90 * CLOCK_S);
    assert_int_equal(ns("1h"), 3600 * CLOCK_S);
    assert_int_equal(ns("1.5s"), 1500 * CLOCK_MS);
    assert_int_equal(ns("20us"), 20 * CLOCK_US);
    assert_int_equal(ns("20\xc2\xb5s"), 20 * CLOCK_US);
    assert_int_equal(ns("7ns"), 7);
    assert_int_equal(ns("250"), 250 * CLOCK_MS);
    assert_int_equal(ns("0"), 0);
    assert_int_equal(ns("0s"), 0);
    assert_int_equal(ns("-3s"), -3 * CLOCK_S);
    assert_int_equal(ns("+3s"), 3 * CLOCK_S);
    assert_int_equal(ns("99999999h"), HEADER_DURATION_MAX);
}

static void
test_header_duration_refuses_what_is_no_time(void **state)
{
    (void)state;
    const char *bad[] = {"",       "-",  "s",    "1x",  "1.5",  "1s2", "1 s", "abc",
                         "1.2.3s", ".s", "1e3s", "NaN", "0x10", "1s ", "--1s"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (ns(bad[i]) != INT64_MIN) {
            fail_msg("\"%s\" was taken", bad[i]);
        }
    }
    char digits[2000];
    memset(digits, '9', sizeof(digits));
    int64_t v;
    assert_int_equal(header_duration(digits, sizeof(digits), &v), ST_INVAL);
}

static void
test_header_find_reads_one_field_of_a_block(void **state)
{
    (void)state;
    const char *h = "NATS/1.0\r\nA: 1\r\nNats-Request-Timeout:  2s \r\nB:3\r\n\r\n";
    const char *v;
    size_t n;
    assert_true(header_find(h, strlen(h), "nats-request-timeout", &v, &n));
    assert_int_equal(n, 2);
    assert_memory_equal(v, "2s", 2);
    assert_true(header_find(h, strlen(h), "B", &v, &n));
    assert_memory_equal(v, "3", 1);
    assert_false(header_find(h, strlen(h), "Nats", &v, &n));
    assert_false(header_find(NULL, 0, "A", &v, &n));
    int64_t t;
    assert_int_equal(header_timeout(h, strlen(h), &t), ST_OK);
    assert_int_equal(t, 2 * CLOCK_S);
    const char *patient = "NATS/1.0\r\nNats-Request-Timeout: 25h\r\n\r\n";
    assert_int_equal(header_timeout(patient, strlen(patient), &t), ST_OK);
    assert_int_equal(t, HEADER_TIMEOUT_MAX);
    assert_int_equal(header_timeout(NULL, 0, &t), ST_NOTFOUND);
}

static void
test_header_find_ends_with_any_cut_of_the_block(void **state)
{
    (void)state;
    const char *h = "NATS/1.0\r\nA: 1\r\nNats-Request-Timeout: 2s\r\n\r\n";
    for (size_t len = 0; len <= strlen(h); len++) {
        char *cut = malloc(len + 1);
        memcpy(cut, h, len);
        const char *v;
        size_t n;
        if (header_find(cut, len, "Nats-Request-Timeout", &v, &n)) {
            assert_true(v >= cut && v + n <= cut + len);
        }
        free(cut);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_duration_takes_what_go_writes_and_plain_milliseconds),
        cmocka_unit_test(test_header_duration_refuses_what_is_no_time),
        cmocka_unit_test(test_header_find_reads_one_field_of_a_block),
        cmocka_unit_test(test_header_find_ends_with_any_cut_of_the_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
