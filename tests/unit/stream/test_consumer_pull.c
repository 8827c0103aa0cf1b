/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/clock.h"
#include "tests/support/js_kit.h"

#define NEXT "$JS.API.CONSUMER.MSG.NEXT.S.C"
#define STREAM                                                                                     \
    "{\"name\":\"S\",\"subjects\":[\"s.>\"],\"retention\":\"limits\",\"storage\":\"file\"}"
#define DURABLE "{\"durable_name\":\"C\",\"ack_policy\":\"explicit\"}"

static struct stream *s;
static struct consumer *c;

static void
begin(const char *config)
{
    s = kit_stream(STREAM);
    c = kit_consumer(s, config);
}

static void
end(void)
{
    consumer_unref(c);
    stream_unref(s);
}

static void
ask(const char *inbox, const char *body)
{
    assert_true(kit_send(NEXT, inbox, body));
    kit_settle();
}

static void
ack(const char *reply, const char *body)
{
    assert_true(kit_send(reply, NULL, body));
    kit_settle();
}

static void
test_pull_request_gets_what_is_there_then_what_comes(void **state)
{
    (void)state;
    begin(DURABLE);
    kit_publish("s.1", "one");
    ask("in", "{\"batch\":3,\"expires\":5000000000}");
    assert_string_equal(kit_expect("in", "one"), "$JS.ACK.S.C.1.1.1.1000000001000000000.0");
    kit_publish("s.2", "two");
    kit_publish("s.3", "three");
    kit_publish("s.4", "four");
    kit_expect("in", "two");
    kit_expect("in", "three");
    kit_expect_silence("in");
    assert_int_equal(kit_info(c, "num_pending", NULL), 1);
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 3);
    assert_int_equal(kit_info(c, "num_waiting", NULL), 0);
    end();
}

static void
test_pull_request_is_told_when_its_time_is_up(void **state)
{
    (void)state;
    begin(DURABLE);
    ask("in", "{\"batch\":3,\"expires\":5000000000}");
    jskit_advance(4 * CLOCK_S);
    kit_expect_silence("in");
    jskit_advance(CLOCK_S + 1);
    kit_expect_hdr("in", "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: "
                         "3\r\nNats-Pending-Bytes: 0\r\n\r\n");
    jskit_advance(3600 * CLOCK_S);
    kit_expect_silence("in");
    end();
}

static void
test_pull_request_that_does_not_wait_is_told_at_once(void **state)
{
    (void)state;
    begin(DURABLE);
    ask("in", "{\"batch\":3,\"no_wait\":true}");
    kit_expect_hdr("in", "NATS/1.0 404 No Messages\r\n\r\n");
    kit_publish("s.1", "one");
    ask("in", "{\"batch\":3,\"no_wait\":true}");
    kit_expect("in", "one");
    kit_expect_hdr("in", "NATS/1.0 404 No Messages\r\n\r\n");
    end();
}

static void
test_pull_request_stops_at_its_bytes(void **state)
{
    (void)state;
    begin(DURABLE);
    kit_publish("s.1", "0123456789");
    kit_publish("s.1", "0123456789");
    ask("in", "{\"batch\":9,\"max_bytes\":100,\"expires\":5000000000}");
    kit_expect("in", "0123456789");
    kit_expect_hdr("in", "NATS/1.0 409 Message Size Exceeds MaxBytes\r\nNats-Pending-Messages: 8");
    assert_int_equal(kit_info(c, "num_waiting", NULL), 0);
    end();
}

static void
test_pull_requests_take_turns(void **state)
{
    (void)state;
    begin(DURABLE);
    ask("a", "{\"batch\":2,\"expires\":5000000000}");
    ask("b", "{\"batch\":2,\"expires\":5000000000}");
    for (int i = 0; i < 4; i++) {
        kit_publish("s.1", i < 2 ? "first" : "second");
    }
    kit_expect("a", "first");
    kit_expect("b", "first");
    kit_expect("a", "second");
    kit_expect("b", "second");
    end();
}

static void
test_pull_request_nobody_listens_to_is_passed_over(void **state)
{
    (void)state;
    begin(DURABLE);
    ask("gone", "{\"batch\":2,\"expires\":5000000000}");
    ask("here", "{\"batch\":2,\"expires\":5000000000}");
    kit_deafen("gone");
    kit_publish("s.1", "one");
    kit_expect("here", "one");
    kit_expect_silence("gone");
    assert_int_equal(kit_info(c, "num_waiting", NULL), 1);
    end();
}

static void
test_pull_heartbeats_come_while_there_is_nothing(void **state)
{
    (void)state;
    begin(DURABLE);
    ask("in", "{\"batch\":1,\"expires\":10000000000,\"idle_heartbeat\":1000000000}");
    jskit_advance(CLOCK_S);
    kit_expect_hdr("in",
                   "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 0\r\nNats-Last-Stream: "
                   "0\r\n\r\n");
    ask("in", "{\"expires\":1000,\"idle_heartbeat\":1000}");
    kit_expect_hdr("in", "NATS/1.0 400 Bad Request - heartbeat value too large\r\n\r\n");
    end();
}

static void
test_pull_limits_of_the_consumer_refuse(void **state)
{
    (void)state;
    begin("{\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"max_waiting\":1,\"max_batch\":5,"
          "\"max_expires\":2000000000,\"max_bytes\":1000}");
    ask("in", "{\"batch\":6}");
    kit_expect_hdr("in", "NATS/1.0 409 Exceeded MaxRequestBatch of 5\r\n\r\n");
    ask("in", "{\"batch\":1,\"expires\":3000000000}");
    kit_expect_hdr("in", "NATS/1.0 409 Exceeded MaxRequestExpires of 2s\r\n\r\n");
    ask("in", "{\"batch\":1,\"max_bytes\":1001}");
    kit_expect_hdr("in", "NATS/1.0 409 Exceeded MaxRequestMaxBytes of 1000\r\n\r\n");
    ask("in", "{\"batch\":1,\"expires\":2000000000}");
    kit_expect_silence("in");
    ask("in", "{\"batch\":1,\"expires\":2000000000}");
    kit_expect_hdr("in", "NATS/1.0 409 Exceeded MaxWaiting\r\n\r\n");
    ask("in", "{\"batch\":");
    kit_expect_hdr("in", "NATS/1.0 400 Bad Request - ");
    end();
}

static void
test_pull_unknown_consumer_has_no_responders(void **state)
{
    (void)state;
    begin(DURABLE);
    assert_true(kit_send("$JS.API.CONSUMER.MSG.NEXT.S.X", "in", ""));
    kit_expect_hdr("in", "NATS/1.0 503\r\nNats-Subject: $JS.API.CONSUMER.MSG.NEXT.S.X\r\n\r\n");
    assert_true(kit_send("$JS.ACK.X.C.1.1.1.1.0", "in", ""));
    kit_expect_hdr("in", "NATS/1.0 503\r\nNats-Subject: $JS.ACK.X.C.1.1.1.1.0\r\n\r\n");
    end();
}

static void
test_pull_requests_are_told_of_the_end(void **state)
{
    (void)state;
    begin(DURABLE);
    ask("in", "{\"batch\":1,\"expires\":2000000000}");
    struct js_fail fail;
    assert_int_equal(consumer_delete(c, 1, &fail), JS_OK);
    kit_expect_hdr("in", "NATS/1.0 409 Consumer Deleted\r\n\r\n");
    assert_null(consumer_find(s, "C"));
    assert_null(consumer_info_json(c));
    assert_int_equal(consumer_delete(c, 1, &fail), JS_ERR_CONSUMER_NOT_FOUND);
    end();
}

static void
test_pull_full_of_unacknowledged_waits_for_an_ack(void **state)
{
    (void)state;
    begin("{\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"max_ack_pending\":1}");
    kit_publish("s.1", "one");
    kit_publish("s.1", "two");
    ask("in", "{\"batch\":2,\"expires\":5000000000}");
    const char *reply = kit_expect("in", "one");
    kit_expect_silence("in");
    ack(reply, "");
    kit_expect("in", "two");
    end();
}

static void
test_pull_paused_consumer_delivers_nothing(void **state)
{
    (void)state;
    begin(DURABLE);
    bool paused;
    int64_t left;
    struct js_fail fail;
    int64_t until = INT64_C(1000000000) * CLOCK_S + 60 * CLOCK_S;
    assert_int_equal(consumer_pause(c, until, &paused, &left, &fail), JS_OK);
    assert_true(paused);
    assert_int_equal(left, 59 * CLOCK_S);
    kit_publish("s.1", "one");
    ask("in", "{\"batch\":2,\"expires\":500000000000}");
    jskit_advance(58 * CLOCK_S);
    kit_expect_silence("in");
    assert_int_equal(kit_info(c, "paused", NULL), 1);
    jskit_advance(2 * CLOCK_S);
    kit_expect("in", "one");
    end();
}

static void
test_pull_pinned_client_keeps_the_pin_until_it_is_silent(void **state)
{
    (void)state;
    begin(
        "{\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"priority_policy\":\"pinned_client\","
        "\"priority_groups\":[\"g\"],\"priority_timeout\":5000000000}");
    ask("a", "{\"batch\":1,\"expires\":50000000000,\"group\":\"g\"}");
    ask("b", "{\"batch\":9,\"expires\":50000000000,\"group\":\"g\"}");
    kit_publish("s.1", "one");
    struct kit_msg *m = kit_take("a");
    assert_non_null(m);
    assert_non_null(strstr(m->hdr, "Nats-Pin-Id: "));
    char pin[23] = "";
    memcpy(pin, strstr(m->hdr, "Nats-Pin-Id: ") + 13, 22);
    kit_free(m);
    kit_publish("s.1", "two");
    kit_expect_silence("b");
    ask("a", "{\"batch\":1,\"expires\":50000000000,\"group\":\"g\",\"id\":\"other\"}");
    kit_expect_hdr("a", "NATS/1.0 423 Nats-Pin-Id mismatch\r\n\r\n");
    ask("a", "{\"batch\":1,\"expires\":50000000000}");
    kit_expect_hdr("a", "NATS/1.0 400 Bad Request - Priority Group missing\r\n\r\n");
    jskit_advance(5 * CLOCK_S);
    kit_expect("b", "two");
    char body[128];
    snprintf(body, sizeof body, "{\"batch\":1,\"group\":\"g\",\"id\":\"%s\"}", pin);
    ask("a", body);
    kit_expect_hdr("a", "NATS/1.0 423 Nats-Pin-Id mismatch\r\n\r\n");
    end();
}

static void
test_pull_prioritized_serves_the_lower_number_first(void **state)
{
    (void)state;
    begin("{\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"priority_policy\":\"prioritized\","
          "\"priority_groups\":[\"g\"]}");
    ask("late", "{\"batch\":2,\"expires\":50000000000,\"group\":\"g\",\"priority\":2}");
    ask("soon", "{\"batch\":2,\"expires\":50000000000,\"group\":\"g\",\"priority\":1}");
    ask("bad", "{\"batch\":2,\"group\":\"g\",\"priority\":10}");
    kit_expect_hdr("bad", "NATS/1.0 400 Bad Request - Priority must be between 0 and 9\r\n\r\n");
    kit_publish("s.1", "one");
    kit_publish("s.1", "two");
    kit_publish("s.1", "three");
    kit_expect("soon", "one");
    kit_expect("soon", "two");
    kit_expect("late", "three");
    end();
}

static void
test_pull_overflow_serves_only_what_others_leave(void **state)
{
    (void)state;
    begin("{\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"priority_policy\":\"overflow\","
          "\"priority_groups\":[\"g\"]}");
    ask("in", "{\"batch\":9,\"expires\":50000000000,\"group\":\"g\",\"min_pending\":3}");
    kit_publish("s.1", "one");
    kit_publish("s.1", "two");
    kit_expect_silence("in");
    kit_publish("s.1", "three");
    kit_expect("in", "one");
    kit_expect_silence("in");
    end();
}

static void
test_pull_idle_consumer_goes(void **state)
{
    (void)state;
    begin("{\"name\":\"C\",\"ack_policy\":\"explicit\",\"inactive_threshold\":60000000000}");
    ask("in", "{\"batch\":1,\"expires\":50000000000}");
    jskit_advance(50 * CLOCK_S + 1);
    kit_expect_hdr("in", "NATS/1.0 408 ");
    jskit_advance(59 * CLOCK_S);
    struct consumer *found = consumer_find(s, "C");
    assert_non_null(found);
    consumer_unref(found);
    jskit_advance(3 * CLOCK_S);
    jskit_advance(3 * CLOCK_S);
    assert_null(consumer_find(s, "C"));
    end();
}

static void
test_pull_filters_deliver_only_theirs(void **state)
{
    (void)state;
    begin(
        "{\"durable_name\":\"C\",\"ack_policy\":\"none\",\"filter_subjects\":[\"s.a.*\",\"s.b\"]}");
    kit_publish("s.a.1", "one");
    kit_publish("s.c", "not");
    kit_publish("s.b", "two");
    assert_int_equal(kit_info(c, "num_pending", NULL), 2);
    ask("in", "{\"batch\":3,\"no_wait\":true}");
    kit_expect("in", "one");
    kit_expect("in", "two");
    kit_expect_hdr("in", "NATS/1.0 404 No Messages\r\n\r\n");
    assert_int_equal(kit_info(c, "delivered", "stream_seq"), 3);
    assert_int_equal(kit_info(c, "ack_floor", "consumer_seq"), 2);
    end();
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, kit_set_up, kit_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_pull_request_gets_what_is_there_then_what_comes),
        T(test_pull_request_is_told_when_its_time_is_up),
        T(test_pull_request_that_does_not_wait_is_told_at_once),
        T(test_pull_request_stops_at_its_bytes),
        T(test_pull_requests_take_turns),
        T(test_pull_request_nobody_listens_to_is_passed_over),
        T(test_pull_heartbeats_come_while_there_is_nothing),
        T(test_pull_limits_of_the_consumer_refuse),
        T(test_pull_unknown_consumer_has_no_responders),
        T(test_pull_requests_are_told_of_the_end),
        T(test_pull_full_of_unacknowledged_waits_for_an_ack),
        T(test_pull_paused_consumer_delivers_nothing),
        T(test_pull_pinned_client_keeps_the_pin_until_it_is_silent),
        T(test_pull_prioritized_serves_the_lower_number_first),
        T(test_pull_overflow_serves_only_what_others_leave),
        T(test_pull_idle_consumer_goes),
        T(test_pull_filters_deliver_only_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
