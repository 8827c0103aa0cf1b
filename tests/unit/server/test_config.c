/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/config_check.h"
#include "tests/support/conffile.h"

#define USERS "authorization { users: ["

static struct config *
flags(const char *const *args)
{
    char told[CONFFILE_TEXT];
    struct config *c = NULL;
    enum config_action action = CONFIG_EXIT;
    if (conffile_args(args, &c, &action, told) != ST_OK) {
        fail_msg("%s", told);
    }
    assert_int_equal(action, CONFIG_RUN);
    return c;
}

static void
test_config_without_flags_and_file_has_nats_servers_defaults(void **state)
{
    (void)state;
    struct config *c = flags((const char *const[]){NULL});
    assert_string_equal(c->host, "0.0.0.0");
    assert_int_equal(c->port, 4222);
    assert_null(c->server_name);
    assert_string_equal(c->http_host, "0.0.0.0");
    assert_int_equal(c->http_port, 0);
    assert_string_equal(c->http_base_path, "/");
    assert_true(c->logtime);
    assert_false(c->debug || c->trace || c->syslog);
    assert_int_equal(c->max_connections, 65536);
    assert_true(c->max_subscriptions < 0);
    assert_int_equal(c->max_control_line, 4096);
    assert_int_equal(c->max_payload, 1048576);
    assert_int_equal(c->max_pending, 67108864);
    assert_int_equal(c->write_deadline, 10 * CLOCK_S);
    assert_int_equal(c->ping_interval, 120 * CLOCK_S);
    assert_int_equal(c->ping_max, 2);
    assert_int_equal(c->auth_timeout, 2 * CLOCK_S);
    assert_int_equal(c->lame_duck_duration, 120 * CLOCK_S);
    assert_int_equal(c->lame_duck_grace_period, 10 * CLOCK_S);
    assert_int_equal(c->max_closed_clients, 10000);
    assert_false(c->auth_required);
    assert_string_equal(c->system_account, "$SYS");
    assert_null(c->config_file);
    assert_string_equal(c->config_digest, "");
    config_unref(c);
}

static void
test_config_of_the_api_has_the_designs_defaults(void **state)
{
    (void)state;
    struct config *c = flags((const char *const[]){NULL});
    assert_int_equal(c->api.workers, 0);
    assert_int_equal(c->api.request_queue_limit, 10000);
    assert_int_equal(c->api.info_queue_limit, 10000);
    assert_int_equal(c->api.request_queue_max_bytes, 67108864);
    assert_int_equal(c->api.info_queue_max_bytes, 67108864);
    assert_int_equal(c->api.operator_queue_limit, 256);
    assert_int_equal(c->api.discipline, CONFIG_ADAPTIVE);
    assert_true(c->api.adaptive_age == 0.5);
    assert_int_equal(c->api.adaptive_wait, 500 * CLOCK_MS);
    assert_int_equal(c->api.aged_share, 64);
    assert_int_equal(c->api.request_deadline, 5 * CLOCK_S);
    assert_true(c->api.limits);
    config_unref(c);
}

static void
test_config_reads_the_api_block(void **state)
{
    (void)state;
    struct config *c = conffile_good(
        "api { workers: 3, request_queue_limit: 2k, request_queue_max_bytes: 1MB, discipline: "
        "lifo\n"
        " adaptive_age: 0.25, adaptive_wait: \"1s\", aged_share: 0, request_deadline: \"0s\"\n"
        " operator_queue_limit: 10, limits: false }\n");
    assert_int_equal(c->api.workers, 3);
    assert_int_equal(c->api.request_queue_limit, 2000);
    assert_int_equal(c->api.info_queue_limit, 2000);
    assert_int_equal(c->api.request_queue_max_bytes, 1048576);
    assert_int_equal(c->api.discipline, CONFIG_LIFO);
    assert_true(c->api.adaptive_age == 0.25);
    assert_int_equal(c->api.adaptive_wait, CLOCK_S);
    assert_int_equal(c->api.aged_share, 0);
    assert_int_equal(c->api.request_deadline, 0);
    assert_int_equal(c->api.operator_queue_limit, 10);
    assert_false(c->api.limits);
    config_unref(c);
}

static void
test_config_limits_of_jetstream_are_those_of_the_api(void **state)
{
    (void)state;
    struct config *c = conffile_good(
        "jetstream { enabled: false, request_queue_limit: 50, info_queue_limit: 60 }");
    assert_int_equal(c->api.request_queue_limit, 50);
    assert_int_equal(c->api.info_queue_limit, 60);
    config_unref(c);
    c = conffile_good("jetstream { enabled: no, request_queue_limit: 0, info_queue_limit: -1 }");
    assert_int_equal(c->api.request_queue_limit, 10000);
    assert_int_equal(c->api.info_queue_limit, 10000);
    config_unref(c);
}

static void
test_config_reads_aliases_and_any_case(void **state)
{
    (void)state;
    struct config *c = conffile_good("PORT: 4333\nnet: localhost\nmonitor_port: 8333\nmax_conn: 7\n"
                                     "max_subs: 8\npidfile: p\nlogfile: l\nno_sublist_cache: yes\n"
                                     "logfile_size_limit: 1MB\nmax_sub_tokens: 9\n");
    assert_int_equal(c->port, 4333);
    assert_string_equal(c->host, "localhost");
    assert_string_equal(c->http_host, "localhost");
    assert_int_equal(c->http_port, 8333);
    assert_int_equal(c->max_connections, 7);
    assert_int_equal(c->max_subscriptions, 8);
    assert_int_equal(c->max_subscription_tokens, 9);
    assert_string_equal(c->pid_file, "p");
    assert_string_equal(c->log_file, "l");
    assert_int_equal(c->log_size_limit, 1048576);
    assert_true(c->disable_sublist_cache);
    assert_string_equal(c->config_file, "a.conf");
    assert_int_equal(strlen(c->config_digest), 71);
    config_unref(c);
}

static void
test_config_listen_sets_host_and_port(void **state)
{
    (void)state;
    struct config *c = conffile_good("listen: \"127.0.0.1:-1\"\nhttp: \"[::1]:8222\"\n");
    assert_string_equal(c->host, "127.0.0.1");
    assert_int_equal(c->port, -1);
    assert_string_equal(c->http_host, "::1");
    assert_int_equal(c->http_port, 8222);
    config_unref(c);
    c = conffile_good("listen: 4333\nhttp: 8222\n");
    assert_string_equal(c->host, "0.0.0.0");
    assert_int_equal(c->port, 4333);
    assert_string_equal(c->http_host, "0.0.0.0");
    config_unref(c);
}

static void
test_config_flags_win_over_the_file(void **state)
{
    (void)state;
    conffile_write("b.conf", "port: 1\nserver_name: file\ndebug: true\ntrace: true\nlogtime: true\n"
                             "max_payload: 100\nauthorization { user: u, password: p }\n");
    struct config *c = flags((const char *const[]){"-c", "b.conf", "--port=2", "-n", "flag",
                                                   "-D=false", "-T=false", "--pass", "q", NULL});
    assert_int_equal(c->port, 2);
    assert_string_equal(c->server_name, "flag");
    assert_false(c->debug);
    assert_true(c->trace);
    assert_false(c->logtime);
    assert_int_equal(c->max_payload, 100);
    assert_string_equal(c->username, "u");
    assert_string_equal(c->password, "q");
    assert_true(c->auth_required);
    config_unref(c);
    c = flags((const char *const[]){"-c", "b.conf", "-DV=false", NULL});
    assert_false(c->debug || c->trace);
    config_unref(c);
    c = flags((const char *const[]){"-DVV", NULL});
    assert_true(c->debug && c->trace && c->trace_verbose);
    config_unref(c);
}

static void
test_config_zero_and_nothing_mean_the_default(void **state)
{
    (void)state;
    struct config *c = conffile_good("port: 0\nhost: \"\"\nmax_payload: 0\nping_interval: \"0s\"\n"
                                     "server_name: \"\"\nmax_subs: 0\nmax_connections: 0\n"
                                     "http_base_path: \"a/../b/\"\n");
    assert_int_equal(c->port, 4222);
    assert_string_equal(c->host, "0.0.0.0");
    assert_int_equal(c->max_payload, 1048576);
    assert_int_equal(c->ping_interval, 120 * CLOCK_S);
    assert_null(c->server_name);
    assert_true(c->max_subscriptions < 0);
    assert_true(c->max_connections < 0); /* no client at all */
    assert_string_equal(c->http_base_path, "/b");
    config_unref(c);
}

static void
test_config_a_number_of_seconds_is_a_duration_with_a_warning(void **state)
{
    (void)state;
    char told[CONFFILE_TEXT];
    struct config *c = NULL;
    assert_int_equal(conffile_load("ping_interval: 3\n", &c, told), ST_OK);
    assert_int_equal(c->ping_interval, 3 * CLOCK_S);
    assert_string_equal(told, "a.conf:1:0: invalid use of field \"ping_interval\": ping_interval "
                              "should be converted to a duration\n");
    config_unref(c);
    conffile_bad("ping_interval: 3\n", "a.conf:1:0: invalid use of field \"ping_interval\": "
                                       "ping_interval should be converted to a duration");
}

static void
test_config_reads_users_with_permissions(void **state)
{
    (void)state;
    struct config *c = conffile_good(
        "authorization { timeout: 1.5\n"
        "  default_permissions { publish: pub.def, subscribe: { deny: [x] } }\n"
        "  users: [\n"
        "   { user: a, password: $2a$11$hash, permissions: { publish: [p.>, q]\n"
        "       subscribe: { allow: \"s queue.*\", deny: t } } }\n"
        "   { username: b, pass: pw, permission { allow_responses: { max: 5, ttl: \"1m\" } } }\n"
        "   { user: c, connection_types: [standard, MQTT_WS] }\n"
        "   { user: d, permissions: { publish: { allow: [] }, allow_responses: true } }\n"
        "] }\nno_auth_user: c\n");
    assert_int_equal(c->auth_timeout, 1500 * CLOCK_MS);
    assert_int_equal(c->n_users, 4);
    assert_true(c->auth_required);
    assert_string_equal(c->no_auth_user, "c");

    const struct config_user *a = c->users[0];
    assert_string_equal(a->username, "a");
    assert_string_equal(a->password, "$2a$11$hash");
    assert_string_equal(a->account, "$G");
    assert_int_equal(a->perms->pub_allow.n, 2);
    assert_string_equal(a->perms->pub_allow.v[0], "p.>");
    assert_false(a->perms->pub_deny.set);
    assert_string_equal(a->perms->sub_allow.v[0], "s queue.*");
    assert_string_equal(a->perms->sub_deny.v[0], "t");
    assert_false(a->perms->responses);

    const struct config_user *b = c->users[1];
    assert_true(b->perms->responses);
    assert_int_equal(b->perms->responses_max, 5);
    assert_int_equal(b->perms->responses_expires, 60 * CLOCK_S);
    assert_true(b->perms->pub_allow.set && b->perms->pub_allow.n == 0);

    const struct config_user *u = c->users[2];
    assert_string_equal(u->password, "");
    assert_string_equal(u->perms->pub_allow.v[0], "pub.def");
    assert_string_equal(u->perms->sub_deny.v[0], "x");
    assert_int_equal(u->n_connection_types, 2);
    assert_string_equal(u->connection_types[0], "STANDARD");

    const struct config_user *d = c->users[3];
    assert_int_equal(d->perms->responses_max, 1);
    assert_int_equal(d->perms->responses_expires, 120 * CLOCK_S);
    config_unref(c);
}

static void
test_config_reads_accounts(void **state)
{
    (void)state;
    struct config *c = conffile_good(
        "accounts {\n"
        " A { users: [ {user: a, password: x} ], limits { max_conn: 1, max_subs: 2, max_pay: 3 }\n"
        "     default_permissions: { publish: only } }\n"
        " SYS { users: [ {user: s, password: y} ], exports: [], mappings: {} }\n"
        "}\nsystem_account: SYS\n");
    assert_int_equal(c->n_accounts, 2);
    assert_string_equal(c->accounts[0]->name, "A");
    assert_int_equal(c->accounts[0]->max_conns, 1);
    assert_int_equal(c->accounts[0]->max_subs, 2);
    assert_int_equal(c->accounts[0]->max_payload, 3);
    assert_int_equal(c->accounts[0]->max_leafs, -1);
    assert_int_equal(c->accounts[1]->max_conns, -1);
    assert_string_equal(c->system_account, "SYS");
    assert_int_equal(c->n_users, 2);
    assert_string_equal(c->users[0]->account, "A");
    assert_string_equal(c->users[0]->perms->pub_allow.v[0], "only");
    assert_string_equal(c->users[1]->account, "SYS");
    assert_null(c->users[1]->perms);
    assert_null(c->no_auth_user);
    config_unref(c);
    c = conffile_good("accounts: [A, B]\n");
    assert_int_equal(c->n_accounts, 2);
    assert_string_equal(c->system_account, "$SYS");
    assert_false(c->auth_required);
    config_unref(c);
}

static void
test_config_system_account_alone_leaves_the_door_open(void **state)
{
    (void)state;
    struct config *c =
        conffile_good("accounts { $SYS { users [ {user: admin, password: x} ] } }\n");
    assert_string_equal(c->system_account, "$SYS");
    assert_int_equal(c->n_users, 2);
    assert_non_null(c->no_auth_user);
    assert_string_equal(c->users[1]->username, c->no_auth_user);
    assert_string_equal(c->users[1]->account, "$G");
    struct config *again = NULL;
    char *err = NULL;
    assert_int_equal(config_reload(c, &again, &err), ST_OK);
    assert_string_equal(again->no_auth_user, c->no_auth_user);
    config_unref(again);
    config_unref(c);
    c = conffile_good("accounts { $SYS { users [ {user: admin, password: x} ] } }\n"
                      "authorization { }\n");
    assert_int_equal(c->n_users, 1);
    assert_null(c->no_auth_user);
    config_unref(c);
}

static void
test_config_no_system_account(void **state)
{
    (void)state;
    struct config *c = conffile_good("no_sys_acc: true\n");
    assert_null(c->system_account);
    config_unref(c);
}

static void
test_config_reads_tags_and_metadata(void **state)
{
    (void)state;
    struct config *c = conffile_good("server_tags: [\" Rack:1\", b, rack:1, \"\"]\n"
                                     "server_metadata: { zone: eu, k: v }\n");
    assert_int_equal(c->n_tags, 2);
    assert_string_equal(c->tags[0], "rack:1");
    assert_string_equal(c->tags[1], "b");
    assert_int_equal(c->n_metadata, 2);
    assert_string_equal(c->metadata[0].key, "zone");
    assert_string_equal(c->metadata[0].value, "eu");
    config_unref(c);
}

static void
test_config_empty_blocks_of_what_is_not_there_are_harmless(void **state)
{
    (void)state;
    struct config *c =
        conffile_good("cluster {}\nleafnodes {}\ngateway {}\nmqtt {}\nwebsocket {}\nmappings {}\n"
                      "operator: []\ntrusted_keys: []\nproxy_protocol: false\njetstream: disabled\n"
                      "prof_port: 0\nhttps_port: 0\nfeature_flags { a: true }\n");
    config_unref(c);
}

static void
test_config_refuses_what_does_not_fit_together(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *told;
    } cases[] = {
        {"max_payload: 100MB", "max_payload (104857600) cannot be higher than max_pending "
                               "(67108864)"},
        {"lame_duck_duration: \"30s\"\nlame_duck_grace_period: \"40s\"",
         "lame duck grace period (40s) should be strictly lower than lame duck duration (30s)"},
        {"no_auth_user: x", "no_auth_user: \"x\" present, but users/nkeys are not defined"},
        {"no_auth_user: x\n" USERS "{user: a}] }",
         "no_auth_user: \"x\" not present as user or nkey in authorization block or account "
         "configuration"},
        {"system_account: X", "error resolving system account: account missing"},
        {"system_account: \"$SYS\"", "error resolving system account: account missing"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char told[CONFFILE_TEXT];
        char want[CONFFILE_TEXT];
        struct config *c = NULL;
        assert_int_not_equal(conffile_load(cases[i].text, &c, told), ST_OK);
        snprintf(want, sizeof(want), "sluice: %s\n", cases[i].told);
        assert_string_equal(told, want);
        assert_null(c);
    }
}

static void
test_config_t_says_that_a_file_is_valid(void **state)
{
    (void)state;
    char told[CONFFILE_TEXT];
    struct config *c = NULL;
    enum config_action action;
    conffile_write("a.conf", "port: 4222\n");
    assert_int_equal(
        conffile_args((const char *const[]){"-t", "-c", "a.conf", NULL}, &c, &action, told), ST_OK);
    assert_int_equal(action, CONFIG_EXIT);
    assert_null(c);
    assert_string_equal(told,
                        "sluice: configuration file a.conf is valid (sha256:"
                        "797533ebd0dfba7d34a0f9337ecf147e442871f48ddfd07ed751575a5737267e)\n");
}

static void
test_config_survives_every_failed_allocation(void **state)
{
    (void)state;
    conffile_write("a.conf",
                   "listen: \"127.0.0.1:4333\"\nserver_tags: [a, b]\nserver_metadata { a: b }\n"
                   "accounts { $SYS { users [ {user: admin, password: x} ]\n"
                   "  default_permissions { publish: [a, b], allow_responses: true } } }\n"
                   "http_base_path: x\nwrite_timeout: close\n");
    const char *const args[] = {"-c", "a.conf", "-n", "name", NULL};
    long before = mem_live();
    for (long n = 0;; n++) {
        struct config *c = NULL;
        enum config_action action;
        mem_fail_at(n);
        enum status st = conffile_args(args, &c, &action, NULL);
        bool fired = mem_fail_fired() != 0;
        mem_fail_at(-1);
        assert_int_equal(st, fired ? ST_NOMEM : ST_OK);
        config_unref(c);
        assert_int_equal(mem_live(), before);
        if (!fired) {
            assert_true(n > 30);
            break;
        }
    }
}

static void
test_config_a_port_has_16_bits_or_is_any(void **state)
{
    (void)state;
    char why[CONFIG_PORT_ERR_LEN] = "";
    assert_int_equal(config_check_port(-1, why), ST_OK);
    assert_int_equal(config_check_port(0, why), ST_OK);
    assert_int_equal(config_check_port(65535, why), ST_OK);
    assert_string_equal(why, "");
    assert_int_equal(config_check_port(65536, why), ST_INVAL);
    assert_string_equal(why, "listen tcp: address 65536: invalid port");
    assert_int_equal(config_check_port(INT64_MIN, why), ST_INVAL);
    assert_string_equal(why, "listen tcp: address -9223372036854775808: invalid port");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_without_flags_and_file_has_nats_servers_defaults),
        cmocka_unit_test(test_config_of_the_api_has_the_designs_defaults),
        cmocka_unit_test(test_config_reads_the_api_block),
        cmocka_unit_test(test_config_limits_of_jetstream_are_those_of_the_api),
        cmocka_unit_test(test_config_reads_aliases_and_any_case),
        cmocka_unit_test(test_config_listen_sets_host_and_port),
        cmocka_unit_test(test_config_flags_win_over_the_file),
        cmocka_unit_test(test_config_zero_and_nothing_mean_the_default),
        cmocka_unit_test(test_config_a_number_of_seconds_is_a_duration_with_a_warning),
        cmocka_unit_test(test_config_reads_users_with_permissions),
        cmocka_unit_test(test_config_reads_accounts),
        cmocka_unit_test(test_config_system_account_alone_leaves_the_door_open),
        cmocka_unit_test(test_config_no_system_account),
        cmocka_unit_test(test_config_reads_tags_and_metadata),
        cmocka_unit_test(test_config_empty_blocks_of_what_is_not_there_are_harmless),
        cmocka_unit_test(test_config_refuses_what_does_not_fit_together),
        cmocka_unit_test(test_config_t_says_that_a_file_is_valid),
        cmocka_unit_test(test_config_survives_every_failed_allocation),
        cmocka_unit_test(test_config_a_port_has_16_bits_or_is_any),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
