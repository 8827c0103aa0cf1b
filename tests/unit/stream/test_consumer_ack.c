/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <string.h>

#include "server/base/clock.h"
#include "tests/support/js_kit.h"

#define STREAM(retention)                                                                          \
    "{\"name\":\"S\",\"subjects\":[\"s.>\"],\"retention\":\"" retention "\",\"storage\":\"file\"}"
#define DURABLE "{\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"ack_wait\":10000000000}"
#define IN_MEMORY                                                                                  \
    "{\"name\":\"C\",\"deliver_subject\":\"out\",\"ack_policy\":\"none\",\"mem_storage\":true}"
#define MAX_DELIVERIES "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.S.C"
#define TERMINATED     "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.C"

static struct stream *s;
static struct consumer *c;
static char reply[4][700];

/* A stream, a consumer, three messages. */
static void
begin(const char *stream, const char *config)
{
    s = kit_stream(stream);
    c = kit_consumer(s, config);
    kit_publish("s.1", "one");
    kit_publish("s.2", "two");
    kit_publish("s.3", "three");
}

static void
end(void)
{
    consumer_unref(c);
    stream_unref(s);
}

static void
ask(const char *body)
{
    assert_true(kit_send("$JS.API.CONSUMER.MSG.NEXT.S.C", "in", body));
    kit_settle();
}

/* Takes all three. */
static void
take(void)
{
    static const char *const data[] = {"one", "two", "three"};
    ask("3");
    for (int i = 0; i < 3; i++) {
        snprintf(reply[i + 1], sizeof reply[0], "%s", kit_expect("in", data[i]));
    }
}

static void
ack(int i, const char *body)
{
    assert_true(kit_send(reply[i], NULL, body));
    kit_settle();
}

static int64_t
messages(void)
{
    struct js_fail fail;
    uint64_t total;
    struct stream_info_opts o = {0};
    json_t *info = stream_info_json(s, &o, &total, &fail);
    assert_non_null(info);
    int64_t n = json_integer_value(json_object_get(json_object_get(info, "state"), "messages"));
    json_decref(info);
    return n;
}

static void
test_ack_moves_the_floor_when_the_gap_closes(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    ack(2, "+ACK");
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 0);
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 2);
    ack(1, "");
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 2);
    ack(3, "");
    assert_int_equal(kit_info(c, "ack_floor", "consumer_seq"), 3);
    end();
}

static void
test_ack_is_answered_where_it_asks(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    assert_true(kit_send(reply[1], "done", "+ACK"));
    kit_expect("done", "");
    assert_true(kit_send(reply[1], "done", "+WPI"));
    kit_expect("done", "");
    assert_true(kit_send("$JS.ACK.S.C.1.99.99.1.0", "done", "+ACK"));
    kit_expect_silence("done");
    end();
}

static void
test_ack_by_the_long_subject_counts_too(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    assert_true(kit_send("$JS.ACK._.hash.S.C.1.1.1.1.0.more", "done", ""));
    kit_expect("done", "");
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 1);
    end();
}

static void
test_ack_all_takes_those_before(void **state)
{
    (void)state;
    begin(STREAM("limits"), "{\"durable_name\":\"C\",\"ack_policy\":\"all\"}");
    take();
    ack(2, "");
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 2);
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 1);
    end();
}

static void
test_unacknowledged_goes_out_anew_after_the_wait(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    ack(2, "");
    jskit_advance(9 * CLOCK_S);
    ask("{\"batch\":5,\"expires\":100000000000}");
    kit_expect_silence("in");
    jskit_advance(2 * CLOCK_S);
    assert_int_equal(strncmp(kit_expect("in", "one"), "$JS.ACK.S.C.2.1.4.", 18), 0);
    assert_int_equal(strncmp(kit_expect("in", "three"), "$JS.ACK.S.C.2.3.5.", 18), 0);
    kit_expect_silence("in");
    assert_int_equal(kit_info(c, "num_redelivered", NULL), 2);
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 2);
    end();
}

static void
test_progress_puts_off_the_redelivery(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    jskit_advance(8 * CLOCK_S);
    ack(1, "+WPI");
    ask("{\"batch\":5,\"expires\":100000000000}");
    jskit_advance(4 * CLOCK_S);
    kit_expect("in", "two");
    kit_expect("in", "three");
    kit_expect_silence("in");
    jskit_advance(7 * CLOCK_S);
    kit_expect("in", "one");
    end();
}

static void
test_nak_delivers_anew_at_once_or_after_its_delay(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    ask("{\"batch\":5,\"expires\":100000000000}");
    ack(2, "-NAK");
    kit_expect("in", "two");
    ack(1, "-NAK {\"delay\": 3000000000}");
    ack(3, "-NAK 5s");
    kit_expect_silence("in");
    jskit_advance(3 * CLOCK_S);
    kit_expect("in", "one");
    kit_expect_silence("in");
    jskit_advance(2 * CLOCK_S);
    kit_expect("in", "three");
    end();
}

static void
test_backoff_gives_each_delivery_its_wait(void **state)
{
    (void)state;
    begin(STREAM("limits"), "{\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"max_deliver\":4,"
                            "\"backoff\":[1000000000,5000000000]}");
    take();
    ack(2, "");
    ack(3, "");
    ask("{\"batch\":9,\"expires\":100000000000}");
    jskit_advance(CLOCK_S + 2 * CLOCK_MS);
    kit_expect("in", "one");
    jskit_advance(4 * CLOCK_S);
    kit_expect_silence("in");
    jskit_advance(CLOCK_S + 2 * CLOCK_MS);
    kit_expect("in", "one");
    end();
}

static void
test_max_deliver_ends_the_attempts(void **state)
{
    (void)state;
    begin(STREAM("limits"), "{\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"max_deliver\":2,"
                            "\"ack_wait\":1000000000}");
    take();
    ack(2, "");
    ack(3, "");
    ask("{\"batch\":9,\"expires\":100000000000}");
    jskit_advance(2 * CLOCK_S);
    kit_expect("in", "one");
    jskit_advance(2 * CLOCK_S);
    kit_expect_silence("in");
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 0);
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 0);
    struct kit_msg *m = kit_take(MAX_DELIVERIES);
    assert_non_null(m);
    assert_non_null(strstr(m->data, "\"deliveries\":2"));
    kit_free(m);
    kit_expect_silence(MAX_DELIVERIES);
    end();
}

static void
test_terminated_message_does_not_come_back(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    ack(1, "+TERM no use");
    struct kit_msg *m = kit_take(TERMINATED);
    assert_non_null(m);
    assert_non_null(strstr(m->data, "\"reason\":\"no use\""));
    kit_free(m);
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 1);
    end();
}

static void
test_ack_and_next_asks_for_more(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    ask("1");
    snprintf(reply[1], sizeof reply[1], "%s", kit_expect("in", "one"));
    assert_true(kit_send(reply[1], "in", "+NXT {\"batch\":2}"));
    kit_settle();
    kit_expect("in", "two");
    kit_expect("in", "three");
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 1);
    end();
}

static void
test_deleted_message_is_no_longer_waited_for(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    struct js_fail fail;
    assert_int_equal(stream_msg_delete(s, 1, true, &fail), JS_OK);
    kit_settle();
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 2);
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 1);
    end();
}

static void
test_deleted_message_moves_the_floor_of_acks_for_all_below_it(void **state)
{
    (void)state;
    struct js_fail fail;
    begin(STREAM("limits"), "{\"durable_name\":\"C\",\"ack_policy\":\"all\"}");
    take();
    assert_int_equal(stream_msg_delete(s, 2, true, &fail), JS_OK);
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 0);
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 2);
    assert_int_equal(stream_msg_delete(s, 1, true, &fail), JS_OK);
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 1);
    assert_int_equal(stream_msg_delete(s, 3, true, &fail), JS_OK);
    kit_settle();
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 3);
    assert_int_equal(kit_info(c, "ack_floor", "consumer_seq"), 3);
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 0);
    end();
}

static void
test_purge_moves_the_consumer_ahead(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    ask("1");
    kit_expect("in", "one");
    struct stream_purge p = {0};
    uint64_t n;
    struct js_fail fail;
    assert_int_equal(stream_purge(s, &p, &n, &fail), JS_OK);
    kit_settle();
    assert_int_equal(n, 3);
    assert_int_equal(kit_info(c, "num_pending", NULL), 0);
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 0);
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 3);
    kit_publish("s.4", "four");
    ask("1");
    kit_expect("in", "four");
    end();
}

static void
test_workqueue_message_goes_with_its_ack(void **state)
{
    (void)state;
    begin(STREAM("workqueue"), DURABLE);
    take();
    ack(2, "");
    assert_int_equal(messages(), 2);
    ack(1, "+TERM");
    ack(3, "");
    assert_int_equal(messages(), 0);
    assert_int_equal(kit_refused_consumer(s, "{\"durable_name\":\"D\",\"ack_policy\":\"explicit\"}",
                                          CONSUMER_CREATE_OR_UPDATE),
                     10099);
    assert_int_equal(kit_refused_consumer(s,
                                          "{\"durable_name\":\"D\",\"ack_policy\":\"none\","
                                          "\"deliver_subject\":\"d\"}",
                                          CONSUMER_CREATE_OR_UPDATE),
                     10098);
    end();
}

static void
test_workqueue_keeps_what_no_consumer_takes_when_it_is_changed(void **state)
{
    (void)state;
    begin(STREAM("workqueue"),
          "{\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"filter_subject\":\"s.1\"}");
    assert_int_equal(kit_refused_update("{\"name\":\"S\",\"subjects\":[\"s.>\"],\"retention\":"
                                        "\"workqueue\",\"storage\":\"file\",\"max_msgs\":9}"),
                     0);
    assert_int_equal(messages(), 3);
    end();
}

static void
test_interest_message_goes_with_the_last_ack(void **state)
{
    (void)state;
    s = kit_stream(STREAM("interest"));
    c = kit_consumer(s, DURABLE);
    struct consumer *d = kit_consumer(
        s, "{\"durable_name\":\"D\",\"ack_policy\":\"explicit\",\"filter_subject\":\"s.1\"}");
    kit_publish("s.1", "one");
    kit_publish("s.2", "two");
    kit_publish("s.3", "three");
    take();
    ack(1, "");
    ack(2, "");
    assert_int_equal(messages(), 2);
    struct js_fail fail;
    assert_int_equal(consumer_delete(d, 1, &fail), JS_OK);
    assert_int_equal(messages(), 1);
    consumer_unref(d);
    end();
}

static void
test_restart_goes_on_where_it_was(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    ack(1, "");
    kit_publish("s.4", "four");
    end();
    kit_restart();
    kit_publish("s.5", "five");
    s = stream_find(js_account_next(kit_js(), NULL), "S");
    assert_non_null(s);
    c = consumer_find(s, "C");
    assert_non_null(c);
    assert_int_equal(kit_info(c, "num_ack_pending", NULL), 2);
    assert_int_equal(kit_info(c, "num_pending", NULL), 2);
    assert_int_equal(kit_info(c, "ack_floor", "stream_seq"), 1);
    assert_int_equal(kit_info(c, "delivered", "stream_seq"), 3);
    ask("{\"batch\":9,\"expires\":100000000000}");
    kit_expect("in", "four");
    kit_expect("in", "five");
    jskit_advance(11 * CLOCK_S);
    kit_expect("in", "two");
    kit_expect("in", "three");
    end();
}

static void
test_restart_brings_what_was_not_acknowledged_again_to_a_request_that_waits(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    ack(1, "");
    ack(2, "");
    end();
    kit_restart();
    s = stream_find(js_account_next(kit_js(), NULL), "S");
    assert_non_null(s);
    c = consumer_find(s, "C");
    assert_non_null(c);
    ask("{\"batch\":9,\"expires\":100000000000}");
    kit_expect_silence("in");
    jskit_advance(11 * CLOCK_S);
    kit_expect("in", "three");
    end();
}

static void
find_after_restart(void)
{
    kit_restart();
    s = stream_find(js_account_next(kit_js(), NULL), "S");
    assert_non_null(s);
    c = consumer_find(s, "C");
}

static void
test_restart_in_order_keeps_consumers_in_memory(void **state)
{
    (void)state;
    begin(STREAM("limits"), IN_MEMORY);
    kit_expect("out", "one");
    kit_expect("out", "two");
    kit_expect("out", "three");
    end();
    find_after_restart();
    assert_non_null(c);
    assert_int_equal(kit_info(c, "delivered", "consumer_seq"), 3);
    kit_publish("s.4", "four");
    assert_non_null(strstr(kit_expect("out", "four"), "$JS.ACK.S.C.1.4.4."));
    kit_expect_silence("out");
    end();
}

static void
test_restart_does_not_bring_back_a_consumer_in_memory_that_was_deleted(void **state)
{
    (void)state;
    begin(STREAM("limits"), IN_MEMORY);
    end();
    find_after_restart();
    assert_non_null(c);
    struct js_fail fail;
    assert_int_equal(consumer_delete(c, 1, &fail), JS_OK);
    end();
    find_after_restart();
    assert_null(c);
    stream_unref(s);
}

static void
test_restart_ends_a_consumer_in_memory_that_nobody_listens_to(void **state)
{
    (void)state;
    begin(STREAM("limits"), IN_MEMORY);
    end();
    kit_deafen("out");
    find_after_restart();
    assert_non_null(c);
    consumer_unref(c);
    jskit_advance(6 * CLOCK_S);
    c = consumer_find(s, "C");
    assert_null(c);
    stream_unref(s);
    kit_deafen(NULL);
}

static void
test_reset_begins_anew(void **state)
{
    (void)state;
    begin(STREAM("limits"), DURABLE);
    take();
    ack(1, "");
    uint64_t to;
    struct js_fail fail;
    assert_int_equal(consumer_reset(c, 0, &to, &fail), JS_OK);
    assert_int_equal(to, 2);
    ask("1");
    assert_int_equal(strncmp(kit_expect("in", "two"), "$JS.ACK.S.C.1.2.1.", 18), 0);
    assert_int_equal(consumer_reset(c, 1, &to, &fail), JS_OK);
    ask("1");
    kit_expect("in", "one");
    assert_int_equal(kit_info(c, "num_pending", NULL), 2);
    end();
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, kit_set_up, kit_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_ack_moves_the_floor_when_the_gap_closes),
        T(test_ack_is_answered_where_it_asks),
        T(test_ack_by_the_long_subject_counts_too),
        T(test_ack_all_takes_those_before),
        T(test_unacknowledged_goes_out_anew_after_the_wait),
        T(test_progress_puts_off_the_redelivery),
        T(test_nak_delivers_anew_at_once_or_after_its_delay),
        T(test_backoff_gives_each_delivery_its_wait),
        T(test_max_deliver_ends_the_attempts),
        T(test_terminated_message_does_not_come_back),
        T(test_ack_and_next_asks_for_more),
        T(test_deleted_message_is_no_longer_waited_for),
        T(test_deleted_message_moves_the_floor_of_acks_for_all_below_it),
        T(test_purge_moves_the_consumer_ahead),
        T(test_workqueue_message_goes_with_its_ack),
        T(test_workqueue_keeps_what_no_consumer_takes_when_it_is_changed),
        T(test_interest_message_goes_with_the_last_ack),
        T(test_restart_goes_on_where_it_was),
        T(test_restart_brings_what_was_not_acknowledged_again_to_a_request_that_waits),
        T(test_restart_in_order_keeps_consumers_in_memory),
        T(test_restart_does_not_bring_back_a_consumer_in_memory_that_was_deleted),
        T(test_restart_ends_a_consumer_in_memory_that_nobody_listens_to),
        T(test_reset_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
