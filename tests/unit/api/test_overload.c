/* SPDX-License-Identifier: Apache-2.0 */
/* The plane with its threads under more than it can serve: every request ends in one way and is
 * told once, the counters add up whenever they are read, nobody is stuck behind anybody. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/dispatch.h"
#include "api/endpoint.h"
#include "api/plane.h"
#include "api/reply.h"
#include "api/request.h"
#include "server/base/mem.h"
#include "tests/support/books.h"
#include "tests/support/cmk.h"
#include "tests/support/fakehost.h"

#define PRODUCERS 4
#define EACH      4000
#define ALL       (PRODUCERS * EACH)

static struct fakehost host;
static struct api *api;
static atomic_int runs[ALL];
static atomic_int told[ALL];    /* answers and refusals */
static atomic_int refused[ALL]; /* refusals among them */
static atomic_int by_code[600];

static void
on_message(const char *subject, const char *hdr, const char *data)
{
    if (strncmp(subject, "_INBOX.", 7) != 0) {
        return;
    }
    int i = atoi(subject + 7);
    atomic_fetch_add(&told[i], 1);
    const char *code = strstr(data, "\"code\":");
    if (code != NULL) {
        atomic_fetch_add(&refused[i], 1);
        atomic_fetch_add(&by_code[atoi(code + 7)], 1);
        assert_non_null(strstr(hdr, "Nats-Retry-After: "));
        assert_non_null(strstr(data, "not executed"));
    }
}

/* Some work; every 16th is completed by another thread, every 32nd fails. */
static atomic_uint turn;

static void *
complete_later(void *arg)
{
    struct reply out;
    reply_init(&out);
    buf_puts(&out.body, "{}");
    dispatch_complete(arg, ST_OK, &out);
    reply_fini(&out);
    return NULL;
}

static enum status
run_work(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    unsigned n = atomic_fetch_add(&turn, 1);
    atomic_fetch_add(&runs[atoi(r->data)], 1);
    volatile unsigned x = 0;
    for (unsigned i = 0; i < 20000; i++) {
        x = x + i;
    }
    if (n % 16 == 0) {
        pthread_t t;
        dispatch_defer(r);
        if (pthread_create(&t, NULL, complete_later, r) != 0) {
            (void)complete_later(r);
        } else {
            (void)pthread_detach(t);
        }
        return ST_PENDING;
    }
    buf_puts(&out->body, n % 32 == 1 ? "" : "{}");
    return ST_OK;
}

static const struct api_endpoint work = {
    .name = "work", .subjects = {"$JS.API.WORK"}, .level = APIQ_NORMAL, .run = run_work};
static const struct api_endpoint info = {
    .name = "info", .subjects = {"$JS.API.INFO"}, .level = APIQ_INFO, .run = run_work};

static void *
produce(void *arg)
{
    int from = (int)(intptr_t)arg * EACH;
    for (int i = from; i < from + EACH; i++) {
        char reply[32];
        char data[16];
        (void)snprintf(reply, sizeof(reply), "_INBOX.%d", i);
        (void)snprintf(data, sizeof(data), "%d", i);
        const struct api_endpoint *ep = i % 3 == 0 ? &info : &work;
        uint64_t cid = (uint64_t)i / 100 + 1;
        struct api_message m =
            fakehost_request(2 + (unsigned)i % 5, cid, ep->subjects[0], reply, data);
        if (i % 7 == 0) {
            m.hdr = "NATS/1.0\r\nNats-Request-Timeout: 2ms\r\n\r\n";
            m.hdr_len = strlen(m.hdr);
        }
        api_receive(api, ep, &m);
        if (i % 500 == 499) {
            api_conn_closed(api, cid);
        }
    }
    return NULL;
}

static atomic_bool over;
static atomic_uint cancels;

static void *
watch(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        books_check(api);
        json_t *z = api_apiz(api);
        assert_non_null(z);
        json_decref(z);
        char *text = api_metrics(api);
        assert_non_null(text);
        mem_free(text);
    }
    return NULL;
}

/* Workers, limits and orders change all the time. */
static void *
disturb(void *arg)
{
    (void)arg;
    for (int i = 0; !atomic_load(&over); i++) {
        struct api_opts o = fakehost_opts(2 + i % 3);
        o.request_queue_limit = 20 + i % 50;
        o.info_queue_limit = 10 + i % 30;
        o.discipline = (enum api_discipline)(i % 3);
        enum status st = api_update(api, &o);
        assert_true(st == ST_OK || st == ST_AGAIN);
    }
    return NULL;
}

/* An operator cancels what waits, again and again. */
static void *
cancel(void *arg)
{
    (void)arg;
    const char *subject = "$WLM.API.REQUEST.CANCEL";
    const struct api_endpoint *ep = fakehost_endpoint(api, subject, true);
    while (!atomic_load(&over)) {
        struct api_message m = fakehost_request(1, 0, subject, "", "{\"level\":\"info\"}");
        m.origin.is_client = false;
        api_receive(api, ep, &m);
        atomic_fetch_add(&cancels, 1);
        /* Not to be limited: this is not about the operators' queue. */
        while (books_level(api, APIQ_OPERATOR).queued > 10) {
            (void)sched_yield();
        }
    }
    return NULL;
}

static void
test_overload_every_request_ends_once_and_the_books_add_up(void **state)
{
    (void)state;
    pthread_t p[PRODUCERS];
    pthread_t w;
    pthread_t d;
    pthread_t k;
    struct api_opts opts = fakehost_opts(2);
    fakehost_init(&host);
    host.on_message = on_message;
    assert_int_equal(api_new(&api, &host.host, &opts, &clock_real), ST_OK);
    assert_int_equal(pthread_create(&w, NULL, watch, NULL), 0);
    assert_int_equal(pthread_create(&d, NULL, disturb, NULL), 0);
    assert_int_equal(pthread_create(&k, NULL, cancel, NULL), 0);
    for (int i = 0; i < PRODUCERS; i++) {
        assert_int_equal(pthread_create(&p[i], NULL, produce, (void *)(intptr_t)i), 0);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        (void)pthread_join(p[i], NULL);
    }
    atomic_store(&over, true);
    (void)pthread_join(w, NULL);
    (void)pthread_join(d, NULL);
    (void)pthread_join(k, NULL);
    api_close(api);

    books_check(api);
    struct ledger_counts c = books_sum(api);
    assert_int_equal(c.received, ALL + cancels);
    c.ended[LEDGER_ANSWERED] -= books_level(api, APIQ_OPERATOR).ended[LEDGER_ANSWERED];
    assert_int_equal(c.queued + c.running, 0);
    uint64_t n_told = 0;
    uint64_t n_ran = 0;
    for (int i = 0; i < ALL; i++) {
        assert_in_range(told[i], 0, 1);
        assert_in_range(runs[i], 0, 1);
        /* Who was told "not executed" was not. */
        assert_true(refused[i] == 0 || runs[i] == 0);
        assert_true(runs[i] == 0 || told[i] == 1);
        n_told += (uint64_t)told[i];
        n_ran += (uint64_t)runs[i];
    }
    assert_int_equal(n_ran, c.ended[LEDGER_ANSWERED]);
    assert_int_equal(by_code[408], c.ended[LEDGER_EXPIRED]);
    /* Told are all but those whose connection had closed; at the close, those that waited too. */
    struct ledger_snapshot s;
    ledger_read(api->ledger, &s);
    assert_int_equal(n_told + s.by_end[END_DISCONNECT], ALL);
    assert_true(c.ended[LEDGER_EVICTED] > 0);
    api_free(api);
    fakehost_fini(&host);
}

/* Each connection's requests for one stream, by several workers, newest first. */
#define KEYS    16
#define PER_KEY 500
static atomic_int next_of[KEYS];
static atomic_bool busy_of[KEYS];

static enum status
run_in_order(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    int key = atoi(r->data);
    int n = atoi(strchr(r->data, ' '));
    assert_false(atomic_exchange(&busy_of[key], true));
    assert_int_equal(atomic_fetch_add(&next_of[key], 1), n);
    (void)sched_yield();
    atomic_store(&busy_of[key], false);
    buf_puts(&out->body, "{}");
    return ST_OK;
}

static const struct api_endpoint in_order = {.name = "in_order",
                                             .subjects = {"$JS.API.STREAM.*.*"},
                                             .level = APIQ_NORMAL,
                                             .order_token = 5,
                                             .run = run_in_order};

static void
test_overload_pipelined_requests_for_one_stream_keep_their_order(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(16);
    opts.discipline = API_LIFO;
    opts.request_deadline = 0;
    fakehost_init(&host);
    assert_int_equal(api_new(&api, &host.host, &opts, &clock_real), ST_OK);
    for (int n = 0; n < PER_KEY; n++) {
        for (int key = 0; key < KEYS; key++) {
            char subject[64];
            char data[32];
            (void)snprintf(subject, sizeof(subject), "$JS.API.STREAM.%s.S%d",
                           n % 2 == 0 ? "CREATE" : "DELETE", key % 2);
            (void)snprintf(data, sizeof(data), "%d %d", key, n);
            struct api_message m =
                fakehost_request(2, (uint64_t)key / 2 + 1, subject, "_INBOX.1", data);
            api_receive(api, &in_order, &m);
        }
    }
    fakehost_wait(&host, KEYS * PER_KEY);
    for (int key = 0; key < KEYS; key++) {
        assert_int_equal(next_of[key], PER_KEY);
    }
    api_close(api);
    api_free(api);
    fakehost_fini(&host);
}

/* A door that handlers stand before. */
static pthread_mutex_t door_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t door = PTHREAD_COND_INITIALIZER;
static bool door_open;
static int at_door;

static enum status
run_door(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    (void)r;
    pthread_mutex_lock(&door_lock);
    at_door++;
    pthread_cond_broadcast(&door);
    while (!door_open) {
        pthread_cond_wait(&door, &door_lock);
    }
    pthread_mutex_unlock(&door_lock);
    buf_puts(&out->body, "{}");
    return ST_OK;
}

static const struct api_endpoint stuck = {
    .name = "stuck", .subjects = {"$JS.API.STUCK"}, .level = APIQ_NORMAL, .run = run_door};
static const struct api_endpoint stuck_info = {
    .name = "stuck_info", .subjects = {"$JS.API.STUCK.INFO"}, .level = APIQ_INFO, .run = run_door};

static void
send(const struct api_endpoint *ep, unsigned acc, const char *subject)
{
    struct api_message m = fakehost_request(acc, 7, subject, "_INBOX.1", "");
    api_receive(api, ep == NULL ? fakehost_endpoint(api, subject, acc == 1) : ep, &m);
}

static void
wait_at_door(int n)
{
    pthread_mutex_lock(&door_lock);
    while (at_door < n) {
        pthread_cond_wait(&door, &door_lock);
    }
    pthread_mutex_unlock(&door_lock);
}

static void
open_door(void)
{
    pthread_mutex_lock(&door_lock);
    door_open = true;
    pthread_cond_broadcast(&door);
    pthread_mutex_unlock(&door_lock);
}

static void
test_overload_other_levels_and_the_operator_pass_stuck_workers(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(4);
    opts.request_deadline = 0;
    fakehost_init(&host);
    assert_int_equal(api_new(&api, &host.host, &opts, &clock_real), ST_OK);
    for (int i = 0; i < 16; i++) {
        send(&stuck, 2, "$JS.API.STUCK");
    }
    wait_at_door(3);
    send(NULL, 3, "$SYS.REQ.USER.INFO");
    fakehost_wait(&host, 1);
    /* Now the last worker is stuck as well: only the operator's is left. */
    send(&stuck_info, 2, "$JS.API.STUCK.INFO");
    wait_at_door(4);
    send(NULL, 1, "$SYS.REQ.SERVER.PING.IDZ");
    fakehost_wait(&host, 2);
    json_t *z = api_apiz(api);
    const json_t *holders = json_object_get(z, "holders");
    int busy = 0;
    for (size_t i = 0; i < json_array_size(holders); i++) {
        const json_t *h = json_array_get(holders, i);
        const char *account = json_string_value(json_object_get(h, "account"));
        /* The operator's worker may not have put down yet what it answered. */
        if (json_is_true(json_object_get(h, "busy")) && strcmp(account, "SYS") != 0) {
            busy++;
            assert_string_equal(account, "A2");
            assert_int_equal(json_integer_value(json_object_get(h, "cid")), 7);
        }
    }
    assert_int_equal(busy, 4);
    json_decref(z);
    assert_int_equal(books_queued(api), 13);
    open_door();
    fakehost_wait(&host, 19);
    api_close(api);
    books_check(api);
    assert_int_equal(books_ended(api, LEDGER_ANSWERED), 19);
    api_free(api);
    fakehost_fini(&host);
}

static void
test_overload_no_wakeup_is_lost_with_one_worker(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(1);
    fakehost_init(&host);
    host.on_message = on_message;
    memset(told, 0, sizeof(told));
    assert_int_equal(api_new(&api, &host.host, &opts, &clock_real), ST_OK);
    for (int i = 0; i < 20000; i++) {
        send(NULL, 3, "$SYS.REQ.USER.INFO");
        fakehost_wait(&host, (uint64_t)i + 1);
    }
    assert_int_equal(told[1], 20000);
    api_close(api);
    api_free(api);
    fakehost_fini(&host);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overload_every_request_ends_once_and_the_books_add_up),
        cmocka_unit_test(test_overload_pipelined_requests_for_one_stream_keep_their_order),
        cmocka_unit_test(test_overload_other_levels_and_the_operator_pass_stuck_workers),
        cmocka_unit_test(test_overload_no_wakeup_is_lost_with_one_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
