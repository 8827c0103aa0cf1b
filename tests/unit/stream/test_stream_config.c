/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_config.h"

#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/mem.h"

static struct js_fail fail;

static struct stream_config *
parse(const char *text)
{
    struct stream_config *c = NULL;
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o);
    memset(&fail, 0, sizeof fail);
    if (stream_config_from_json(o, true, &c, &fail) != JS_OK) {
        c = NULL;
    }
    json_decref(o);
    return c;
}

static enum js_error
check(const char *text, bool pedantic)
{
    struct stream_config *c = parse(text);
    assert_non_null(c);
    enum js_error e = stream_config_check(c, NULL, NULL, pedantic, &fail);
    stream_config_free(c);
    return e;
}

static void
refused(const char *text, int err_code, const char *why)
{
    assert_int_not_equal(check(text, false), JS_OK);
    assert_int_equal(fail.err_code, err_code);
    assert_string_equal(fail.text, why);
}

static void
unread(const char *text, const char *why)
{
    assert_null(parse(text));
    assert_int_equal(fail.err_code, 10025);
    assert_string_equal(fail.text, why);
}

static void
test_config_of_the_wrong_type_is_refused_with_gos_text(void **state)
{
    (void)state;
#define GO "invalid JSON: json: cannot unmarshal "
#define IN " into Go struct field StreamConfigRequest.StreamConfig."
    unread("{\"max_msgs\":\"x\"}", GO "string" IN "max_msgs of type int64");
    unread("{\"subjects\":\"x\"}", GO "string" IN "subjects of type []string");
    unread("{\"subjects\":[1]}", GO "number" IN "subjects of type string");
    unread("{\"max_age\":1.5}", GO "number 1.5" IN "max_age of type time.Duration");
    unread("{\"max_msg_size\":99999999999}",
           GO "number 99999999999" IN "max_msg_size of type int32");
    unread("{\"retention\":\"x\"}", "invalid JSON: can not unmarshal \"\\\"x\\\"\"");
    unread("{\"storage\":3}", "invalid JSON: can not unmarshal \"3\"");
    unread("{\"mirror\":{\"name\":3}}",
           GO "number into Go struct field StreamSource.StreamConfig.mirror.name of type string");
    unread("{\"foo\":3}", "invalid JSON: json: unknown field \"foo\"");
    unread("{\"pedantic\":1}",
           GO "number into Go struct field StreamConfigRequest.pedantic of type bool");
}

static void
test_config_survives_its_json(void **state)
{
    static const char text[] =
        "{\"name\":\"A\",\"description\":\"d\",\"subjects\":[\"a\",\"b.*\"],"
        "\"retention\":\"interest\",\"max_consumers\":1,\"max_msgs\":2,\"max_bytes\":3,\"max_age\":"
        "4,"
        "\"max_msgs_per_subject\":5,\"max_msg_size\":6,\"discard\":\"new\",\"storage\":\"memory\","
        "\"num_replicas\":1,\"no_ack\":true,\"duplicate_window\":7,\"placement\":{\"cluster\":"
        "\"c\"},"
        "\"sources\":[{\"name\":\"S\",\"opt_start_time\":\"2026-01-01T00:00:00Z\","
        "\"external\":{\"api\":\"x\",\"deliver\":\"\"}},{\"name\":\"T\",\"subject_transforms\":"
        "[{\"src\":\"a\",\"dest\":\"b\"}]}],\"compression\":\"s2\",\"first_seq\":8,"
        "\"subject_transform\":{\"src\":\"a\",\"dest\":\"c\"},"
        "\"republish\":{\"src\":\"a\",\"dest\":\"d\",\"headers_only\":true},\"allow_direct\":true,"
        "\"mirror_direct\":false,\"discard_new_per_subject\":true,\"sealed\":false,"
        "\"deny_delete\":true,\"deny_purge\":true,\"allow_rollup_hdrs\":false,"
        "\"consumer_limits\":{\"inactive_threshold\":9},\"allow_msg_ttl\":true,"
        "\"subject_delete_marker_ttl\":10,\"allow_msg_counter\":true,\"allow_atomic\":true,"
        "\"allow_msg_schedules\":true,\"persist_mode\":\"async\",\"allow_batched\":true,"
        "\"metadata\":{\"k\":\"v\"}}";
    (void)state;
    struct stream_config *c = parse(text), *copy;
    assert_non_null(c);
    json_t *o = stream_config_to_json(c);
    char *back = json_dumps(o, JSON_COMPACT);
    assert_string_equal(back, text);
    assert_int_equal(stream_config_copy(c, &copy), ST_OK);
    assert_true(stream_config_equal(c, copy));
    copy->max_msgs++;
    assert_false(stream_config_equal(c, copy));
    stream_config_free(copy);
    stream_config_free(c);
    json_decref(o);
    mem_free(back);
}

static void
test_config_gets_nats_servers_defaults(void **state)
{
    (void)state;
    struct stream_config *c = parse("{\"name\":\"A\",\"max_age\":60000000000}");
    assert_int_equal(stream_config_check(c, NULL, NULL, false, &fail), JS_OK);
    assert_int_equal(c->n_subjects, 1);
    assert_string_equal(c->subjects[0], "A");
    assert_int_equal(c->max_msgs, -1);
    assert_int_equal(c->replicas, 1);
    assert_int_equal(c->duplicates, 60000000000);
    assert_int_equal(c->storage, STORAGE_FILE);
    stream_config_free(c);
}

static void
test_config_check_refuses_what_nats_server_does(void **state)
{
    (void)state;
    refused("{\"name\":\"a.b\"}", 10052,
            "stream name is required and can not contain '.', '*', '>', '\\', '/'");
    refused("{\"name\":\"A\",\"subjects\":[\"a..b\"]}", 10052, "invalid subject");
    refused("{\"name\":\"A\",\"subjects\":[\"a.*\",\"a.>\"]}", 10052,
            "subject \"a.*\" overlaps with \"a.>\"");
    refused("{\"name\":\"A\",\"subjects\":[\">\"]}", 10052,
            "capturing all subjects requires no-ack to be true");
    refused("{\"name\":\"A\",\"subjects\":[\"$JS.API.x\"]}", 10052,
            "subjects that overlap with jetstream api require no-ack to be true");
    assert_int_equal(check("{\"name\":\"A\",\"subjects\":[\"$JS.EVENT.ADVISORY.>\"]}", false),
                     JS_OK);
    refused("{\"name\":\"A\",\"num_replicas\":-1}", 10133, "replicas count cannot be negative");
    refused("{\"name\":\"A\",\"max_age\":5}", 10052, "max age needs to be >= 100ms");
    refused("{\"name\":\"A\",\"deny_purge\":true,\"allow_rollup_hdrs\":true}", 10052,
            "roll-ups require the purge permission");
    refused("{\"name\":\"A\",\"mirror\":{\"name\":\"B\"},\"subjects\":[\"a\"]}", 10034,
            "stream mirrors can not contain subjects");
    refused("{\"name\":\"A\",\"mirror\":{\"name\":\"B\"},\"first_seq\":2}", 10143,
            "stream mirrors can not have first sequence configured");
    refused("{\"name\":\"A\",\"sources\":[{\"name\":\"B\"},{\"name\":\"B\"}]}", 10140,
            "duplicate source configuration detected");
    refused(
        "{\"name\":\"A\",\"subject_transform\":{\"src\":\"a.*\",\"dest\":\"b.$2\"}}", 10156,
        "stream transform: invalid mapping destination: wildcard index out of range in $2: [2]");
    refused("{\"name\":\"A\",\"republish\":{\"src\":\">\",\"dest\":\"A\"}}", 10052,
            "stream configuration for republish destination forms a cycle");
    refused("{\"name\":\"A\",\"allow_msg_counter\":true,\"discard\":\"new\"}", 10052,
            "counter stream cannot use discard new");
}

static void
test_config_pedantic_demands_what_else_is_set(void **state)
{
    (void)state;
    const char *text = "{\"name\":\"A\",\"max_msgs\":-5}";
    assert_int_equal(check(text, false), JS_OK);
    assert_int_equal(check(text, true), JS_ERR_PEDANTIC);
    assert_string_equal(fail.text, "pedantic mode: max_msgs must be set to -1");
}

static void
not_updated(const char *from, const char *to, const char *why)
{
    struct stream_config *a = parse(from), *b = parse(to);
    assert_int_equal(stream_config_check(a, NULL, NULL, false, &fail), JS_OK);
    assert_int_equal(stream_config_check(b, NULL, NULL, false, &fail), JS_OK);
    assert_int_not_equal(stream_config_check_update(a, b, &fail), JS_OK);
    assert_string_equal(fail.text, why);
    stream_config_free(a);
    stream_config_free(b);
}

static void
test_config_update_refuses_what_may_not_change(void **state)
{
    (void)state;
    not_updated("{\"name\":\"A\"}", "{\"name\":\"A\",\"storage\":\"memory\"}",
                "stream configuration update can not change storage type");
    not_updated("{\"name\":\"A\"}", "{\"name\":\"A\",\"retention\":\"workqueue\"}",
                "stream configuration update can not change retention policy to/from workqueue");
    not_updated("{\"name\":\"A\",\"deny_delete\":true}", "{\"name\":\"A\"}",
                "stream configuration update can not cancel deny message deletes");
    not_updated("{\"name\":\"A\",\"allow_msg_ttl\":true}", "{\"name\":\"A\"}",
                "message TTL status can not be disabled");
    not_updated("{\"name\":\"A\",\"mirror\":{\"name\":\"B\"}}",
                "{\"name\":\"A\",\"mirror\":{\"name\":\"C\"}}",
                "stream mirror configuration can not be updated");
}

static void
test_config_survives_lack_of_memory(void **state)
{
    (void)state;
    json_t *o = json_loads("{\"name\":\"A\",\"subjects\":[\"a\"],\"sources\":[{\"name\":\"B\","
                           "\"subject_transforms\":[{\"src\":\"a\",\"dest\":\"b\"}]}]}",
                           0, NULL);
    long live = mem_live();
    struct stream_config *c = NULL;
    enum js_error e = JS_ERR_INSUFFICIENT_RESOURCES;
    for (long n = 0; e != JS_OK; n++) {
        mem_fail_at(n);
        e = stream_config_from_json(o, true, &c, &fail);
        mem_fail_at(-1);
        if (e != JS_OK) {
            assert_int_equal(mem_live(), live);
        }
    }
    stream_config_free(c);
    assert_int_equal(mem_live(), live);
    json_decref(o);
}

static int
use_mem(void **state)
{
    (void)state;
    json_set_alloc_funcs(mem_alloc, mem_free);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_of_the_wrong_type_is_refused_with_gos_text),
        cmocka_unit_test(test_config_survives_its_json),
        cmocka_unit_test(test_config_gets_nats_servers_defaults),
        cmocka_unit_test(test_config_check_refuses_what_nats_server_does),
        cmocka_unit_test(test_config_pedantic_demands_what_else_is_set),
        cmocka_unit_test(test_config_update_refuses_what_may_not_change),
        cmocka_unit_test(test_config_survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, use_mem, NULL);
}
