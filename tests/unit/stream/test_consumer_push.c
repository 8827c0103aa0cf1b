/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/support/js_kit.h"

#define STREAM                                                                                     \
    "{\"name\":\"S\",\"subjects\":[\"s.>\"],\"retention\":\"limits\",\"storage\":\"memory\"}"

static struct stream *s;
static struct consumer *c;

static void
begin(const char *config)
{
    s = kit_stream(STREAM);
    kit_publish("s.1", "one");
    kit_publish("s.2", "two");
    kit_publish("s.1", "three");
    /* Those of a memory stream are committed by its own store. */
    while (c == NULL) {
        struct js_fail fail;
        struct stream_get g = {.seq = 3};
        struct msg *m;
        if (stream_msg_get(s, &g, &m, &fail) == JS_OK) {
            msg_unref(m);
            c = kit_consumer(s, config);
        }
    }
}

static void
end(void)
{
    consumer_unref(c);
    stream_unref(s);
    c = NULL;
}

/* Waits for the commit in memory. */
static void
publish(const char *subject, const char *data)
{
    int64_t before = kit_info(c, "num_pending", NULL) + kit_info(c, "delivered", "stream_seq");
    kit_publish(subject, data);
    for (int i = 0; i < 100000; i++) {
        kit_settle();
        if (kit_info(c, "num_pending", NULL) + kit_info(c, "delivered", "stream_seq") > before) {
            return;
        }
    }
    fail_msg("%s was not committed", data);
}

static void
test_push_delivers_all_in_order_with_their_subjects(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\"}");
    struct kit_msg *m = kit_take("d");
    assert_non_null(m);
    assert_string_equal(m->subject, "s.1");
    assert_string_equal(m->data, "one");
    kit_free(m);
    kit_expect("d", "two");
    kit_expect("d", "three");
    publish("s.9", "four");
    kit_expect("d", "four");
    assert_int_equal(kit_info(c, "push_bound", NULL), 1);
    end();
}

static void
test_push_waits_until_somebody_listens(void **state)
{
    (void)state;
    kit_deafen("d");
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\"}");
    kit_expect_silence("d");
    assert_int_equal(kit_info(c, "push_bound", NULL), 0);
    kit_deafen(NULL);
    kit_expect("d", "one");
    kit_deafen("d");
    assert_int_equal(kit_info(c, "push_bound", NULL), 0);
    end();
}

static void
test_push_ephemeral_goes_when_nobody_listens(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"name\":\"C\"}");
    kit_deafen("d");
    jskit_advance(4 * CLOCK_S);
    kit_deafen(NULL);
    jskit_advance(10 * CLOCK_S);
    struct consumer *found = consumer_find(s, "C");
    assert_non_null(found);
    consumer_unref(found);
    kit_deafen("d");
    jskit_advance(7 * CLOCK_S);
    assert_null(consumer_find(s, "C"));
    end();
}

static void
test_push_start_is_where_the_policy_says(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        const char *first; /* NULL: nothing */
    } cases[] = {
        {"{\"deliver_subject\":\"d\",\"deliver_policy\":\"last\"}", "three"},
        {"{\"deliver_subject\":\"d\",\"deliver_policy\":\"new\"}", NULL},
        {"{\"deliver_subject\":\"d\",\"deliver_policy\":\"by_start_sequence\",\"opt_start_seq\":2}",
         "two"},
        {"{\"deliver_subject\":\"d\",\"deliver_policy\":\"by_start_time\","
         "\"opt_start_time\":\"2200-01-01T00:00:00Z\"}",
         NULL},
        {"{\"deliver_subject\":\"d\",\"deliver_policy\":\"last_per_subject\","
         "\"filter_subject\":\">\"}",
         "two"},
        {"{\"deliver_subject\":\"d\",\"deliver_policy\":\"last\",\"filter_subject\":\"s.2\"}",
         "two"}};
    begin(cases[0].config);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (i > 0) {
            c = kit_consumer(s, cases[i].config);
        }
        if (cases[i].first != NULL) {
            kit_expect("d", cases[i].first);
        } else {
            kit_expect_silence("d");
        }
        if (i == 4) {
            kit_expect("d", "three");
            kit_expect_silence("d");
        }
        struct js_fail fail;
        assert_int_equal(consumer_delete(c, 1, &fail), JS_OK);
        consumer_unref(c);
        struct kit_msg *m;
        while ((m = kit_take("d")) != NULL) {
            kit_free(m);
        }
    }
    c = NULL;
    stream_unref(s);
}

static void
test_push_heartbeats_tell_where_it_is(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\","
          "\"idle_heartbeat\":1000000000}");
    kit_expect("d", "one");
    kit_expect("d", "two");
    kit_expect("d", "three");
    jskit_advance(CLOCK_S);
    kit_expect_hdr("d", "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 3\r\nNats-Last-Stream: "
                        "3\r\n\r\n");
    kit_expect_silence("d");
    end();
}

static void
test_push_flow_control_holds_back_until_it_is_answered(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\","
          "\"flow_control\":true,\"idle_heartbeat\":5000000000}");
    char *big = malloc(700001);
    memset(big, 'x', 700000);
    big[700000] = '\0';
    for (int i = 0; i < 5; i++) {
        publish("s.1", big);
    }
    free(big);
    struct kit_msg *m;
    char fc[128] = "";
    int messages = 0;
    while ((m = kit_take("d")) != NULL) {
        messages += m->data[0] != '\0';
        if (strncmp(m->hdr, "NATS/1.0 100 FlowControl Request", 32) == 0) {
            snprintf(fc, sizeof fc, "%s", m->reply);
        }
        kit_free(m);
    }
    assert_int_equal(messages, 6); /* the three small ones, and three of 700,000 past 2 MiB */
    assert_int_equal(strncmp(fc, "$JS.FC.S.C.", 11), 0);
    jskit_advance(5 * CLOCK_S);
    m = kit_take("d");
    assert_non_null(m);
    assert_non_null(strstr(m->hdr, "Nats-Consumer-Stalled: $JS.FC.S.C."));
    kit_free(m);
    assert_true(kit_send(fc, NULL, ""));
    kit_settle();
    m = kit_take("d");
    assert_non_null(m);
    assert_int_equal(strlen(m->data), 700000);
    kit_free(m);
    end();
}

static void
test_push_headers_only_tells_the_size(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\","
          "\"headers_only\":true}");
    struct kit_msg *m = kit_take("d");
    assert_non_null(m);
    assert_string_equal(m->data, "");
    assert_string_equal(m->hdr, "NATS/1.0\r\nNats-Msg-Size: 3\r\n\r\n");
    assert_string_equal(m->subject, "s.1");
    kit_free(m);
    end();
}

static void
test_push_rate_limit_spreads_messages(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\","
          "\"rate_limit_bps\":8000000,\"deliver_policy\":\"new\"}");
    char *big = malloc(900001);
    memset(big, 'x', 900000);
    big[900000] = '\0';
    publish("s.1", big);
    publish("s.1", big);
    struct kit_msg *m = kit_take("d");
    assert_non_null(m);
    kit_free(m);
    kit_expect_silence("d");
    jskit_advance(500 * CLOCK_MS);
    kit_expect_silence("d");
    jskit_advance(500 * CLOCK_MS);
    kit_expect("d", big);
    free(big);
    end();
}

static void
test_push_refuses_what_may_not_be_changed(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\"}");
    static const struct {
        const char *config;
        int err_code;
    } cases[] = {
        {"{\"durable_name\":\"C\",\"ack_policy\":\"none\"}", 10012},
        {"{\"deliver_subject\":\"e\",\"ack_policy\":\"none\",\"durable_name\":\"C\"}", 10013},
        {"{\"deliver_subject\":\"d\",\"ack_policy\":\"all\",\"durable_name\":\"C\"}", 10012},
        {"{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\","
         "\"description\":\"new\"}",
         0},
        {"{\"deliver_subject\":\"s.1\",\"durable_name\":\"E\"}", 10081},
        {"{\"deliver_subject\":\"e.*\",\"durable_name\":\"E\"}", 10079},
        {"{\"deliver_subject\":\"e\",\"durable_name\":\"E\",\"flow_control\":true}", 10108},
        {"{\"deliver_subject\":\"e\",\"durable_name\":\"E\",\"max_waiting\":5}", 10080},
        {"{\"deliver_subject\":\"e\",\"durable_name\":\"E.F\"}", 10052}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(kit_refused_consumer(s, cases[i].config, CONSUMER_CREATE_OR_UPDATE),
                         cases[i].err_code);
    }
    assert_int_equal(kit_refused_consumer(s, "{\"deliver_subject\":\"d\",\"durable_name\":\"C\"}",
                                          CONSUMER_CREATE_ONLY),
                     10148);
    assert_int_equal(kit_refused_consumer(s, "{\"deliver_subject\":\"d\",\"durable_name\":\"N\"}",
                                          CONSUMER_UPDATE_ONLY),
                     10149);
    end();
}

/* Once the store's thread has let go of what it was done with. */
static long
live_blocks(void)
{
    kit_settle();
    long least = mem_live();
    for (int i = 0; i < 2000; i++) {
        long n = mem_live();
        least = n < least ? n : least;
        (void)sched_yield();
    }
    return least;
}

static void
test_push_creation_without_memory_leaves_nothing(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\"}");
    for (long n = 0;; n++) {
        long live = live_blocks();
        mem_fail_at(n);
        int code = kit_refused_consumer(
            s, "{\"deliver_subject\":\"e\",\"durable_name\":\"E\",\"filter_subject\":\"s.1\"}",
            CONSUMER_CREATE_ONLY);
        int fired = mem_fail_fired();
        mem_fail_at(-1);
        struct consumer *found = consumer_find(s, "E");
        if (code == 0) {
            assert_non_null(found);
            consumer_unref(found);
            if (!fired) {
                break;
            }
            struct js_fail fail;
            assert_int_equal(consumer_delete(found, 1, &fail), JS_OK);
            kit_settle();
            continue;
        }
        assert_null(found);
        assert_int_equal(live_blocks(), live);
    }
    end();
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, kit_set_up, kit_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_push_delivers_all_in_order_with_their_subjects),
        T(test_push_waits_until_somebody_listens),
        T(test_push_ephemeral_goes_when_nobody_listens),
        T(test_push_start_is_where_the_policy_says),
        T(test_push_heartbeats_tell_where_it_is),
        T(test_push_flow_control_holds_back_until_it_is_answered),
        T(test_push_headers_only_tells_the_size),
        T(test_push_rate_limit_spreads_messages),
        T(test_push_refuses_what_may_not_be_changed),
        T(test_push_creation_without_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
