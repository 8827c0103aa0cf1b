/* SPDX-License-Identifier: Apache-2.0 */
/* $WLM.API.GROUP and $WLM.API.STATS: groups made, changed and removed by an operator while requests
 * wait, and what is kept of them. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/group_file.h"
#include "api/plane.h"
#include "api/weights.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/group_kit.h"
#include "tests/support/wlm_kit.h"

static char dir[64];

static int
set_up(void **state)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/wlm_group.XXXXXX");
    assert_non_null(mkdtemp(dir));
    return group_kit_set_up(state);
}

static int
tear_down(void **state)
{
    char path[128];
    const char *const endings[] = {"", ".bad", ".new"};
    int rc = group_kit_tear_down(state);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof(path), "%s/" GROUP_FILE_NAME "%s", dir, endings[i]);
        (void)unlink(path);
    }
    return rc != 0 ? rc : rmdir(dir);
}

static void
open_store(void)
{
    assert_int_equal(api_set_tenants(rig.api, &(struct api_tenants){.store_dir = dir}), ST_OK);
}

static bool
is_stored(json_t *o)
{
    assert_null(json_object_get(o, "error"));
    bool yes = json_is_true(json_object_get(o, "stored"));
    assert_true(yes || json_is_string(json_object_get(o, "note")));
    json_decref(o);
    return yes;
}

static const char one[] = "{\"throttling\":{\"limit\":1},\"queue\":{\"size\":10}}";

static void
test_wlm_group_is_made_changed_and_removed_with_requests_parked(void **state)
{
    (void)state;
    assert_false(is_stored(wlm_kit_ask("$WLM.API.GROUP.CREATE.g", one)));
    for (const char *p = "abcd"; *p != '\0'; p++) {
        group_kit_send(2, 1, "bob", (char[]){*p, '\0'});
    }
    assert_int_equal(
        wlm_kit_take_number(wlm_kit_ask("$WLM.API.STATS.g", ""), "group.stats.queued_current"), 3);
    json_t *o = wlm_kit_ask("$WLM.API.GROUP.UPDATE.g", "{\"throttling\":{\"limit\":3}}");
    assert_int_equal(wlm_kit_take_number(o, "group.stats.running"), 3);
    /* The queue was not given: it is as it was. */
    assert_int_equal(
        wlm_kit_take_number(wlm_kit_ask("$WLM.API.GROUP.INFO.g", ""), "group.config.queue.size"),
        10);
    assert_false(is_stored(wlm_kit_ask("$WLM.API.GROUP.DELETE.g", "")));
    assert_int_equal(books_parked(rig.api), 0);
    wlm_kit_expect_error("$WLM.API.GROUP.INFO.g", "", 404, "\"g\" not found");
    rig_step_all();
    assert_string_equal(rig.ran, "abcd");
}

static void
test_wlm_group_bad_requests_are_refused_by_name(void **state)
{
    (void)state;
    const char *create = "$WLM.API.GROUP.CREATE.g";
    static const struct {
        const char *data, *named;
    } cases[] = {
        {"{\"queue\":{\"size\":1,\"timeout\":\"5s\"}}", "unknown key: queue.timeout"},
        {"{\"que\":{}}", "unknown key: que"},
        {"{\"throttling\":{}}", "throttling.limit"},
        {"{\"throttling\":{\"limit\":0}}", "throttling.limit"},
        {"{\"throttling\":{\"limit\":-1}}", "throttling.limit"},
        {"{\"throttling\":{\"limit\":1.5}}", "throttling.limit"},
        {"{\"throttling\":{\"limit\":\"8\"}}", "throttling.limit"},
        {"{\"throttling\":{\"limit\":1,\"mode\":\"x\"}}", "throttling.mode"},
        {"{\"throttling\":{\"limit\":1},\"queue\":{\"size\":-1}}", "queue.size"},
        {"{\"throttling\":{\"limit\":1},\"queue\":{\"max_bytes\":0}}", "queue.max_bytes"},
        {"{\"match\":{\"subject\":\"a b\"}}", "match.subject"},
        {"{\"match\":{\"account\":\"\"}}", "match.account"},
        {"{\"match\":7}", "match"},
        {"{\"cancel_after\":5}", "cancel_after"},
        {"[]", "invalid JSON"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wlm_kit_expect_error(create, cases[i].data, 400, cases[i].named);
    }
    wlm_kit_expect_error("$WLM.API.GROUP.CREATE.a+b", one, 400, "invalid name");
    wlm_kit_expect_error("$WLM.API.GROUP.UPDATE.g", one, 404, "not found");
    wlm_kit_expect_error("$WLM.API.GROUP.DELETE.g", "", 404, "not found");
    wlm_kit_expect_error("$WLM.API.STATS.g", "", 404, "not found");
    wlm_kit_expect_error("$WLM.API.STATS", "{\"x\":1}", 400, "unknown key: x");
    wlm_kit_expect_error("$WLM.API.GROUP.NAMES", "{\"limit\":0}", 400,
                         "limit: must be a whole number from 1 to 1000");
    wlm_kit_expect_error("$WLM.API.GROUP.LIST", "{\"offset\":-1}", 400,
                         "must be a whole number from 0");
    wlm_kit_expect_error("$WLM.API.REQUEST.LIST", "{\"limit\":1001}", 400, "from 1 to 1000");
    wlm_kit_expect_error("$WLM.API.REQUEST.LIST", "{\"level\":\"high\"}", 400,
                         "level: must be \"operator\", \"normal\" or \"info\"");
    wlm_kit_expect_error("$WLM.API.REQUEST.CANCEL", "{\"all\":1}", 400,
                         "all: must be true or false");
    wlm_kit_expect_error("$WLM.API.GROUP.LIST", "{\"limit\":0}", 400, "limit");
    assert_false(is_stored(wlm_kit_ask(create, one)));
    wlm_kit_expect_error(create, one, 409, "exists already");
    wlm_kit_expect_error("$WLM.API.GROUP.UPDATE.g", "{\"queue\":{\"timeout\":1}}", 400,
                         "queue.timeout");
}

static void
test_wlm_groups_are_listed_in_the_order_of_matching(void **state)
{
    (void)state;
    struct group_conf c;
    char err[128];
    assert_int_equal(group_conf_init(&c, "file", err, sizeof(err)), ST_OK);
    json_decref(wlm_kit_ask("$WLM.API.GROUP.CREATE.b", "{}"));
    json_decref(wlm_kit_ask("$WLM.API.GROUP.CREATE.a", one));
    assert_int_equal(api_set_tenants(rig.api, &(struct api_tenants){.groups = &c, .n_groups = 1}),
                     ST_OK);
    json_t *o = wlm_kit_ask("$WLM.API.GROUP.NAMES", "");
    char *text = json_dumps(json_object_get(o, "groups"), JSON_COMPACT);
    assert_string_equal(text, "[\"file\",\"b\",\"a\"]");
    free(text);
    json_decref(o);
    assert_int_equal(
        wlm_kit_take_number(wlm_kit_ask("$WLM.API.GROUP.NAMES", "{\"offset\":2}"), "total"), 3);
    assert_int_equal(
        wlm_kit_take_number(wlm_kit_ask("$WLM.API.GROUP.LIST", "{\"offset\":2,\"limit\":1}"),
                            "groups.0.config.throttling.limit"),
        1);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.STATS", ""), "totals.groups"), 3);
}

static void
test_wlm_groups_survive_a_restart_where_there_is_a_store(void **state)
{
    (void)state;
    open_store();
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.CREATE.kept", one)));
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.CREATE.gone", one)));
    assert_true(
        is_stored(wlm_kit_ask("$WLM.API.GROUP.UPDATE.kept", "{\"match\":{\"user\":\"b*\"}}")));
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.DELETE.gone", "")));
    assert_int_equal(group_kit_tear_down(state) + group_kit_set_up(state), 0);
    open_store();
    json_t *o = wlm_kit_ask("$WLM.API.GROUP.LIST", "");
    assert_int_equal(wlm_kit_take_number(json_incref(o), "total"), 1);
    assert_int_equal(wlm_kit_take_number(json_incref(o), "groups.0.config.queue.size"), 10);
    assert_int_equal(wlm_kit_take_number(o, "groups.0.config.match.user"), 2);
}

static void
test_wlm_group_of_the_file_wins_and_that_is_said(void **state)
{
    (void)state;
    struct group_conf c;
    char err[128];
    assert_int_equal(group_conf_init(&c, "g", err, sizeof(err)), ST_OK);
    c.limit = 7;
    open_store();
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.CREATE.g", one)));
    struct api_tenants t = {.groups = &c, .n_groups = 1};
    assert_int_equal(api_set_tenants(rig.api, &t), ST_OK);
    json_t *o = wlm_kit_ask("$WLM.API.GROUP.INFO.g", "");
    assert_true(json_is_string(json_object_get(o, "note")));
    assert_int_equal(wlm_kit_take_number(o, "group.config.throttling.limit"), 7);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.GROUP.NAMES", ""), "total"), 1);
    wlm_kit_expect_error("$WLM.API.GROUP.CREATE.g", one, 409, "exists");
    /* Changed until the next reload. */
    assert_false(
        is_stored(wlm_kit_ask("$WLM.API.GROUP.UPDATE.g", "{\"throttling\":{\"limit\":9}}")));
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.STATS.g", ""), "group.stats.limit"),
                     9);
    assert_int_equal(api_set_tenants(rig.api, &t), ST_OK);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.STATS.g", ""), "group.stats.limit"),
                     7);
    /* Gone from the file: the other one is in force again. */
    assert_int_equal(api_set_tenants(rig.api, &(struct api_tenants){0}), ST_OK);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.STATS.g", ""), "group.stats.limit"),
                     1);
    assert_int_equal(api_set_tenants(rig.api, &t), ST_OK);
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.DELETE.g", ""))); /* the one behind it */
    wlm_kit_expect_error("$WLM.API.GROUP.DELETE.g", "", 409, "configuration file");
}

static void
test_wlm_groups_of_the_file_take_the_places_of_others(void **state)
{
    (void)state;
    struct group_conf *many = mem_alloc_array(GROUPS_MAX, sizeof(*many));
    char name[GROUP_NAME_MAX + 1];
    char err[256];
    for (unsigned i = 0; i < GROUPS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "f%u", i);
        assert_int_equal(group_conf_init(&many[i], name, err, sizeof(err)), ST_OK);
    }
    open_store();
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.CREATE.a", one)));
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.CREATE.b", one)));
    group_kit_send(2, 1, "bob", "x");
    group_kit_send(2, 1, "bob", "x"); /* is parked in one that goes */
    struct api_tenants t = {.groups = many, .n_groups = GROUPS_MAX - 1};
    assert_int_equal(api_set_tenants(rig.api, &t), ST_OK);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.GROUP.NAMES", ""), "total"),
                     GROUPS_MAX);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.STATS.a", ""), "group.stats.limit"),
                     1);
    wlm_kit_expect_error("$WLM.API.STATS.b", "", 404, "not found");
    t.n_groups = GROUPS_MAX;
    assert_int_equal(api_set_tenants(rig.api, &t), ST_OK);
    wlm_kit_expect_error("$WLM.API.STATS.a", "", 404, "not found");
    assert_int_equal(books_parked(rig.api), 0);
    /* They are not forgotten. */
    assert_int_equal(api_set_tenants(rig.api, &(struct api_tenants){0}), ST_OK);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.GROUP.NAMES", ""), "total"), 2);
    mem_free(many);
}

static void
test_wlm_group_that_cannot_be_stored_is_not_made(void **state)
{
    (void)state;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/" GROUP_FILE_NAME ".new", dir);
    open_store();
    assert_int_equal(mkdir(path, 0700), 0); /* in the way */
    wlm_kit_expect_error("$WLM.API.GROUP.CREATE.g", one, 503, "could not be stored");
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.GROUP.NAMES", ""), "total"), 0);
    assert_int_equal(rmdir(path), 0);
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.CREATE.g", one)));
}

static void
test_wlm_group_file_that_is_none_is_set_aside(void **state)
{
    (void)state;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/" GROUP_FILE_NAME, dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("{\"groups\": [{\"name\"", f);
    (void)fclose(f);
    open_store();
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.CREATE.g", one)));
    assert_int_equal(access(path, F_OK), 0);
}

static void
test_wlm_group_left_out_of_the_file_is_kept_beside_it(void **state)
{
    (void)state;
    char path[128];
    char bad[136];
    char text[512] = "";
    (void)snprintf(path, sizeof(path), "%s/" GROUP_FILE_NAME, dir);
    (void)snprintf(bad, sizeof(bad), "%s.bad", path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("{\"groups\": [{\"name\": \"good\", \"config\": {}}, {\"name\": \"odd\"},"
                " {\"name\": \"good\", \"config\": {}},"
                " {\"name\": \"typo\", \"config\": {\"macht\": {}}}]}",
                f);
    (void)fclose(f);
    open_store();
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask("$WLM.API.GROUP.NAMES", ""), "total"), 1);
    assert_true(is_stored(wlm_kit_ask("$WLM.API.GROUP.CREATE.g", one))); /* writes the file anew */
    f = fopen(bad, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    (void)fclose(f);
    assert_non_null(strstr(text, "macht"));
}

static void
test_wlm_request_list_and_cancel_know_what_is_parked(void **state)
{
    (void)state;
    json_decref(wlm_kit_ask("$WLM.API.GROUP.CREATE.g", one));
    for (uint64_t i = 0; i < 6; i++) {
        group_kit_send(2 + (unsigned)i % 2, 10 + i % 3, "bob", "x");
    }
    const char *list = "$WLM.API.REQUEST.LIST";
    const char *cancel = "$WLM.API.REQUEST.CANCEL";
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask(list, ""), "total"), 6);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask(list, "{\"group\":\"g\"}"), "total"), 5);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask(list, "{\"offset\":3}"), "requests.0.group"),
                     1);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask(list, "{\"group\":\"h\"}"), "total"), 0);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask(list, "{\"account\":\"A2\"}"), "total"), 3);
    assert_int_equal(
        wlm_kit_take_number(wlm_kit_ask(cancel, "{\"group\":\"g\",\"cid\":11}"), "cancelled"), 2);
    assert_int_equal(wlm_kit_take_number(wlm_kit_ask(cancel, "{\"all\":true}"), "cancelled"), 4);
    assert_int_equal(books_ended(rig.api, LEDGER_CANCELLED), 6);
}

static void
test_wlm_statistics_of_groups_and_buckets(void **state)
{
    (void)state;
    static const char *const names[] = {"total_queued",
                                        "total_queue_rejections",
                                        "queued_current",
                                        "queue_peak",
                                        "queue_wait_count",
                                        "total_queue_wait_millis",
                                        "max_queue_wait_millis",
                                        "total_throttled",
                                        "total_would_throttle",
                                        "running",
                                        "limit",
                                        "size",
                                        "max_bytes"};
    json_decref(wlm_kit_ask(
        "$WLM.API.GROUP.CREATE.g",
        "{\"throttling\":{\"limit\":1,\"attribute\":\"user\"},\"queue\":{\"size\":9}}"));
    group_kit_send(2, 1, "bob", "x");
    group_kit_send(2, 1, "bob", "x");
    clock_fake_advance(&rig.now, 250 * CLOCK_MS);
    rig_step_all();
    json_t *o = wlm_kit_ask("$WLM.API.STATS.g", "");
    json_t *g = json_object_get(o, "group");
    json_t *of_group = json_object_get(g, "stats");
    json_t *b = json_array_get(json_object_get(g, "buckets"), 0);
    json_t *of_bucket = json_object_get(b, "stats");
    assert_string_equal(json_string_value(json_object_get(b, "user")), "bob");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(json_is_integer(json_object_get(of_group, names[i])));
        assert_true(
            json_equal(json_object_get(of_group, names[i]), json_object_get(of_bucket, names[i])));
    }
    assert_int_equal(wlm_kit_take_number(json_incref(o), "group.stats.total_queue_wait_millis"),
                     250);
    assert_int_equal(wlm_kit_take_number(o, "group.stats.max_queue_wait_millis"), 250);
    o = api_wlmz(rig.api);
    assert_int_equal(wlm_kit_take_number(o, "groups.0.stats.queue_wait_count"), 1);
    o = api_apiz(rig.api);
    assert_int_equal(wlm_kit_take_number(json_incref(o), "counters.parked"), 0);
    assert_int_equal(wlm_kit_take_number(o, "workload_groups.list.0.total_queued"), 1);
    char *text = api_metrics(rig.api);
    assert_non_null(strstr(text, "sluice_api_group_queued_total{group=\"g\"} 1\n"));
    assert_non_null(strstr(text, "sluice_api_parked{level=\"normal\"} 0\n"));
    mem_free(text);
}

static void
test_wlm_buckets_keep_the_name_of_the_attribute_that_they_were_made_by(void **state)
{
    (void)state;
    json_decref(wlm_kit_ask(
        "$WLM.API.GROUP.CREATE.g",
        "{\"throttling\":{\"limit\":1,\"attribute\":\"user\"},\"queue\":{\"size\":9}}"));
    group_kit_send(2, 1, "bob", "x");
    group_kit_send(2, 1, "bob", "x");
    json_decref(wlm_kit_ask("$WLM.API.GROUP.UPDATE.g",
                            "{\"throttling\":{\"limit\":1,\"attribute\":\"account\"}}"));
    group_kit_send(2, 1, "bob", "x");
    json_t *o = wlm_kit_ask("$WLM.API.GROUP.INFO.g", "");
    json_t *list = json_object_get(json_object_get(o, "group"), "buckets");
    json_t *old = json_array_get(list, 0);
    json_t *new = json_array_get(list, 1);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(old, "user")), "bob");
    assert_string_equal(json_string_value(json_object_get(old, "account")), "A2");
    assert_string_equal(json_string_value(json_object_get(new, "account")), "A2");
    assert_null(json_object_get(new, "user"));
    assert_int_equal(wlm_kit_take_number(json_incref(o), "group.buckets.0.stats.queued_current"),
                     1);
    assert_int_equal(wlm_kit_take_number(o, "group.buckets.1.stats.running"), 1);
    rig_step_all();
}

static void
test_wlm_weights_give_an_account_more_turns(void **state)
{
    (void)state;
    struct api_weight w[] = {{"A3", 3}};
    assert_int_equal(api_set_tenants(rig.api, &(struct api_tenants){.weights = w, .n_weights = 1}),
                     ST_OK);
    for (int i = 0; i < 8; i++) {
        rig_send(&rig_note, 2, 1, "a");
        rig_send(&rig_note, 3, 2, "b");
    }
    for (int i = 0; i < 8; i++) {
        assert_true(dispatch_step(rig.api, APIQ_LANE_ANY));
    }
    unsigned b = 0;
    for (const char *p = rig.ran; *p != '\0'; p++) {
        b += *p == 'b' ? 1 : 0;
    }
    assert_int_equal(b, 6);
}

/* The weights in force are exactly these. */
static void
expect_weights(const char *json)
{
    json_t *o = wlm_kit_ask("$WLM.API.WEIGHT.LIST", "");
    json_t *wanted = json_loads(json, 0, NULL);
    assert_true(json_equal(json_object_get(o, "account_weights"), wanted));
    json_decref(wanted);
    json_decref(o);
}

static void
test_wlm_weights_are_changed_at_run_time(void **state)
{
    (void)state;
    struct api_weight w[] = {{"A3", 3}, {"A4", 2}};
    struct api_tenants t = {.weights = w, .n_weights = 2};
    assert_int_equal(api_set_tenants(rig.api, &t), ST_OK);
    expect_weights("{\"A3\":3,\"A4\":2}");
    json_decref(wlm_kit_ask("$WLM.API.WEIGHT.UPDATE", "{\"account_weights\":{\"A2\":5,\"A3\":1}}"));
    expect_weights("{\"A2\":5,\"A4\":2}");
    assert_int_equal(weights_of(rig.api->weights, "A2"), 5);
    assert_int_equal(weights_of(rig.api->weights, "A3"), 1);
    /* A reload overwrites it. */
    assert_int_equal(api_set_tenants(rig.api, &t), ST_OK);
    expect_weights("{\"A3\":3,\"A4\":2}");
}

static void
test_wlm_weights_that_are_wrong_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *data, *named;
    } bad[] = {
        {"{}", "account_weights: an object"},
        {"{\"account_weights\":3}", "account_weights: an object"},
        {"{\"weights\":{}}", "unknown key: weights"},
        {"{\"account_weights\":{\"A2\":2,\"A3\":0}}",
         "\"A3\" must be a whole number from 1 to 1000"},
        {"{\"account_weights\":{\"A2\":2,\"A3\":1001}}", "\"A3\" must be a whole number"},
        {"{\"account_weights\":{\"A2\":2,\"A3\":\"2\"}}", "\"A3\" must be a whole number"},
        {"{\"account_weights\":{\"A2\":2,\"A99\":2}}", "there is no account \"A99\""},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        wlm_kit_expect_error("$WLM.API.WEIGHT.UPDATE", bad[i].data, 400, bad[i].named);
    }
    expect_weights("{}");
    wlm_kit_expect_error("$WLM.API.WEIGHT.LIST", "{\"x\":1}", 400, "unknown key: x");
}

static void
test_wlm_weights_survive_want_of_memory(void **state)
{
    (void)state;
    struct api_weight w[] = {{"A3", 3}, {"A4", 2}};
    struct api_weight more[] = {{"A2", 7}, {"A4", 9}};
    assert_int_equal(weights_set(rig.api->weights, w, 2), ST_OK);
    enum status st = ST_NOMEM;
    for (long n = 0; st != ST_OK; n++) {
        long live = mem_live();
        mem_fail_at(n);
        st = weights_update(rig.api->weights, more, 2);
        mem_fail_at(-1);
        if (st != ST_OK) {
            assert_int_equal(st, ST_NOMEM);
            assert_int_equal(mem_live(), live);
            expect_weights("{\"A3\":3,\"A4\":2}");
        }
    }
    expect_weights("{\"A2\":7,\"A3\":3,\"A4\":9}");
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_wlm_group_is_made_changed_and_removed_with_requests_parked),
        TEST(test_wlm_group_bad_requests_are_refused_by_name),
        TEST(test_wlm_groups_are_listed_in_the_order_of_matching),
        TEST(test_wlm_groups_survive_a_restart_where_there_is_a_store),
        TEST(test_wlm_group_of_the_file_wins_and_that_is_said),
        TEST(test_wlm_groups_of_the_file_take_the_places_of_others),
        TEST(test_wlm_group_that_cannot_be_stored_is_not_made),
        TEST(test_wlm_group_file_that_is_none_is_set_aside),
        TEST(test_wlm_group_left_out_of_the_file_is_kept_beside_it),
        TEST(test_wlm_request_list_and_cancel_know_what_is_parked),
        TEST(test_wlm_statistics_of_groups_and_buckets),
        TEST(test_wlm_buckets_keep_the_name_of_the_attribute_that_they_were_made_by),
        TEST(test_wlm_weights_give_an_account_more_turns),
        TEST(test_wlm_weights_are_changed_at_run_time),
        TEST(test_wlm_weights_that_are_wrong_change_nothing),
        TEST(test_wlm_weights_survive_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
