/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/auth/account.h"
#include "server/net/loop.h"
#include "tests/support/conffile.h"
#include "tests/support/srv.h"

/* The JSON of the INFO line that comes next. */
static json_t *
hear_info(int fd)
{
    char line[4096];
    size_t n = 0;
    do {
        assert_true(n < sizeof line);
        assert_int_equal(recv(fd, line + n, 1, 0), 1);
    } while (line[n++] != '\n');
    assert_memory_equal(line, "INFO ", 5);
    json_t *o = json_loadb(line + 5, n - 5, 0, NULL);
    assert_non_null(o);
    return o;
}

static const char *
text_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static void
test_connect_tells_the_account_after_the_first_ping(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "accounts { A { users: [ { user: u, password: p } ] } }", 1);
    int fd = srv_client(&v);
    srv_say(fd,
            "CONNECT {\"verbose\":false,\"protocol\":1,\"user\":\"u\",\"pass\":\"p\"}\r\nPING\r\n");
    srv_hear(fd, "PONG\r\n");
    json_t *o = hear_info(fd);
    assert_true(json_is_true(json_object_get(o, "connect_info")));
    assert_string_equal(text_of(o, "remote_account"), "A");
    assert_null(json_object_get(o, "acc_is_sys"));
    json_decref(o);
    srv_sync(fd); /* and only then */
    close(fd);
    srv_stop(&v);
}

static void
test_connect_again_takes_the_subscriptions_and_may_change_the_account(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v,
              "accounts { A { users: [ { user: a, password: p } ] }\n"
              "           B { users: [ { user: b, password: p } ] } }",
              1);
    int fd = srv_login(&v, 0, "\"user\":\"a\",\"pass\":\"p\"");
    struct account *a = server_account(v.server, "A");
    struct account *b = server_account(v.server, "B");
    srv_say(fd, "SUB x 1\r\n");
    srv_sync(fd);
    assert_int_equal(atomic_load(&a->conns), 1);
    assert_int_equal(atomic_load(&a->client_subs), 1);
    srv_say(fd, "CONNECT {\"verbose\":false,\"user\":\"b\",\"pass\":\"p\"}\r\n"
                "PUB x 1\r\n.\r\n");
    srv_sync(fd);
    assert_int_equal(atomic_load(&a->conns), 0);
    assert_int_equal(atomic_load(&a->client_subs), 0);
    assert_int_equal(atomic_load(&b->conns), 1);
    close(fd);
    srv_stop(&v);
}

/* A request to the API plane whose subjects are longer than its usual space. */
static void
test_pub_to_the_api_with_a_long_reply_subject_is_answered(void **state)
{
    (void)state;
    struct srv v;
    enum { LEN = 3000 };
    char reply[LEN + 1];
    char line[LEN + 200];
    memset(reply, 'r', LEN);
    memcpy(reply, "_INBOX.", 7);
    reply[LEN] = '\0';
    srv_start(&v, "", 2);
    int fd = srv_login(&v, 1, "");
    snprintf(line, sizeof line, "SUB _INBOX.> 1\r\nPUB $SYS.REQ.USER.INFO %s 0\r\n\r\n", reply);
    srv_say(fd, line);
    snprintf(line, sizeof line, "MSG %s 1 ", reply);
    srv_hear(fd, line);
    close(fd);
    srv_stop(&v);
}

static void
test_pub_without_anybody_is_told_so_when_asked_for(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 2);
    int fd = srv_login(&v, 0, "\"headers\":true,\"no_responders\":true");
    srv_say(fd, "SUB r 5\r\nPUB nobody.here r 2\r\nhi\r\n");
    srv_hear(fd, "HMSG r 5 43 43\r\nNATS/1.0 503\r\nNats-Subject: nobody.here\r\n\r\n\r\n");
    int other = srv_login(&v, 1, "");
    srv_say(other, "SUB nobody.here 1\r\n");
    srv_sync(other);
    srv_say(fd, "PUB nobody.here r 2\r\nhi\r\n");
    srv_hear(other, "MSG nobody.here 1 r 2\r\nhi\r\n");
    srv_sync(fd);
    close(fd);
    close(other);
    srv_stop(&v);
}

static void
test_pub_violations_are_answered_each_and_logged_now_and_then(void **state)
{
    (void)state;
    struct srv v;
    enum { N = 500 };
    srv_start(&v,
              "authorization { users: [ { user: u, password: p, permissions: { publish: ok } } ] }",
              1);
    int fd = srv_login(&v, 0, "\"user\":\"u\",\"pass\":\"p\"");
    FILE *caught = tmpfile();
    fflush(stderr);
    int old = dup(STDERR_FILENO);
    assert_true(caught != NULL && old >= 0);
    dup2(fileno(caught), STDERR_FILENO);
    for (int i = 0; i < N; i++) {
        srv_say(fd, "PUB no 0\r\n\r\n");
    }
    for (int i = 0; i < N; i++) {
        srv_hear(fd, "-ERR 'Permissions Violation for Publish to \"no\"'\r\n");
    }
    srv_sync(fd);
    dup2(old, STDERR_FILENO);
    close(old);
    int lines = 0;
    rewind(caught);
    for (int ch; (ch = fgetc(caught)) != EOF;) {
        lines += ch == '\n';
    }
    fclose(caught);
    assert_true(lines > 0 && lines < N / 2);
    close(fd);
    srv_stop(&v);
}

static void
test_unsub_of_what_has_had_its_messages_ends_at_once(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 1);
    int fd = srv_login(&v, 0, "");
    srv_say(fd, "SUB a 1\r\nPUB a 1\r\n1\r\nPUB a 1\r\n2\r\nUNSUB 1 2\r\nPUB a 1\r\n3\r\n");
    srv_hear(fd, "MSG a 1 1\r\n1\r\nMSG a 1 1\r\n2\r\n");
    srv_sync(fd);
    srv_say(fd, "UNSUB 1\r\nUNSUB 77\r\n");
    srv_sync(fd);
    close(fd);
    srv_stop(&v);
}

static void
test_many_subscriptions_of_one_client_are_found_and_freed(void **state)
{
    (void)state;
    struct srv v;
    enum { N = 3000 };
    char line[64];
    srv_start(&v, "", 1);
    int fd = srv_login(&v, 0, "");
    for (int i = 0; i < N; i++) {
        snprintf(line, sizeof line, "SUB s.%d sid%d\r\n", i, i);
        srv_say(fd, line);
    }
    for (int i = 0; i < N; i += 2) {
        snprintf(line, sizeof line, "UNSUB sid%d\r\n", i);
        srv_say(fd, line);
    }
    srv_sync(fd);
    assert_int_equal(atomic_load(&v.server->loops[0]->stats.subs), N / 2);
    for (int i = 0; i < N; i += 500) {
        snprintf(line, sizeof line, "PUB s.%d 0\r\n\r\nPUB s.%d 0\r\n\r\n", i, i + 1);
        srv_say(fd, line);
        snprintf(line, sizeof line, "MSG s.%d sid%d 0\r\n\r\n", i + 1, i + 1);
        srv_hear(fd, line);
    }
    close(fd);
    srv_stop(&v);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connect_tells_the_account_after_the_first_ping),
        cmocka_unit_test(test_connect_again_takes_the_subscriptions_and_may_change_the_account),
        cmocka_unit_test(test_pub_to_the_api_with_a_long_reply_subject_is_answered),
        cmocka_unit_test(test_pub_without_anybody_is_told_so_when_asked_for),
        cmocka_unit_test(test_pub_violations_are_answered_each_and_logged_now_and_then),
        cmocka_unit_test(test_unsub_of_what_has_had_its_messages_ends_at_once),
        cmocka_unit_test(test_many_subscriptions_of_one_client_are_found_and_freed),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
