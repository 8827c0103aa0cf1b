/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config_js.h"

#include <string.h>

#include "server/base/clock.h"
#include "server/config.h"
#include "tests/support/cmk.h"
#include "tests/support/conffile.h"

static void
test_config_js_is_off_unless_asked_for(void **state)
{
    (void)state;
    static const char *const off[] = {"port: 1", "jetstream: false", "jetstream: disabled",
                                      "jetstream { enabled: no, store_dir: x }"};
    static const char *const on[] = {"jetstream: true", "jetstream: enabled", "jetstream {}",
                                     "jetstream { store_dir: x }", "jetstream { enable: yes }"};
    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
        struct config *c = conffile_good(off[i]);
        assert_false(c->js.enabled);
        config_unref(c);
    }
    for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
        struct config *c = conffile_good(on[i]);
        assert_true(c->js.enabled);
        config_unref(c);
    }
}

static void
test_config_js_defaults_are_durable_strict_and_of_the_machine(void **state)
{
    (void)state;
    struct config *c = conffile_good("jetstream {}");
    assert_int_equal(c->js.sync_interval, 0);
    assert_true(c->js.strict);
    assert_int_equal(c->js.max_memory, -1);
    assert_int_equal(c->js.max_file, -1);
    assert_int_equal(c->js.max_consumers, 1000);
    assert_int_equal(c->js.batch_msgs, 0);
    assert_int_equal(c->js.batch_timeout, 0);
    assert_null(c->js.domain);
    assert_null(c->store_dir);
    config_unref(c);
}

static void
test_config_js_reads_the_block(void **state)
{
    (void)state;
    struct config *c = conffile_good(
        "jetstream { storedir: d, max_mem: 1MB, max_file: '2G', domain: hub, sync: '2m'\n"
        "strict: false, max_buffered_msgs: 5, max_buffered_size: 1K\n"
        "max_outstanding_catchup: 64MB, unique_tag: az\n"
        "limits { max_ack_pending: 6, max_request_batch: 7, duplicate_window: '8s'\n"
        "max_ha_assets: 3, default_max_consumers: 9\n"
        "batch { max_inflight_per_stream: 10, max_msgs: 11, timeout: '12s' } } }");
    assert_string_equal(c->store_dir, "d");
    assert_int_equal(c->js.max_memory, 1 << 20);
    assert_int_equal(c->js.max_file, INT64_C(2) << 30);
    assert_string_equal(c->js.domain, "hub");
    assert_int_equal(c->js.sync_interval, 120 * CLOCK_S);
    assert_false(c->js.strict);
    assert_int_equal(c->js.max_buffered_msgs, 5);
    assert_int_equal(c->js.max_buffered_size, 1000);
    assert_int_equal(c->js.max_ack_pending, 6);
    assert_int_equal(c->js.max_request_batch, 7);
    assert_int_equal(c->js.duplicate_window, 8 * CLOCK_S);
    assert_int_equal(c->js.max_consumers, 9);
    assert_int_equal(c->js.batch_per_stream, 10);
    assert_int_equal(c->js.batch_total, 0);
    assert_int_equal(c->js.batch_msgs, 11);
    assert_int_equal(c->js.batch_timeout, 12 * CLOCK_S);
    config_unref(c);
}

static void
test_config_js_sync_always_is_no_interval(void **state)
{
    (void)state;
    struct config *c = conffile_good("jetstream { sync_interval: Always }");
    assert_int_equal(c->js.sync_interval, 0);
    config_unref(c);
}

static void
test_config_js_accounts_have_it_where_they_say_so(void **state)
{
    (void)state;
    struct config *c = conffile_good(
        "jetstream: true\naccounts {\n A { jetstream: enabled }\n B { users: [] }\n"
        " C { jetstream { mem: 1K, disk: 2K, streams: 3, consumers: 4, max_ack_pending: 5\n"
        "  mem_max_stream_bytes: 6, disk_max_stream_bytes: 7, max_bytes: true } }\n"
        " D { jetstream: false } }");
    const struct config_js_account *a = &c->accounts[0]->js;
    assert_true(a->enabled);
    assert_int_equal(a->max_memory, -1);
    assert_int_equal(a->max_streams, -1);
    assert_false(c->accounts[1]->js.enabled);
    a = &c->accounts[2]->js;
    assert_true(a->enabled);
    assert_int_equal(a->max_memory, 1000);
    assert_int_equal(a->max_file, 2000);
    assert_int_equal(a->max_streams, 3);
    assert_int_equal(a->max_consumers, 4);
    assert_int_equal(a->max_ack_pending, 5);
    assert_int_equal(a->memory_max_stream_bytes, 6);
    assert_int_equal(a->store_max_stream_bytes, 7);
    assert_true(a->max_bytes_required);
    assert_false(c->accounts[3]->js.enabled);
    assert_false(config_js_account_equal(a, &c->accounts[0]->js));
    assert_true(config_js_account_equal(a, a));
    config_unref(c);
}

static void
test_config_js_says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *err;
    } cases[] = {
        {"jetstream: 3", "Expected map, bool or string to define JetStream, got int64"},
        {"jetstream: maybe", "Expected 'enabled' or 'disabled' for string value, got 'maybe'"},
        {"jetstream { nope: 1 }", "unknown field \"nope\""},
        {"store_dir: a\njetstream { store_dir: b }", "Duplicate 'store_dir' configuration"},
        {"jetstream { max_mem: '3Q' }", "sizes defined as strings must end in K, M, G, T"},
        {"jetstream { max_mem: true }", "must be int64 or string"},
        {"jetstream { domain: a.b }", "invalid domain name: may not contain ., * or >"},
        {"jetstream { limits { nope: 1 } }", "unknown field \"nope\""},
        {"accounts { A { jetstream { mem: x } } }", "Expected a parseable size for \"mem\""},
        {"accounts { A { jetstream { max_bytes: 1 } } }", "Expected a parseable bool"},
        {"accounts { A { jetstream { nope: 1 } } }", "unknown field \"nope\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char told[CONFFILE_TEXT];
        struct config *c = NULL;
        assert_int_not_equal(conffile_load(cases[i].text, &c, told), ST_OK);
        if (strstr(told, cases[i].err) == NULL) {
            fail_msg("%s: %s", cases[i].text, told);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_js_is_off_unless_asked_for),
        cmocka_unit_test(test_config_js_defaults_are_durable_strict_and_of_the_machine),
        cmocka_unit_test(test_config_js_reads_the_block),
        cmocka_unit_test(test_config_js_sync_always_is_no_interval),
        cmocka_unit_test(test_config_js_accounts_have_it_where_they_say_so),
        cmocka_unit_test(test_config_js_says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
