/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/gates.h"
#include "server/auth/auth.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/net/stall.h"
#include "server/proto/info.h"
#include "tests/support/conffile.h"
#include "tests/support/oom.h"
#include "tests/support/srv.h"

enum { POSTERS = 4, EACH = 5000 };

struct note {
    struct loop_msg msg;
    int poster, number;
};

/* Written on the loop only. */
static int last_of[POSTERS];
static int received;

static void
on_note(struct loop *l, struct loop_msg *msg)
{
    struct note *n = LIST_ENTRY(msg, struct note, msg);
    assert_true(loop_is_own(l));
    assert_int_equal(n->number, last_of[n->poster] + 1);
    last_of[n->poster] = n->number;
    received++;
    mem_free(n);
}

struct poster {
    pthread_t thread;
    struct loop *to;
    int index;
};

static void *
post_all(void *arg)
{
    struct poster *p = arg;
    struct list_node batch;
    list_init(&batch);
    for (int i = 1; i <= EACH; i++) {
        struct note *n = mem_alloc(sizeof *n);
        n->msg.run = on_note;
        n->msg.bytes = 1;
        n->poster = p->index;
        n->number = i;
        if (p->index % 2 == 0) {
            loop_post(p->to, &n->msg);
            continue;
        }
        list_push_back(&batch, &n->msg.node);
        if (i % 10 == 0) {
            loop_post_list(p->to, &batch, 10);
            assert_true(list_is_empty(&batch));
        }
    }
    return NULL;
}

static void
take_received(struct loop *l, void *arg)
{
    *(int *)arg = received;
    assert_int_equal(atomic_load(&l->inbox_bytes), 0);
}

static void
test_loop_runs_what_threads_post_once_and_in_the_order_of_each(void **state)
{
    (void)state;
    struct srv v;
    struct poster p[POSTERS];
    int got = 0;
    srv_start(&v, "", 1);
    for (int i = 0; i < POSTERS; i++) {
        p[i] = (struct poster){.to = v.server->loops[0], .index = i};
        assert_int_equal(pthread_create(&p[i].thread, NULL, post_all, &p[i]), 0);
    }
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(p[i].thread, NULL);
    }
    srv_run(&v, 0, take_received, &got);
    assert_int_equal(got, POSTERS * EACH);
    srv_stop(&v);
}

static void
test_loop_drain_runs_what_was_posted_after_the_end(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 2);
    srv_stop_loops(&v);
    received = 0;
    last_of[0] = 0;
    struct note *n = mem_alloc(sizeof *n);
    n->msg.run = on_note;
    n->number = 1;
    loop_post(v.server->loops[1], &n->msg);
    assert_true(loop_drain(v.server->loops[1]));
    assert_false(loop_drain(v.server->loops[1]));
    assert_int_equal(received, 1);
    srv_free(&v);
}

static void
find_all(struct loop *l, void *arg)
{
    const uint64_t *cids = arg;
    for (int i = 0; i < 200; i++) {
        const struct conn *c = loop_find(l, cids[i]);
        assert_non_null(c);
        assert_int_equal(c->cid, cids[i]);
    }
    assert_null(loop_find(l, cids[199] + 1));
}

static void
test_loop_finds_each_of_many_connections_by_its_id(void **state)
{
    (void)state;
    struct srv v;
    int fd[200];
    uint64_t cids[200];
    srv_start(&v, "", 1);
    for (int i = 0; i < 200; i++) {
        fd[i] = srv_client(&v);
        cids[i] = srv_last_cid(&v);
    }
    srv_run(&v, 0, find_all, cids);
    for (int i = 0; i < 200; i++) {
        close(fd[i]);
    }
    srv_stop(&v);
}

struct pair {
    uint64_t producer, receiver;
};

/* The producer waits for the receiver, with this unread; its time is over, so the end of this turn
 * reads it. */
static void
leave_unread(struct loop *l, const struct pair *p, const char *pub)
{
    struct conn *c = loop_find(l, p->producer);
    struct peer *to = loop_find(l, p->receiver)->peer;
    stall_note(c, to, INT64_MAX);
    stall_apply(c);
    assert_int_equal(c->pause, PAUSE_STALL);
    c->part = mem_strdup(pub);
    c->part_len = strlen(pub);
    c->stall_until = 0;
    event_del(&l->stall_timer); /* these would bring another turn */
    event_del(&l->late.beat);
    event_del(&c->ev_timer);
}

static void
leave_a_publish_unread(struct loop *l, void *arg)
{
    leave_unread(l, arg, "PUB orders.1 ack 2\r\nhi\r\n");
}

static void
nothing_is_due(struct loop *l, void *arg)
{
    (void)arg;
    assert_false(l->js_turn);
}

/* What follows the subject and sid of a MSG line: size and payload. */
static void
skip_payload(int fd)
{
    size_t n = 0;
    char ch = '0';
    do {
        n = n * 10 + (size_t)(ch - '0');
        assert_int_equal(read(fd, &ch, 1), 1);
    } while (ch != '\r');
    srv_skip(fd, 1 + n + 2);
}

static void
test_loop_stores_in_this_turn_what_a_stalled_producer_had_left_unread(void **state)
{
    (void)state;
    struct srv v;
    struct pair p;
    srv_start(&v, "jetstream { store_dir: js }\n", 1);
    int receiver = srv_login(&v, 0, "");
    p.receiver = srv_last_cid(&v);
    int producer = srv_login(&v, 0, "");
    p.producer = srv_last_cid(&v);
    srv_say(producer, "SUB made 1\r\nSUB ack 2\r\n"
                      "PUB $JS.API.STREAM.CREATE.S made 36\r\n"
                      "{\"name\":\"S\",\"subjects\":[\"orders.>\"]}\r\n");
    srv_hear(producer, "MSG made 1 ");
    skip_payload(producer);
    srv_run(&v, 0, leave_a_publish_unread, &p);
    srv_run(&v, 0, nothing_is_due, NULL);
    srv_hear(producer, "MSG ack 2 22\r\n{\"stream\":\"S\",\"seq\":1}\r\n");
    close(producer);
    close(receiver);
    srv_stop(&v);
}

/* One who closes with the last flush of a turn, and what that brings. */
struct closing {
    struct pair pair;
    int receiver; /* its socket */
    void (*gate_deliver)(void *ctx, struct gate_request *r);
    struct srv *v;
    struct srv_errand left;
};
static struct closing closing;

static void
was_run(struct loop *l, void *arg)
{
    (void)arg;
    assert_true(loop_is_own(l));
}

/* Called while the receiver closes: something for JetStream, and mail for this loop. */
static void
deliver_and_leave_something(void *ctx, struct gate_request *r)
{
    struct loop *l = closing.v->server->loops[0];
    closing.v->server->host_fns.gate_deliver = closing.gate_deliver;
    assert_true(loop_is_own(l) && !list_is_empty(&loop_find(l, closing.pair.producer)->all));
    loop_js_turn(l);
    loop_post(l, &closing.left.msg);
    closing.gate_deliver(ctx, r);
}

/* The stalled producer goes on behind the first flush of this turn, so it is the last one that
 * finds out that the receiver's socket is gone. */
static void
let_the_receiver_close_last(struct loop *l, void *arg)
{
    (void)arg;
    struct api_host *host = &closing.v->server->host_fns;
    closing.gate_deliver = host->gate_deliver;
    host->gate_deliver = deliver_and_leave_something;
    leave_unread(l, &closing.pair, "PUB feed 2\r\nhi\r\n");
    close(closing.receiver);
}

static void
put_a_gate(struct srv *v, const char *subject)
{
    struct gate_conf c;
    char err[GATE_ERR_LEN];
    assert_int_equal(gate_conf_init(&c, "g", err, sizeof err), ST_OK);
    snprintf(c.subject, sizeof c.subject, "%s", subject);
    c.limit = 1;
    assert_int_equal(gates_create(api_gates(v->server->api), &c, err), ST_OK);
}

static void
test_loop_does_not_sleep_over_what_one_that_closed_last_has_left(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "jetstream { store_dir: js }\n", 1);
    put_a_gate(&v, "svc");
    closing.v = &v;
    srv_errand_init(&closing.left, was_run, NULL);
    closing.receiver = srv_login(&v, 0, "");
    closing.pair.receiver = srv_last_cid(&v);
    srv_say(closing.receiver, "SUB svc 1\r\nSUB feed 2\r\n");
    srv_sync(closing.receiver);
    int producer = srv_login(&v, 0, "");
    closing.pair.producer = srv_last_cid(&v);
    srv_say(producer, "SUB r.* 1\r\nPUB svc r.1 1\r\na\r\nPUB svc r.2 1\r\nb\r\n");
    srv_hear(closing.receiver, "MSG svc 1 r.1 1\r\na\r\n");
    srv_sync(producer); /* the second one waits for the slot of the first */
    srv_run(&v, 0, let_the_receiver_close_last, NULL);
    srv_finish(&closing.left);
    close(producer);
    srv_stop(&v);
}

struct making {
    struct srv *v;
    struct loop *loop;
};

static enum status
make(void *arg)
{
    struct making *m = arg;
    struct server *s = m->v->server;
    struct loop_spec spec = {.index = 0,
                             .n_loops = 3,
                             .server = s,
                             .cfg = config_ref(s->config),
                             .auth = auth_ref(s->auth),
                             .info = info_ref(s->info)};
    return loop_new(&m->loop, &spec);
}

static void
unmake(void *arg)
{
    struct making *m = arg;
    loop_free(m->loop);
}

static void
test_loop_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 1);
    struct making m = {.v = &v};
    oom_sweep(make, unmake, &m);
    loop_free(NULL);
    srv_stop(&v);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop_runs_what_threads_post_once_and_in_the_order_of_each),
        cmocka_unit_test(test_loop_drain_runs_what_was_posted_after_the_end),
        cmocka_unit_test(test_loop_finds_each_of_many_connections_by_its_id),
        cmocka_unit_test(test_loop_stores_in_this_turn_what_a_stalled_producer_had_left_unread),
        cmocka_unit_test(test_loop_does_not_sleep_over_what_one_that_closed_last_has_left),
        cmocka_unit_test(test_loop_that_cannot_be_made_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
