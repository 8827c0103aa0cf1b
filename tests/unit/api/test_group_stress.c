/* SPDX-License-Identifier: Apache-2.0 */
/* Workload groups with the plane's threads: bursts, a limit of one a great many times over, and all
 * at once: groups, accounts, a gate of a group, leaving clients, limits that change. Nothing is
 * lost or run twice, the counters add up whenever they are read, and the backstop finds nothing.
 * Arguments: seconds of the stress, rounds at a limit of one. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/endpoint.h"
#include "api/gate.h"
#include "api/gates.h"
#include "api/group_admin.h"
#include "api/plane.h"
#include "api/reply.h"
#include "api/request.h"
#include "tests/support/books.h"
#include "tests/support/cmk.h"
#include "tests/support/fakehost.h"
#include "tests/support/slow.h"

static struct fakehost host;
static struct api *api;
static atomic_int answered, refused, running, most;
static int64_t stress_ns;
static int limit_1_rounds;

static void
on_message(const char *subject, const char *hdr, const char *data)
{
    (void)subject;
    if (strstr(data, "\"error\"") != NULL) {
        assert_non_null(strstr(hdr, "Nats-Retry-After: "));
        assert_non_null(strstr(data, "not executed"));
        atomic_fetch_add(&refused, 1);
    } else {
        atomic_fetch_add(&answered, 1);
    }
}

static enum status
run_work(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    (void)r;
    int n = atomic_fetch_add(&running, 1) + 1;
    int m = atomic_load(&most);
    while (n > m && !atomic_compare_exchange_weak(&most, &m, n)) {
    }
    (void)sched_yield();
    atomic_fetch_sub(&running, 1);
    buf_puts(&out->body, "{}");
    return ST_OK;
}
static const struct api_endpoint work = {
    .name = "work", .subjects = {"$JS.API.WORK"}, .level = APIQ_NORMAL, .run = run_work};
static const struct api_endpoint info = {
    .name = "info", .subjects = {"$JS.API.INFO"}, .level = APIQ_INFO, .run = run_work};

static void
start(int64_t workers)
{
    struct api_opts opts = fakehost_opts(workers);
    opts.request_deadline = 0;
    fakehost_init(&host);
    host.on_message = on_message;
    answered = refused = running = most = 0;
    assert_int_equal(api_new(&api, &host.host, &opts, &clock_real), ST_OK);
}

static void
expect_backstop_idle(void)
{
    struct groups_totals t;
    groups_totals(api->groups, &t);
    assert_int_equal(t.swept_admitted, 0);
    assert_int_equal(t.swept_cancelled, 0);
}

static void
stop(void)
{
    api_close(api);
    books_check(api);
    assert_int_equal(books_open(api), 0);
    expect_backstop_idle();
    struct groups_totals t;
    groups_totals(api->groups, &t);
    assert_int_equal(t.parked + t.running, 0);
    api_free(api);
    fakehost_fini(&host);
}

static struct group_conf
group(const char *name, const char *json)
{
    struct group_conf c;
    char err[256];
    json_t *o = json_loads(json, 0, NULL);
    assert_non_null(o);
    assert_int_equal(group_conf_init(&c, name, err, sizeof(err)), ST_OK);
    if (group_conf_parse(&c, o, err, sizeof(err)) != ST_OK) {
        fail_msg("%s", err);
    }
    json_decref(o);
    return c;
}

static void
set(const struct group_conf *v, size_t n)
{
    struct api_tenants t = {.groups = v, .n_groups = n};
    assert_int_equal(api_set_tenants(api, &t), ST_OK);
}

static void
check_counts(const struct group_counts *n)
{
    assert_int_equal(n->total_admitted, n->total_released + n->running);
    assert_int_equal(n->total_queued, n->queue_wait_count + n->total_cancelled +
                                          n->total_displaced + n->queued_current);
    assert_int_equal(n->total_throttled,
                     n->total_queued + n->total_queue_rejections - n->total_displaced);
}

static void
send_as(const struct api_endpoint *ep, unsigned n, uint64_t cid, const char *user)
{
    struct api_message m = fakehost_request(n, cid, ep->subjects[0], "_INBOX.r", "");
    m.origin.user = user;
    m.origin.client = user;
    api_receive(api, ep, &m);
}

#define BURST     3000
#define PRODUCERS 4

static void *
produce_burst(void *arg)
{
    uint64_t cid = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < BURST / PRODUCERS; i++) {
        send_as(&work, 2, cid, "u");
    }
    return NULL;
}

static void
burst(int64_t size)
{
    pthread_t p[PRODUCERS];
    char json[128];
    (void)snprintf(json, sizeof(json), "{\"throttling\":{\"limit\":8},\"queue\":{\"size\":%lld}}",
                   (long long)size);
    struct group_conf c = group("g", json);
    start(16);
    set(&c, 1);
    for (uintptr_t i = 0; i < PRODUCERS; i++) {
        assert_int_equal(pthread_create(&p[i], NULL, produce_burst, (void *)(i + 1)), 0);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        (void)pthread_join(p[i], NULL);
    }
    fakehost_wait(&host, BURST);
    assert_in_range(most, 1, 8);
}

static void
test_group_burst_of_three_thousand_all_answered(void **state)
{
    (void)state;
    burst(BURST);
    assert_int_equal(answered, BURST);
    assert_int_equal(refused, 0);
    stop();
}

static void
test_group_burst_into_a_small_parking_refuses_only_what_does_not_fit(void **state)
{
    (void)state;
    burst(500);
    assert_int_equal(answered + refused, BURST);
    struct group_info i;
    assert_int_equal(groups_find(api->groups, "g", &i), ST_OK);
    assert_int_equal(i.counts.total_queue_rejections, refused);
    assert_in_range(i.counts.queue_peak, 1, 500);
    assert_true(answered >= 508);
    assert_true(refused == 0 || i.counts.queue_peak == 500);
    stop();
}

/* Scenario 16: as many who hold a permit as there are permits, and no parking. */
#define HOLDERS 4
#define TURNS   20000

static void *
hold_and_leave(void *arg)
{
    struct group_who who = {.account = "A", .account_key = 2, .user = "u"};
    who.client = "";
    who.subject = "$JS.API.WORK";
    for (int i = 0; i < TURNS; i++) {
        struct group_answer ans;
        groups_enter(api->groups, &who, &ans);
        if (ans.verdict == GROUP_ADMITTED) {
            groups_leave(api->groups, ans.permit);
        } else {
            *(unsigned *)arg += 1;
        }
    }
    return NULL;
}

static void
test_group_nobody_is_refused_while_a_permit_is_free(void **state)
{
    (void)state;
    pthread_t t[HOLDERS];
    unsigned not_admitted[HOLDERS] = {0};
    struct group_info i;
    struct group_conf c = group("g", "{\"throttling\":{\"limit\":4}}");
    start(2);
    set(&c, 1);
    for (int k = 0; k < HOLDERS; k++) {
        assert_int_equal(pthread_create(&t[k], NULL, hold_and_leave, &not_admitted[k]), 0);
    }
    for (int k = 0; k < HOLDERS; k++) {
        (void)pthread_join(t[k], NULL);
        assert_int_equal(not_admitted[k], 0);
    }
    assert_int_equal(groups_find(api->groups, "g", &i), ST_OK);
    assert_int_equal(i.counts.total_admitted, HOLDERS * TURNS);
    assert_int_equal(i.counts.total_throttled, 0);
    stop();
}

/* Scenario 9: the last running one ends between "full" and "parked", over and over. */
#define ROUNDS 200000

static void *
produce_pairs(void *arg)
{
    int rounds = *(const int *)arg;
    for (int i = 0; i < rounds; i++) {
        send_as(&work, 2, 1, "u");
        while (atomic_load(&answered) < i - 1) {
            (void)sched_yield();
        }
    }
    return NULL;
}

static void
test_group_no_wakeup_is_lost_at_a_limit_of_one(void **state)
{
    (void)state;
    pthread_t p;
    int rounds = limit_1_rounds;
    struct group_conf c = group("g", "{\"throttling\":{\"limit\":1},\"queue\":{\"size\":4}}");
    start(2);
    set(&c, 1);
    assert_int_equal(pthread_create(&p, NULL, produce_pairs, &rounds), 0);
    (void)pthread_join(p, NULL);
    fakehost_wait(&host, (uint64_t)rounds);
    assert_int_equal(answered, rounds);
    assert_int_equal(most, 1);
    stop();
}

/* ---- all at once --------------------------------------------------------------------------------
 */

static atomic_bool over, delivered_all;
static atomic_uint sent;
static pthread_mutex_t over_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over_cond = PTHREAD_COND_INITIALIZER;

/* For some ms, or until it is over. */
static void
rest(int ms)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_mutex_lock(&over_lock);
    while (!atomic_load(&over) && pthread_cond_timedwait(&over_cond, &over_lock, &t) == 0) {
    }
    pthread_mutex_unlock(&over_lock);
}

/* One in four goes to the gate, of the account that has it. */
static void
send_any(struct api_message *m, unsigned i)
{
    if (i % 4 == 3) {
        m->subject = "svc.x";
        m->origin.account = fakehost_account(2);
        m->origin.account_name = "A2";
        m->origin.account_key = 2;
        m->now = clock_mono_ns();
        assert_true(gate_receive(host.gate, m));
        return;
    }
    api_receive(api, i % 3 == 0 ? &info : &work, m);
    atomic_fetch_add(&sent, 1);
}

static void *
produce_any(void *arg)
{
    static const char *const users[] = {"a", "b", "c", "checkout-1", "checkout-2"};
    uint64_t base = (uint64_t)(uintptr_t)arg * 1000000;
    for (unsigned i = 0; !atomic_load(&over); i++) {
        uint64_t cid = base + i / 50;
        struct api_message m = fakehost_request(
            2 + i % 6, cid, i % 3 == 0 ? "$JS.API.INFO" : "$JS.API.WORK", "_INBOX.r", "");
        m.origin.user = users[(i / 7) % 5];
        if (i % 11 == 0) {
            m.hdr = "NATS/1.0\r\nNats-Request-Timeout: 20ms\r\n\r\n";
            m.hdr_len = strlen(m.hdr);
        }
        send_any(&m, i);
        if (i % 50 == 49 && i % 100 > 50) {
            api_conn_closed(api, cid);
        }
        if (i % 64 == 63) {
            (void)sched_yield();
        }
    }
    return NULL;
}

/* The host of the gate: delivers, and replies to most. */
static void *
deliver_all(void *arg)
{
    (void)arg;
    for (unsigned n = 0; !atomic_load(&delivered_all);) {
        struct gate_delivery d;
        struct gate_request *r = fakehost_gated(&host);
        if (r == NULL) {
            (void)sched_yield();
            continue;
        }
        if (!gate_begin(r, n++ % 9 != 0, &d)) {
            continue;
        }
        bool replies = n % 3 != 0;
        char reply[32];
        (void)snprintf(reply, sizeof(reply), "%.*s", (int)d.reply_len, d.reply);
        gate_sent(r, replies ? 1 : 0);
        if (replies) {
            gate_replied(host.watch, reply, strlen(reply));
        }
    }
    return NULL;
}

static void
make_gate(void)
{
    struct gate_conf c;
    char err[GATE_ERR_LEN];
    struct group_conf g = group("checkout", "{\"throttling\":{\"limit\":2}}");
    set(&g, 1);
    assert_int_equal(gate_conf_init(&c, "g", err, sizeof(err)), ST_OK);
    (void)snprintf(c.account, sizeof(c.account), "A2");
    (void)snprintf(c.subject, sizeof(c.subject), "svc.>");
    (void)snprintf(c.group, sizeof(c.group), "checkout");
    c.limit = 3;
    c.request_queue_limit = 20;
    assert_int_equal(gates_create(api_gates(api), &c, err), ST_OK);
}

/* What is open in the gate; its books add up. */
static uint64_t
gate_open(void)
{
    struct gate_info i;
    assert_true(gates_find(api_gates(api), "g", &i));
    uint64_t open = i.counts.parked + i.counts.queued + i.counts.running;
    uint64_t sum = open;
    for (int e = 0; e < LEDGER_END_COUNT; e++) {
        sum += i.counts.ended[e];
    }
    assert_int_equal(i.counts.received, sum);
    return open;
}

static void
change_gate(unsigned i)
{
    struct gate_info g;
    char err[GATE_ERR_LEN];
    size_t evicted;
    assert_true(gates_find(api_gates(api), "g", &g));
    g.conf.limit = 1 + i % 5;
    g.conf.request_queue_limit = 1 + i % 40;
    assert_int_equal(gates_update(api_gates(api), &g.conf, &evicted, err), ST_OK);
}

static void *
change(void *arg)
{
    (void)arg;
    static const char *const limits[] = {
        "{\"throttling\":{\"limit\":2,\"attribute\":\"user\"},\"queue\":{\"size\":100}}",
        ("{\"throttling\":{\"limit\":1,\"attribute\":\"account\"},\"queue\":{\"size\":30},"
         "\"cancel_after\":\"5ms\"}"),
        "{\"throttling\":{\"limit\":4,\"attribute\":\"user\",\"mode\":\"monitor\"}}",
        "{\"throttling\":{\"limit\":3},\"queue\":{\"size\":500,\"max_bytes\":20000}}"};
    for (unsigned i = 0; !atomic_load(&over); i++) {
        struct group_conf c[3] = {
            group("checkout", limits[i % 4]),
            group("info", limits[(i + 1) % 4]),
            group("rest", limits[(i / 4) % 4]),
        };
        (void)snprintf(c[0].user, sizeof(c[0].user), "checkout-*");
        (void)snprintf(c[1].subject, sizeof(c[1].subject), "$JS.API.INFO");
        set(c + (i % 5 == 0 ? 1 : 0), i % 7 == 0 ? 0 : i % 5 == 0 ? 2 : 3);
        struct api_opts o = fakehost_opts(2 + i % 3);
        o.request_queue_limit = i % 2 == 0 ? 20 : 1000;
        enum status st = api_update(api, &o);
        assert_true(st == ST_OK || st == ST_AGAIN);
        change_gate(i);
        rest(3);
    }
    return NULL;
}

static void *
look(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        struct group_info g;
        books_check(api);
        (void)gate_open();
        for (size_t i = 0; groups_at(api->groups, i, &g); i++) {
            check_counts(&g.counts);
        }
        json_t *z = api_wlmz(api);
        assert_non_null(z);
        json_decref(z);
        struct group_pick pick = {.match = {.flow = 4}};
        struct group_parked_info v[10];
        size_t max = 10;
        (void)groups_list(api->groups, &(struct group_pick){.gate = NULL}, 0, v, &max);
        (void)groups_cancel_match(api->groups, &pick);
        rest(10);
    }
    return NULL;
}

static void
test_group_stress_of_groups_accounts_cancels_and_changes(void **state)
{
    (void)state;
    pthread_t p[PRODUCERS];
    pthread_t c;
    pthread_t l;
    pthread_t d;
    start(4);
    make_gate();
    over = false;
    delivered_all = false;
    sent = 0;
    assert_int_equal(pthread_create(&d, NULL, deliver_all, NULL), 0);
    for (uintptr_t i = 0; i < PRODUCERS; i++) {
        assert_int_equal(pthread_create(&p[i], NULL, produce_any, (void *)(i + 1)), 0);
    }
    assert_int_equal(pthread_create(&c, NULL, change, NULL), 0);
    assert_int_equal(pthread_create(&l, NULL, look, NULL), 0);
    int64_t end = clock_mono_ns() + stress_ns;
    while (clock_mono_ns() < end) {
        rest(50);
    }
    over = true;
    for (int i = 0; i < PRODUCERS; i++) {
        (void)pthread_join(p[i], NULL);
    }
    (void)pthread_join(c, NULL);
    (void)pthread_join(l, NULL);
    /* Without groups what is parked is let in; all ends, with nothing left to the backstop. */
    set(NULL, 0);
    /* NB: a permit comes back a moment after its request is booked as ended. */
    while (books_open(api) > 0 || gate_open() > 0 || groups_any(api->groups)) {
        (void)sched_yield();
    }
    delivered_all = true;
    (void)pthread_join(d, NULL);
    assert_int_equal(books_sum(api).received, sent);
    stop();
}

int
main(int argc, char **argv)
{
    limit_1_rounds = argc > 2 ? atoi(argv[2]) : ROUNDS / (int)SLOW_FACTOR;
    stress_ns = argc > 1 ? atoi(argv[1]) * CLOCK_S : 2 * CLOCK_S;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_burst_of_three_thousand_all_answered),
        cmocka_unit_test(test_group_burst_into_a_small_parking_refuses_only_what_does_not_fit),
        cmocka_unit_test(test_group_nobody_is_refused_while_a_permit_is_free),
        cmocka_unit_test(test_group_no_wakeup_is_lost_at_a_limit_of_one),
        cmocka_unit_test(test_group_stress_of_groups_accounts_cancels_and_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
