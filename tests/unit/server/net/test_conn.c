/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "tests/support/conffile.h"
#include "tests/support/srv.h"

static void
test_conn_answers_pings_however_they_are_split(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 1);
    int fd = srv_login(&v, 0, "");
    for (const char *at = "PING\r\nping\r\n"; *at != '\0'; at++) {
        srv_say_n(fd, at, 1);
    }
    srv_hear(fd, "PONG\r\nPONG\r\n");
    close(fd);
    srv_stop(&v);
}

static void
test_conn_takes_a_payload_larger_than_its_read_buffer(void **state)
{
    (void)state;
    struct srv v;
    enum { BIG = 1000 * 1000 };
    char line[64];
    char *data = malloc(BIG);
    assert_non_null(data);
    srv_start(&v, "", 1);
    int from = srv_login(&v, 0, "");
    int to = srv_login(&v, 0, "");
    srv_say(to, "SUB big 1\r\n");
    srv_sync(to);
    memset(data, 'x', BIG);
    snprintf(line, sizeof line, "PUB big %d\r\n", BIG);
    srv_say(from, line);
    srv_say_n(from, data, BIG / 2);
    srv_say_n(from, data, BIG - BIG / 2);
    srv_say(from, "\r\n");
    snprintf(line, sizeof line, "MSG big 1 %d\r\n", BIG);
    srv_hear(to, line);
    srv_skip(to, BIG);
    srv_hear(to, "\r\n");
    srv_sync(from);
    close(from);
    close(to);
    srv_stop(&v);
    free(data);
}

/* Three reads of it do not fit in front of the read buffer. */
static void
test_conn_reads_a_line_of_any_length_that_the_configuration_allows(void **state)
{
    (void)state;
    struct srv v;
    enum { NAME = 200 * 1024 };
    char *name = malloc(NAME + 1);
    assert_non_null(name);
    srv_start(&v, "max_control_line: 1MB\nauthorization { user: a, password: b }", 1);
    int fd = srv_client(&v);
    memset(name, 'n', NAME);
    srv_say(fd, "CONNECT {\"verbose\":false,\"user\":\"a\",\"pass\":\"b\",\"name\":\"");
    for (int i = 0; i < 4; i++) {
        srv_say_n(fd, name, NAME / 4);
    }
    srv_say(fd, "\"}\r\n");
    srv_sync(fd);
    close(fd);
    srv_stop(&v);
    free(name);
}

static void
test_conn_delivers_subjects_longer_than_a_chunk(void **state)
{
    (void)state;
    struct srv v;
    enum { LEN = 40000 };
    char *subject = malloc(LEN + 1);
    assert_non_null(subject);
    srv_start(&v, "max_control_line: 64KB", 1);
    int from = srv_login(&v, 0, "");
    int to = srv_login(&v, 0, "");
    srv_say(to, "SUB > 1\r\n");
    srv_sync(to);
    memset(subject, 's', LEN);
    srv_say(from, "PUB ");
    srv_say_n(from, subject, LEN);
    srv_say(from, " 2\r\nok\r\n");
    srv_hear(to, "MSG ");
    srv_skip(to, LEN);
    srv_hear(to, " 1 2\r\nok\r\n");
    srv_sync(to);
    close(from);
    close(to);
    srv_stop(&v);
    free(subject);
}

static void
test_conn_line_past_the_limit_ends_it(void **state)
{
    (void)state;
    struct srv v;
    char subject[5000];
    srv_start(&v, "", 1);
    int fd = srv_login(&v, 0, "");
    memset(subject, 's', sizeof subject);
    srv_say(fd, "SUB ");
    srv_say_n(fd, subject, sizeof subject);
    srv_hear(fd, "-ERR 'maximum control line exceeded'\r\n");
    srv_hear_end(fd);
    srv_stop(&v);
}

static void
test_conn_over_the_limit_is_told_and_does_not_count(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "max_connections: 2", 1);
    int a = srv_login(&v, 0, "");
    int b = srv_login(&v, 0, "");
    for (int i = 0; i < 3; i++) {
        int c = srv_client(&v);
        srv_hear(c, "-ERR 'maximum connections exceeded'\r\n");
        srv_hear_end(c);
    }
    close(a);
    /* Its end is seen on the loop: until then there is no room. */
    while (server_count_conns(v.server, 0) == 2) {
        srv_sync(b);
    }
    int d = srv_login(&v, 0, "");
    close(b);
    close(d);
    srv_stop(&v);
}

static bool
has_pending(struct loop *l, void *arg)
{
    const struct conn *c = loop_find(l, *(uint64_t *)arg);
    return c != NULL && c->out.pending > 0;
}

enum {
    MESSAGES = 400,
    SIZE = 4096,
    WHOLE = MESSAGES * (sizeof "MSG slow 1 4096\r\n" - 1 + SIZE + 2)
};

/* More than the socket of a receiver takes that does not read. */
static void
publish_much(int from)
{
    static const char data[SIZE] = {'x'};
    for (int i = 0; i < MESSAGES; i++) {
        srv_say(from, "PUB slow 4096\r\n");
        srv_say_n(from, data, sizeof data);
        srv_say(from, "\r\n");
    }
    srv_sync(from);
}

/* One who publishes, and one who subscribes to "slow" and does not read. */
static void
start_with_a_slow_one(struct srv *v, const char *conf, int *from, int *to)
{
    srv_start(v, conf, 1);
    *from = srv_login(v, 0, "");
    *to = srv_login(v, 0, "");
    srv_say(*to, "SUB slow 1\r\n");
    srv_sync(*to);
}

static void
publish_until_it_waits(struct srv *v, int from, uint64_t cid)
{
    publish_much(from);
    srv_until(v, 0, has_pending, &cid);
}

static size_t
read_to_the_end(int fd)
{
    static char waste[65536];
    size_t all = 0;
    for (ssize_t n; (n = recv(fd, waste, sizeof waste, 0)) > 0;) {
        all += (size_t)n;
    }
    close(fd);
    return all;
}

static void *
stop_loops(void *arg)
{
    srv_stop_loops(arg);
    return NULL;
}

static void
test_conn_is_still_sent_what_waits_when_the_server_stops(void **state)
{
    (void)state;
    struct srv v;
    int from, to;
    pthread_t stopper;
    start_with_a_slow_one(&v, "", &from, &to);
    publish_until_it_waits(&v, from, srv_last_cid(&v));
    assert_int_equal(pthread_create(&stopper, NULL, stop_loops, &v), 0);
    assert_int_equal(read_to_the_end(to), WHOLE);
    pthread_join(stopper, NULL);
    close(from);
    srv_free(&v);
}

static void
test_conn_that_never_reads_does_not_hold_up_the_stop(void **state)
{
    (void)state;
    struct srv v;
    int from, to;
    start_with_a_slow_one(&v, "write_deadline: \"50ms\"", &from, &to);
    publish_much(from);
    srv_stop(&v);
    close(from);
    close(to);
}

static void
test_conn_past_its_write_deadline_is_closed(void **state)
{
    (void)state;
    struct srv v;
    int from, to;
    start_with_a_slow_one(&v, "write_deadline: \"50ms\"", &from, &to);
    publish_much(from);
    while (atomic_load(&v.server->loops[0]->stats.slow_consumers) == 0) {
        srv_sync(from);
    }
    assert_true(read_to_the_end(to) < WHOLE);
    close(from);
    srv_stop(&v);
}

struct missed {
    uint64_t cid;
    int64_t took;
};

/* As libevent does when the deadline passes. */
static void
miss_deadline(struct loop *l, void *arg)
{
    const struct missed *m = arg;
    struct conn *c = loop_find(l, m->cid);
    assert_non_null(c);
    assert_true(c->write_armed);
    c->batch_wrote = m->took;
    event_active(&c->ev_write, EV_TIMEOUT, 0);
}

static bool
is_slow(struct loop *l, void *arg)
{
    const struct conn *c = loop_find(l, *(uint64_t *)arg);
    return c != NULL && c->is_slow;
}

static bool
has_recovered(struct loop *l, void *arg)
{
    const struct conn *c = loop_find(l, *(uint64_t *)arg);
    return c != NULL && !c->is_slow && c->out.pending == 0;
}

static void
test_conn_that_took_a_little_is_kept_with_write_timeout_retry(void **state)
{
    (void)state;
    struct srv v;
    int from, to;
    start_with_a_slow_one(&v, "write_deadline: \"60s\"\nwrite_timeout: retry", &from, &to);
    struct missed m = {.cid = srv_last_cid(&v), .took = 1};
    publish_until_it_waits(&v, from, m.cid);
    srv_run(&v, 0, miss_deadline, &m);
    srv_until(&v, 0, is_slow, &m.cid);
    srv_skip(to, WHOLE);
    srv_until(&v, 0, has_recovered, &m.cid);
    srv_sync(to);
    close(from);
    close(to);
    srv_stop(&v);
}

static void
test_conn_that_took_nothing_is_closed_even_with_write_timeout_retry(void **state)
{
    (void)state;
    struct srv v;
    int from, to;
    start_with_a_slow_one(&v, "write_deadline: \"60s\"\nwrite_timeout: retry", &from, &to);
    struct missed m = {.cid = srv_last_cid(&v), .took = 0};
    publish_until_it_waits(&v, from, m.cid);
    srv_run(&v, 0, miss_deadline, &m);
    assert_true(read_to_the_end(to) < WHOLE);
    close(from);
    srv_stop(&v);
}

static void
test_conn_over_max_pending_is_closed_as_slow(void **state)
{
    (void)state;
    struct srv v;
    int from, to;
    start_with_a_slow_one(&v, "max_pending: 512KB\nmax_payload: 64KB\nno_fast_producer_stall: true",
                          &from, &to);
    publish_much(from);
    assert_int_equal(atomic_load(&v.server->loops[0]->stats.slow_consumers), 1);
    assert_true(read_to_the_end(to) < WHOLE);
    close(from);
    srv_stop(&v);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conn_answers_pings_however_they_are_split),
        cmocka_unit_test(test_conn_takes_a_payload_larger_than_its_read_buffer),
        cmocka_unit_test(test_conn_reads_a_line_of_any_length_that_the_configuration_allows),
        cmocka_unit_test(test_conn_delivers_subjects_longer_than_a_chunk),
        cmocka_unit_test(test_conn_line_past_the_limit_ends_it),
        cmocka_unit_test(test_conn_over_the_limit_is_told_and_does_not_count),
        cmocka_unit_test(test_conn_is_still_sent_what_waits_when_the_server_stops),
        cmocka_unit_test(test_conn_that_never_reads_does_not_hold_up_the_stop),
        cmocka_unit_test(test_conn_past_its_write_deadline_is_closed),
        cmocka_unit_test(test_conn_that_took_a_little_is_kept_with_write_timeout_retry),
        cmocka_unit_test(test_conn_that_took_nothing_is_closed_even_with_write_timeout_retry),
        cmocka_unit_test(test_conn_over_max_pending_is_closed_as_slow),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
