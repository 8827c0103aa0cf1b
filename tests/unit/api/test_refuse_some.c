/* SPDX-License-Identifier: Apache-2.0 */
#include "api/refuse_some.h"

#include <jansson.h>
#include <string.h>

#include "server/base/clock.h"
#include "tests/support/cmk.h"
#include "tests/support/rig.h"

static int
tear_down(void **state)
{
    refuse_some_set(&(struct refuse_some){.every = 0});
    return rig_tear_down(state);
}

/* Asks the endpoint; its answer. */
static json_t *
ask(const char *payload)
{
    struct api_message m = fakehost_request(1, 9, "$SYS.REQ.TEST.REFUSE", "_INBOX.1", payload);
    m.now = rig.now.t;
    api_receive(rig.api, fakehost_endpoint(rig.api, m.subject, true), &m);
    rig_step_all();
    struct fake_msg *got = fakehost_take(&rig.host);
    assert_non_null(got);
    json_t *o = json_loads(got->data, 0, NULL);
    assert_non_null(o);
    fakehost_free(got);
    return o;
}

static void
expect_counts(const char *payload, json_int_t seen, json_int_t refused)
{
    json_t *o = ask(payload);
    assert_null(json_object_get(o, "error"));
    assert_int_equal(json_integer_value(json_object_get(o, "seen")), seen);
    assert_int_equal(json_integer_value(json_object_get(o, "refused")), refused);
    json_decref(o);
}

static void
test_refuse_some_refuses_every_third_in_turn_as_the_plane_does(void **state)
{
    (void)state;
    static const int codes[] = {429, 503, 408};
    expect_counts("{\"every\":3,\"subject\":\"$JS.API.>\"}", 0, 0);
    for (size_t i = 0; i < 3; i++) {
        rig_send(&rig_note, 2, 7, "a");
        rig_send(&rig_note, 2, 7, "b");
        rig_send(&rig_note, 2, 7, "c");
        assert_true(rig_expect_error(codes[i], 10008, "not executed") > 0);
        rig_expect_silence();
        rig_step_all();
        rig_expect_data("a");
        rig_expect_data("b");
        rig_expect_silence();
    }
    assert_string_equal(rig.ran, "ababab");
    assert_int_equal(books_ended(rig.api, LEDGER_REFUSED), 1);
    assert_int_equal(books_ended(rig.api, LEDGER_EVICTED), 1);
    assert_int_equal(books_ended(rig.api, LEDGER_EXPIRED), 1);
    expect_counts("", 9, 3);
}

static void
test_refuse_some_leaves_other_subjects_alone(void **state)
{
    (void)state;
    expect_counts("{\"every\":1,\"subject\":\"$JS.API.CONSUMER.>\"}", 0, 0);
    rig_send(&rig_note, 2, 7, "a");
    rig_step_all();
    rig_expect_data("a");
    expect_counts("", 0, 0);
}

static void
test_refuse_some_ends_after_so_many_times(void **state)
{
    (void)state;
    expect_counts("{\"every\":1,\"times\":2,\"subject\":\"$JS.API.NOTE\"}", 0, 0);
    rig_send(&rig_note, 2, 7, "a");
    rig_send(&rig_note, 2, 7, "b");
    rig_send(&rig_note, 2, 7, "c");
    (void)rig_expect_error(429, 10008, "not executed");
    (void)rig_expect_error(503, 10008, "not executed");
    rig_step_all();
    rig_expect_data("c");
    expect_counts("{\"every\":0}", 0, 0);
}

static void
test_refuse_some_takes_no_setting_that_is_none(void **state)
{
    (void)state;
    static const char *const bad[] = {"[]",
                                      "{",
                                      "{\"every\":-1,\"subject\":\"a\"}",
                                      "{\"every\":\"3\",\"subject\":\"a\"}",
                                      "{\"every\":3,\"times\":-1,\"subject\":\"a\"}",
                                      "{\"every\":3}",
                                      "{\"every\":3,\"subject\":\"a..b\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *o = ask(bad[i]);
        json_t *err = json_object_get(o, "error");
        assert_int_equal(json_integer_value(json_object_get(err, "code")), 400);
        json_decref(o);
    }
    expect_counts("", 0, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_refuse_some_refuses_every_third_in_turn_as_the_plane_does),
        T(test_refuse_some_leaves_other_subjects_alone),
        T(test_refuse_some_ends_after_so_many_times),
        T(test_refuse_some_takes_no_setting_that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
