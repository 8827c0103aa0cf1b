/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator sees of an incident. Without threads: the tests move the clock. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/advisory.h"
#include "api/plane.h"
#include "api/reply.h"
#include "api/request.h"
#include "api/ticker.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/rig.h"
#include "tests/support/wlm_kit.h"

/* Takes 10 ms. */
static enum status
run_note(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    (void)r;
    clock_fake_advance(&rig.now, 10 * CLOCK_MS);
    buf_puts(&out->body, "{}");
    return buf_status(&out->body);
}

static const struct api_endpoint note = {
    .name = "note", .subjects = {"$JS.API.NOTE"}, .level = APIQ_NORMAL, .run = run_note};
static const struct api_endpoint names = {
    .name = "names", .subjects = {"$JS.API.NAMES"}, .level = APIQ_INFO, .run = run_note};

static void
limit_50(struct api_opts *o)
{
    o->request_queue_limit = 50;
}

static int
set_up(void **state)
{
    int rc = rig_set_up(state);
    rig_update(limit_50);
    return rc;
}

static void
send(const struct api_endpoint *ep, unsigned acc, int times)
{
    struct api_message m = fakehost_request(acc, 7, ep->subjects[0], "_INBOX.r", "");
    m.now = rig.now.t;
    for (int i = 0; i < times; i++) {
        api_receive(rig.api, ep, &m);
    }
}

static void
second(void)
{
    clock_fake_advance(&rig.now, CLOCK_S);
    ticker_tick(rig.api->ticker);
}

static void
expect_int(const json_t *o, const char *path, int64_t v)
{
    assert_int_equal(json_integer_value(wlm_kit_at(o, path)), v);
}

static void
expect_text(const json_t *o, const char *path, const char *v)
{
    assert_string_equal(json_string_value(wlm_kit_at(o, path)), v);
}

static void
test_apiz_a_plane_at_rest_is_calm(void **state)
{
    (void)state;
    json_t *z = api_apiz(rig.api);
    expect_text(z, "server_id", FAKE_ID);
    expect_int(z, "now.waiting", 0);
    expect_text(z, "now.order", "oldest_first");
    expect_text(z, "hint.state", "calm");
    assert_true(json_is_false(wlm_kit_at(z, "overload.overloaded")));
    expect_int(z, "lost.total", 0);
    assert_int_equal(json_array_size(wlm_kit_at(z, "history")), 0);
    json_decref(z);
}

static void
test_apiz_shows_what_waits_who_sends_it_and_what_was_lost(void **state)
{
    (void)state;
    send(&note, 2, 60);
    send(&names, 3, 5);
    clock_fake_advance(&rig.now, 300 * CLOCK_MS);
    json_t *z = api_apiz(rig.api);
    expect_int(z, "now.waiting", 55);
    assert_true(json_number_value(wlm_kit_at(z, "now.oldest_age_ms")) >= 300);
    expect_int(z, "levels.normal.waiting", 50);
    expect_int(z, "levels.normal.limit", 50);
    expect_int(z, "levels.normal.peak", 50);
    expect_int(z, "lost.total", 10);
    expect_int(z, "lost.reasons.evicted", 10);
    expect_text(z, "lost.accounts.0.account", "A2");
    expect_int(z, "lost.accounts.0.evicted", 10);
    assert_non_null(wlm_kit_at(z, "lost.accounts.0.first"));
    expect_text(z, "who.by_arrivals.0.account", "A2");
    expect_text(z, "who.by_arrivals.0.class", "$JS.API.NOTE");
    expect_int(z, "who.by_waiting.0.waiting", 50);
    expect_text(z, "who.by_waiting.1.account", "A3");
    expect_int(z, "who.by_waiting.1.waiting", 5);
    expect_int(z, "limits.request_queue_limit", 50);
    int64_t sum = 0;
    static const char *const parts[] = {"answered",  "refused", "evicted", "expired",
                                        "cancelled", "queued",  "running"};
    for (size_t i = 0; i < 7; i++) {
        sum += json_integer_value(json_object_get(wlm_kit_at(z, "counters"), parts[i]));
    }
    expect_int(z, "counters.received", sum);
    json_decref(z);
}

static void
test_apiz_newest_first_engages_is_visible_and_goes_back(void **state)
{
    (void)state;
    send(&note, 2, 40);
    assert_true(dispatch_step(rig.api, APIQ_LANE_ANY));
    json_t *z = api_apiz(rig.api);
    expect_text(z, "levels.normal.order", "oldest_first");
    json_decref(z);
    clock_fake_advance(&rig.now, 600 * CLOCK_MS);
    assert_true(dispatch_step(rig.api, APIQ_LANE_ANY));
    z = api_apiz(rig.api);
    expect_text(z, "now.order", "newest_first");
    expect_text(z, "levels.normal.order", "newest_first");
    expect_text(z, "levels.normal.discipline", "adaptive");
    assert_non_null(wlm_kit_at(z, "now.order_since"));
    expect_int(z, "levels.normal.order_switches", 1);
    json_decref(z);
    while (dispatch_step(rig.api, APIQ_LANE_ANY)) {
    }
    z = api_apiz(rig.api);
    expect_text(z, "levels.normal.order", "oldest_first");
    expect_int(z, "levels.normal.order_switches", 2);
    json_decref(z);
}

static void
test_apiz_tells_worker_time_by_account(void **state)
{
    (void)state;
    send(&note, 2, 3);
    send(&note, 5, 30);
    while (dispatch_step(rig.api, APIQ_LANE_ANY)) {
    }
    json_t *z = api_apiz(rig.api);
    expect_text(z, "who.by_workers.0.account", "A5");
    assert_true(json_number_value(wlm_kit_at(z, "who.by_workers.0.workers")) > 0);
    json_decref(z);
}

static void
test_apiz_history_keeps_a_minute(void **state)
{
    (void)state;
    for (int i = 0; i < 70; i++) {
        send(&note, 2, i == 69 ? 3 : 1);
        while (dispatch_step(rig.api, APIQ_LANE_ANY)) {
        }
        second();
    }
    json_t *z = api_apiz(rig.api);
    assert_int_equal(json_array_size(wlm_kit_at(z, "history")), 60);
    expect_int(z, "history.59.arrivals", 3);
    expect_int(z, "history.59.answered", 3);
    expect_int(z, "history.0.arrivals", 1);
    json_decref(z);
    ticker_tick(rig.api->ticker);
    z = api_apiz(rig.api);
    expect_int(z, "history.59.arrivals", 3);
    json_decref(z);
}

/* The next event of that subject, or NULL. */
static json_t *
event(const char *subject)
{
    struct fake_msg *m;
    json_t *o = NULL;
    while (o == NULL && (m = fakehost_take(&rig.host)) != NULL) {
        if (strcmp(m->subject, subject) == 0) {
            assert_ptr_equal(m->acc, fakehost_account(1));
            o = json_loads(m->data, 0, NULL);
        }
        fakehost_free(m);
    }
    return o;
}

static void
test_apiz_an_overload_is_told_when_it_begins_and_when_it_ends(void **state)
{
    (void)state;
    rig.host.events = true;
    second();
    assert_null(event(ADVISORY_OVERLOAD_SUBJECT));
    send(&note, 2, 60);
    second();
    json_t *e = event(ADVISORY_OVERLOAD_SUBJECT);
    expect_text(e, "state", "begin");
    expect_text(e, "type", ADVISORY_OVERLOAD_TYPE);
    expect_text(e, "server", FAKE_NAME);
    expect_int(e, "evicted", 10);
    expect_int(e, "depth", 50);
    json_decref(e);
    while (dispatch_step(rig.api, APIQ_LANE_ANY)) {
    }
    json_t *z = api_apiz(rig.api);
    assert_true(json_is_true(wlm_kit_at(z, "overload.overloaded")));
    json_decref(z);
    for (int i = 0; i < 4; i++) {
        second();
        assert_null(event(ADVISORY_OVERLOAD_SUBJECT));
    }
    second();
    e = event(ADVISORY_OVERLOAD_SUBJECT);
    expect_text(e, "state", "end");
    json_decref(e);
    z = api_apiz(rig.api);
    assert_true(json_is_false(wlm_kit_at(z, "overload.overloaded")));
    expect_int(z, "overload.times", 1);
    json_decref(z);
}

static void
test_apiz_an_overload_is_told_in_figures_of_three_places(void **state)
{
    (void)state;
    rig.host.events = true;
    send(&note, 2, 60);
    clock_fake_advance(&rig.now, 960751 * CLOCK_US);
    second();
    bool told = false;
    for (struct fake_msg *m; (m = fakehost_take(&rig.host)) != NULL; fakehost_free(m)) {
        told = told || strstr(m->data, "\"oldest_age_ms\":1960.751,") != NULL;
    }
    assert_true(told);
}

static void
test_apiz_the_order_lifo_is_no_overload(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(0);
    opts.discipline = API_LIFO;
    assert_int_equal(api_update(rig.api, &opts), ST_OK);
    send(&note, 2, 2);
    second();
    json_t *z = api_apiz(rig.api);
    expect_text(z, "now.order", "newest_first");
    assert_true(json_is_false(wlm_kit_at(z, "overload.overloaded")));
    json_decref(z);
}

static void
test_apiz_the_limit_advisory_comes_once_a_second_with_the_number_dropped(void **state)
{
    (void)state;
    rig.host.events = true;
    send(&note, 2, 60);
    json_t *e = event(ADVISORY_LIMIT_SUBJECT);
    expect_text(e, "type", "io.nats.jetstream.advisory.v1.api_limit_reached");
    expect_text(e, "server", FAKE_NAME);
    expect_int(e, "dropped", 1);
    assert_non_null(wlm_kit_at(e, "timestamp"));
    assert_int_equal(strlen(json_string_value(wlm_kit_at(e, "id"))), 22);
    json_decref(e);
    assert_null(event(ADVISORY_LIMIT_SUBJECT));
    second();
    e = event(ADVISORY_LIMIT_SUBJECT);
    expect_int(e, "dropped", 9);
    json_decref(e);
    second();
    assert_null(event(ADVISORY_LIMIT_SUBJECT));
}

static void
test_apiz_metrics_are_in_the_text_format_with_labels_escaped(void **state)
{
    (void)state;
    struct api_message m = fakehost_request(2, 7, "$JS.API.NOTE", "_INBOX.r", "");
    m.now = rig.now.t;
    m.origin.account_key = 77;
    m.origin.account_name = "a\"b\\c\nd";
    for (int i = 0; i < 51; i++) {
        api_receive(rig.api, &note, &m);
    }
    char *text = api_metrics(rig.api);
    assert_non_null(text);
    assert_non_null(strstr(text, "# TYPE sluice_api_received_total counter\n"));
    assert_non_null(strstr(text, "\nsluice_api_received_total{level=\"normal\"} 51\n"));
    assert_non_null(
        strstr(text, "\nsluice_api_ended_total{level=\"normal\",outcome=\"evicted\"} 1\n"));
    assert_non_null(strstr(text, "{account=\"a\\\"b\\\\c\\nd\"} 51\n"));
    assert_non_null(strstr(text, "_bucket{level=\"info\",le=\"+Inf\"} 0\n"));
    /* Each line is a comment or a sample whose metric was introduced. */
    char *save;
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        assert_true(strncmp(line, "# HELP ", 7) == 0 || strncmp(line, "# TYPE ", 7) == 0 ||
                    strncmp(line, "sluice_api_", 11) == 0);
    }
    mem_free(text);
}

static void
test_apiz_ipqueues_have_nats_servers_names(void **state)
{
    (void)state;
    send(&note, 2, 3);
    json_t *o = api_ipqueues(rig.api);
    expect_int(o, "JetStream API queue.pending", 3);
    expect_int(o, "JetStream API info queue.pending", 0);
    expect_int(o, "JetStream API info queue.in_progress", 0);
    json_decref(o);
}

static void
test_apiz_survives_each_single_fault_of_memory(void **state)
{
    (void)state;
    send(&note, 2, 60);
    second();
    json_set_alloc_funcs(mem_alloc_raw, mem_free);
    long live = mem_live();
    json_t *z = NULL;
    for (long n = 0; z == NULL; n++) {
        mem_fail_at(n);
        z = api_apiz(rig.api);
        mem_fail_at(-1);
        json_decref(z);
        assert_int_equal(mem_live(), live);
    }
    char *text = NULL;
    for (long n = 0; text == NULL; n++) {
        mem_fail_at(n);
        text = api_metrics(rig.api);
        mem_fail_at(-1);
        mem_free(text);
        assert_int_equal(mem_live(), live);
    }
    json_set_alloc_funcs(malloc, free);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, rig_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_apiz_a_plane_at_rest_is_calm),
        T(test_apiz_shows_what_waits_who_sends_it_and_what_was_lost),
        T(test_apiz_newest_first_engages_is_visible_and_goes_back),
        T(test_apiz_tells_worker_time_by_account),
        T(test_apiz_history_keeps_a_minute),
        T(test_apiz_an_overload_is_told_when_it_begins_and_when_it_ends),
        T(test_apiz_the_order_lifo_is_no_overload),
        T(test_apiz_an_overload_is_told_in_figures_of_three_places),
        T(test_apiz_the_limit_advisory_comes_once_a_second_with_the_number_dropped),
        T(test_apiz_metrics_are_in_the_text_format_with_labels_escaped),
        T(test_apiz_ipqueues_have_nats_servers_names),
        T(test_apiz_survives_each_single_fault_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
