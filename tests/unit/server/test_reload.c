/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/auth/account.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/loop.h"
#include "tests/support/conffile.h"
#include "tests/support/srv.h"

static void
reload(struct srv *v, const char *conf)
{
    char *err = NULL;
    conffile_write("a.conf", conf);
    assert_int_equal(reload_now(v->server, &err), ST_OK);
    assert_null(err);
}

static void
reload_fails(struct srv *v, const char *conf, const char *why)
{
    char *err = NULL;
    conffile_write("a.conf", conf);
    struct config *before = v->server->config;
    assert_int_not_equal(reload_now(v->server, &err), ST_OK);
    assert_non_null(err);
    if (strstr(err, why) == NULL) {
        fail_msg("%s\nwanted: %s", err, why);
    }
    mem_free(err);
    assert_ptr_equal(v->server->config, before);
}

static void
test_reload_gives_every_loop_the_new_settings(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "max_payload: 1000", 2);
    int old[2] = {srv_login(&v, 0, ""), srv_login(&v, 1, "")};
    reload(&v, "max_payload: 10");
    for (uint32_t i = 0; i < 2; i++) {
        int fd = srv_login(&v, i, "");
        srv_say(fd, "PUB a 11\r\n");
        srv_hear(fd, "-ERR 'Maximum Payload Violation'\r\n");
        srv_hear_end(fd);
        srv_say(old[i], "PUB a 11\r\n");
        srv_hear(old[i], "-ERR 'Maximum Payload Violation'\r\n");
        srv_hear_end(old[i]);
    }
    srv_stop(&v);
}

static void
test_reload_that_is_refused_changes_nothing(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "max_payload: 1000", 1);
    reload_fails(&v, "max_payload: {", "Parse error");
    reload_fails(&v, "max_payload: 10\nio_threads: 7", "io_threads");
    reload_fails(&v, "client_advertise: \"a:b:c\"",
                 "invalid ClientAdvertise value of a:b:c, err=address a:b:c: too many colons");
    int fd = srv_login(&v, 0, "");
    srv_say(fd, "PUB a 1000\r\n");
    close(fd);
    srv_stop(&v);
}

static void
test_reload_ends_clients_whose_user_is_gone_or_has_another_password(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v,
              "authorization { users: [ { user: a, password: p }, { user: b, password: p }, "
              "{ user: c, password: p } ] }",
              2);
    int a = srv_login(&v, 0, "\"user\":\"a\",\"pass\":\"p\"");
    int b = srv_login(&v, 1, "\"user\":\"b\",\"pass\":\"p\"");
    int c = srv_login(&v, 1, "\"user\":\"c\",\"pass\":\"p\"");
    reload(&v,
           "authorization { users: [ { user: b, password: other }, { user: c, password: p } ] }");
    srv_hear(a, "-ERR 'Authorization Violation'\r\n");
    srv_hear_end(a);
    srv_hear(b, "-ERR 'Authorization Violation'\r\n");
    srv_hear_end(b);
    srv_sync(c);
    close(c);
    srv_stop(&v);
}

static void
test_reload_takes_subscriptions_that_are_no_longer_allowed(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "authorization { users: [ { user: a, password: p } ] }", 1);
    int fd = srv_login(&v, 0, "\"user\":\"a\",\"pass\":\"p\"");
    srv_say(fd, "SUB x 1\r\nSUB y 2\r\nSUB z q 3\r\n");
    srv_sync(fd);
    reload(&v,
           "authorization { users: [ { user: a, password: p, permissions: { subscribe: y } } ] }");
    char got[512];
    size_t n = 0;
    const size_t want =
        sizeof "-ERR 'Permissions Violation for Subscription to \"x\" (sid \"1\")'\r\n" - 1 +
        sizeof "-ERR 'Permissions Violation for Subscription to \"z\" using queue \"q\" (sid "
               "\"3\")'\r\n" -
        1;
    while (n < want) {
        ssize_t r = recv(fd, got + n, sizeof got - n, 0);
        assert_true(r > 0);
        n += (size_t)r;
    }
    srv_say(fd, "PUB x 1\r\n.\r\nPUB y 1\r\n.\r\nPUB z 1\r\n.\r\n");
    srv_hear(fd, "MSG y 2 1\r\n.\r\n");
    srv_sync(fd);
    close(fd);
    srv_stop(&v);
}

static void
test_reload_of_lower_limits_closes_the_newest(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 2);
    int fd[4];
    for (uint32_t i = 0; i < 4; i++) {
        fd[i] = srv_login(&v, i % 2, "");
    }
    reload(&v, "max_connections: 2");
    for (int i = 2; i < 4; i++) {
        srv_hear(fd[i], "-ERR 'maximum connections exceeded'\r\n");
        srv_hear_end(fd[i]);
    }
    for (int i = 0; i < 2; i++) {
        srv_sync(fd[i]);
        close(fd[i]);
    }
    srv_stop(&v);
}

static void
test_reload_makes_accounts_and_keeps_old_ones(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "accounts { A { users: [ { user: a, password: p } ] } }", 1);
    struct account *a = server_account(v.server, "A");
    assert_non_null(a);
    reload(&v, "accounts { B { users: [ { user: b, password: p } ], limits: { max_conn: 1 } } }");
    assert_ptr_equal(server_account(v.server, "A"), a);
    assert_false(atomic_load(&a->in_use));
    struct account *b = server_account(v.server, "B");
    assert_true(b->has_services);
    assert_int_equal(atomic_load(&b->max_conns), 1);
    assert_null(server_account(v.server, "C"));
    int fd = srv_login(&v, 0, "\"user\":\"b\",\"pass\":\"p\"");
    int over = srv_client(&v);
    srv_say(over, "CONNECT {\"user\":\"b\",\"pass\":\"p\",\"verbose\":false}\r\n");
    srv_hear(over, "-ERR 'maximum account active connections exceeded'\r\n");
    srv_hear_end(over);
    close(fd);
    srv_stop(&v);
}

static void
test_reload_without_memory_is_refused_or_whole(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "max_payload: 1000", 1);
    int fd = srv_login(&v, 0, "");
    conffile_write("a.conf", "max_payload: 500\nauthorization { user: u, password: p }");
    for (long n = 0; n < 60; n++) {
        char *err = NULL;
        mem_fail_at(n);
        enum status st = reload_now(v.server, &err);
        mem_fail_at(-1);
        mem_free(err);
        if (st == ST_OK) {
            break;
        }
        assert_int_equal(st, ST_NOMEM);
    }
    reload(&v, "max_payload: 1000");
    close(fd);
    fd = srv_login(&v, 0, "");
    close(fd);
    srv_stop(&v);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reload_gives_every_loop_the_new_settings),
        cmocka_unit_test(test_reload_that_is_refused_changes_nothing),
        cmocka_unit_test(test_reload_ends_clients_whose_user_is_gone_or_has_another_password),
        cmocka_unit_test(test_reload_takes_subscriptions_that_are_no_longer_allowed),
        cmocka_unit_test(test_reload_of_lower_limits_closes_the_newest),
        cmocka_unit_test(test_reload_makes_accounts_and_keeps_old_ones),
        cmocka_unit_test(test_reload_without_memory_is_refused_or_whole),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
