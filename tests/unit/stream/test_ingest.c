/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <string.h>

#include "server/base/clock.h"
#include "stream/js_priv.h"
#include "stream/store_priv.h"
#include "stream/stream_priv.h"
#include "tests/support/js_kit.h"
#include "tests/support/store_kit.h"

static struct stream *s;

static void
publish(const char *subject, const char *hdr, const char *data)
{
    assert_true(kit_send_with(subject, "in", hdr, data));
    kit_settle();
}

/* A publish with one header is answered so. */
static void
answers(const char *subject, const char *field, const char *want)
{
    char hdr[300];
    snprintf(hdr, sizeof hdr, "NATS/1.0\r\n%s\r\n\r\n", field);
    publish(subject, *field != '\0' ? hdr : NULL, "x");
    kit_expect("in", want);
}

static void
is_error(const char *subject, const char *field, const char *error)
{
    char want[400];
    snprintf(want, sizeof want, "{\"error\":{%s},\"stream\":\"S\",\"seq\":0}", error);
    answers(subject, field, want);
}

#define ERROR(code, err_code, text)                                                                \
    "\"code\":" #code ",\"err_code\":" #err_code ",\"description\":\"" text "\""

static uint64_t
state_of(const char *key)
{
    struct js_fail f = {0};
    json_t *info = stream_info_json(s, NULL, NULL, &f);
    uint64_t v = (uint64_t)json_integer_value(json_object_get(json_object_get(info, "state"), key));
    json_decref(info);
    return v;
}

static void
test_ingest_acknowledges_after_the_commit(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"]}");
    answers("s.1", "", "{\"stream\":\"S\",\"seq\":1}");
    answers("s.2", "", "{\"stream\":\"S\",\"seq\":2}");
    assert_true(kit_send("s.1", NULL, "no reply, no ack"));
    kit_settle();
    kit_expect_silence("in");
    assert_int_equal(state_of("messages"), 3);
    stream_unref(s);
}

static void
test_ingest_knows_a_message_id_within_the_window_and_over_a_restart(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"duplicate_window\":10000000000}");
    answers("s.1", "Nats-Msg-Id: a", "{\"stream\":\"S\",\"seq\":1}");
    answers("s.1", "Nats-Msg-Id: a", "{\"stream\":\"S\",\"seq\":1,\"duplicate\": true}");
    stream_unref(s);
    kit_restart();
    answers("s.2", "Nats-Msg-Id: a", "{\"stream\":\"S\",\"seq\":1,\"duplicate\": true}");
    jskit_advance(11 * CLOCK_S);
    answers("s.1", "Nats-Msg-Id: a", "{\"stream\":\"S\",\"seq\":2}");
}

static void
test_ingest_demands_what_is_expected(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"]}");
    answers("s.1", "Nats-Msg-Id: a", "{\"stream\":\"S\",\"seq\":1}");
    is_error("s.1", "Nats-Expected-Stream: T", ERROR(400, 10060, "expected stream does not match"));
    is_error("s.1", "Nats-Expected-Last-Sequence: 7", ERROR(400, 10071, "wrong last sequence: 1"));
    is_error("s.2", "Nats-Expected-Last-Subject-Sequence: 1",
             ERROR(400, 10071, "wrong last sequence: 0"));
    is_error("s.1", "Nats-Expected-Last-Msg-Id: b", ERROR(400, 10070, "wrong last msg ID: a"));
    is_error("s.1", "Nats-Expected-Last-Subject-Sequence-Subject: s.1",
             ERROR(400, 10193, "missing sequence for expected last sequence per subject"));
    answers("s.2", "Nats-Expected-Last-Subject-Sequence: 0", "{\"stream\":\"S\",\"seq\":2}");
    answers("s.2", "Nats-Expected-Last-Sequence: 2", "{\"stream\":\"S\",\"seq\":3}");
    answers("s.3",
            "Nats-Expected-Last-Subject-Sequence: 1\r\n"
            "Nats-Expected-Last-Subject-Sequence-Subject: s.1",
            "{\"stream\":\"S\",\"seq\":4}");
    stream_unref(s);
}

static void
test_ingest_refuses_features_that_are_off(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"max_msg_size\":40}");
    is_error("s.1", "Nats-Rollup: sub", ERROR(500, 10111, "rollup not permitted"));
    is_error("s.1", "Nats-TTL: 5s", ERROR(400, 10166, "per-message TTL is disabled"));
    is_error("s.1", "Nats-Incr: 1", ERROR(400, 10168, "message counters is disabled"));
    is_error("s.1", "Nats-Schedule: @daily", ERROR(400, 10188, "message schedules is disabled"));
    is_error("s.1", "X: 0123456789012345678901234567890123456789",
             ERROR(400, 10054, "message size exceeds maximum allowed"));
    assert_int_equal(state_of("messages"), 0);
    stream_unref(s);
}

static void
test_ingest_keeps_the_limits(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"max_msgs\":3,"
                   "\"max_msgs_per_subject\":2}");
    for (int i = 0; i < 3; i++) {
        kit_publish("s.1", "x");
    }
    assert_int_equal(state_of("messages"), 2);
    kit_publish("s.2", "x");
    kit_publish("s.3", "x");
    assert_int_equal(state_of("messages"), 3);
    assert_int_equal(state_of("first_seq"), 3);
    stream_unref(s);
}

static void
test_ingest_discards_new_where_it_is_told_to(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"max_msgs\":2,\"discard\":\"new\","
                   "\"max_msgs_per_subject\":1,\"discard_new_per_subject\":true}");
    answers("s.1", "", "{\"stream\":\"S\",\"seq\":1}");
    is_error("s.1", "", ERROR(503, 10077, "maximum messages per subject exceeded"));
    answers("s.2", "", "{\"stream\":\"S\",\"seq\":2}");
    is_error("s.3", "", ERROR(503, 10077, "maximum messages exceeded"));
    stream_unref(s);
}

static void
test_ingest_keeps_the_limits_of_a_stream_that_a_killed_server_left_above_them(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"]}");
    for (int i = 0; i < 6; i++) {
        kit_publish(i % 2 == 0 ? "s.1" : "s.2", "x");
    }
    stream_unref(s);
    kit_restart_after("UPDATE stream SET record = json_set(record, '$.config.max_msgs', 3,"
                      " '$.config.max_msgs_per_subject', 2)");
    s = stream_find(js_account_next(kit_js(), NULL), "S");
    assert_non_null(s);
    assert_int_equal(state_of("messages"), 3);
    assert_int_equal(state_of("first_seq"), 4);
    stream_unref(s);
    kit_restart();
    s = stream_find(js_account_next(kit_js(), NULL), "S");
    assert_int_equal(state_of("first_seq"), 4);
    stream_unref(s);
}

static void
test_ingest_rolls_up(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"allow_rollup_hdrs\":true}");
    kit_publish("s.1", "x");
    kit_publish("s.1", "x");
    kit_publish("s.2", "x");
    answers("s.1", "Nats-Rollup: sub", "{\"stream\":\"S\",\"seq\":4}");
    assert_int_equal(state_of("messages"), 2);
    is_error("s.1", "Nats-Rollup: foo", ERROR(500, 10111, "rollup value invalid: \\\"foo\\\""));
    answers("s.1", "Nats-Rollup: all", "{\"stream\":\"S\",\"seq\":5}");
    assert_int_equal(state_of("messages"), 1);
    stream_unref(s);
}

static void
test_ingest_lets_time_take_messages(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"max_age\":10000000000,"
                   "\"allow_msg_ttl\":true}");
    answers("s.1", "Nats-TTL: 2s", "{\"stream\":\"S\",\"seq\":1}");
    answers("s.1", "Nats-TTL: never", "{\"stream\":\"S\",\"seq\":2}");
    kit_publish("s.1", "x");
    is_error("s.1", "Nats-TTL: 1ms", ERROR(400, 10165, "invalid per-message TTL"));
    jskit_advance(3 * CLOCK_S);
    assert_int_equal(state_of("messages"), 2);
    stream_unref(s);
    kit_restart();
    s = stream_find(js_account_next(kit_js(), NULL), "S");
    jskit_advance(8 * CLOCK_S);
    assert_int_equal(state_of("messages"), 1);
    assert_int_equal(state_of("first_seq"), 2);
    stream_unref(s);
}

static void
test_ingest_leaves_a_marker_for_the_last_of_a_subject(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"max_age\":5000000000,"
                   "\"subject_delete_marker_ttl\":60000000000}");
    kit_publish("s.1", "x");
    kit_publish("s.1", "x");
    jskit_advance(6 * CLOCK_S);
    kit_settle();
    assert_int_equal(state_of("messages"), 1);
    struct stream_get g = {.last_by_subj = "s.1"};
    struct js_fail f = {0};
    struct msg *m;
    assert_int_equal(stream_msg_get(s, &g, &m, &f), JS_OK);
    assert_non_null(strstr(msg_hdr(m), "Nats-Marker-Reason: MaxAge\r\nNats-TTL: 1m0s\r\n"));
    msg_unref(m);
    stream_unref(s);
}

static void
test_ingest_counts(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"allow_msg_counter\":true}");
    publish("s.1", "NATS/1.0\r\nNats-Incr: 5\r\n\r\n", "");
    kit_expect("in", "{\"stream\":\"S\",\"seq\":1,\"val\":\"5\"}");
    publish("s.1", "NATS/1.0\r\nNats-Incr: -123456789012345678901234567890\r\n\r\n", "");
    kit_expect("in", "{\"stream\":\"S\",\"seq\":2,\"val\":\"-123456789012345678901234567885\"}");
    is_error("s.1", "", ERROR(400, 10169, "message counter increment is missing"));
    is_error("s.1", "Nats-Incr: 1", ERROR(400, 10170, "message counter has payload"));
    stream_unref(s);
}

static void
part(const char *seq, const char *more, const char *want)
{
    char hdr[300];
    snprintf(hdr, sizeof hdr, "NATS/1.0\r\nNats-Batch-Id: b\r\nNats-Batch-Sequence: %s\r\n%s\r\n",
             seq, more);
    publish("s.1", hdr, "x");
    kit_expect("in", want);
}

static void
test_ingest_stores_a_batch_whole_or_not_at_all(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"allow_atomic\":true}");
    part("1", "", "");
    part("2", "", "");
    assert_int_equal(state_of("messages"), 0);
    part("3", "Nats-Batch-Commit: 1\r\n",
         "{\"stream\":\"S\",\"seq\":3,\"batch\":\"b\",\"count\":3}");
    assert_int_equal(state_of("messages"), 3);
    part("1", "Nats-Expected-Last-Sequence: 9\r\n", "");
    part(
        "2", "Nats-Batch-Commit: 1\r\n",
        "{\"error\":{" ERROR(400, 10071, "wrong last sequence: 3") "},\"stream\":\"S\",\"seq\":0}");
    part("1", "", "");
    part("3", "",
         "{\"error\":{" ERROR(
             400, 10176, "atomic publish batch is incomplete") "},\"stream\":\"S\",\"seq\":0}");
    part("1", "", "");
    jskit_advance(11 * CLOCK_S);
    part("2", "Nats-Batch-Commit: 1\r\n",
         "{\"error\":{" ERROR(
             400, 10176, "atomic publish batch is incomplete") "},\"stream\":\"S\",\"seq\":0}");
    assert_int_equal(state_of("messages"), 3);
    stream_unref(s);
}

static void
test_ingest_sends_scheduled_messages_also_after_a_restart(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\",\"to\"],\"allow_msg_schedules\":true}");
    answers("s.1", "Nats-Schedule: @every 10s\r\nNats-Schedule-Target: to",
            "{\"stream\":\"S\",\"seq\":1}");
    jskit_advance(5 * CLOCK_S);
    assert_int_equal(state_of("messages"), 1);
    jskit_advance(7 * CLOCK_S);
    kit_settle();
    assert_int_equal(state_of("messages"), 2);
    stream_unref(s);
    kit_restart();
    s = stream_find(js_account_next(kit_js(), NULL), "S");
    jskit_advance(12 * CLOCK_S);
    kit_settle();
    assert_int_equal(state_of("messages"), 3);
    stream_unref(s);
}

static void
test_ingest_transforms_and_republishes(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],"
                   "\"subject_transform\":{\"src\":\"s.*\",\"dest\":\"t.$1\"},"
                   "\"republish\":{\"src\":\"t.>\",\"dest\":\"r.>\"}}");
    kit_publish("s.1", "x");
    struct kit_msg *m = kit_take("r.1");
    assert_non_null(m);
    assert_string_equal(m->data, "x");
    assert_non_null(strstr(m->hdr, "Nats-Stream: S\r\nNats-Subject: t.1\r\nNats-Sequence: 1\r\n"));
    kit_free(m);
    stream_unref(s);
}

static void
test_sources_and_mirrors_take_what_is_there_and_what_comes(void **state)
{
    (void)state;
    struct stream *o = kit_stream("{\"name\":\"O\",\"subjects\":[\"o.*\"]}");
    kit_publish("o.1", "one");
    kit_publish("o.2", "two");
    s = kit_stream("{\"name\":\"S\",\"sources\":[{\"name\":\"O\",\"subject_transforms\":"
                   "[{\"src\":\"o.2\",\"dest\":\"x.2\"}]}]}");
    struct stream *m = kit_stream("{\"name\":\"M\",\"mirror\":{\"name\":\"O\"}}");
    kit_settle();
    kit_publish("o.2", "three");
    for (int i = 0; i < 4; i++) {
        kit_settle();
    }
    assert_int_equal(state_of("messages"), 2);
    stream_unref(s);
    s = m;
    assert_int_equal(state_of("messages"), 3);
    stream_unref(m);
    stream_unref(o);
    kit_restart();
    kit_publish("o.2", "four");
    for (int i = 0; i < 4; i++) {
        kit_settle();
    }
    s = stream_find(js_account_next(kit_js(), NULL), "S");
    assert_int_equal(state_of("messages"), 3);
    stream_unref(s);
}

/* Whatever the store has committed of it when it is looked at. */
static void
test_information_holds_together_when_what_is_not_committed_is_purged(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"]}");
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 20; k++) {
            assert_true(kit_send("s.1", NULL, "x"));
        }
        struct js_fail f = {0};
        struct stream_purge all = {0};
        uint64_t purged = 0;
        assert_int_equal(stream_purge(s, &all, &purged, &f), 0);
        json_t *info = stream_info_json(s, NULL, NULL, &f);
        const json_t *st = json_object_get(info, "state");
        json_int_t first = json_integer_value(json_object_get(st, "first_seq"));
        json_int_t last = json_integer_value(json_object_get(st, "last_seq"));
        json_int_t n = json_integer_value(json_object_get(st, "messages"));
        assert_true(last - first + 1 == n || last == 0);
        json_decref(info);
    }
    kit_settle();
    stream_unref(s);
}

struct shown {
    uint64_t first, last, n;
};

static struct shown
shown(void)
{
    return (struct shown){state_of("first_seq"), state_of("last_seq"), state_of("messages")};
}

/* What is purged before its commit is told of: else it would begin behind its end. */
static void
test_first_seq_is_never_past_what_is_told_as_last(void **state)
{
    (void)state;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"]}");
    publish("s.1", NULL, "x");
    store_hold(kit_js()->file);
    store_kit_push_chunk(kit_js()->file, STORE_NOW);
    bool sent = kit_send("s.1", NULL, "x");
    sent &= kit_send("s.2", NULL, "x");
    struct shown before = shown();
    struct js_fail f = {0};
    struct stream_purge all = {0};
    uint64_t purged = 0;
    enum js_error e = stream_purge(s, &all, &purged, &f);
    struct shown after = shown();
    store_unhold(kit_js()->file);
    kit_settle();
    assert_true(sent && e == JS_OK);
    assert_true(before.first == 1 && before.last == 1 && before.n == 1);
    assert_true(after.first == 4 && after.last == 3 && after.n == 0);
    assert_int_equal(state_of("first_seq"), 4);
    stream_unref(s);
}

static void
test_message_that_nobody_wants_is_the_last_by_time(void **state)
{
    (void)state;
    struct mlog_state st;
    s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"],\"retention\":\"interest\"}");
    int64_t before = js_wall(kit_js());
    publish("s.1", NULL, "x");
    stream_lock(s);
    mlog_state(s->log, &st);
    stream_unlock(s);
    assert_true(st.msgs == 0 && st.last_seq == 1 && st.last_ts >= before);
    stream_unref(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_set_up, kit_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ingest_acknowledges_after_the_commit),
        TEST(test_ingest_knows_a_message_id_within_the_window_and_over_a_restart),
        TEST(test_ingest_demands_what_is_expected),
        TEST(test_ingest_refuses_features_that_are_off),
        TEST(test_ingest_keeps_the_limits),
        TEST(test_message_that_nobody_wants_is_the_last_by_time),
        TEST(test_ingest_discards_new_where_it_is_told_to),
        TEST(test_ingest_keeps_the_limits_of_a_stream_that_a_killed_server_left_above_them),
        TEST(test_information_holds_together_when_what_is_not_committed_is_purged),
        TEST(test_first_seq_is_never_past_what_is_told_as_last),
        TEST(test_ingest_rolls_up),
        TEST(test_ingest_lets_time_take_messages),
        TEST(test_ingest_leaves_a_marker_for_the_last_of_a_subject),
        TEST(test_ingest_counts),
        TEST(test_ingest_stores_a_batch_whole_or_not_at_all),
        TEST(test_ingest_sends_scheduled_messages_also_after_a_restart),
        TEST(test_ingest_transforms_and_republishes),
        TEST(test_sources_and_mirrors_take_what_is_there_and_what_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
