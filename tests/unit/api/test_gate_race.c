/* SPDX-License-Identifier: Apache-2.0 */
/* Gates under many threads at once: requesters, a host that delivers, replies, connections that
 * close, settings that change. Each request ends once: the books add up at
 * every look, and at the end nothing waits or runs. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmk.h"
#include "tests/support/gatekit.h"

#define SENDERS  3
#define REQUESTS 4000

static atomic_uint open_senders;
static atomic_bool stop;

static void *
send_many(void *arg)
{
    unsigned me = *(const unsigned *)arg;
    char reply[32];
    for (unsigned i = 0; i < REQUESTS; i++) {
        (void)snprintf(reply, sizeof(reply), "r.%u.%u", me, i % 16);
        struct api_message m = fakehost_request(2, me, "svc.a", reply, "x");
        m.now = gatekit.now.t;
        (void)gate_receive(gatekit.host.gate, &m);
        if (i % 64 == 0) {
            gates_conn_closed(gatekit.gates, me);
        }
    }
    atomic_fetch_sub(&open_senders, 1);
    return NULL;
}

/* One way after the other in which the host may end a delivery. */
static void
deliver_one(struct gate_request *r, unsigned n)
{
    struct gate_delivery d;
    char reply[32];
    uint64_t cid = RESPONDER + n % 3;
    if (!gate_begin(r, n % 7 != 0, &d)) {
        return;
    }
    (void)snprintf(reply, sizeof(reply), "%.*s", (int)d.reply_len, d.reply);
    if (n % 5 == 0) {
        gate_sent(r, 0);
        return;
    }
    gate_took(r, cid);
    if (n % 3 == 0) {
        gate_hold(r);
        gate_let_go(r);
    }
    if (n % 2 == 0) {
        gate_replied(gatekit.host.watch, reply, strlen(reply));
    }
    gate_sent(r, 1);
    if (n % 4 == 1) {
        gate_replied(gatekit.host.watch, reply, strlen(reply));
    }
}

static void *
deliver_all(void *arg)
{
    unsigned n = 0;
    (void)arg;
    while (!atomic_load(&stop)) {
        struct gate_request *r = fakehost_gated(&gatekit.host);
        if (r == NULL) {
            gates_conn_closed(gatekit.gates, RESPONDER + n++ % 3);
            sched_yield();
            continue;
        }
        deliver_one(r, n++);
    }
    return NULL;
}

static void
change(unsigned n)
{
    struct gate_conf c = gatekit_conf("g", "svc.>", 1 + n % 9);
    char err[GATE_ERR_LEN];
    size_t evicted;
    c.request_queue_limit = 1 + n % 40;
    c.discipline = (enum apiq_order)(n % APIQ_ORDERS);
    c.reply_timeout = n % 2 == 0 ? 0 : CLOCK_MS;
    assert_int_equal(gates_update(gatekit.gates, &c, &evicted, err), ST_OK);
    clock_fake_advance(&gatekit.now, CLOCK_MS);
    gates_tick(gatekit.gates);
    if (n % 2 == 0) {
        assert_int_equal(gates_apply(gatekit.gates, (const struct gate_conf *[]){&c}, 1), ST_OK);
    }
}

/* As gatekit_look, while others go on: only the books are looked at. */
static struct gate_counts
counts(void)
{
    struct gate_info i;
    assert_true(gates_find(gatekit.gates, "g", &i));
    uint64_t sum = i.counts.queued + i.counts.running;
    for (int e = 0; e < GATE_END_COUNT; e++) {
        sum += i.counts.ended[e];
    }
    assert_int_equal(i.counts.received, sum);
    return i.counts;
}

static void
test_gate_each_request_ends_once_whatever_comes_together(void **state)
{
    (void)state;
    pthread_t sender[SENDERS];
    pthread_t host[2];
    unsigned me[SENDERS];
    unsigned n = 0;
    atomic_store(&open_senders, SENDERS);
    for (unsigned i = 0; i < SENDERS; i++) {
        me[i] = i + 1;
        assert_int_equal(pthread_create(&sender[i], NULL, send_many, &me[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&host[i], NULL, deliver_all, NULL), 0);
    }
    while (atomic_load(&open_senders) > 0 || counts().queued + counts().running > 0) {
        change(n++);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < SENDERS; i++) {
        pthread_join(sender[i], NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(host[i], NULL);
    }
    assert_int_equal(counts().received, SENDERS * REQUESTS);
    assert_int_equal(gatekit_look().counts.running, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gate_each_request_ends_once_whatever_comes_together,
                                        gatekit_set_up, gatekit_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
