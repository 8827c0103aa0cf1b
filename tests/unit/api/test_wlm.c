/* SPDX-License-Identifier: Apache-2.0 */
/* $WLM.API: what an operator asks and changes while requests wait. Without threads. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/rig.h"
#include "tests/support/wlm_kit.h"

static const struct api_endpoint names = {
    .name = "names", .subjects = {"$JS.API.NAMES"}, .level = APIQ_INFO, .run = rig_run_note};

static void
test_wlm_list_shows_what_waits_and_pages_through_it(void **state)
{
    (void)state;
    for (int i = 0; i < 25; i++) {
        rig_send(i % 5 == 0 ? &names : &rig_note, 2 + (unsigned)i % 2, 10 + (uint64_t)i % 3, "x");
    }
    clock_fake_advance(&rig.now, 100 * CLOCK_MS);
    json_t *o = wlm_kit_ask("$WLM.API.REQUEST.LIST", "");
    assert_string_equal(json_string_value(json_object_get(o, "type")),
                        "io.sluice.wlm.v1.request_list_response");
    assert_int_equal(wlm_kit_number(o, "total"), 25);
    const json_t *first = json_array_get(json_object_get(o, "requests"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "level")), "normal");
    assert_true(json_real_value(json_object_get(first, "age_ms")) >= 100);
    assert_true(json_real_value(json_object_get(first, "left_ms")) <= 4900);
    json_decref(o);
    bool seen[64] = {false};
    int n = 0;
    for (int offset = 0; offset < 30; offset += 10) {
        char q[64];
        (void)snprintf(q, sizeof(q), "{\"offset\":%d,\"limit\":10}", offset);
        o = wlm_kit_ask("$WLM.API.REQUEST.LIST", q);
        json_t *list = json_object_get(o, "requests");
        assert_int_equal(json_array_size(list), offset < 20 ? 10 : 5);
        for (size_t i = 0; i < json_array_size(list); i++) {
            int64_t id = wlm_kit_number(json_array_get(list, i), "id");
            assert_in_range(id, 1, 25);
            assert_false(seen[id]);
            seen[id] = true;
            n++;
        }
        json_decref(o);
    }
    assert_int_equal(n, 25);
    o = wlm_kit_ask("$WLM.API.REQUEST.LIST", "{\"account\":\"A2\",\"level\":\"info\"}");
    assert_int_equal(wlm_kit_number(o, "total"), 3);
    json_decref(o);
    o = wlm_kit_ask("$WLM.API.REQUEST.LIST", "{\"account\":\"NOBODY\"}");
    assert_int_equal(wlm_kit_number(o, "total"), 0);
    json_decref(o);
}

static void
test_wlm_cancel_by_id_ends_one_and_tells_its_sender(void **state)
{
    (void)state;
    rig_send(&rig_note, 2, 7, "a");
    rig_send(&rig_note, 2, 7, "b");
    json_t *o = wlm_kit_ask("$WLM.API.REQUEST.LIST", "{\"limit\":1}");
    int64_t id = wlm_kit_number(json_array_get(json_object_get(o, "requests"), 0), "id");
    json_decref(o);
    char q[64];
    (void)snprintf(q, sizeof(q), "{\"id\":%lld}", (long long)id);
    struct api_message m = fakehost_request(1, 99, "$WLM.API.REQUEST.CANCEL", "_INBOX.op", q);
    m.now = rig.now.t;
    api_receive(rig.api, fakehost_endpoint(rig.api, m.subject, true), &m);
    assert_true(dispatch_step(rig.api, APIQ_LANE_OPERATOR));
    struct fake_msg *f = fakehost_take(&rig.host);
    assert_string_equal(f->subject, "_INBOX.r");
    assert_non_null(strstr(f->data, "\"code\":503,\"err_code\":10008"));
    assert_non_null(strstr(f->data, "cancelled"));
    assert_non_null(strstr(f->data, "not executed"));
    fakehost_free(f);
    f = fakehost_take(&rig.host);
    assert_non_null(strstr(f->data, "\"cancelled\":1"));
    fakehost_free(f);
    wlm_kit_expect_error("$WLM.API.REQUEST.CANCEL", q, 404, "not found");
    assert_int_equal(books_queued(rig.api), 1);
    assert_int_equal(books_ended(rig.api, LEDGER_CANCELLED), 1);
}

static void
test_wlm_cancel_by_account_connection_level_and_all(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        rig_send(i % 2 == 0 ? &names : &rig_note, 2 + (unsigned)i % 4, 10 + (uint64_t)i % 10, "x");
    }
    json_t *o = wlm_kit_ask("$WLM.API.REQUEST.CANCEL", "{\"account\":\"A3\"}");
    assert_int_equal(wlm_kit_number(o, "cancelled"), 250);
    json_decref(o);
    o = wlm_kit_ask("$WLM.API.REQUEST.CANCEL", "{\"cid\":10}");
    assert_int_equal(wlm_kit_number(o, "cancelled"), 100);
    json_decref(o);
    o = wlm_kit_ask("$WLM.API.REQUEST.CANCEL", "{\"level\":\"info\"}");
    assert_int_equal(wlm_kit_number(o, "cancelled"), 400);
    json_decref(o);
    o = wlm_kit_ask("$WLM.API.REQUEST.CANCEL", "{\"account\":\"NOBODY\"}");
    assert_int_equal(wlm_kit_number(o, "cancelled"), 0);
    json_decref(o);
    o = wlm_kit_ask("$WLM.API.REQUEST.CANCEL", "{\"all\":true}");
    assert_int_equal(wlm_kit_number(o, "cancelled"), 250);
    json_decref(o);
    assert_int_equal(books_queued(rig.api), 0);
    assert_int_equal(books_ended(rig.api, LEDGER_CANCELLED), 1000);
}

static void
test_wlm_cancel_of_all_reaches_what_other_operators_wait_for(void **state)
{
    (void)state;
    json_decref(wlm_kit_ask("$WLM.API.QUEUE.UPDATE", "{\"discipline\":{\"operator\":\"lifo\"}}"));
    rig_send(&rig_sys_note, 1, 7, "of another operator");
    rig_send(&rig_note, 2, 8, "of a user");
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.REQUEST.LIST", ""), "total"), 2);
    json_t *o = wlm_kit_ask("$WLM.API.REQUEST.CANCEL", "{\"all\":true}");
    assert_int_equal(wlm_kit_take_number(o, "cancelled"), 2);
    assert_string_equal(rig.ran, "");
}

static void
make_gates(int n)
{
    for (int i = 0; i < n; i++) {
        char subject[64];
        char data[64];
        (void)snprintf(subject, sizeof(subject), "$WLM.API.GATE.CREATE.g%d", i);
        (void)snprintf(data, sizeof(data),
                       "{\"account\":\"A2\",\"subject\":\"svc.%d\",\"limit\":%d}", i, i + 1);
        json_t *o = wlm_kit_ask(subject, data);
        assert_int_equal(wlm_kit_take_number(o, "gate.limit"), i + 1);
    }
}

static void
test_wlm_gates_are_listed_by_pages(void **state)
{
    (void)state;
    make_gates(103);
    json_t *o = wlm_kit_ask("$WLM.API.GATE.LIST", "");
    assert_int_equal(wlm_kit_number(o, "total"), 103);
    assert_int_equal(wlm_kit_number(o, "offset"), 0);
    assert_int_equal(wlm_kit_number(o, "limit"), 100);
    assert_int_equal(json_array_size(json_object_get(o, "gates")), 100);
    json_decref(o);
    o = wlm_kit_ask("$WLM.API.GATE.LIST", "{\"offset\":100,\"limit\":2}");
    assert_int_equal(wlm_kit_number(o, "total"), 103);
    assert_int_equal(wlm_kit_number(o, "offset"), 100);
    assert_int_equal(json_array_size(json_object_get(o, "gates")), 2);
    assert_int_equal(wlm_kit_take_number(o, "gates.1.limit"), 102);
    o = wlm_kit_ask("$WLM.API.GATE.LIST", "{\"offset\":103}");
    assert_int_equal(json_array_size(json_object_get(o, "gates")), 0);
    assert_int_equal(wlm_kit_take_number(o, "total"), 103);
    o = wlm_kit_ask("$WLM.API.GATE.NAMES", "{\"offset\":101,\"limit\":1000}");
    assert_int_equal(json_array_size(json_object_get(o, "names")), 2);
    assert_int_equal(wlm_kit_number(o, "names.1"), strlen("g102"));
    assert_int_equal(wlm_kit_take_number(o, "total"), 103);
}

static void
test_wlm_a_list_without_end_is_none(void **state)
{
    (void)state;
    json_t *o =
        wlm_kit_ask("$WLM.API.GATE.LIST", "{\"offset\":9223372036854775807,\"limit\":1000}");
    assert_int_equal(json_array_size(json_object_get(o, "gates")), 0);
    assert_int_equal(wlm_kit_take_number(o, "total"), 0);
}

static void
test_wlm_malformed_requests_are_named(void **state)
{
    (void)state;
    rig_send(&rig_note, 2, 7, "a");
    static const struct {
        const char *subject, *data, *text;
    } bad[] = {
        {"$WLM.API.REQUEST.LIST", "{bad", "invalid character"},
        {"$WLM.API.REQUEST.LIST", "[]", "object"},
        {"$WLM.API.REQUEST.LIST", "{\"limt\":1}", "limt"},
        {"$WLM.API.REQUEST.LIST", "{\"limit\":0}", "limit"},
        {"$WLM.API.REQUEST.LIST", "{\"limit\":1001}", "limit"},
        {"$WLM.API.REQUEST.LIST", "{\"offset\":-1}", "offset"},
        {"$WLM.API.REQUEST.LIST", "{\"level\":\"high\"}", "level"},
        {"$WLM.API.REQUEST.LIST", "{\"account\":3}", "account"},
        {"$WLM.API.REQUEST.LIST", "{\"all\":true}", "all"},
        {"$WLM.API.REQUEST.CANCEL", "", "must be given"},
        {"$WLM.API.REQUEST.CANCEL", "{\"all\":false}", "must be given"},
        {"$WLM.API.REQUEST.CANCEL", "{\"all\":true,\"id\":1}", "must be given"},
        {"$WLM.API.REQUEST.CANCEL", "{\"id\":\"1\"}", "id"},
        {"$WLM.API.REQUEST.CANCEL", "{\"id\":0}", "id"},
        {"$WLM.API.GATE.LIST", "{\"limit\":0}", "limit: must be a whole number from 1 to 1000"},
        {"$WLM.API.GATE.LIST", "{\"limit\":1001}", "limit"},
        {"$WLM.API.GATE.LIST", "{\"offset\":-1}", "offset: must be a whole number from 0"},
        {"$WLM.API.GATE.LIST", "{\"offset\":9223372036854775808}", ""},
        {"$WLM.API.GATE.NAMES", "{\"gate\":\"g\"}", "unknown key: gate"},
        {"$WLM.API.QUEUE.INFO", "{\"x\":1}", "x"},
        {"$WLM.API.QUEUE.UPDATE", "{\"worker\":4}",
         "unknown key: worker, there are discipline, workers"},
        {"$WLM.API.QUEUE.UPDATE", "{\"worker\":4}", "max_pending_commits"},
        {"$WLM.API.QUEUE.UPDATE", "{\"adaptive_age\":0.001}", "from 0.01 to 1"},
        {"$WLM.API.QUEUE.UPDATE", "{\"workers\":0}", "workers"},
        {"$WLM.API.QUEUE.UPDATE", "{\"workers\":257}", "workers"},
        {"$WLM.API.QUEUE.UPDATE", "{\"workers\":2.5}", "workers"},
        {"$WLM.API.QUEUE.UPDATE", "{\"request_queue_limit\":-1}", "request_queue_limit"},
        {"$WLM.API.QUEUE.UPDATE", "{\"operator_queue_limit\":0}", "operator_queue_limit"},
        {"$WLM.API.QUEUE.UPDATE", "{\"adaptive_age\":0}", "adaptive_age"},
        {"$WLM.API.QUEUE.UPDATE", "{\"adaptive_age\":1.5}", "adaptive_age"},
        {"$WLM.API.QUEUE.UPDATE", "{\"request_deadline\":\"-1s\"}", "request_deadline"},
        {"$WLM.API.QUEUE.UPDATE", "{\"request_deadline\":5}", "request_deadline"},
        {"$WLM.API.QUEUE.UPDATE", "{\"request_deadline\":\"25h\"}", "at most 86400s"},
        {"$WLM.API.QUEUE.UPDATE", "{\"discipline\":\"random\"}", "discipline"},
        {"$WLM.API.QUEUE.UPDATE", "{\"discipline\":{\"high\":\"fifo\"}}", "high"},
        {"$WLM.API.QUEUE.UPDATE", "{\"discipline\":\"fifo\",\"discipline\":\"lifo\"}", "duplicate"},
        {"$WLM.API.QUEUE.UPDATE", "{\"a\xff\":1}", ""},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        wlm_kit_expect_error(bad[i].subject, bad[i].data, 400, bad[i].text);
    }
    assert_int_equal(books_queued(rig.api), 1);
}

static void
test_wlm_update_is_all_or_nothing(void **state)
{
    (void)state;
    wlm_kit_expect_error("$WLM.API.QUEUE.UPDATE", "{\"request_queue_limit\":5,\"aged_share\":-1}",
                         400, "aged_share");
    json_t *o = wlm_kit_ask("$WLM.API.QUEUE.INFO", "");
    json_t *set = json_object_get(o, "settings");
    assert_int_equal(wlm_kit_number(set, "request_queue_limit"), 10000);
    json_decref(o);
    o = wlm_kit_ask("$WLM.API.QUEUE.UPDATE",
                    "{\"request_queue_limit\":5,\"request_deadline\":\"1500ms\",\"adaptive_age\":1,"
                    "\"discipline\":{\"info\":\"lifo\"}}");
    assert_null(json_object_get(o, "error"));
    json_decref(o);
    o = wlm_kit_ask("$WLM.API.QUEUE.INFO", "");
    set = json_object_get(o, "settings");
    assert_int_equal(wlm_kit_number(set, "request_queue_limit"), 5);
    assert_string_equal(json_string_value(json_object_get(set, "request_deadline")), "1500ms");
    json_t *order = json_object_get(set, "discipline");
    assert_string_equal(json_string_value(json_object_get(order, "info")), "lifo");
    assert_string_equal(json_string_value(json_object_get(order, "normal")), "adaptive");
    json_t *levels = json_object_get(o, "levels");
    assert_int_equal(wlm_kit_number(json_object_get(levels, "normal"), "limit"), 5);
    json_decref(o);
}

static void
test_wlm_a_shrunken_limit_evicts_the_oldest_and_tells_them(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        rig_send(&rig_note, 2, 7, "x");
    }
    json_t *o = wlm_kit_ask("$WLM.API.QUEUE.UPDATE", "{\"request_queue_limit\":4}");
    assert_int_equal(wlm_kit_number(o, "evicted"), 6);
    json_decref(o);
    assert_int_equal(books_queued(rig.api), 4);
    assert_int_equal(books_ended(rig.api, LEDGER_EVICTED), 6);
    assert_int_equal(rig.host.published, 7);
    o = wlm_kit_ask("$WLM.API.QUEUE.UPDATE", "{\"request_queue_limit\":100}");
    assert_int_equal(wlm_kit_number(o, "evicted"), 0);
    json_decref(o);
}

static void
test_wlm_a_changed_deadline_counts_for_what_waits(void **state)
{
    (void)state;
    rig_send(&rig_note, 2, 7, "x");
    json_decref(wlm_kit_ask("$WLM.API.QUEUE.UPDATE", "{\"request_deadline\":\"1s\"}"));
    clock_fake_advance(&rig.now, 1100 * CLOCK_MS);
    assert_true(dispatch_step(rig.api, APIQ_LANE_ANY));
    assert_int_equal(books_ended(rig.api, LEDGER_EXPIRED), 1);
}

static void
test_wlm_info_counters_add_up(void **state)
{
    (void)state;
    rig_send(&rig_note, 2, 7, "x");
    json_t *o = wlm_kit_ask("$WLM.API.QUEUE.INFO", "{}");
    const json_t *c = json_object_get(o, "counters");
    int64_t sum = 0;
    const char *parts[] = {"answered",  "refused", "evicted", "expired",
                           "cancelled", "queued",  "running"};
    for (size_t i = 0; i < 7; i++) {
        sum += wlm_kit_number(c, parts[i]);
    }
    assert_int_equal(wlm_kit_number(c, "received"), sum);
    assert_int_equal(wlm_kit_number(c, "queued"), 1);
    assert_int_equal(wlm_kit_number(c, "running"), 1); /* this very request */
    json_decref(o);
}

/* One request, the n-th allocation of which fails. False: it had fewer. */
static bool
ask_with_fault(const char *subject, const char *data, long n)
{
    struct api_message m = fakehost_request(1, 99, subject, "_INBOX.op", data);
    m.now = rig.now.t;
    long live = mem_live();
    mem_fail_at(n);
    api_receive(rig.api, fakehost_endpoint(rig.api, subject, true), &m);
    (void)dispatch_step(rig.api, APIQ_LANE_OPERATOR);
    bool fired = mem_fail_fired() != 0;
    mem_fail_at(-1);
    struct fake_msg *f = fakehost_take(&rig.host);
    if (f == NULL) {
        fail_msg("%s: no answer, fault %ld", subject, n);
    }
    fakehost_free(f);
    assert_int_equal(books_open(rig.api), 0);
    assert_int_equal(mem_live(), live);
    return fired;
}

static void
test_wlm_each_endpoint_survives_each_single_fault_of_memory(void **state)
{
    (void)state;
    static const char *const asks[][2] = {
        {"$WLM.API.REQUEST.LIST", "{\"limit\":2}"},
        {"$WLM.API.REQUEST.CANCEL", "{\"account\":\"A2\"}"},
        {"$WLM.API.GATE.LIST", "{\"limit\":2}"},
        {"$WLM.API.GATE.NAMES", "{\"limit\":2}"},
        {"$WLM.API.GROUP.LIST", "{\"limit\":2}"},
        {"$WLM.API.QUEUE.INFO", ""},
        {"$WLM.API.QUEUE.UPDATE", "{\"request_deadline\":\"1s\",\"discipline\":\"lifo\"}"},
        {"$SYS.REQ.SERVER.PING", "{\"server_name\":\"fake\"}"},
        {"$SYS.REQ.SERVER.PING.VARZ", "{\"tags\":[\"east\"]}"},
        {"$SYS.REQ.ACCOUNT.X.CONNZ", "{}"},
        {"$SYS.REQ.ACCOUNT.X.CONNS", "{\"acc\":\"X\"}"},
        {"$SYS.REQ.ACCOUNT.NSUBS", "{\"acc\":\"X\",\"subject\":\"a\",\"queue\":\"cQ==\"}"},
        {"$SYS.DEBUG.SUBSCRIBERS", "a q"},
        {"$SYS.REQ.ACCOUNT.X.STATZ", ""},
        {"$SYS.REQ.USER.INFO", ""},
        {"$SYS.REQ.SERVER." FAKE_ID ".RELOAD", ""},
        {"$SYS.REQ.SERVER." FAKE_ID ".KICK", "{\"cid\":5}"},
    };
    /* The first request of an account leaves its record behind. */
    make_gates(1);
    json_set_alloc_funcs(mem_alloc_raw, mem_free);
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        bool fired = true;
        for (long n = 0; fired; n++) {
            fired = ask_with_fault(asks[i][0], asks[i][1], n);
        }
    }
    json_set_alloc_funcs(malloc, free);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_wlm_list_shows_what_waits_and_pages_through_it),
        T(test_wlm_cancel_by_id_ends_one_and_tells_its_sender),
        T(test_wlm_cancel_by_account_connection_level_and_all),
        T(test_wlm_cancel_of_all_reaches_what_other_operators_wait_for),
        T(test_wlm_gates_are_listed_by_pages),
        T(test_wlm_a_list_without_end_is_none),
        T(test_wlm_malformed_requests_are_named),
        T(test_wlm_update_is_all_or_nothing),
        T(test_wlm_a_shrunken_limit_evicts_the_oldest_and_tells_them),
        T(test_wlm_a_changed_deadline_counts_for_what_waits),
        T(test_wlm_info_counters_add_up),
        T(test_wlm_each_endpoint_survives_each_single_fault_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
