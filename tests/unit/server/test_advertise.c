/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <string.h>

#include "server/advertise.h"

static void
test_advertise_takes_host_and_port(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        int port;
    } cases[] = {
        {"a.example", "a.example", 4222},
        {"a.example:80", "a.example", 80},
        {"1.2.3.4", "1.2.3.4", 4222},
        {"[::1]:80", "::1", 80},
        {"[::1]", "::1", 4222},
        {":80", "", 80},
        {"h:0", "h", 4222},
        {"h:-1", "h", 4222},
        {" h : 80 ", "h", 80},
        {"h:99999", "h", 99999},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct advertise a;
        assert_int_equal(advertise_parse(cases[i].text, 4222, &a), ST_OK);
        assert_string_equal(a.host, cases[i].host);
        assert_int_equal(a.port, cases[i].port);
    }
}

static void
test_advertise_says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"a:b:c", "address a:b:c: too many colons in address"},
        {"::1", "address ::1: too many colons in address"},
        {"[::1", "address [::1: missing ']' in address"},
        {"[::1]:1:2", "address [::1]:1:2: too many colons in address"},
        {"h]:1", "address h]:1: unexpected ']' in address"},
        {"h:x", "strconv.Atoi: parsing \"x\": invalid syntax"},
        {"h:", "strconv.Atoi: parsing \"\": invalid syntax"},
        {"h:99999999999", "strconv.Atoi: parsing \"99999999999\": value out of range"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct advertise a;
        assert_int_equal(advertise_parse(cases[i].text, 4222, &a), ST_INVAL);
        assert_string_equal(a.why, cases[i].why);
    }
}

static void
test_advertise_refuses_a_host_without_end(void **state)
{
    (void)state;
    char text[1000];
    struct advertise a;
    memset(text, 'h', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(advertise_parse(text, 1, &a), ST_INVAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_advertise_takes_host_and_port),
        cmocka_unit_test(test_advertise_says_what_is_wrong),
        cmocka_unit_test(test_advertise_refuses_a_host_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
