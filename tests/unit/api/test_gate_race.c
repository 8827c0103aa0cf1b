/* SPDX-License-Identifier: Apache-2.0 */
/* Gates under many threads at once: requesters of several tenants, a host that delivers, replies,
 * connections that close, an operator who cancels, settings of the gate and of its workload group
 * that change. Each request ends once and gives its permit back once: the books of both add up at
 * every look, and at the end nothing waits or runs. Argument: seconds, for a longer run. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/gate_list.h"
#include "tests/support/cmk.h"
#include "tests/support/gatekit.h"

#define SENDERS  3
#define REQUESTS 4000

static int64_t stress_ns;

static atomic_uint open_senders;
static atomic_bool stop;
static atomic_bool over; /* the time of a longer run */
static atomic_uint sent;

static void *
send_many(void *arg)
{
    static const char *const users[] = {"alice", "bob", "eve"};
    unsigned me = *(const unsigned *)arg;
    char reply[32];
    for (unsigned i = 0; i < REQUESTS || !atomic_load(&over); i++) {
        (void)snprintf(reply, sizeof(reply), "r.%u.%u", me, i % 16);
        struct api_message m = fakehost_request(2, me, "svc.a", reply, "x");
        m.now = gatekit.now.t;
        m.origin.user = users[(me + i / 16) % 3];
        (void)gate_receive(gatekit.host.gate, &m);
        atomic_fetch_add(&sent, 1);
        if (i % 64 == 0) {
            (void)groups_cancel_owner(gatekit.groups, me);
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
    static const char *const groups[] = {
        "{\"throttling\":{\"limit\":1,\"attribute\":\"user\"},\"queue\":{\"size\":20}}",
        "{\"throttling\":{\"limit\":3},\"queue\":{\"size\":9},\"cancel_after\":\"3ms\"}",
        "{\"match\":{\"user\":\"*e\"},\"throttling\":{\"limit\":2},\"queue\":{\"size\":100}}",
        "{\"throttling\":{\"limit\":2,\"mode\":\"monitor\"}}",
        NULL,
    };
    struct gate_conf c = gatekit_conf("g", "svc.>", 1 + n % 9);
    gatekit_group(groups[n / 4 % 5]);
    (void)snprintf(c.group, sizeof(c.group), "%s",
                   n % 6 == 5 || groups[n / 4 % 5] == NULL ? "" : "w");
    char err[GATE_ERR_LEN];
    size_t evicted;
    c.request_queue_limit = 1 + n % 40;
    c.discipline = (enum apiq_order)(n % APIQ_ORDERS);
    c.reply_timeout = n % 2 == 0 ? 0 : CLOCK_MS;
    assert_int_equal(gates_update(gatekit.gates, &c, &evicted, err), ST_OK);
    clock_fake_advance(&gatekit.now, CLOCK_MS);
    gates_tick(gatekit.gates);
    gatekit_park();
    if (n % 16 == 0) {
        struct gate_pick queued = {.match = {.owner = 1 + n % 3}};
        struct group_pick parked = {.match = queued.match, .gate = "g"};
        (void)groups_cancel_match(gatekit.groups, &parked);
        (void)gates_cancel_match(gatekit.gates, &queued);
    }
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
    struct group_info w;
    uint64_t sum = i.counts.parked + i.counts.queued + i.counts.running;
    for (int e = 0; e < LEDGER_END_COUNT; e++) {
        sum += i.counts.ended[e];
    }
    assert_int_equal(i.counts.received, sum);
    if (groups_find(gatekit.groups, "w", &w) == ST_OK) {
        assert_int_equal(w.counts.total_admitted, w.counts.total_released + w.counts.running);
        assert_int_equal(w.counts.total_queued,
                         w.counts.queue_wait_count + w.counts.total_cancelled +
                             w.counts.total_displaced + w.counts.queued_current);
    }
    return i.counts;
}

static bool
is_idle(void)
{
    struct gate_counts c = counts();
    return c.parked + c.queued + c.running == 0;
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
    int64_t end = clock_mono_ns() + stress_ns;
    while (atomic_load(&open_senders) > 0 || !is_idle()) {
        change(n++);
        if (clock_mono_ns() >= end) {
            atomic_store(&over, true);
        }
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < SENDERS; i++) {
        pthread_join(sender[i], NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(host[i], NULL);
    }
    assert_int_equal(counts().received, atomic_load(&sent));
    assert_int_equal(gatekit_look().counts.running, 0);
}

int
main(int argc, char **argv)
{
    stress_ns = argc > 1 ? atoi(argv[1]) * CLOCK_S : 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gate_each_request_ends_once_whatever_comes_together,
                                        gatekit_set_up, gatekit_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
