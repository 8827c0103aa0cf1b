/* SPDX-License-Identifier: Apache-2.0 */
/* Every way in which a request can end, without threads: the tests move the clock and do the
 * worker's steps. */
#include "api/dispatch.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/endpoint.h"
#include "api/plane.h"
#include "api/reply.h"
#include "api/request.h"
#include "server/base/mem.h"
#include "tests/support/books.h"
#include "tests/support/cmk.h"
#include "tests/support/fakehost.h"

static struct fakehost host;
static struct clock_fake now;
static struct api *api;
static char ran[4096]; /* payloads in the order of their runs */

static enum status
run_note(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    assert_true(strlen(ran) + r->data_len < sizeof(ran));
    strcat(ran, r->data);
    buf_puts(&out->body, r->data);
    return buf_status(&out->body);
}

static enum status
run_fail(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    (void)r;
    (void)out;
    return ST_IO;
}

static struct api_request *pending;

static enum status
run_pending(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    (void)out;
    dispatch_defer(r);
    pending = r;
    return ST_PENDING;
}

static const struct api_endpoint note = {.name = "note",
                                         .subjects = {"$JS.API.NOTE"},
                                         .level = APIQ_NORMAL,
                                         .run = run_note,
                                         .type = "io.nats.note"};
static const struct api_endpoint sys_note = {.name = "sys_note",
                                             .subjects = {"$SYS.REQ.NOTE"},
                                             .level = APIQ_INFO,
                                             .flags = API_EP_LIFT,
                                             .run = run_note};
static const struct api_endpoint ordered = {.name = "ordered",
                                            .subjects = {"$JS.API.STREAM.*.*"},
                                            .level = APIQ_NORMAL,
                                            .order_token = 5,
                                            .run = run_note};
static const struct api_endpoint failing = {
    .name = "failing", .subjects = {"$JS.API.FAIL"}, .level = APIQ_NORMAL, .run = run_fail};
static const struct api_endpoint later = {
    .name = "later", .subjects = {"$JS.API.LATER"}, .level = APIQ_NORMAL, .run = run_pending};

static void
begin(const struct api_opts *opts)
{
    struct clock c = clock_fake_of(&now);
    now.t = 1000 * CLOCK_S;
    ran[0] = '\0';
    fakehost_init(&host);
    assert_int_equal(api_new(&api, &host.host, opts, &c), ST_OK);
}

static int
set_up(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(0);
    begin(&opts);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    books_check(api);
    api_close(api);
    books_check(api);
    assert_int_equal(books_open(api), 0);
    api_free(api);
    fakehost_fini(&host);
    return 0;
}

static void
update(void (*change)(struct api_opts *o))
{
    struct api_opts opts = fakehost_opts(0);
    change(&opts);
    assert_int_equal(api_update(api, &opts), ST_OK);
}

static void
send_hdr(const struct api_endpoint *ep, unsigned acc, uint64_t cid, const char *reply,
         const char *data, const char *hdr)
{
    struct api_message m = fakehost_request(acc, cid, ep->subjects[0], reply, data);
    m.now = now.t;
    m.hdr = hdr;
    m.hdr_len = hdr == NULL ? 0 : strlen(hdr);
    api_receive(api, ep, &m);
    books_check(api);
}

static void
send(const struct api_endpoint *ep, unsigned acc, uint64_t cid, const char *data)
{
    send_hdr(ep, acc, cid, "_INBOX.r", data, NULL);
}

static void
step_all(void)
{
    while (dispatch_step(api, APIQ_LANE_ANY)) {
        books_check(api);
    }
}

/* The next thing published must be an error of that code; its retry hint in ns or 0 is given. */
static int64_t
expect_error(int code, int err_code, const char *in_text)
{
    struct fake_msg *m = fakehost_take(&host);
    assert_non_null(m);
    json_t *o = json_loads(m->data, 0, NULL);
    assert_non_null(o);
    json_t *e = json_object_get(o, "error");
    assert_int_equal(json_object_size(e), 3);
    assert_int_equal(json_integer_value(json_object_get(e, "code")), code);
    assert_int_equal(json_integer_value(json_object_get(e, "err_code")), err_code);
    assert_non_null(strstr(json_string_value(json_object_get(e, "description")), in_text));
    json_decref(o);
    double s = 0;
    if (*m->hdr != '\0') {
        const char *name = "NATS/1.0\r\nNats-Retry-After: ";
        assert_memory_equal(m->hdr, name, strlen(name));
        char *end;
        s = strtod(m->hdr + strlen(name), &end);
        assert_string_equal(end, "\r\n\r\n");
    }
    fakehost_free(m);
    return (int64_t)(s * 1e9);
}

static void
expect_data(const char *data)
{
    struct fake_msg *m = fakehost_take(&host);
    assert_non_null(m);
    assert_string_equal(m->data, data);
    fakehost_free(m);
}

static void
expect_silence(void)
{
    assert_null(fakehost_take(&host));
}

static void
test_dispatch_answers_what_runs(void **state)
{
    (void)state;
    send(&note, 2, 7, "a");
    expect_silence();
    assert_int_equal(books_queued(api), 1);
    step_all();
    expect_data("a");
    assert_int_equal(books_ended(api, LEDGER_ANSWERED), 1);
}

static void
limit_2(struct api_opts *o)
{
    o->request_queue_limit = 2;
}

static void
test_dispatch_evicts_the_oldest_and_tells_exactly_it(void **state)
{
    (void)state;
    update(limit_2);
    send(&note, 2, 7, "a");
    send(&note, 2, 7, "b");
    send(&note, 2, 7, "c");
    int64_t retry = expect_error(503, 10008, "not executed");
    assert_in_range(retry, REPLY_RETRY_MIN * 3 / 4 - 1, REPLY_RETRY_MAX * 5 / 4 + 1);
    expect_silence();
    step_all();
    expect_data("b");
    expect_data("c");
    expect_silence();
    assert_string_equal(ran, "bc");
    assert_int_equal(books_ended(api, LEDGER_EVICTED), 1);
}

static void
limit_0(struct api_opts *o)
{
    o->request_queue_limit = 0;
}

static void
test_dispatch_a_limit_of_0_refuses_all_also_when_idle(void **state)
{
    (void)state;
    update(limit_0);
    for (int i = 0; i < 3; i++) {
        send(&note, 2, 7, "a");
        (void)expect_error(503, 10008, "not executed");
    }
    step_all();
    assert_string_equal(ran, "");
    assert_int_equal(books_ended(api, LEDGER_REFUSED), 3);
}

static void
limit_negative(struct api_opts *o)
{
    o->request_queue_limit = -1;
}

static void
test_dispatch_a_negative_limit_is_no_setting(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(0);
    limit_negative(&opts);
    assert_int_equal(api_update(api, &opts), ST_INVAL);
    send(&note, 2, 7, "a");
    step_all();
    expect_data("a");
}

static void
test_dispatch_an_expired_request_is_told_and_never_run(void **state)
{
    (void)state;
    send_hdr(&note, 2, 7, "_INBOX.r", "a", "NATS/1.0\r\nNats-Request-Timeout: 1s\r\n\r\n");
    send(&note, 2, 7, "b");
    clock_fake_advance(&now, 1100 * CLOCK_MS);
    step_all();
    (void)expect_error(408, 10008, "not executed");
    expect_data("b");
    assert_string_equal(ran, "b");
    assert_int_equal(books_ended(api, LEDGER_EXPIRED), 1);
}

static void
test_dispatch_the_deadline_counts_from_arrival(void **state)
{
    (void)state;
    struct api_message m = fakehost_request(2, 7, "$JS.API.NOTE", "_INBOX.r", "a");
    m.hdr = "NATS/1.0\r\nNats-Request-Timeout: 100ms\r\n\r\n";
    m.hdr_len = strlen(m.hdr);
    m.now = now.t - 200 * CLOCK_MS;
    api_receive(api, &note, &m);
    (void)expect_error(408, 10008, "not executed");
    assert_int_equal(books_queued(api), 0);
    assert_int_equal(books_ended(api, LEDGER_EXPIRED), 1);
}

static void
test_dispatch_no_time_left_at_arrival_expires_once_and_never_waits(void **state)
{
    (void)state;
    const char *none[] = {"NATS/1.0\r\nNats-Request-Timeout: 0\r\n\r\n",
                          "NATS/1.0\r\nNats-Request-Timeout: -5ms\r\n\r\n"};
    for (size_t i = 0; i < 2; i++) {
        send_hdr(&note, 2, 7, "_INBOX.r", "a", none[i]);
        (void)expect_error(408, 10008, "not executed");
        expect_silence();
    }
    step_all();
    assert_string_equal(ran, "");
    assert_int_equal(books_ended(api, LEDGER_EXPIRED), 2);
}

static void
test_dispatch_a_deadline_that_is_none_is_refused_by_name(void **state)
{
    (void)state;
    send_hdr(&note, 2, 7, "_INBOX.r", "a", "NATS/1.0\r\nNats-Request-Timeout: soon\r\n\r\n");
    assert_int_equal(expect_error(400, 10003, "Nats-Request-Timeout"), 0);
    assert_int_equal(books_ended(api, LEDGER_REFUSED), 1);
}

static void
test_dispatch_without_a_reply_nothing_expires_and_nothing_is_told(void **state)
{
    (void)state;
    send_hdr(&note, 2, 7, "", "a", "NATS/1.0\r\nNats-Request-Timeout: 1ms\r\n\r\n");
    clock_fake_advance(&now, 3600 * CLOCK_S);
    step_all();
    assert_string_equal(ran, "a");
    update(limit_0);
    send_hdr(&note, 2, 7, "", "b", NULL);
    expect_silence();
    assert_int_equal(books_ended(api, LEDGER_ANSWERED), 1);
    assert_int_equal(books_ended(api, LEDGER_REFUSED), 1);
}

static void
test_dispatch_a_closed_connection_cancels_what_waits_for_it_alone(void **state)
{
    (void)state;
    send(&note, 2, 7, "a");
    send(&note, 2, 8, "b");
    send(&note, 2, 7, "c");
    api_conn_closed(api, 7);
    api_conn_closed(api, 99);
    expect_silence();
    assert_int_equal(books_ended(api, LEDGER_CANCELLED), 2);
    assert_int_equal(books_queued(api), 1);
    step_all();
    assert_string_equal(ran, "b");
}

static void
test_dispatch_what_was_cancelled_does_not_count_against_the_limit(void **state)
{
    (void)state;
    update(limit_2);
    send(&note, 2, 7, "a");
    send(&note, 2, 8, "b");
    api_conn_closed(api, 7);
    send(&note, 2, 9, "c");
    expect_silence();
    step_all();
    assert_string_equal(ran, "bc");
}

static void
test_dispatch_a_reply_that_lost_its_reader_is_not_worked_for(void **state)
{
    (void)state;
    send(&note, 2, 7, "a");
    host.nobody_listens = true;
    clock_fake_advance(&now, 10 * CLOCK_MS);
    step_all();
    assert_string_equal(ran, "");
    assert_int_equal(books_ended(api, LEDGER_CANCELLED), 1);
    expect_silence();
}

static void
test_dispatch_only_clients_replies_that_had_a_reader_are_watched(void **state)
{
    (void)state;
    host.nobody_listens = true;
    send(&note, 2, 7, "a");
    send_hdr(&note, 2, 7, "", "b", NULL);
    host.nobody_listens = false;
    struct api_message m = fakehost_request(2, 0, "$JS.API.NOTE", "_R_.1", "c");
    m.origin.is_client = false;
    m.now = now.t;
    api_receive(api, &note, &m);
    host.nobody_listens = true;
    clock_fake_advance(&now, 10 * CLOCK_MS);
    api_conn_closed(api, 0);
    step_all();
    assert_string_equal(ran, "abc");
    assert_int_equal(books_ended(api, LEDGER_ANSWERED), 3);
}

static void
lifo(struct api_opts *o)
{
    o->discipline = API_LIFO;
}

static void
test_dispatch_one_connections_requests_for_one_stream_keep_their_order(void **state)
{
    (void)state;
    update(lifo);
    struct {
        uint64_t cid;
        const char *subject, *data;
    } v[] = {{7, "$JS.API.STREAM.CREATE.S", "1"},
             {7, "$JS.API.STREAM.DELETE.S", "2"},
             {7, "$JS.API.STREAM.CREATE.T", "t"},
             {7, "$JS.API.STREAM.CREATE.S", "3"}};
    for (size_t i = 0; i < 4; i++) {
        struct api_message m = fakehost_request(2, v[i].cid, v[i].subject, "_INBOX.r", v[i].data);
        m.now = now.t;
        api_receive(api, &ordered, &m);
    }
    step_all();
    const char *one = strchr(ran, '1');
    const char *two = strchr(ran, '2');
    const char *three = strchr(ran, '3');
    assert_true(one != NULL && one < two && two < three);
    assert_int_equal(strlen(ran), 4);
    assert_int_equal(ran[0], 't');
}

static void
test_dispatch_order_keys_tell_streams_connections_and_accounts_apart(void **state)
{
    (void)state;
    const char *s = "$JS.API.STREAM.CREATE.S";
    uint64_t key = endpoint_order_key(&ordered, 2, 7, s);
    assert_int_not_equal(key, 0);
    assert_int_equal(key, endpoint_order_key(&ordered, 2, 7, "$JS.API.STREAM.DELETE.S"));
    assert_int_not_equal(key, endpoint_order_key(&ordered, 2, 7, "$JS.API.STREAM.CREATE.T"));
    assert_int_not_equal(key, endpoint_order_key(&ordered, 2, 8, s));
    assert_int_not_equal(key, endpoint_order_key(&ordered, 3, 7, s));
    assert_int_equal(endpoint_order_key(&ordered, 2, 0, s), 0);
    assert_int_equal(endpoint_order_key(&ordered, 2, 7, "$JS.API.STREAM"), 0);
    assert_int_equal(endpoint_order_key(&note, 2, 7, s), 0);
}

static void
test_dispatch_a_failing_endpoint_is_answered_and_its_slot_comes_back(void **state)
{
    (void)state;
    send(&failing, 2, 7, "");
    send(&note, 2, 7, "a");
    step_all();
    assert_int_equal(expect_error(500, 10051, "input/output"), 0);
    expect_data("a");
    assert_int_equal(books_ended(api, LEDGER_ANSWERED), 2);
}

static void
test_dispatch_a_pending_request_runs_until_it_is_completed(void **state)
{
    (void)state;
    send(&later, 2, 7, "");
    send(&note, 2, 7, "a");
    step_all();
    expect_data("a");
    expect_silence();
    assert_int_equal(books_running(api), 1);
    struct reply out;
    reply_init(&out);
    buf_puts(&out.body, "done");
    dispatch_complete(pending, ST_OK, &out);
    reply_fini(&out);
    expect_data("done");
    expect_silence();
    assert_int_equal(books_running(api), 0);
}

static void
test_dispatch_the_system_account_passes_on_the_operator_level(void **state)
{
    (void)state;
    send(&sys_note, 2, 7, "u");
    send(&sys_note, 1, 8, "o");
    step_all();
    assert_string_equal(ran, "ou");
    assert_int_equal(books_level(api, APIQ_OPERATOR).received, 1);
    assert_int_equal(books_level(api, APIQ_INFO).received, 1);
}

static void
test_dispatch_refusals_have_the_form_of_their_family(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(0);
    opts.request_queue_limit = opts.info_queue_limit = 0;
    assert_int_equal(api_update(api, &opts), ST_OK);
    send(&note, 2, 7, "a");
    struct fake_msg *m = fakehost_take(&host);
    json_t *o = json_loads(m->data, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(o, "type")), "io.nats.note");
    json_decref(o);
    fakehost_free(m);
    send(&sys_note, 2, 7, "a");
    m = fakehost_take(&host);
    o = json_loads(m->data, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(json_object_get(o, "server"), "id")),
                        FAKE_ID);
    assert_string_equal(m->subject, "_INBOX.r");
    assert_ptr_equal(m->acc, fakehost_account(2));
    json_decref(o);
    fakehost_free(m);
}

static void
test_dispatch_without_memory_for_a_copy_refuses_aloud(void **state)
{
    (void)state;
    mem_fail_at(0);
    send(&note, 2, 7, "a");
    mem_fail_at(-1);
    (void)expect_error(503, 10008, "out of memory");
    assert_int_equal(books_ended(api, LEDGER_REFUSED), 1);
    send(&note, 2, 7, "b");
    step_all();
    expect_data("b");
}

static void
test_dispatch_survives_each_single_fault_of_memory(void **state)
{
    (void)state;
    bool fired = true;
    for (long n = 0; fired; n++) {
        mem_fail_at(n);
        send(&note, 2, 7, "x");
        (void)dispatch_step(api, APIQ_LANE_ANY);
        fired = mem_fail_fired() != 0;
        mem_fail_at(-1);
        struct fake_msg *m = fakehost_take(&host);
        assert_non_null(m);
        fakehost_free(m);
        expect_silence();
        assert_int_equal(books_open(api), 0);
    }
}

static void
test_dispatch_close_ends_what_waits_and_refuses_what_comes(void **state)
{
    (void)state;
    send(&note, 2, 7, "a");
    api_close(api);
    (void)expect_error(503, 10008, "not executed");
    assert_int_equal(books_ended(api, LEDGER_CANCELLED), 1);
    send(&note, 2, 7, "b");
    (void)expect_error(503, 10008, "not executed");
    assert_int_equal(books_ended(api, LEDGER_REFUSED), 1);
    assert_string_equal(ran, "");
}

static void
test_dispatch_settings_change_with_requests_waiting_and_lose_none(void **state)
{
    (void)state;
    char data[2] = "a";
    for (int i = 0; i < 8; i++, data[0]++) {
        send(&note, 2, 7, data);
    }
    update(lifo);
    assert_true(dispatch_step(api, APIQ_LANE_ANY));
    update(limit_2); /* and back to adaptive: the oldest first */
    step_all();
    assert_string_equal(ran, "hfg");
    assert_int_equal(books_ended(api, LEDGER_EVICTED), 5);
    assert_int_equal(books_ended(api, LEDGER_ANSWERED), 3);
    assert_int_equal(host.published, 8);
}

static void
unlimited(struct api_opts *o)
{
    o->limits = false;
    o->request_queue_limit = 0;
}

static void
test_dispatch_without_limits_there_are_no_deadlines_and_no_levels(void **state)
{
    (void)state;
    update(unlimited);
    send_hdr(&note, 2, 7, "_INBOX.r", "a", "NATS/1.0\r\nNats-Request-Timeout: 1ms\r\n\r\n");
    send(&sys_note, 1, 7, "b");
    clock_fake_advance(&now, 3600 * CLOCK_S);
    step_all();
    assert_string_equal(ran, "ab");
}

static void
test_dispatch_the_retry_hint_is_bounded_and_spread(void **state)
{
    (void)state;
    bool differs = false;
    int64_t first = reply_retry_ns(CLOCK_S);
    for (int i = 0; i < 1000; i++) {
        int64_t v = reply_retry_ns(CLOCK_S);
        assert_in_range(v, 750 * CLOCK_MS, 1250 * CLOCK_MS);
        differs = differs || v != first;
        assert_in_range(reply_retry_ns(1), REPLY_RETRY_MIN * 3 / 4, REPLY_RETRY_MIN * 5 / 4);
        assert_in_range(reply_retry_ns(INT64_MAX), REPLY_RETRY_MAX * 3 / 4,
                        REPLY_RETRY_MAX * 5 / 4);
        assert_in_range(reply_retry_ns(0), 750 * CLOCK_MS, 1250 * CLOCK_MS);
    }
    assert_true(differs);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_dispatch_answers_what_runs),
        T(test_dispatch_evicts_the_oldest_and_tells_exactly_it),
        T(test_dispatch_a_limit_of_0_refuses_all_also_when_idle),
        T(test_dispatch_a_negative_limit_is_no_setting),
        T(test_dispatch_an_expired_request_is_told_and_never_run),
        T(test_dispatch_the_deadline_counts_from_arrival),
        T(test_dispatch_no_time_left_at_arrival_expires_once_and_never_waits),
        T(test_dispatch_a_deadline_that_is_none_is_refused_by_name),
        T(test_dispatch_without_a_reply_nothing_expires_and_nothing_is_told),
        T(test_dispatch_a_closed_connection_cancels_what_waits_for_it_alone),
        T(test_dispatch_what_was_cancelled_does_not_count_against_the_limit),
        T(test_dispatch_a_reply_that_lost_its_reader_is_not_worked_for),
        T(test_dispatch_only_clients_replies_that_had_a_reader_are_watched),
        T(test_dispatch_one_connections_requests_for_one_stream_keep_their_order),
        T(test_dispatch_order_keys_tell_streams_connections_and_accounts_apart),
        T(test_dispatch_a_failing_endpoint_is_answered_and_its_slot_comes_back),
        T(test_dispatch_a_pending_request_runs_until_it_is_completed),
        T(test_dispatch_the_system_account_passes_on_the_operator_level),
        T(test_dispatch_refusals_have_the_form_of_their_family),
        T(test_dispatch_without_memory_for_a_copy_refuses_aloud),
        T(test_dispatch_survives_each_single_fault_of_memory),
        T(test_dispatch_close_ends_what_waits_and_refuses_what_comes),
        T(test_dispatch_settings_change_with_requests_waiting_and_lose_none),
        T(test_dispatch_without_limits_there_are_no_deadlines_and_no_levels),
        T(test_dispatch_the_retry_hint_is_bounded_and_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
