/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/auth/account.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/route/deliver.h"
#include "tests/support/conffile.h"
#include "tests/support/srv.h"

static void
test_deliver_reaches_every_loop_once(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 3);
    int fd[6];
    for (uint32_t i = 0; i < 6; i++) {
        fd[i] = srv_login(&v, i % 3, "");
        srv_say(fd[i], "SUB a.* 7\r\nSUB a.b 8\r\n");
        srv_sync(fd[i]);
    }
    srv_say(fd[0], "PUB a.x 2\r\nhi\r\n");
    for (int i = 0; i < 6; i++) {
        srv_hear(fd[i], "MSG a.x 7 2\r\nhi\r\n");
    }
    for (int i = 0; i < 6; i++) {
        srv_sync(fd[i]);
        close(fd[i]);
    }
    srv_stop(&v);
}

static void
test_deliver_keeps_the_order_of_one_publisher_across_loops(void **state)
{
    (void)state;
    struct srv v;
    char line[64];
    srv_start(&v, "", 2);
    int from = srv_login(&v, 0, "");
    int to = srv_login(&v, 1, "");
    srv_say(to, "SUB n 1\r\n");
    srv_sync(to);
    for (int i = 1000; i < 2000; i++) {
        snprintf(line, sizeof line, "PUB n r%d 4\r\n%d\r\n", i, i);
        srv_say(from, line);
    }
    for (int i = 1000; i < 2000; i++) {
        snprintf(line, sizeof line, "MSG n 1 r%d 4\r\n%d\r\n", i, i);
        srv_hear(to, line);
    }
    close(from);
    close(to);
    srv_stop(&v);
}

static void
test_deliver_strips_headers_for_those_who_take_none_on_any_loop(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 2);
    int from = srv_login(&v, 0, "\"headers\":true");
    int plain[2];
    int full[2];
    for (uint32_t i = 0; i < 2; i++) {
        plain[i] = srv_login(&v, i, "");
        full[i] = srv_login(&v, i, "\"headers\":true");
        srv_say(plain[i], "SUB h 1\r\n");
        srv_say(full[i], "SUB h 2\r\n");
        srv_sync(plain[i]);
        srv_sync(full[i]);
    }
    srv_say(from, "HPUB h 18 20\r\nNATS/1.0\r\na: b\r\n\r\nhi\r\n");
    for (int i = 0; i < 2; i++) {
        srv_hear(plain[i], "MSG h 1 2\r\nhi\r\n");
        srv_hear(full[i], "HMSG h 2 18 20\r\nNATS/1.0\r\na: b\r\n\r\nhi\r\n");
        close(plain[i]);
        close(full[i]);
    }
    close(from);
    srv_stop(&v);
}

static void
hear_bytes(int fd, const char *want, char *got, size_t n)
{
    for (size_t have = 0; have < n;) {
        ssize_t r = recv(fd, got + have, n - have, 0);
        assert_true(r > 0);
        have += (size_t)r;
    }
    assert_memory_equal(got, want, n);
}

/* It is shared by reference, by all receivers of both loops. */
static void
test_deliver_large_payload_arrives_whole_on_both_loops(void **state)
{
    (void)state;
    struct srv v;
    enum { SIZE = 200 * 1000 };
    char *data = malloc(SIZE);
    char *got = malloc(SIZE);
    assert_true(data != NULL && got != NULL);
    for (int i = 0; i < SIZE; i++) {
        data[i] = (char)('a' + i % 26);
    }
    srv_start(&v, "", 2);
    int from = srv_login(&v, 0, "");
    int to[4];
    for (uint32_t i = 0; i < 4; i++) {
        to[i] = srv_login(&v, i % 2, "");
        srv_say(to[i], "SUB big 1\r\n");
        srv_sync(to[i]);
    }
    srv_say(from, "PUB big 200000\r\n");
    srv_say_n(from, data, SIZE);
    srv_say(from, "\r\n");
    for (int i = 0; i < 4; i++) {
        srv_hear(to[i], "MSG big 1 200000\r\n");
        hear_bytes(to[i], data, got, SIZE);
        srv_hear(to[i], "\r\n");
        close(to[i]);
    }
    close(from);
    srv_stop(&v);
    free(data);
    free(got);
}

static void
test_deliver_ends_a_subscription_after_its_maximum_on_another_loop(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 2);
    int from = srv_login(&v, 0, "");
    int to = srv_login(&v, 1, "");
    srv_say(to, "SUB a 1\r\nUNSUB 1 2\r\nSUB end 2\r\n");
    srv_sync(to);
    srv_say(from, "PUB a 1\r\n1\r\nPUB a 1\r\n2\r\nPUB a 1\r\n3\r\nPUB end 1\r\n.\r\n");
    srv_hear(to, "MSG a 1 1\r\n1\r\nMSG a 1 1\r\n2\r\nMSG end 2 1\r\n.\r\n");
    close(from);
    close(to);
    srv_stop(&v);
}

/* What fd was sent before the answer to a PING, which is behind it all; ends it. */
static size_t
hear_before_pong(int fd, char *text, size_t cap)
{
    size_t have = 0;
    srv_say(fd, "PING\r\n");
    while (have < 6 || memcmp(text + have - 6, "PONG\r\n", 6) != 0) {
        ssize_t n = recv(fd, text + have, cap - have, 0);
        assert_true(n > 0);
        have += (size_t)n;
    }
    close(fd);
    return have - 6;
}

static void
do_nothing(struct loop *l, void *arg)
{
    (void)l;
    (void)arg;
}

static void
test_deliver_group_gets_each_message_once_wherever_its_members_are(void **state)
{
    (void)state;
    static const char one[] = "MSG q 1 1\r\nx\r\n";
    enum { N = 300 };
    static char text[N * sizeof one + 64];
    struct srv v;
    size_t all = 0;
    srv_start(&v, "", 3);
    int from = srv_login(&v, 0, "");
    int to[3];
    for (uint32_t i = 0; i < 3; i++) {
        to[i] = srv_login(&v, i, "");
        srv_say(to[i], "SUB q g 1\r\n");
        srv_sync(to[i]);
    }
    for (int i = 0; i < N; i++) {
        srv_say(from, "PUB q 1\r\nx\r\n");
    }
    srv_sync(from);
    srv_run(&v, 0, do_nothing, NULL); /* the turn in which they were posted is over */
    for (uint32_t i = 0; i < 3; i++) {
        srv_run(&v, i, do_nothing, NULL);
        size_t n = hear_before_pong(to[i], text, sizeof text);
        assert_int_equal(n % (sizeof one - 1), 0);
        assert_true(n > 0); /* of so many each has its share */
        all += n / (sizeof one - 1);
    }
    assert_int_equal(all, N);
    close(from);
    srv_stop(&v);
}

struct goer {
    sem_t go;
    uint64_t cid;
};

/* Holds the loop until it is told to go on, then ends a connection. */
static void
wait_and_close(struct loop *l, void *arg)
{
    struct goer *g = arg;
    while (sem_wait(&g->go) != 0) {
    }
    conn_close(loop_find(l, g->cid), CLOSE_CLIENT);
}

static void
publish_q(struct loop *l, void *arg)
{
    struct inbound in = {
        .loop = l, .account = arg, .subject = "q", .subject_len = 1, .data = "x", .size = 1};
    assert_int_equal(deliver(&in), 1);
}

static void
test_deliver_group_turns_to_another_member_when_the_chosen_one_is_gone(void **state)
{
    (void)state;
    struct srv v;
    struct goer g;
    struct srv_errand hold;
    srv_start(&v, "", 2);
    int other = srv_login(&v, 0, "");
    int gone = srv_login(&v, 1, "");
    g.cid = srv_last_cid(&v);
    sem_init(&g.go, 0, 0);
    srv_say(gone, "SUB q g 1\r\n");
    srv_sync(gone);
    srv_begin(&v, 1, &hold, wait_and_close, &g);
    srv_run(&v, 0, publish_q, v.server->global);
    srv_say(other, "SUB q g 2\r\n");
    srv_sync(other);
    sem_post(&g.go);
    srv_finish(&hold);
    srv_hear(other, "MSG q 2 1\r\nx\r\n");
    srv_hear_end(gone);
    close(other);
    sem_destroy(&g.go);
    srv_stop(&v);
}

static int64_t
dropped(const struct srv *v)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < v->server->n_loops; i++) {
        n += atomic_load(&v->server->loops[i]->stats.dropped);
    }
    return n;
}

/* Each may subscribe to all of q.> but for q.secret, which is seen only when it arrives. */
static void
test_deliver_group_whose_members_all_decline_lets_the_message_go(void **state)
{
    (void)state;
    static const char conf[] =
        "authorization { users: [\n"
        "  { user: pub, password: p }\n"
        "  { user: sub, password: p, permissions: { subscribe: { deny: \"q.secret\" } } }\n"
        "] }";
    struct srv v;
    srv_start(&v, conf, 3);
    int from = srv_login(&v, 0, "\"user\":\"pub\",\"pass\":\"p\"");
    int to[3];
    for (uint32_t i = 0; i < 3; i++) {
        to[i] = srv_login(&v, i, "\"user\":\"sub\",\"pass\":\"p\"");
        srv_say(to[i], "SUB q.> g 1\r\nSUB end 2\r\n");
        srv_sync(to[i]);
    }
    for (int i = 0; i < 20; i++) {
        srv_say(from, "PUB q.secret 1\r\nx\r\n");
    }
    /* With members on other loops each ends there, and is counted. */
    while (dropped(&v) < 20) {
        srv_sync(from);
    }
    srv_say(from, "PUB end 1\r\n.\r\n");
    for (int i = 0; i < 3; i++) {
        srv_hear(to[i], "MSG end 2 1\r\n.\r\n");
        srv_sync(to[i]);
        close(to[i]);
    }
    close(from);
    srv_stop(&v);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deliver_reaches_every_loop_once),
        cmocka_unit_test(test_deliver_keeps_the_order_of_one_publisher_across_loops),
        cmocka_unit_test(test_deliver_strips_headers_for_those_who_take_none_on_any_loop),
        cmocka_unit_test(test_deliver_large_payload_arrives_whole_on_both_loops),
        cmocka_unit_test(test_deliver_ends_a_subscription_after_its_maximum_on_another_loop),
        cmocka_unit_test(test_deliver_group_gets_each_message_once_wherever_its_members_are),
        cmocka_unit_test(test_deliver_group_turns_to_another_member_when_the_chosen_one_is_gone),
        cmocka_unit_test(test_deliver_group_whose_members_all_decline_lets_the_message_go),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
