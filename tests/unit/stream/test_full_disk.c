/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and consumers while the disk takes no writes: what would need one is refused and changes
 * nothing, what is deleted is kept and done when there is room again, what is in memory goes on. */
#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/clock.h"
#include "stream/js_account.h"
#include "tests/support/js_kit.h"
#include "tests/support/power_vfs.h"

enum { STORAGE_RESOURCES = 10047, STREAM_GENERAL_ERROR = 10051, MAXIMUM_CONSUMERS = 10026 };

#define FILE_STREAM "{\"name\":\"F\",\"subjects\":[\"f.*\"]}"
#define REFUSED                                                                                    \
    "{\"error\":{\"code\":503,\"err_code\":10023,\"description\":\"insufficient resources\"},"     \
    "\"stream\":\"F\",\"seq\":0}"

static int
set_up(void **state)
{
    (void)state;
    power_vfs_reset(1);
    jskit_open_on(POWER_VFS);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    power_vfs_disk_full(0);
    power_vfs_errors(0);
    jskit_close();
    return 0;
}

static struct stream *
find(const char *name)
{
    return stream_find(js_account_next(kit_js(), NULL), name);
}

static bool
is_there(const char *name)
{
    struct stream *s = find(name);
    stream_unref(s);
    return s != NULL;
}

static bool
has_consumer(struct stream *s, const char *name)
{
    struct consumer *c = consumer_find(s, name);
    consumer_unref(c);
    return c != NULL;
}

static int64_t
count(struct stream *s)
{
    struct js_fail f = {0};
    json_t *info = stream_info_json(s, NULL, NULL, &f);
    const json_t *state = json_object_get(info, "state");
    int64_t n = json_integer_value(json_object_get(state, "messages"));
    json_decref(info);
    return n;
}

static void
publish(const char *subject, const char *answer)
{
    assert_true(kit_send(subject, "in", "x"));
    (void)kit_settle();
    kit_expect("in", answer);
}

/* The store finds out by a write that fails; the sequence of that message is not given again. */
static void
fill_the_disk(void)
{
    assert_null(js_trouble(kit_js()));
    power_vfs_disk_full(1);
    publish("f.1", REFUSED);
    assert_string_equal(js_trouble(kit_js()), "database or disk is full");
}

static void
make_room(void)
{
    power_vfs_disk_full(0);
    (void)kit_settle();
    assert_null(js_trouble(kit_js()));
    assert_true(kit_settle());
}

static void
test_a_full_disk_refuses_what_needs_a_write_and_nothing_changes(void **state)
{
    (void)state;
    struct stream *s = kit_stream(FILE_STREAM);
    struct consumer *c = kit_consumer(s, "{\"durable_name\":\"c\",\"ack_policy\":\"explicit\"}");
    publish("f.1", "{\"stream\":\"F\",\"seq\":1}");
    fill_the_disk();
    publish("f.1", REFUSED);
    assert_int_equal(kit_refused_stream("{\"name\":\"G\",\"subjects\":[\"g\"]}"),
                     STORAGE_RESOURCES);
    assert_int_equal(
        kit_refused_update("{\"name\":\"F\",\"subjects\":[\"f.*\"],\"description\":\"new\"}"),
        STORAGE_RESOURCES);
    assert_int_equal(kit_refused_consumer(s, "{\"durable_name\":\"d\"}", CONSUMER_CREATE_OR_UPDATE),
                     STORAGE_RESOURCES);
    assert_int_equal(
        kit_refused_consumer(
            s, "{\"durable_name\":\"c\",\"ack_policy\":\"explicit\",\"max_ack_pending\":7}",
            CONSUMER_CREATE_OR_UPDATE),
        STORAGE_RESOURCES);
    uint64_t seq;
    struct js_fail f = {0};
    assert_int_not_equal(consumer_reset(c, 1, &seq, &f), JS_OK);
    assert_int_equal(f.err_code, STORAGE_RESOURCES);
    assert_false(is_there("G"));
    assert_false(has_consumer(s, "d"));
    assert_int_equal(kit_info(c, "config", "max_ack_pending"), 1000);
    assert_int_equal(count(s), 1);

    make_room();
    publish("f.1", "{\"stream\":\"F\",\"seq\":3}");
    assert_int_equal(kit_refused_stream("{\"name\":\"G\",\"subjects\":[\"g\"]}"), 0);
    assert_int_equal(kit_refused_consumer(s, "{\"durable_name\":\"d\"}", CONSUMER_CREATE_OR_UPDATE),
                     0);
    assert_true(kit_settle());
    consumer_unref(c);
    stream_unref(s);
    kit_restart();
    s = find("F");
    assert_int_equal(count(s), 2);
    assert_true(has_consumer(s, "c") && has_consumer(s, "d") && is_there("G"));
    stream_unref(s);
}

static void
test_a_full_disk_is_nothing_to_what_is_in_memory(void **state)
{
    (void)state;
    struct stream *s = kit_stream(FILE_STREAM);
    publish("f.1", "{\"stream\":\"F\",\"seq\":1}");
    fill_the_disk();
    struct stream *m = kit_stream("{\"name\":\"M\",\"subjects\":[\"m\"],\"storage\":\"memory\"}");
    publish("m", "{\"stream\":\"M\",\"seq\":1}");
    struct consumer *c = kit_consumer(
        s, "{\"ack_policy\":\"none\",\"mem_storage\":true,\"deliver_subject\":\"out\"}");
    kit_expect("out", "x");
    consumer_unref(c);
    stream_unref(m);
    stream_unref(s);
}

static void
delete_one(struct stream *s)
{
    struct js_fail f = {0};
    assert_int_equal(stream_msg_delete(s, 1, true, &f), JS_OK);
    assert_false(kit_settle());
}

static void
delete_all_kinds(struct stream *s, struct stream *whole)
{
    struct js_fail f = {0};
    uint64_t purged;
    struct stream_purge p = {.filter = "f.2"};
    delete_one(s);
    assert_int_equal(stream_purge(s, &p, &purged, &f), JS_OK);
    assert_int_equal(purged, 1);
    assert_false(kit_settle());
    struct consumer *c = consumer_find(s, "c");
    assert_int_equal(consumer_delete(c, 0, &f), JS_OK);
    consumer_unref(c);
    assert_false(kit_settle());
    assert_int_equal(stream_delete(whole, 0, &f), JS_OK);
    assert_false(kit_settle());
    assert_int_equal(count(s), 1);
}

static struct stream *
three_messages(struct stream **other)
{
    struct stream *s = kit_stream(FILE_STREAM);
    struct consumer *c = kit_consumer(s, "{\"durable_name\":\"c\",\"ack_policy\":\"explicit\"}");
    *other = kit_stream("{\"name\":\"G\",\"subjects\":[\"g\"]}");
    publish("f.1", "{\"stream\":\"F\",\"seq\":1}");
    publish("f.2", "{\"stream\":\"F\",\"seq\":2}");
    publish("f.3", "{\"stream\":\"F\",\"seq\":3}");
    consumer_unref(c);
    fill_the_disk();
    return s;
}

static void
test_what_is_deleted_on_a_full_disk_is_written_when_there_is_room(void **state)
{
    (void)state;
    struct stream *other;
    struct stream *s = three_messages(&other);
    delete_all_kinds(s, other);
    make_room();
    stream_unref(other);
    stream_unref(s);
    kit_restart();
    s = find("F");
    assert_int_equal(count(s), 1);
    assert_false(has_consumer(s, "c") || is_there("G"));
    publish("f.1", "{\"stream\":\"F\",\"seq\":5}");
    stream_unref(s);
}

static void
test_what_is_deleted_on_a_full_disk_is_there_again_where_the_server_ends_before(void **state)
{
    (void)state;
    struct stream *other;
    struct stream *s = three_messages(&other);
    delete_all_kinds(s, other);
    stream_unref(other);
    stream_unref(s);
    kit_restart();
    s = find("F");
    assert_int_equal(count(s), 3);
    assert_true(has_consumer(s, "c") && is_there("G"));
    make_room();
    publish("f.1", "{\"stream\":\"F\",\"seq\":4}");
    stream_unref(s);
}

static void
test_what_is_made_as_the_disk_gets_full_is_written_when_there_is_room(void **state)
{
    (void)state;
    power_vfs_disk_full(1);
    assert_int_equal(kit_refused_stream(FILE_STREAM), 0);
    assert_false(kit_settle());
    make_room();
    kit_restart();
    assert_true(is_there("F"));
}

static void
test_errors_of_the_disk_are_told_by_their_name(void **state)
{
    (void)state;
    struct stream *s = kit_stream(FILE_STREAM);
    power_vfs_errors(1);
    assert_true(kit_send("f.1", "in", "x"));
    assert_false(kit_settle());
    kit_expect("in", "{\"error\":{\"code\":500,\"err_code\":10051,\"description\":"
                     "\"input/output error\"},\"stream\":\"F\",\"seq\":0}");
    assert_int_equal(kit_refused_stream("{\"name\":\"G\",\"subjects\":[\"g\"]}"),
                     STREAM_GENERAL_ERROR);
    assert_string_equal(js_trouble(kit_js()), "disk I/O error");
    power_vfs_errors(0);
    make_room();
    stream_unref(s);
}

static void
end_consumer(struct stream *s, const char *name)
{
    struct js_fail f = {0};
    struct consumer *c = consumer_find(s, name);
    assert_int_equal(consumer_delete(c, 0, &f), JS_OK);
    consumer_unref(c);
}

static void
assert_no_more_consumers(struct stream *s)
{
    assert_int_equal(kit_refused_consumer(s, "{\"name\":\"more\"}", CONSUMER_CREATE_OR_UPDATE),
                     MAXIMUM_CONSUMERS);
}

static void
test_the_limit_of_consumers_counts_those_that_are(void **state)
{
    (void)state;
    struct stream *s = kit_stream("{\"name\":\"F\",\"subjects\":[\"f.*\"],\"max_consumers\":2}");
    consumer_unref(kit_consumer(s, "{\"durable_name\":\"a\"}"));
    consumer_unref(kit_consumer(s, "{\"name\":\"b\",\"inactive_threshold\":1000000000}"));
    assert_no_more_consumers(s);
    consumer_unref(kit_consumer(s, "{\"durable_name\":\"a\",\"description\":\"changed\"}"));
    assert_no_more_consumers(s);
    jskit_advance(3 * CLOCK_S);
    assert_false(has_consumer(s, "b"));
    consumer_unref(kit_consumer(s, "{\"durable_name\":\"c\"}"));
    assert_no_more_consumers(s);
    stream_unref(s);
    kit_restart();
    s = find("F");
    assert_no_more_consumers(s);
    end_consumer(s, "a");
    end_consumer(s, "c");
    consumer_unref(kit_consumer(s, "{\"durable_name\":\"d\"}"));
    consumer_unref(kit_consumer(s, "{\"durable_name\":\"e\"}"));
    assert_no_more_consumers(s);
    stream_unref(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_full_disk_refuses_what_needs_a_write_and_nothing_changes),
        TEST(test_a_full_disk_is_nothing_to_what_is_in_memory),
        TEST(test_what_is_deleted_on_a_full_disk_is_written_when_there_is_room),
        TEST(test_what_is_deleted_on_a_full_disk_is_there_again_where_the_server_ends_before),
        TEST(test_what_is_made_as_the_disk_gets_full_is_written_when_there_is_room),
        TEST(test_errors_of_the_disk_are_told_by_their_name),
        TEST(test_the_limit_of_consumers_counts_those_that_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
