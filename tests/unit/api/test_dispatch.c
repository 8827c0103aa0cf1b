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
#include "tests/support/cmk.h"
#include "tests/support/rig.h"

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

static const struct api_endpoint ordered = {.name = "ordered",
                                            .subjects = {"$JS.API.STREAM.*.*"},
                                            .level = APIQ_NORMAL,
                                            .order_token = 5,
                                            .run = rig_run_note};
static const struct api_endpoint failing = {
    .name = "failing", .subjects = {"$JS.API.FAIL"}, .level = APIQ_NORMAL, .run = run_fail};
static const struct api_endpoint later = {
    .name = "later", .subjects = {"$JS.API.LATER"}, .level = APIQ_NORMAL, .run = run_pending};

static void
test_dispatch_answers_what_runs(void **state)
{
    (void)state;
    rig_send(&rig_note, 2, 7, "a");
    rig_expect_silence();
    assert_int_equal(books_queued(rig.api), 1);
    rig_step_all();
    rig_expect_data("a");
    assert_int_equal(books_ended(rig.api, LEDGER_ANSWERED), 1);
}

static void
test_dispatch_evicts_the_oldest_and_tells_exactly_it(void **state)
{
    (void)state;
    rig_update(rig_limit_2);
    rig_send(&rig_note, 2, 7, "a");
    rig_send(&rig_note, 2, 7, "b");
    rig_send(&rig_note, 2, 7, "c");
    int64_t retry = rig_expect_error(503, 10008, "not executed");
    assert_in_range(retry, REPLY_RETRY_MIN * 3 / 4 - 1, REPLY_RETRY_MAX * 5 / 4 + 1);
    rig_expect_silence();
    rig_step_all();
    rig_expect_data("b");
    rig_expect_data("c");
    rig_expect_silence();
    assert_string_equal(rig.ran, "bc");
    assert_int_equal(books_ended(rig.api, LEDGER_EVICTED), 1);
}

static void
test_dispatch_a_limit_of_0_refuses_all_also_when_idle(void **state)
{
    (void)state;
    rig_update(rig_limit_0);
    for (int i = 0; i < 3; i++) {
        rig_send(&rig_note, 2, 7, "a");
        (void)rig_expect_error(503, 10008, "not executed");
    }
    rig_step_all();
    assert_string_equal(rig.ran, "");
    assert_int_equal(books_ended(rig.api, LEDGER_REFUSED), 3);
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
    assert_int_equal(api_update(rig.api, &opts), ST_INVAL);
    rig_send(&rig_note, 2, 7, "a");
    rig_step_all();
    rig_expect_data("a");
}

static void
test_dispatch_an_expired_request_is_told_and_never_run(void **state)
{
    (void)state;
    rig_send_hdr(&rig_note, 2, 7, "_INBOX.r", "a", "NATS/1.0\r\nNats-Request-Timeout: 1s\r\n\r\n");
    rig_send(&rig_note, 2, 7, "b");
    clock_fake_advance(&rig.now, 1100 * CLOCK_MS);
    rig_step_all();
    (void)rig_expect_error(408, 10008, "not executed");
    rig_expect_data("b");
    assert_string_equal(rig.ran, "b");
    assert_int_equal(books_ended(rig.api, LEDGER_EXPIRED), 1);
}

static void
test_dispatch_the_deadline_counts_from_arrival(void **state)
{
    (void)state;
    struct api_message m = fakehost_request(2, 7, "$JS.API.NOTE", "_INBOX.r", "a");
    m.hdr = "NATS/1.0\r\nNats-Request-Timeout: 100ms\r\n\r\n";
    m.hdr_len = strlen(m.hdr);
    m.now = rig.now.t - 200 * CLOCK_MS;
    api_receive(rig.api, &rig_note, &m);
    (void)rig_expect_error(408, 10008, "not executed");
    assert_int_equal(books_queued(rig.api), 0);
    assert_int_equal(books_ended(rig.api, LEDGER_EXPIRED), 1);
}

static void
test_dispatch_no_time_left_at_arrival_expires_once_and_never_waits(void **state)
{
    (void)state;
    const char *none[] = {"NATS/1.0\r\nNats-Request-Timeout: 0\r\n\r\n",
                          "NATS/1.0\r\nNats-Request-Timeout: -5ms\r\n\r\n"};
    for (size_t i = 0; i < 2; i++) {
        rig_send_hdr(&rig_note, 2, 7, "_INBOX.r", "a", none[i]);
        (void)rig_expect_error(408, 10008, "not executed");
        rig_expect_silence();
    }
    rig_step_all();
    assert_string_equal(rig.ran, "");
    assert_int_equal(books_ended(rig.api, LEDGER_EXPIRED), 2);
}

static void
test_dispatch_a_deadline_that_is_none_is_refused_by_name(void **state)
{
    (void)state;
    rig_send_hdr(&rig_note, 2, 7, "_INBOX.r", "a",
                 "NATS/1.0\r\nNats-Request-Timeout: soon\r\n\r\n");
    assert_int_equal(rig_expect_error(400, 10003, "Nats-Request-Timeout"), 0);
    assert_int_equal(books_ended(rig.api, LEDGER_REFUSED), 1);
}

static void
test_dispatch_without_a_reply_nothing_expires_and_nothing_is_told(void **state)
{
    (void)state;
    rig_send_hdr(&rig_note, 2, 7, "", "a", "NATS/1.0\r\nNats-Request-Timeout: 1ms\r\n\r\n");
    clock_fake_advance(&rig.now, 3600 * CLOCK_S);
    rig_step_all();
    assert_string_equal(rig.ran, "a");
    rig_update(rig_limit_0);
    rig_send_hdr(&rig_note, 2, 7, "", "b", NULL);
    rig_expect_silence();
    assert_int_equal(books_ended(rig.api, LEDGER_ANSWERED), 1);
    assert_int_equal(books_ended(rig.api, LEDGER_REFUSED), 1);
}

static void
test_dispatch_a_closed_connection_cancels_what_waits_for_it_alone(void **state)
{
    (void)state;
    rig_send(&rig_note, 2, 7, "a");
    rig_send(&rig_note, 2, 8, "b");
    rig_send(&rig_note, 2, 7, "c");
    api_conn_closed(rig.api, 7);
    api_conn_closed(rig.api, 99);
    rig_expect_silence();
    assert_int_equal(books_ended(rig.api, LEDGER_CANCELLED), 2);
    assert_int_equal(books_queued(rig.api), 1);
    rig_step_all();
    assert_string_equal(rig.ran, "b");
}

static void
test_dispatch_what_was_cancelled_does_not_count_against_the_limit(void **state)
{
    (void)state;
    rig_update(rig_limit_2);
    rig_send(&rig_note, 2, 7, "a");
    rig_send(&rig_note, 2, 8, "b");
    api_conn_closed(rig.api, 7);
    rig_send(&rig_note, 2, 9, "c");
    rig_expect_silence();
    rig_step_all();
    assert_string_equal(rig.ran, "bc");
}

static void
test_dispatch_a_reply_that_lost_its_reader_is_not_worked_for(void **state)
{
    (void)state;
    rig_send(&rig_note, 2, 7, "a");
    rig.host.nobody_listens = true;
    clock_fake_advance(&rig.now, 10 * CLOCK_MS);
    rig_step_all();
    assert_string_equal(rig.ran, "");
    assert_int_equal(books_ended(rig.api, LEDGER_CANCELLED), 1);
    rig_expect_silence();
}

static void
test_dispatch_only_clients_replies_that_had_a_reader_are_watched(void **state)
{
    (void)state;
    rig.host.nobody_listens = true;
    rig_send(&rig_note, 2, 7, "a");
    rig_send_hdr(&rig_note, 2, 7, "", "b", NULL);
    rig.host.nobody_listens = false;
    struct api_message m = fakehost_request(2, 0, "$JS.API.NOTE", "_R_.1", "c");
    m.origin.is_client = false;
    m.now = rig.now.t;
    api_receive(rig.api, &rig_note, &m);
    rig.host.nobody_listens = true;
    clock_fake_advance(&rig.now, 10 * CLOCK_MS);
    api_conn_closed(rig.api, 0);
    rig_step_all();
    assert_string_equal(rig.ran, "abc");
    assert_int_equal(books_ended(rig.api, LEDGER_ANSWERED), 3);
}

static void
test_dispatch_one_connections_requests_for_one_stream_keep_their_order(void **state)
{
    (void)state;
    rig_update(rig_lifo);
    struct {
        uint64_t cid;
        const char *subject, *data;
    } v[] = {{7, "$JS.API.STREAM.CREATE.S", "1"},
             {7, "$JS.API.STREAM.DELETE.S", "2"},
             {7, "$JS.API.STREAM.CREATE.T", "t"},
             {7, "$JS.API.STREAM.CREATE.S", "3"}};
    for (size_t i = 0; i < 4; i++) {
        struct api_message m = fakehost_request(2, v[i].cid, v[i].subject, "_INBOX.r", v[i].data);
        m.now = rig.now.t;
        api_receive(rig.api, &ordered, &m);
    }
    rig_step_all();
    const char *one = strchr(rig.ran, '1');
    const char *two = strchr(rig.ran, '2');
    const char *three = strchr(rig.ran, '3');
    assert_true(one != NULL && one < two && two < three);
    assert_int_equal(strlen(rig.ran), 4);
    assert_int_equal(rig.ran[0], 't');
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
    assert_int_equal(endpoint_order_key(&rig_note, 2, 7, s), 0);
}

static void
test_dispatch_a_failing_endpoint_is_answered_and_its_slot_comes_back(void **state)
{
    (void)state;
    rig_send(&failing, 2, 7, "");
    rig_send(&rig_note, 2, 7, "a");
    rig_step_all();
    assert_int_equal(rig_expect_error(500, 10051, "input/output"), 0);
    rig_expect_data("a");
    assert_int_equal(books_ended(rig.api, LEDGER_ANSWERED), 2);
}

static void
test_dispatch_a_pending_request_runs_until_it_is_completed(void **state)
{
    (void)state;
    rig_send(&later, 2, 7, "");
    rig_send(&rig_note, 2, 7, "a");
    rig_step_all();
    rig_expect_data("a");
    rig_expect_silence();
    assert_int_equal(books_running(rig.api), 1);
    struct reply out;
    reply_init(&out);
    buf_puts(&out.body, "done");
    dispatch_complete(pending, ST_OK, &out);
    reply_fini(&out);
    rig_expect_data("done");
    rig_expect_silence();
    assert_int_equal(books_running(rig.api), 0);
}

static void
test_dispatch_the_system_account_passes_on_the_operator_level(void **state)
{
    (void)state;
    rig_send(&rig_sys_note, 2, 7, "u");
    rig_send(&rig_sys_note, 1, 8, "o");
    rig_step_all();
    assert_string_equal(rig.ran, "ou");
    assert_int_equal(books_level(rig.api, APIQ_OPERATOR).received, 1);
    assert_int_equal(books_level(rig.api, APIQ_INFO).received, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
