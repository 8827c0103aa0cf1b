/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/buf.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "tests/support/conffile.h"

static void
collect(void *arg, const char *line)
{
    buf_printf(arg, "%s\n", line);
}

/* Loads one text, then reloads with the other. want: the lines told, or "!" and the error. */
static void
check(const char *from, const char *to, const char *want)
{
    struct config *old = conffile_good(from);
    struct config *now = NULL;
    char *err = NULL;
    struct buf lines;
    buf_init(&lines);
    conffile_write("a.conf", to);
    if (config_reload(old, &now, &err) != ST_OK) {
        fail_msg("%s: %s", to, err);
    }
    enum status st = config_diff(old, now, collect, &lines, &err);
    if (want[0] == '!') {
        assert_int_equal(st, ST_UNSUPPORTED);
        assert_string_equal(err, want + 1);
        assert_int_equal(lines.len, 0);
        mem_free(err);
    } else {
        assert_int_equal(st, ST_OK);
        assert_string_equal(lines.data != NULL ? lines.data : "", want);
    }
    buf_fini(&lines);
    config_unref(old);
    config_unref(now);
}

static void
test_diff_of_equal_files_is_nothing(void **state)
{
    (void)state;
    check("max_payload: 100\naccounts { A { users [{user: a}] } }",
          "max_payload: 100\naccounts { A { users [{user: a}] } }", "");
}

static void
test_diff_keeps_jetstream_where_it_is(void **state)
{
    (void)state;
    check("jetstream: enabled\naccounts { A { jetstream: enabled, users [{user: a}] } }",
          "jetstream: enabled\naccounts { A { users [{user: a}] } }",
          "!config reload not supported for JetStream of account \"A\": old=true, new=false");
    check("jetstream: enabled\naccounts { A { users [{user: a}] } }",
          "jetstream: enabled\naccounts { A { jetstream: enabled, users [{user: a}] } }",
          "Reloaded: accounts\n");
    check("port: 4222", "port: 4222\njetstream: enabled",
          "!config reload not supported for JetStream: old=false, new=true");
    check("port: 4222\njetstream: enabled", "port: 4222",
          "!config reload not supported for JetStream: old=true, new=false");
}

static void
test_diff_tells_that_gates_have_changed(void **state)
{
    (void)state;
    check("gates { a { subject: x, limit: 1 } }", "gates { a { subject: x, limit: 1 } }", "");
    check("gates { a { subject: x, limit: 1 } }", "gates { a { subject: x, limit: 2 } }",
          "Reloaded: gates\n");
    check("gates { a { subject: x, limit: 1 } }", "port: 4222", "Reloaded: gates\n");
    check("workload_groups { g { } }\ngates { a { subject: x, limit: 1 } }",
          "gates { a { subject: x, limit: 1, group: g } }\nworkload_groups { g { } }",
          "Reloaded: gates\n");
}

static void
test_diff_names_what_changed_as_nats_server_does(void **state)
{
    (void)state;
    check("port: 4222", "max_payload: 1024", "Reloaded: max_payload = 1024\n");
    check("port: 4222", "ping_interval: \"5s\"\nping_max: 3\nwrite_deadline: \"1s\"\n",
          "Reloaded: write_deadline = 1s\nReloaded: ping_interval = 5s\nReloaded: ping_max = 3\n");
    check("debug: true", "trace: true\nlog_file: x\n",
          "Reloaded: log_file = x\nReloaded: debug = false\nReloaded: trace = true\n");
    check("port: 4222", "client_advertise: \"a:1\"", "Reload: client_advertise = a:1\n");
    check("port: 4222", "no_fast_producer_stall: true",
          "Reloaded: fast producers will not be stalled\n");
    check("port: 4222", "max_connections: 5", "Reloaded: max_connections = 5\n");
    check("port: 4222", "server_tags: a\nserver_metadata { a: b }",
          "Reloaded: tags\nReloaded: metadata\n");
    check("port: 4222", "api { workers: 4, discipline: fifo, adaptive_age: 0.7 }",
          "Reloaded: api.workers = 4\nReloaded: api.discipline = fifo\n"
          "Reloaded: api.adaptive_age = 0.7\n");
}

static void
test_diff_never_tells_a_secret(void **state)
{
    (void)state;
    check("authorization { user: a, password: old }", "authorization { user: b, password: new }",
          "Reloaded: authorization username\nReloaded: authorization password\n");
    check("authorization { token: old }", "authorization { token: new, timeout: 3 }",
          "Reloaded: authorization token\nReloaded: authorization timeout = 3\n");
}

static void
test_diff_sees_users_and_accounts(void **state)
{
    (void)state;
    check("authorization { users [{user: a, password: x}] }",
          "authorization { users [{user: a, password: y}] }", "Reloaded: authorization users\n");
    check("authorization { users [{user: a, permissions { publish: x }}] }",
          "authorization { users [{user: a, permissions { publish: y }}] }",
          "Reloaded: authorization users\n");
    check("accounts { A { limits { max_conn: 1 } } }", "accounts { A { limits { max_conn: 2 } } }",
          "Reloaded: accounts\n");
}

static void
test_diff_refuses_what_cannot_change(void **state)
{
    (void)state;
    check("port: 4222", "port: 4333", "!config reload not supported for Port: old=4222, new=4333");
    check("host: a", "host: b", "!config reload not supported for Host: old=a, new=b");
    check("server_name: a", "max_payload: 1\nserver_name: b",
          "!config reload not supported for ServerName: old=a, new=b");
    check("http_port: 1", "port: 4222", "!config reload not supported for HTTPPort: old=1, new=0");
    check("lame_duck_duration: \"30s\"", "port: 4222",
          "!config reload not supported for LameDuckDuration: old=30s, new=2m0s");
    check("max_pending: 10MB", "max_pending: 20MB",
          "!config reload not supported for MaxPending: old=10485760, new=20971520");
    check("accounts [A, B]\nsystem_account: A", "accounts [A, B]\nsystem_account: B",
          "!config reload not supported for SystemAccount: old=A, new=B");
    check("io_threads: 1", "io_threads: 2",
          "!config reload not supported for io_threads: old=1, new=2");
}

static void
test_diff_lets_a_free_port_and_a_gone_user_be(void **state)
{
    (void)state;
    check("port: 4222", "port: -1", "");
    check("authorization { users [{user: a}, {user: b}] }\nno_auth_user: a",
          "authorization { users [{user: b}] }", "Reloaded: authorization users\n");
    check("authorization { users [{user: a}, {user: b}] }\nno_auth_user: a",
          "authorization { users [{user: a}, {user: b}] }",
          "!config reload not supported for NoAuthUser: old=a, new=");
}

static void
test_reload_keeps_the_flags(void **state)
{
    (void)state;
    struct config *old = NULL;
    struct config *now = NULL;
    enum config_action action;
    char *err = NULL;
    conffile_write("a.conf", "debug: false\nmax_payload: 1\n");
    assert_int_equal(conffile_args((const char *const[]){"-c", "a.conf", "-D", "-n", "x", NULL},
                                   &old, &action, NULL),
                     ST_OK);
    conffile_write("a.conf", "server_name: y\nmax_payload: 2\n");
    assert_int_equal(config_reload(old, &now, &err), ST_OK);
    assert_true(now->debug);
    assert_string_equal(now->server_name, "x");
    assert_int_equal(now->max_payload, 2);
    config_unref(now);
    config_unref(old);
}

static void
test_reload_of_a_bad_file_says_why(void **state)
{
    (void)state;
    struct config *old = conffile_good("port: 4222");
    struct config *now = NULL;
    char *err = NULL;
    conffile_write("a.conf", "port: 4222\nnope: 1\nmax_payload: x\n");
    assert_int_equal(config_reload(old, &now, &err), ST_SYNTAX);
    assert_string_equal(err, "a.conf:2:1: unknown field \"nope\"\na.conf:3:1: interface "
                             "conversion: interface {} is string, not int64\n");
    mem_free(err);
    assert_null(now);
    config_unref(old);
}

static void
test_reload_without_a_file_is_refused(void **state)
{
    (void)state;
    struct config *old = NULL;
    struct config *now = NULL;
    enum config_action action;
    char *err = NULL;
    assert_int_equal(conffile_args((const char *const[]){NULL}, &old, &action, NULL), ST_OK);
    assert_int_equal(config_reload(old, &now, &err), ST_INVAL);
    assert_string_equal(err, "can only reload config when a file is provided using -c or --config");
    mem_free(err);
    config_unref(old);
}

static void
test_diff_survives_every_failed_allocation(void **state)
{
    (void)state;
    struct config *old = conffile_good("accounts { A { users [{user: a}] } }");
    conffile_write("a.conf", "accounts { A { users [{user: b}] } }\nmax_payload: 5\ndebug: true\n");
    long before = mem_live();
    for (long n = 0;; n++) {
        struct config *now = NULL;
        char *err = NULL;
        struct buf lines;
        buf_init(&lines);
        mem_fail_at(n);
        enum status st = config_reload(old, &now, &err);
        if (st == ST_OK) {
            st = config_diff(old, now, collect, &lines, &err);
        }
        bool fired = mem_fail_fired() != 0;
        bool lost_line = st == ST_OK && fired;
        mem_fail_at(-1);
        assert_true(fired ? st == ST_NOMEM || (lost_line && lines.failed) : st == ST_OK);
        buf_fini(&lines);
        mem_free(err);
        config_unref(now);
        assert_int_equal(mem_live(), before);
        if (!fired) {
            break;
        }
    }
    config_unref(old);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff_of_equal_files_is_nothing),
        cmocka_unit_test(test_diff_keeps_jetstream_where_it_is),
        cmocka_unit_test(test_diff_tells_that_gates_have_changed),
        cmocka_unit_test(test_diff_names_what_changed_as_nats_server_does),
        cmocka_unit_test(test_diff_never_tells_a_secret),
        cmocka_unit_test(test_diff_sees_users_and_accounts),
        cmocka_unit_test(test_diff_refuses_what_cannot_change),
        cmocka_unit_test(test_diff_lets_a_free_port_and_a_gone_user_be),
        cmocka_unit_test(test_reload_keeps_the_flags),
        cmocka_unit_test(test_reload_of_a_bad_file_says_why),
        cmocka_unit_test(test_reload_without_a_file_is_refused),
        cmocka_unit_test(test_diff_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
