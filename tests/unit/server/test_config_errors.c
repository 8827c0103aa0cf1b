/* SPDX-License-Identifier: Apache-2.0 */
/* What a wrong file is told: the same words and places as from nats-server where it has the key,
 * see tests/system/config. */
#include "tests/support/cmk.h"

#include "api/gate_conf.h"
#include "server/base/buf.h"
#include "server/config.h"
#include "tests/support/conffile.h"

struct bad {
    const char *text;
    const char *told;
};

static void
check(const struct bad *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        conffile_bad(cases[i].text, cases[i].told);
    }
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof((cases)[0]))

static void
test_config_unknown_keys_are_told_with_their_place(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"porxt: 1\n  foo: 2\n", "a.conf:1:0: unknown field \"porxt\"\na.conf:2:3: unknown field "
                                 "\"foo\""},
        {"authorization { foo: 1 }", "a.conf:1:16: unknown field \"foo\""},
        {"accounts { A { foo: 1 } }", "a.conf:1:15: unknown field \"foo\""},
        {"", "a.conf: config has no values or is empty"},
    };
    CHECK(cases);
}

static void
test_config_keys_that_are_only_variables_are_no_errors(void **state)
{
    (void)state;
    config_unref(conffile_good("mine: 4333\nport: $mine\nwho { user: a }\n"
                               "authorization { u: $who, users: [ $u ] }\n"));
}

static void
test_config_values_of_the_wrong_type(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"port: \"x\"", "a.conf:1:0: interface conversion: interface {} is string, not int64"},
        {"port: 1.5", "a.conf:1:0: interface conversion: interface {} is float64, not int64"},
        {"debug: 1", "a.conf:1:0: interface conversion: interface {} is int64, not bool"},
        {"host { }", "a.conf:1:0: interface conversion: interface {} is map[string]interface {}, "
                     "not string"},
        {"host: []", "a.conf:1:0: interface conversion: interface {} is []interface {}, not "
                     "string"},
        {"host: 2020-01-01T00:00:00Z",
         "a.conf:1:0: interface conversion: interface {} is time.Time, not string"},
        {"listen: a", "a.conf:1:0: could not parse address string \"a\""},
        {"listen: \"a:1:2\"", "a.conf:1:0: could not parse address string \"a:1:2\""},
        {"listen: \"[::1:2\"", "a.conf:1:0: could not parse address string \"[::1:2\""},
        {"listen: \"a:b\"", "a.conf:1:0: could not parse port \"b\""},
        {"listen: 4.5", "a.conf:1:0: expected port or host:port, got float64"},
        {"server_tags: 3", "a.conf:1:0: error parsing tags: unsupported type int64"},
        {"server_metadata: 3", "a.conf:1:0: error parsing metadata: unsupported type int64"},
        {"feature_flags: {a: 3}",
         "a.conf:1:16: error parsing feature flag \"a\": expected bool, got int64"},
        {"system_account: 3", "a.conf:1:0: system account name must be a string"},
    };
    CHECK(cases);
}

static void
test_config_values_out_of_range(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"max_payload: 2GB", "a.conf:1:0: max_payload value is too big"},
        {"max_control_line: 3GB", "a.conf:1:0: max_control_line value is too big"},
        {"max_sub_tokens: 300", "a.conf:1:0: max_sub_tokens value is too big"},
        {"max_subscription_tokens: 0",
         "a.conf:1:0: max_subscription_tokens value can not be negative"},
        {"lame_duck_duration: \"10s\"",
         "a.conf:1:0: invalid lame_duck_duration of 10s, minimum is 30 seconds"},
        {"lame_duck_grace_period: \"-1s\"",
         "a.conf:1:0: invalid lame_duck_grace_period, needs to be positive"},
        {"ping_interval: \"1x\"", "a.conf:1:0: error parsing ping_interval: time: unknown unit "
                                  "\"x\" in duration \"1x\""},
        {"ping_interval: \"-1s\"",
         "a.conf:1:0: ping_interval is out of range, allowed is 0s to 2562047h47m16.854775807s"},
        {"write_timeout: foo", "a.conf:1:0: write_timeout must be 'default', 'close' or 'retry'"},
        {"server_name: \"a b\"", "a.conf:1:0: server name cannot contain spaces"},
        {"io_threads: 65", "a.conf:1:0: io_threads: 65 is out of range, allowed is 0 to 64"},
    };
    CHECK(cases);
}

static void
test_config_of_the_api_is_refused_by_name_with_what_is_allowed(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"api { workers: 300 }", "a.conf:1:6: workers: 300 is out of range, allowed is 0 to 256"},
        {"api { request_queue_limit: -1 }",
         "a.conf:1:6: request_queue_limit: -1 is out of range, allowed is 0 to 100000000"},
        {"api { adaptive_age: 2 }",
         "a.conf:1:6: adaptive_age: 2 is out of range, allowed is 0.01 to 1"},
        {"api { adaptive_wait: \"25h\" }",
         "a.conf:1:6: adaptive_wait is out of range, allowed is 0s to 24h0m0s"},
        {"api { discipline: random }",
         "a.conf:1:6: discipline must be 'fifo', 'lifo' or 'adaptive'"},
        {"api { limits: 1 }", "a.conf:1:6: limits: true or false is expected"},
        {"api { workers: many }", "a.conf:1:6: workers: a whole number is expected"},
        {"api { adaptive_age: half }", "a.conf:1:6: adaptive_age: a number is expected"},
        {"api { adaptive_wait: 5 }",
         "a.conf:1:6: adaptive_wait: a time is expected, such as \"5s\" or \"250ms\""},
        {"api { discipline: 5 }", "a.conf:1:6: discipline must be 'fifo', 'lifo' or 'adaptive'"},
        {"api { foo: 1 }",
         "a.conf:1:6: unknown field \"foo\", api { } has workers, request_queue_limit, "
         "info_queue_limit, request_queue_max_bytes, info_queue_max_bytes, operator_queue_limit, "
         "discipline, adaptive_age, adaptive_wait, aged_share, request_deadline, "
         "max_pending_commits, cancel_after, account_weights, limits"},
        {"api: 3", "a.conf:1:0: api: a block is expected"},
    };
    CHECK(cases);
}

static void
test_config_gates_that_are_wrong_name_the_field(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"gates { a { limit: 1 } }", "a.conf:1:8: gate \"a\": subject: missing"},
        {"gates { a { subject: x } }", "a.conf:1:8: gate \"a\": limit: missing"},
        {"gates { a { subject: x, limit: 0 } }",
         "a.conf:1:24: gate \"a\": limit: 0 is out of range, allowed is 1 to 1000000"},
        {"gates { a { subject: x\n limit: many } }",
         "a.conf:2:2: gate \"a\": limit: a whole number is expected"},
        {"gates { a { subject: \"x..y\", limit: 1 } }",
         "a.conf:1:12: gate \"a\": subject: \"x..y\" is no subject"},
        {"gates { a { subject: \"$JS.API.>\", limit: 1 } }",
         "a.conf:1:12: gate \"a\": subject: \"$JS.API.>\" overlaps $JS.>, where no gate may be"},
        {"gates { a { subject: \"$SYS.x\", limit: 1 } }",
         "a.conf:1:12: gate \"a\": subject: \"$SYS.x\" overlaps $SYS.>, where no gate may be"},
        {"gates { a { subject: \"_INBOX.*\", limit: 1 } }",
         "a.conf:1:12: gate \"a\": subject: \"_INBOX.*\" overlaps _INBOX.>, where no gate may be"},
        {"gates { a { subject: \">\", limit: 1 } }",
         "a.conf:1:12: gate \"a\": subject: \">\" overlaps $JS.>, where no gate may be"},
        {"gates { a { subject: x, limit: 1, nope: 1 } }",
         "a.conf:1:34: gate \"a\": unknown key: nope, there are account, subject, limit, "
         "discipline, request_queue_limit, request_deadline, reply_timeout, refuse, group"},
        {"gates { a: 3 }", "a.conf:1:8: gate \"a\": a block is expected"},
        {"gates { a { subject: x, limit: 1, group: g } }",
         "a.conf:1:8: gate \"a\": group: there is no workload group \"g\" in this file"},
        {"gates { a { subject: x, limit: 1, group: \"a b\" } }",
         "a.conf:1:34: gate \"a\": group: \"a b\" is no name of a workload group"},
        {"workload_groups { h { } }\ngates { a { subject: x, limit: 1, group: g } }",
         "a.conf:2:9: gate \"a\": group: there is no workload group \"g\" in this file"},
        {"gates { a { subject: x, limit: 1, request_deadline: soon } }",
         "a.conf:1:34: gate \"a\": request_deadline: a time is expected, such as \"5s\" or "
         "\"250ms\""},
        {"gates { a { subject: x, limit: 1, refuse: maybe } }",
         "a.conf:1:34: gate \"a\": refuse: 'service_error' or 'no_responders' is expected"},
        {"gates { a { subject: x, limit: 1, account: NONE } }",
         "a.conf:1:8: gate \"a\": account: there is no account \"NONE\""},
        {"gates { a { subject: \"x.*\", limit: 1 }\n b { subject: \"*.y\", limit: 1 } }",
         "a.conf:2:6: gate \"b\": subject: \"*.y\" overlaps $JS.>, where no gate may be"},
        {"gates { a { subject: \"x.*\", limit: 1 }\n b { subject: \"x.y\", limit: 1 } }",
         "a.conf:2:2: gate \"b\": subject: \"x.y\" overlaps \"x.*\" of gate \"a\""},
        {"gates { a { subject: x, limit: 1 }\n a { subject: y, limit: 1 } }",
         "a.conf:2:2: gate \"a\" is there twice"},
        {"gates { a { subject: x, limit: 1 } }\ngates { b { subject: y, limit: 1 } }",
         "a.conf:2:1: the block \"gates\" is there twice"},
        {"gates { \"a b\" { subject: x, limit: 1 } }",
         "a.conf:1:9: \"a b\" is no name of a gate: 1 to 64 letters, digits, '-', '_'"},
        {"gates: 3", "a.conf:1:0: gates: a block is expected"},
    };
    CHECK(cases);
}

static void
test_config_more_gates_than_there_may_be(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "gates {\n");
    for (unsigned i = 0; i <= GATES_MAX; i++) {
        buf_printf(&b, "g%u { subject: a%u, limit: 1 }\n", i, i);
    }
    buf_puts(&b, "}");
    buf_putc(&b, '\0');
    assert_false(b.failed);
    conffile_bad(b.data, "a.conf:1:0: 1001 gates are more than 1000");
    buf_fini(&b);
}

static void
test_config_what_is_not_supported_yet_says_so(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"cluster { port: 6222 }", "a.conf:1:0: cluster is not supported yet"},
        {"a: 1\nport: $a\n tls { }", "a.conf:3:2: tls is not supported yet"},
        {"leaf { port: 7422 }", "a.conf:1:0: leaf is not supported yet"},
        {"jetstream { encryption_key: x }", "a.conf:1:12: encryption_key is not supported yet"},
        {"operator: x", "a.conf:1:0: operator is not supported yet"},
        {"accounts { A { exports: [ {stream: a} ] } }",
         "a.conf:1:15: exports is not supported yet"},
        {"authorization { users: [ {nkey: U} ] }", "a.conf:1:26: nkey is not supported yet"},
        {"authorization { auth_callout { issuer: A } }",
         "a.conf:1:16: auth_callout is not supported yet"},
    };
    CHECK(cases);
}

static void
test_config_users_that_do_not_fit_together(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"authorization { user: a, token: b }", "a.conf:1:0: Cannot have a user/pass and token"},
        {"authorization { user: a, users: [] }",
         "a.conf:1:0: Can not have a single user/pass and a users array"},
        {"authorization { token: a, users: [{user: b}] }",
         "a.conf:1:0: Can not have a token and a users array"},
        {"authorization { users: [{user: a}, {user: a}] }",
         "a.conf:1:0: Duplicate user \"a\" detected"},
        {"authorization { users: [{pass: a}] }", "a.conf:1:25: User entry requires a user"},
        {"authorization { users: 3 }", "a.conf:1:16: Expected users field to be an array, got 3"},
        {"authorization { users: [a, ] }",
         "a.conf:1:24: Expected user entry to be a map/struct, got a"},
        {"accounts { A { users [{user: a}] }\n B { users [{user: a}] } }",
         "a.conf:2:6: Duplicate user \"a\" detected"},
        {"authorization { user: b }\naccounts { A { users [{user: a}] } }",
         "a.conf:2:16: Can not have a single user/pass and accounts"},
        {"authorization { token: b }\naccounts { A { users [{user: a}] } }",
         "a.conf:2:16: Can not have a token and accounts"},
        {"accounts [A, A]", "a.conf:1:13: Duplicate Account Entry: A"},
        {"accounts { \"$G\": { } }", "a.conf:1:12: \"$G\" is a Reserved Account"},
        {"accounts { A: 3 }", "a.conf:1:11: Expected map entries for accounts"},
        {"accounts { A: { limits: { x: 3 } } }",
         "a.conf:1:26: Unknown field \"x\" parsing account limits"},
        {"authorization { users: [{user: a, clients: [foo, ]}] }",
         "a.conf:1:34: invalid connection types [\"FOO\"]"},
        {"authorization { timeout: true }",
         "a.conf:1:16: error parsing authorization config, 'timeout' wrong type"},
    };
    CHECK(cases);
}

#define PERMS(p) "authorization { users: [{user: a\npermissions { " p " }}] }"

static void
test_config_permissions_that_are_none(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {PERMS("publish: \"a b\""), "a.conf:2:15: subject \"a b\" is not a valid subject"},
        {PERMS("publish: \"a..b\""), "a.conf:2:15: subject \"a..b\" is not a valid subject"},
        {PERMS("subscribe: \"a b c\""), "a.conf:2:15: subject \"a b c\" is not a valid subject"},
        {PERMS("subscribe: \"a. b\""), "a.conf:2:15: subject \"a.\" is not a valid subject"},
        {PERMS("subscribe: \"a b.\""), "a.conf:2:15: queue \"b.\" is not a valid queue"},
        {PERMS("subscribe: {deny: \"x.\"}"), "a.conf:2:27: subject \"x.\" is not a valid subject"},
        {PERMS("publish: {foo: a}"),
         "a.conf:2:25: Unknown field name \"foo\" parsing subject permissions, only 'allow' or "
         "'deny' are permitted"},
        {PERMS("publish: 3"), "a.conf:2:15: Expected subject permissions to be a subject, or array "
                              "of subjects, got int64"},
        {PERMS("publish: [{a: b}]"),
         "a.conf:2:31: Subject in permissions array cannot be cast to string"},
        {PERMS("foo: 3"), "a.conf:2:15: Unknown field \"foo\" parsing permissions"},
        {PERMS("allow_responses: 3"),
         "a.conf:2:15: error parsing response permissions, expected a boolean or a map"},
        {PERMS("allow_responses: {ttl: 3}"),
         "a.conf:2:33: error parsing expires, not a duration string"},
        {PERMS("allow_responses: {x: 3}"), "a.conf:2:33: Unknown field \"x\" parsing permissions"},
    };
    CHECK(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_unknown_keys_are_told_with_their_place),
        cmocka_unit_test(test_config_keys_that_are_only_variables_are_no_errors),
        cmocka_unit_test(test_config_values_of_the_wrong_type),
        cmocka_unit_test(test_config_values_out_of_range),
        cmocka_unit_test(test_config_of_the_api_is_refused_by_name_with_what_is_allowed),
        cmocka_unit_test(test_config_gates_that_are_wrong_name_the_field),
        cmocka_unit_test(test_config_more_gates_than_there_may_be),
        cmocka_unit_test(test_config_what_is_not_supported_yet_says_so),
        cmocka_unit_test(test_config_users_that_do_not_fit_together),
        cmocka_unit_test(test_config_permissions_that_are_none),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
