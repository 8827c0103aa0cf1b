/* SPDX-License-Identifier: Apache-2.0 */
/* $WLM.API: what an operator asks and changes while requests wait. Without threads. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/dispatch.h"
#include "api/endpoint.h"
#include "api/plane.h"
#include "api/reply.h"
#include "api/request.h"
#include "server/base/mem.h"
#include "tests/support/books.h"
#include "tests/support/cmk.h"
#include "tests/support/fakehost.h"

static struct fakehost host;
static struct clock_fake now;
static struct api *api;

static enum status
run_note(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    buf_puts(&out->body, r->data);
    return buf_status(&out->body);
}

static const struct api_endpoint note = {
    .name = "note", .subjects = {"$JS.API.NOTE"}, .level = APIQ_NORMAL, .run = run_note};
static const struct api_endpoint names = {
    .name = "names", .subjects = {"$JS.API.NAMES"}, .level = APIQ_INFO, .run = run_note};

static int
set_up(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(0);
    struct clock c = clock_fake_of(&now);
    now.t = 1000 * CLOCK_S;
    fakehost_init(&host);
    assert_int_equal(api_new(&api, &host.host, &opts, &c), ST_OK);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    books_check(api);
    api_free(api);
    fakehost_fini(&host);
    return 0;
}

static void
send(const struct api_endpoint *ep, unsigned acc, uint64_t cid, const char *data)
{
    struct api_message m = fakehost_request(acc, cid, ep->subjects[0], "_INBOX.r", data);
    m.now = now.t;
    api_receive(api, ep, &m);
}

/* As the operator, through the operator's lane; what is answered to others stays with the host. */
static json_t *
ask(const char *subject, const char *data)
{
    struct api_message m = fakehost_request(1, 99, subject, "_INBOX.op", data);
    m.now = now.t;
    api_receive(api, fakehost_endpoint(api, subject, true), &m);
    assert_true(dispatch_step(api, APIQ_LANE_OPERATOR));
    struct fake_msg *f;
    json_t *o = NULL;
    while (o == NULL && (f = fakehost_take(&host)) != NULL) {
        if (strcmp(f->subject, "_INBOX.op") == 0) {
            o = json_loads(f->data, 0, NULL);
        }
        fakehost_free(f);
    }
    assert_non_null(o);
    return o;
}

static int64_t
number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

static void
expect_error(const char *subject, const char *data, int code, const char *in_text)
{
    json_t *o = ask(subject, data);
    const json_t *e = json_object_get(o, "error");
    if (e == NULL) {
        fail_msg("%s %s was accepted", subject, data);
    }
    assert_int_equal(json_object_size(e), 3);
    assert_int_equal(number(e, "code"), code);
    assert_true(number(e, "err_code") > 10000);
    const char *text = json_string_value(json_object_get(e, "description"));
    if (strstr(text, in_text) == NULL) {
        fail_msg("\"%s\" does not name %s", text, in_text);
    }
    json_decref(o);
}

static void
test_wlm_list_shows_what_waits_and_pages_through_it(void **state)
{
    (void)state;
    for (int i = 0; i < 25; i++) {
        send(i % 5 == 0 ? &names : &note, 2 + (unsigned)i % 2, 10 + (uint64_t)i % 3, "x");
    }
    clock_fake_advance(&now, 100 * CLOCK_MS);
    json_t *o = ask("$WLM.API.REQUEST.LIST", "");
    assert_string_equal(json_string_value(json_object_get(o, "type")),
                        "io.sluice.wlm.v1.request_list_response");
    assert_int_equal(number(o, "total"), 25);
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
        o = ask("$WLM.API.REQUEST.LIST", q);
        json_t *list = json_object_get(o, "requests");
        assert_int_equal(json_array_size(list), offset < 20 ? 10 : 5);
        for (size_t i = 0; i < json_array_size(list); i++) {
            int64_t id = number(json_array_get(list, i), "id");
            assert_in_range(id, 1, 25);
            assert_false(seen[id]);
            seen[id] = true;
            n++;
        }
        json_decref(o);
    }
    assert_int_equal(n, 25);
    o = ask("$WLM.API.REQUEST.LIST", "{\"account\":\"A2\",\"level\":\"info\"}");
    assert_int_equal(number(o, "total"), 3);
    json_decref(o);
    o = ask("$WLM.API.REQUEST.LIST", "{\"account\":\"NOBODY\"}");
    assert_int_equal(number(o, "total"), 0);
    json_decref(o);
}

static void
test_wlm_cancel_by_id_ends_one_and_tells_its_sender(void **state)
{
    (void)state;
    send(&note, 2, 7, "a");
    send(&note, 2, 7, "b");
    json_t *o = ask("$WLM.API.REQUEST.LIST", "{\"limit\":1}");
    int64_t id = number(json_array_get(json_object_get(o, "requests"), 0), "id");
    json_decref(o);
    char q[64];
    (void)snprintf(q, sizeof(q), "{\"id\":%lld}", (long long)id);
    struct api_message m = fakehost_request(1, 99, "$WLM.API.REQUEST.CANCEL", "_INBOX.op", q);
    m.now = now.t;
    api_receive(api, fakehost_endpoint(api, m.subject, true), &m);
    assert_true(dispatch_step(api, APIQ_LANE_OPERATOR));
    struct fake_msg *f = fakehost_take(&host);
    assert_string_equal(f->subject, "_INBOX.r");
    assert_non_null(strstr(f->data, "\"code\":503,\"err_code\":10008"));
    assert_non_null(strstr(f->data, "cancelled"));
    assert_non_null(strstr(f->data, "not executed"));
    fakehost_free(f);
    f = fakehost_take(&host);
    assert_non_null(strstr(f->data, "\"cancelled\":1"));
    fakehost_free(f);
    expect_error("$WLM.API.REQUEST.CANCEL", q, 404, "not found");
    assert_int_equal(books_queued(api), 1);
    assert_int_equal(books_ended(api, LEDGER_CANCELLED), 1);
}

static void
test_wlm_cancel_by_account_connection_level_and_all(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        send(i % 2 == 0 ? &names : &note, 2 + (unsigned)i % 4, 10 + (uint64_t)i % 10, "x");
    }
    json_t *o = ask("$WLM.API.REQUEST.CANCEL", "{\"account\":\"A3\"}");
    assert_int_equal(number(o, "cancelled"), 250);
    json_decref(o);
    o = ask("$WLM.API.REQUEST.CANCEL", "{\"cid\":10}");
    assert_int_equal(number(o, "cancelled"), 100);
    json_decref(o);
    o = ask("$WLM.API.REQUEST.CANCEL", "{\"level\":\"info\"}");
    assert_int_equal(number(o, "cancelled"), 400);
    json_decref(o);
    o = ask("$WLM.API.REQUEST.CANCEL", "{\"account\":\"NOBODY\"}");
    assert_int_equal(number(o, "cancelled"), 0);
    json_decref(o);
    o = ask("$WLM.API.REQUEST.CANCEL", "{\"all\":true}");
    assert_int_equal(number(o, "cancelled"), 250);
    json_decref(o);
    assert_int_equal(books_queued(api), 0);
    assert_int_equal(books_ended(api, LEDGER_CANCELLED), 1000);
}

static void
test_wlm_malformed_requests_are_named(void **state)
{
    (void)state;
    send(&note, 2, 7, "a");
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
        expect_error(bad[i].subject, bad[i].data, 400, bad[i].text);
    }
    assert_int_equal(books_queued(api), 1);
}

static void
test_wlm_update_is_all_or_nothing(void **state)
{
    (void)state;
    expect_error("$WLM.API.QUEUE.UPDATE", "{\"request_queue_limit\":5,\"aged_share\":-1}", 400,
                 "aged_share");
    json_t *o = ask("$WLM.API.QUEUE.INFO", "");
    json_t *set = json_object_get(o, "settings");
    assert_int_equal(number(set, "request_queue_limit"), 10000);
    json_decref(o);
    o = ask("$WLM.API.QUEUE.UPDATE",
            "{\"request_queue_limit\":5,\"request_deadline\":\"1500ms\",\"adaptive_age\":1,"
            "\"discipline\":{\"info\":\"lifo\"}}");
    assert_null(json_object_get(o, "error"));
    json_decref(o);
    o = ask("$WLM.API.QUEUE.INFO", "");
    set = json_object_get(o, "settings");
    assert_int_equal(number(set, "request_queue_limit"), 5);
    assert_string_equal(json_string_value(json_object_get(set, "request_deadline")), "1500ms");
    json_t *order = json_object_get(set, "discipline");
    assert_string_equal(json_string_value(json_object_get(order, "info")), "lifo");
    assert_string_equal(json_string_value(json_object_get(order, "normal")), "adaptive");
    json_t *levels = json_object_get(o, "levels");
    assert_int_equal(number(json_object_get(levels, "normal"), "limit"), 5);
    json_decref(o);
}

static void
test_wlm_a_shrunken_limit_evicts_the_oldest_and_tells_them(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        send(&note, 2, 7, "x");
    }
    json_t *o = ask("$WLM.API.QUEUE.UPDATE", "{\"request_queue_limit\":4}");
    assert_int_equal(number(o, "evicted"), 6);
    json_decref(o);
    assert_int_equal(books_queued(api), 4);
    assert_int_equal(books_ended(api, LEDGER_EVICTED), 6);
    assert_int_equal(host.published, 7);
    o = ask("$WLM.API.QUEUE.UPDATE", "{\"request_queue_limit\":100}");
    assert_int_equal(number(o, "evicted"), 0);
    json_decref(o);
}

static void
test_wlm_a_changed_deadline_counts_for_what_waits(void **state)
{
    (void)state;
    send(&note, 2, 7, "x");
    json_decref(ask("$WLM.API.QUEUE.UPDATE", "{\"request_deadline\":\"1s\"}"));
    clock_fake_advance(&now, 1100 * CLOCK_MS);
    assert_true(dispatch_step(api, APIQ_LANE_ANY));
    assert_int_equal(books_ended(api, LEDGER_EXPIRED), 1);
}

static void
test_wlm_info_counters_add_up(void **state)
{
    (void)state;
    send(&note, 2, 7, "x");
    json_t *o = ask("$WLM.API.QUEUE.INFO", "{}");
    const json_t *c = json_object_get(o, "counters");
    int64_t sum = 0;
    const char *parts[] = {"answered",  "refused", "evicted", "expired",
                           "cancelled", "queued",  "running"};
    for (size_t i = 0; i < 7; i++) {
        sum += number(c, parts[i]);
    }
    assert_int_equal(number(c, "received"), sum);
    assert_int_equal(number(c, "queued"), 1);
    assert_int_equal(number(c, "running"), 1); /* this very request */
    json_decref(o);
}

/* One request, the n-th allocation of which fails. False: it had fewer. */
static bool
ask_with_fault(const char *subject, const char *data, long n)
{
    struct api_message m = fakehost_request(1, 99, subject, "_INBOX.op", data);
    m.now = now.t;
    long live = mem_live();
    mem_fail_at(n);
    api_receive(api, fakehost_endpoint(api, subject, true), &m);
    (void)dispatch_step(api, APIQ_LANE_OPERATOR);
    bool fired = mem_fail_fired() != 0;
    mem_fail_at(-1);
    struct fake_msg *f = fakehost_take(&host);
    if (f == NULL) {
        fail_msg("%s: no answer, fault %ld", subject, n);
    }
    fakehost_free(f);
    assert_int_equal(books_open(api), 0);
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
    json_decref(ask("$WLM.API.QUEUE.INFO", ""));
    json_set_alloc_funcs(mem_alloc_raw, mem_free);
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        bool fired = true;
        for (long n = 0; fired; n++) {
            fired = ask_with_fault(asks[i][0], asks[i][1], n);
        }
    }
    json_set_alloc_funcs(malloc, free);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_wlm_list_shows_what_waits_and_pages_through_it),
        T(test_wlm_cancel_by_id_ends_one_and_tells_its_sender),
        T(test_wlm_cancel_by_account_connection_level_and_all),
        T(test_wlm_malformed_requests_are_named),
        T(test_wlm_update_is_all_or_nothing),
        T(test_wlm_a_shrunken_limit_evicts_the_oldest_and_tells_them),
        T(test_wlm_a_changed_deadline_counts_for_what_waits),
        T(test_wlm_info_counters_add_up),
        T(test_wlm_each_endpoint_survives_each_single_fault_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
