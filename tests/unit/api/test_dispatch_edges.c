/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher when memory is out, settings change, the plane closes; without threads. */
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

static void
unlimited(struct api_opts *o)
{
    o->limits = false;
    o->request_queue_limit = 0;
}

static void
test_dispatch_refusals_have_the_form_of_their_family(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(0);
    opts.request_queue_limit = opts.info_queue_limit = 0;
    assert_int_equal(api_update(rig.api, &opts), ST_OK);
    rig_send(&rig_note, 2, 7, "a");
    struct fake_msg *m = fakehost_take(&rig.host);
    json_t *o = json_loads(m->data, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(o, "type")), "io.nats.note");
    json_decref(o);
    fakehost_free(m);
    rig_send(&rig_sys_note, 2, 7, "a");
    m = fakehost_take(&rig.host);
    o = json_loads(m->data, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(json_object_get(o, "server"), "id")),
                        FAKE_ID);
    assert_string_equal(m->subject, "_INBOX.r");
    assert_ptr_equal(m->acc, fakehost_account(2));
    json_decref(o);
    fakehost_free(m);
}

static void
test_dispatch_without_memory_for_a_copy_refuses_aloud(void **state)
{
    (void)state;
    mem_fail_at(0);
    rig_send(&rig_note, 2, 7, "a");
    mem_fail_at(-1);
    (void)rig_expect_error(503, 10008, "out of memory");
    assert_int_equal(books_ended(rig.api, LEDGER_REFUSED), 1);
    rig_send(&rig_note, 2, 7, "b");
    rig_step_all();
    rig_expect_data("b");
}

static void
test_dispatch_survives_each_single_fault_of_memory(void **state)
{
    (void)state;
    bool fired = true;
    for (long n = 0; fired; n++) {
        mem_fail_at(n);
        rig_send(&rig_note, 2, 7, "x");
        (void)dispatch_step(rig.api, APIQ_LANE_ANY);
        fired = mem_fail_fired() != 0;
        mem_fail_at(-1);
        struct fake_msg *m = fakehost_take(&rig.host);
        assert_non_null(m);
        fakehost_free(m);
        rig_expect_silence();
        assert_int_equal(books_open(rig.api), 0);
    }
}

static void
test_dispatch_close_ends_what_waits_and_refuses_what_comes(void **state)
{
    (void)state;
    rig_send(&rig_note, 2, 7, "a");
    api_close(rig.api);
    (void)rig_expect_error(503, 10008, "not executed");
    assert_int_equal(books_ended(rig.api, LEDGER_CANCELLED), 1);
    rig_send(&rig_note, 2, 7, "b");
    (void)rig_expect_error(503, 10008, "not executed");
    assert_int_equal(books_ended(rig.api, LEDGER_REFUSED), 1);
    assert_string_equal(rig.ran, "");
}

static void
test_dispatch_settings_change_with_requests_waiting_and_lose_none(void **state)
{
    (void)state;
    char data[2] = "a";
    for (int i = 0; i < 8; i++, data[0]++) {
        rig_send(&rig_note, 2, 7, data);
    }
    rig_update(rig_lifo);
    assert_true(dispatch_step(rig.api, APIQ_LANE_ANY));
    rig_update(rig_limit_2); /* and back to adaptive: the oldest first */
    rig_step_all();
    assert_string_equal(rig.ran, "hfg");
    assert_int_equal(books_ended(rig.api, LEDGER_EVICTED), 5);
    assert_int_equal(books_ended(rig.api, LEDGER_ANSWERED), 3);
    assert_int_equal(rig.host.published, 8);
}

static void
test_dispatch_without_limits_there_are_no_deadlines_and_no_levels(void **state)
{
    (void)state;
    rig_update(unlimited);
    rig_send_hdr(&rig_note, 2, 7, "_INBOX.r", "a", "NATS/1.0\r\nNats-Request-Timeout: 1ms\r\n\r\n");
    rig_send(&rig_sys_note, 1, 7, "b");
    clock_fake_advance(&rig.now, 3600 * CLOCK_S);
    rig_step_all();
    assert_string_equal(rig.ran, "ab");
}

/* After a standstill: what came so late that it would only put out another such one. */
static void
test_dispatch_a_full_queue_refuses_what_comes_too_late(void **state)
{
    (void)state;
    rig_update(rig_limit_2);
    clock_fake_advance(&rig.now, 100 * CLOCK_S);
    struct api_message m = fakehost_request(2, 7, "$JS.API.NOTE", "_INBOX.r", "a");
    m.now = rig.now.t - 4 * CLOCK_S;
    api_receive(rig.api, &rig_note, &m);
    api_receive(rig.api, &rig_note, &m);
    rig_expect_silence();
    api_receive(rig.api, &rig_note, &m);
    assert_true(rig_expect_error(503, 10008, "not executed") > 0);
    rig_expect_silence();
    assert_int_equal(books_ended(rig.api, LEDGER_REFUSED), 1);
    m.now = rig.now.t - 100 * CLOCK_MS;
    m.data = "b";
    api_receive(rig.api, &rig_note, &m);
    (void)rig_expect_error(503, 10008, "not executed");
    assert_int_equal(books_ended(rig.api, LEDGER_EVICTED), 1);
    books_check(rig.api);
    rig_step_all();
    assert_string_equal(rig.ran, "ba");
}

static void
test_dispatch_the_retry_hint_is_bounded_and_spread(void **state)
{
    (void)state;
    bool differs = false;
    int64_t first = reply_retry_ns(CLOCK_S);
    for (int i = 0; i < 1000; i++) {
        int64_t v = reply_retry_ns(CLOCK_S);
        assert_in_range(v, 750 * CLOCK_MS, 1250 * CLOCK_MS);
        differs = differs || v != first;
        assert_in_range(reply_retry_ns(1), REPLY_RETRY_MIN * 3 / 4, REPLY_RETRY_MIN * 5 / 4);
        assert_in_range(reply_retry_ns(INT64_MAX), REPLY_RETRY_MAX * 3 / 4,
                        REPLY_RETRY_MAX * 5 / 4);
        assert_in_range(reply_retry_ns(0), 750 * CLOCK_MS, 1250 * CLOCK_MS);
    }
    assert_true(differs);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_dispatch_refusals_have_the_form_of_their_family),
        T(test_dispatch_without_memory_for_a_copy_refuses_aloud),
        T(test_dispatch_survives_each_single_fault_of_memory),
        T(test_dispatch_close_ends_what_waits_and_refuses_what_comes),
        T(test_dispatch_settings_change_with_requests_waiting_and_lose_none),
        T(test_dispatch_without_limits_there_are_no_deadlines_and_no_levels),
        T(test_dispatch_a_full_queue_refuses_what_comes_too_late),
        T(test_dispatch_the_retry_hint_is_bounded_and_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
