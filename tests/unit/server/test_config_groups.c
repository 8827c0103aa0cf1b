/* SPDX-License-Identifier: Apache-2.0 */
/* The block workload_groups and the weights of accounts, as the file has them. */
#include "tests/support/cmk.h"

#include <string.h>

#include "api/api.h"
#include "api/group_conf.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "tests/support/conffile.h"

static void
test_config_groups_are_read_in_their_order(void **state)
{
    (void)state;
    struct config *c = conffile_good(
        "workload_groups {\n"
        "  checkout {\n"
        "    match { account: \"SHOP\", user: \"checkout-*\", subject: \"$JS.API.CONSUMER.>\" }\n"
        "    throttling { limit: 8, attribute: user }\n"
        "    queue { size: 500, max_bytes: 16MB }\n"
        "    cancel_after: \"30s\"\n"
        "  }\n"
        "  a_rest { Throttling { Limit: 2, MODE: monitor } }\n"
        "  counts { }\n"
        "}\n"
        "api { cancel_after: \"1m\", account_weights { A: 3, B: 1 } }\n");
    assert_int_equal(c->api.n_groups, 3);
    const struct group_conf *g = &c->api.groups[0];
    assert_string_equal(g->name, "checkout");
    assert_string_equal(g->account, "SHOP");
    assert_string_equal(g->user, "checkout-*");
    assert_string_equal(g->client, "");
    assert_string_equal(g->subject, "$JS.API.CONSUMER.>");
    assert_int_equal(g->limit, 8);
    assert_int_equal(g->attribute, GROUP_BY_USER);
    assert_int_equal(g->mode, GROUP_ENFORCED);
    assert_int_equal(g->size, 500);
    assert_int_equal(g->max_bytes, 16 << 20);
    assert_int_equal(g->cancel_after, 30 * CLOCK_S);
    assert_string_equal(c->api.groups[1].name, "a_rest");
    assert_int_equal(c->api.groups[1].mode, GROUP_MONITOR);
    assert_int_equal(c->api.groups[1].size, 0);
    assert_int_equal(c->api.groups[2].limit, 0);
    assert_int_equal(c->api.cancel_after, 60 * CLOCK_S);
    assert_int_equal(c->api.n_weights, 2);
    assert_string_equal(c->api.weights[0].account, "A");
    assert_int_equal(c->api.weights[0].weight, 3);
    config_unref(c);
}

static void
test_config_groups_wrong_ones_are_refused_with_their_place(void **state)
{
    (void)state;
#define G(s)  "workload_groups { g {\n" s "\n} }"
#define AT(s) "a.conf:2:2: workload group \"g\": " s
    static const struct {
        const char *text, *told;
    } cases[] = {
        {G(" queue { timeout: 5s }"), "a.conf:2:10: workload group \"g\": unknown key: "
                                      "queue.timeout, there are size, max_bytes"},
        {G(" foo: 1"), AT("unknown key: foo, there are match, throttling, queue, cancel_after")},
        {G(" match { users: a }"), "a.conf:2:10: workload group \"g\": unknown key: match.users, "
                                   "there are account, user, client, subject"},
        {G(" throttling { limit: 0 }"),
         "a.conf:2:15: workload group \"g\": invalid value for throttling.limit: must be a whole "
         "number from 1 to 1000000"},
        {G(" throttling { limit: -3 }"),
         "a.conf:2:15: workload group \"g\": invalid value for throttling.limit: must be a whole "
         "number from 1 to 1000000"},
        {G(" throttling { }"), AT("throttling.limit is missing")},
        {G(" throttling { limit: 1, mode: soft }"),
         "a.conf:2:25: workload group \"g\": invalid value for throttling.mode: must be "
         "\"enforced\" "
         "or \"monitor\""},
        {G(" throttling { limit: 1, attribute: host }"),
         "a.conf:2:25: workload group \"g\": invalid value for throttling.attribute: must be "
         "\"group\", \"account\", \"user\", \"client\" or \"subject\""},
        {G(" queue { size: 10000001 }"),
         "a.conf:2:10: workload group \"g\": invalid value for queue.size: must be a whole number "
         "from 0 to 10000000"},
        {G(" match { subject: \"a..b\" }"), "a.conf:2:10: workload group \"g\": invalid value for "
                                            "match.subject: \"a..b\" is no subject"},
        {G(" match { subject: \"a.>.b\" }"), "a.conf:2:10: workload group \"g\": invalid value for "
                                             "match.subject: \"a.>.b\" is no subject"},
        {G(" cancel_after: \"x\""), AT("invalid value for cancel_after: must be a time as "
                                       "\"500ms\" or \"5s\", at most a day")},
        {"workload_groups { \"a b\" { } }",
         "a.conf:1:19: invalid name of a workload group: must be 1 to 64 letters, digits, '-' and "
         "'_'"},
        {"workload_groups { g { queue { size: 1 } } }",
         "a.conf:1:18: workload group \"g\": throttling.limit is missing: without it nothing is "
         "ever "
         "parked"},
        {"workload_groups {\n g { }\n g { }\n}",
         "a.conf:3:2: two workload groups of the name \"g\""},
        {"api { account_weights { A: 0 } }",
         "a.conf:1:24: account_weights: the weight of \"A\" must be a whole number from 1 to 1000"},
        {"api { account_weights: 3 }", "a.conf:1:6: account_weights: a block is expected"},
        {"workload_groups: 3", "a.conf:1:0: workload_groups: a block is expected"},
        {"workload_groups { g: 3 }", "a.conf:1:18: workload group \"g\": a block is expected"},
        {G(" throttling: 3"), AT("throttling: a block is expected")},
        {"workload_groups { a { } }\nworkload_groups { b { } }",
         "a.conf:2:1: the block \"workload_groups\" is there twice"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        conffile_bad(cases[i].text, cases[i].told);
    }
}

static size_t changes;

static void
changed(void *arg, const char *line)
{
    (void)arg;
    assert_true(strcmp(line, "Reloaded: workload_groups") == 0 ||
                strcmp(line, "Reloaded: api.account_weights") == 0);
    changes++;
}

static void
test_config_groups_may_change_by_a_reload(void **state)
{
    (void)state;
    char *err = NULL;
    struct config *a = conffile_good("workload_groups { g { throttling { limit: 1 } } }\n");
    struct config *b = conffile_good("workload_groups { g { throttling { limit: 2 } } }\n"
                                     "api { account_weights { A: 2 } }\n");
    assert_int_equal(config_diff(a, b, changed, NULL, &err), ST_OK);
    assert_int_equal(changes, 2);
    assert_int_equal(config_diff(b, b, changed, NULL, &err), ST_OK);
    assert_int_equal(changes, 2);
    config_unref(a);
    config_unref(b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_groups_are_read_in_their_order),
        cmocka_unit_test(test_config_groups_wrong_ones_are_refused_with_their_place),
        cmocka_unit_test(test_config_groups_may_change_by_a_reload),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
