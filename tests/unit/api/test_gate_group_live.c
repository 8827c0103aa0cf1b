/* SPDX-License-Identifier: Apache-2.0 */
/* A workload group in front of a gate's queue while gate and group change, and en masse; without
 * threads. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/gate_list.h"
#include "tests/support/cmk.h"
#include "tests/support/gatekit.h"
#include "tests/support/slow.h"

#define ONE "{\"throttling\":{\"limit\":1,\"attribute\":\"client\"},\"queue\":{\"size\":3}}"

static void
test_gate_group_letting_in_waits_for_room_in_the_queue(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 1);
    gatekit_group("{\"throttling\":{\"limit\":2},\"queue\":{\"size\":9}}");
    (void)snprintf(c.group, sizeof(c.group), "w");
    c.request_queue_limit = 1;
    gatekit_update(&c, 0);
    gatekit_ask(1, "r.1"); /* runs */
    gatekit_ask(1, "r.2"); /* queued */
    gatekit_ask(1, "r.3"); /* parked */
    gatekit_group("{\"throttling\":{\"limit\":5},\"queue\":{\"size\":9}}");
    /* A permit is free and the queue is full: nothing is evicted for it. */
    gatekit_parked(1);
    gatekit_expect_ended(END_EVICTED, 0);
    gatekit_delivered("r.1", 1);
    gatekit_reply("r.1");
    gatekit_parked(0);
    gatekit_delivered("r.2", 1);
    gatekit_reply("r.2");
    gatekit_delivered("r.3", 1);
    gatekit_reply("r.3");
    gatekit_permits(0);
}

static void
test_gate_group_that_goes_lets_in_and_limits_no_more(void **state)
{
    (void)state;
    gatekit_grouped(ONE, 9);
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    gatekit_parked(1);
    gatekit_group(NULL);
    gatekit_delivered("r.1", 1);
    gatekit_delivered("r.2", 1);
    gatekit_ask(1, "r.3");
    gatekit_delivered("r.3", 1);
    assert_true(gatekit_look().group_missing);
    /* One of that name that comes back is in force again. */
    gatekit_group(ONE);
    assert_false(gatekit_look().group_missing);
    gatekit_ask(1, "r.4");
    gatekit_ask(1, "r.5");
    gatekit_delivered("r.4", 1);
    gatekit_none_delivered();
    gatekit_parked(1);
}

static void
test_gate_group_is_changed_with_requests_waiting(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 9);
    gatekit_grouped(ONE, 9);
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    /* Without the group from now on; what is parked comes in when its permit is there. */
    gatekit_update(&c, 0);
    gatekit_ask(1, "r.3");
    gatekit_delivered("r.1", 1);
    gatekit_delivered("r.3", 1);
    gatekit_parked(1);
    gatekit_reply("r.1");
    gatekit_delivered("r.2", 1);
    (void)snprintf(c.group, sizeof(c.group), "nope");
    size_t n;
    assert_int_equal(gates_update(gatekit.gates, &c, &n, gatekit.err), ST_NOTFOUND);
    assert_string_equal(gatekit.err, "group: there is no workload group \"nope\"");
    struct gate_conf other = gatekit_conf("h", "other.>", 1);
    (void)snprintf(other.group, sizeof(other.group), "nope");
    assert_int_equal(gates_create(gatekit.gates, &other, gatekit.err), ST_NOTFOUND);
    assert_string_equal(gatekit.err, "group: there is no workload group \"nope\"");
}

static void
test_gate_group_deleted_gate_passes_on_the_queued_and_then_the_parked(void **state)
{
    (void)state;
    size_t n;
    char name[GATE_NAME_MAX + 1];
    gatekit_grouped("{\"throttling\":{\"limit\":2},\"queue\":{\"size\":9}}", 1);
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    gatekit_ask(1, "r.3");
    gatekit_ask(1, "r.4");
    gatekit_parked(2);
    assert_true(gates_naming(gatekit.gates, "w", name));
    assert_string_equal(name, "g");
    assert_int_equal(gates_delete(gatekit.gates, "g", &n, gatekit.err), ST_OK);
    assert_int_equal(n, 3);
    assert_false(gates_naming(gatekit.gates, "w", name));
    for (unsigned i = 1; i <= 4; i++) {
        struct gate_delivery d;
        char reply[8];
        struct gate_request *r = fakehost_gated(&gatekit.host);
        (void)snprintf(reply, sizeof(reply), "r.%u", i);
        assert_non_null(r);
        assert_true(gate_begin(r, true, &d));
        assert_string_equal(d.reply, reply);
        gate_sent(r, 1);
    }
    gatekit_permits(0);
    assert_int_equal(gatekit_group_counts().queued_current, 0);
}

static void
test_gate_group_closed_gates_refuse_the_parked_too(void **state)
{
    (void)state;
    gatekit_grouped(ONE, 2);
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    gates_close(gatekit.gates);
    gatekit_told("r.2", "Nats-Service-Error: the server is shutting down: the request was not");
    gatekit_nobody_told();
    gatekit_permits(0);
}

/* Two gates of one group: a bucket is one, and a gate that goes leaves the other's alone. */
static void
test_gate_group_is_shared_by_gates(void **state)
{
    (void)state;
    size_t n;
    struct gate_conf c = gatekit_conf("h", "other.>", 9);
    gatekit_grouped("{\"throttling\":{\"limit\":1},\"queue\":{\"size\":9}}", 9);
    (void)snprintf(c.group, sizeof(c.group), "w");
    struct gate *g = gate_ref(gatekit.host.gate);
    assert_int_equal(gates_create(gatekit.gates, &c, gatekit.err), ST_OK);
    struct gate *h = gate_ref(gatekit.host.gate);
    struct api_message m = fakehost_request(2, 1, "other.a", "h.1", "h.1");
    m.now = gatekit.now.t;
    assert_true(gate_receive(h, &m)); /* has the permit */
    struct gate_request *r = fakehost_gated(&gatekit.host);
    struct gate_delivery d;
    assert_true(gate_begin(r, true, &d));
    gate_took(r, RESPONDER);
    gate_sent(r, 1);
    m.reply = "h.2";
    assert_true(gate_receive(h, &m)); /* parked, in front of the others */
    struct api_message of_g = fakehost_request(2, 1, "svc.a", "g.1", "g.1");
    of_g.now = gatekit.now.t;
    assert_true(gate_receive(g, &of_g));
    assert_int_equal(gatekit_group_counts().queued_current, 2);
    assert_int_equal(gates_delete(gatekit.gates, "h", &n, gatekit.err), ST_OK);
    /* h.2 passes without a permit, that of h.1 goes to g.1. */
    r = fakehost_gated(&gatekit.host);
    assert_true(gate_begin(r, true, &d));
    assert_string_equal(d.reply, "h.2");
    gate_sent(r, 1);
    gatekit_delivered("g.1", 1);
    gatekit_reply("g.1");
    gatekit_permits(0);
    gate_unref(g);
    gate_unref(h);
}

/* Scenario 10: the stack does not grow, the permits come back. */
#define MANY        10000
#define SMALL_STACK (SLOW_FACTOR > 1 ? 1024UL * 1024 : 128UL * 1024)

static void
on_a_small_stack(void *(*f)(void *))
{
    pthread_t t;
    pthread_attr_t attr;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, SMALL_STACK), 0);
    assert_int_equal(pthread_create(&t, &attr, f, NULL), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    (void)pthread_attr_destroy(&attr);
}

/* The permit comes back: one after the other is let in, has expired, and gives it back. */
static void *
reply_and_let_in(void *arg)
{
    gate_replied(gatekit.host.watch, "r.1", 3);
    gatekit_park();
    return arg;
}

static void
test_gate_group_ten_thousand_expire_as_they_are_let_in(void **state)
{
    (void)state;
    const char *hdr = "NATS/1.0\r\nNats-Request-Timeout: 1s\r\n\r\n";
    gatekit_grouped("{\"throttling\":{\"limit\":1},\"queue\":{\"size\":10000}}", 2);
    gatekit_ask(9, "r.1");
    gatekit_delivered("r.1", 1);
    struct api_message m = fakehost_request(2, 1, "svc.a", "m", "");
    m.now = gatekit.now.t;
    m.hdr = hdr;
    m.hdr_len = strlen(hdr);
    for (unsigned i = 0; i < MANY; i++) {
        assert_true(gate_receive(gatekit.host.gate, &m));
    }
    gatekit_parked(MANY);
    clock_fake_advance(&gatekit.now, CLOCK_S);
    on_a_small_stack(reply_and_let_in);
    gatekit_expect_ended(END_EXPIRED, MANY);
    gatekit_parked(0);
    gatekit_permits(0);
}

static void *
leave(void *arg)
{
    (void)groups_cancel_owner(gatekit.groups, 1);
    gates_conn_closed(gatekit.gates, 1);
    return arg;
}

static void
test_gate_group_mass_cancel_of_ten_thousand_parked(void **state)
{
    (void)state;
    gatekit_grouped("{\"throttling\":{\"limit\":1},\"queue\":{\"size\":10000}}", 2);
    gatekit_ask(9, "r.1");
    struct api_message m = fakehost_request(2, 1, "svc.a", "m", "m");
    m.now = gatekit.now.t;
    for (unsigned i = 0; i < MANY; i++) {
        assert_true(gate_receive(gatekit.host.gate, &m));
    }
    gatekit_parked(MANY);
    on_a_small_stack(leave);
    gatekit_parked(0);
    gatekit_expect_ended(END_DISCONNECT, MANY);
    gatekit_nobody_told();
    gatekit_delivered("r.1", 1);
    gatekit_reply("r.1");
    gatekit_ask(1, "r.2");
    gatekit_delivered("r.2", 1);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, gatekit_set_up, gatekit_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_gate_group_letting_in_waits_for_room_in_the_queue),
        T(test_gate_group_that_goes_lets_in_and_limits_no_more),
        T(test_gate_group_is_changed_with_requests_waiting),
        T(test_gate_group_deleted_gate_passes_on_the_queued_and_then_the_parked),
        T(test_gate_group_closed_gates_refuse_the_parked_too),
        T(test_gate_group_is_shared_by_gates),
        T(test_gate_group_ten_thousand_expire_as_they_are_let_in),
        T(test_gate_group_mass_cancel_of_ten_thousand_parked),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
