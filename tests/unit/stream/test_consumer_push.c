/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

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
    s = js_kit_stream(STREAM);
    js_kit_publish("s.1", "one");
    js_kit_publish("s.2", "two");
    js_kit_publish("s.1", "three");
    /* Those of a memory stream are committed by its own store. */
    while (c == NULL) {
        struct js_fail fail;
        struct stream_get g = {.seq = 3};
        struct msg *m;
        if (stream_msg_get(s, &g, &m, &fail) == JS_OK) {
            msg_unref(m);
            c = js_kit_consumer(s, config);
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
    int64_t before =
        js_kit_info(c, "num_pending", NULL) + js_kit_info(c, "delivered", "stream_seq");
    js_kit_publish(subject, data);
    for (int i = 0; i < 100000; i++) {
        js_kit_settle();
        if (js_kit_info(c, "num_pending", NULL) + js_kit_info(c, "delivered", "stream_seq") >
            before) {
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
    struct js_kit_msg *m = js_kit_take("d");
    assert_non_null(m);
    assert_string_equal(m->subject, "s.1");
    assert_string_equal(m->data, "one");
    js_kit_free(m);
    js_kit_expect("d", "two");
    js_kit_expect("d", "three");
    publish("s.9", "four");
    js_kit_expect("d", "four");
    assert_int_equal(js_kit_info(c, "push_bound", NULL), 1);
    end();
}

static void
test_push_waits_until_somebody_listens(void **state)
{
    (void)state;
    js_kit_deafen("d");
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\"}");
    js_kit_expect_silence("d");
    assert_int_equal(js_kit_info(c, "push_bound", NULL), 0);
    js_kit_deafen(NULL);
    js_kit_expect("d", "one");
    js_kit_deafen("d");
    assert_int_equal(js_kit_info(c, "push_bound", NULL), 0);
    end();
}

static void
test_push_ephemeral_goes_when_nobody_listens(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"name\":\"C\"}");
    js_kit_deafen("d");
    js_kit_advance(4 * CLOCK_S);
    js_kit_deafen(NULL);
    js_kit_advance(10 * CLOCK_S);
    struct consumer *found = consumer_find(s, "C");
    assert_non_null(found);
    consumer_unref(found);
    js_kit_deafen("d");
    js_kit_advance(7 * CLOCK_S);
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
            c = js_kit_consumer(s, cases[i].config);
        }
        if (cases[i].first != NULL) {
            js_kit_expect("d", cases[i].first);
        } else {
            js_kit_expect_silence("d");
        }
        if (i == 4) {
            js_kit_expect("d", "three");
            js_kit_expect_silence("d");
        }
        struct js_fail fail;
        assert_int_equal(consumer_delete(c, 1, &fail), JS_OK);
        consumer_unref(c);
        struct js_kit_msg *m;
        while ((m = js_kit_take("d")) != NULL) {
            js_kit_free(m);
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
    js_kit_expect("d", "one");
    js_kit_expect("d", "two");
    js_kit_expect("d", "three");
    js_kit_advance(CLOCK_S);
    js_kit_expect_hdr("d",
                      "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 3\r\nNats-Last-Stream: "
                      "3\r\n\r\n");
    js_kit_expect_silence("d");
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
    struct js_kit_msg *m;
    char fc[128] = "";
    int messages = 0;
    while ((m = js_kit_take("d")) != NULL) {
        messages += m->data[0] != '\0';
        if (strncmp(m->hdr, "NATS/1.0 100 FlowControl Request", 32) == 0) {
            snprintf(fc, sizeof fc, "%s", m->reply);
        }
        js_kit_free(m);
    }
    assert_int_equal(messages, 6); /* the three small ones, and three of 700,000 past 2 MiB */
    assert_int_equal(strncmp(fc, "$JS.FC.S.C.", 11), 0);
    js_kit_advance(5 * CLOCK_S);
    m = js_kit_take("d");
    assert_non_null(m);
    assert_non_null(strstr(m->hdr, "Nats-Consumer-Stalled: $JS.FC.S.C."));
    js_kit_free(m);
    assert_true(js_kit_send(fc, NULL, ""));
    js_kit_settle();
    m = js_kit_take("d");
    assert_non_null(m);
    assert_int_equal(strlen(m->data), 700000);
    js_kit_free(m);
    end();
}

static void
test_push_headers_only_tells_the_size(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\","
          "\"headers_only\":true}");
    struct js_kit_msg *m = js_kit_take("d");
    assert_non_null(m);
    assert_string_equal(m->data, "");
    assert_string_equal(m->hdr, "NATS/1.0\r\nNats-Msg-Size: 3\r\n\r\n");
    assert_string_equal(m->subject, "s.1");
    js_kit_free(m);
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
    struct js_kit_msg *m = js_kit_take("d");
    assert_non_null(m);
    js_kit_free(m);
    js_kit_expect_silence("d");
    js_kit_advance(500 * CLOCK_MS);
    js_kit_expect_silence("d");
    js_kit_advance(500 * CLOCK_MS);
    js_kit_expect("d", big);
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
        assert_int_equal(js_kit_refused_consumer(s, cases[i].config, CONSUMER_CREATE_OR_UPDATE),
                         cases[i].err_code);
    }
    assert_int_equal(js_kit_refused_consumer(s,
                                             "{\"deliver_subject\":\"d\",\"durable_name\":\"C\"}",
                                             CONSUMER_CREATE_ONLY),
                     10148);
    assert_int_equal(js_kit_refused_consumer(s,
                                             "{\"deliver_subject\":\"d\",\"durable_name\":\"N\"}",
                                             CONSUMER_UPDATE_ONLY),
                     10149);
    end();
}

static void
test_push_creation_without_memory_leaves_nothing(void **state)
{
    (void)state;
    begin("{\"deliver_subject\":\"d\",\"ack_policy\":\"none\",\"durable_name\":\"C\"}");
    for (long n = 0;; n++) {
        long live = mem_live();
        mem_fail_at(n);
        int code = js_kit_refused_consumer(
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
            js_kit_settle();
            continue;
        }
        assert_null(found);
        js_kit_settle();
        assert_int_equal(mem_live(), live);
    }
    end();
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, js_kit_set_up, js_kit_tear_down)
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
