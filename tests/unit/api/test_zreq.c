/* SPDX-License-Identifier: Apache-2.0 */
/* The $SYS.REQ family: envelopes, filters and errors as nats-server has them. Without threads. */
#include "api/zreq.h"

#include <jansson.h>
#include <string.h>

#include "tests/support/cmk.h"
#include "tests/support/rig.h"

/* What is answered, or NULL. */
static struct fake_msg *
raw(unsigned acc, const char *subject, const char *reply, const char *data, const char *hdr)
{
    struct api_message m = fakehost_request(acc, 7, subject, reply, data);
    m.now = rig.now.t;
    m.hdr = hdr;
    m.hdr_len = hdr == NULL ? 0 : strlen(hdr);
    api_receive(rig.api, fakehost_endpoint(rig.api, subject, acc == 1), &m);
    while (dispatch_step(rig.api, APIQ_LANE_ANY)) {
    }
    return fakehost_take(&rig.host);
}

static json_t *
ask(unsigned acc, const char *subject, const char *data)
{
    struct fake_msg *m = raw(acc, subject, "_INBOX.r", data, NULL);
    json_t *o = m == NULL ? NULL : json_loads(m->data, JSON_DECODE_ANY, NULL);
    fakehost_free(m);
    return o;
}

static const char *
text(const json_t *o, const char *a, const char *b)
{
    const char *s = json_string_value(json_object_get(json_object_get(o, a), b));
    return s == NULL ? "" : s;
}

static void
expect_error(const char *subject, const char *data, int code, const char *description)
{
    json_t *o = ask(1, subject, data);
    assert_non_null(o);
    assert_string_equal(text(o, "error", "description"), description);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(o, "error"), "code")),
                     code);
    assert_string_equal(text(o, "server", "id"), FAKE_ID);
    json_decref(o);
}

static void
test_zreq_each_view_is_asked_by_ping_and_by_id(void **state)
{
    (void)state;
    static const char *const views[] = {"VARZ",  "CONNZ",   "SUBSZ",    "ROUTEZ",  "GATEWAYZ",
                                        "LEAFZ", "JSZ",     "ACCOUNTZ", "HEALTHZ", "PROFILEZ",
                                        "RAFTZ", "EXPVARZ", "IPQUEUESZ"};
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        char subject[128];
        (void)snprintf(subject, sizeof(subject), "$SYS.REQ.SERVER.PING.%s", views[i]);
        json_t *o = ask(1, subject, "");
        assert_string_equal(text(o, "data", "view"), views[i]);
        json_decref(o);
        (void)snprintf(subject, sizeof(subject), "$SYS.REQ.SERVER." FAKE_ID ".%s", views[i]);
        o = ask(1, subject, "{\"limit\":3}");
        assert_string_equal(text(o, "data", "view"), views[i]);
        const json_t *options = json_object_get(json_object_get(o, "data"), "options");
        assert_int_equal(json_integer_value(json_object_get(options, "limit")), 3);
        json_decref(o);
    }
}

static void
expect_meant(const char *subject, const char *options, bool meant)
{
    json_t *o = ask(1, subject, options);
    if ((o != NULL) != meant) {
        fail_msg("%s %s", subject, options);
    }
    json_decref(o);
}

static void
test_zreq_filters_silence_the_servers_that_are_not_meant(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        bool meant;
    } v[] = {
        {"", true},
        {"null", true},
        {"{}", true},
        {"{\"server_name\":\"ak\"}", true},
        {"{\"server_name\":\"fake\",\"exact_match\":true}", true},
        {"{\"server_name\":\"ak\",\"exact_match\":true}", false},
        {"{\"server_name\":\"other\"}", false},
        {"{\"cluster\":\"C1\"}", true},
        {"{\"cluster\":\"C2\"}", false},
        {"{\"host\":\"127\"}", true},
        {"{\"host\":\"127\",\"exact_match\":true}", false},
        {"{\"tags\":[\"east\",\"ssd\"]}", true},
        {"{\"tags\":[\"east\",\"west\"]}", false},
        {"{\"tags\":[]}", true},
        {"{\"domain\":\"hub\"}", false},
        {"{\"server_name\":null}", true},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        expect_meant("$SYS.REQ.SERVER.PING", v[i].options, v[i].meant);
        expect_meant("$SYS.REQ.SERVER.PING.VARZ", v[i].options, v[i].meant);
        expect_meant("$SYS.REQ.ACCOUNT.X.CONNZ", v[i].options, v[i].meant);
    }
}

static void
test_zreq_malformed_options_are_named_as_nats_server_does(void **state)
{
    (void)state;
    expect_error("$SYS.REQ.SERVER.PING.HEALTHZ", "{bad", 400,
                 "invalid character 'b' looking for beginning of object key string");
    expect_error("$SYS.REQ.SERVER.PING.HEALTHZ", "[]", 400,
                 "json: cannot unmarshal array into Go value of type server.HealthzEventOptions");
    expect_error("$SYS.REQ.SERVER.PING", "{\"server_name\":5}", 400,
                 "json: cannot unmarshal number into Go struct field "
                 "StatszEventOptions.EventFilterOptions.server_name of type string");
    expect_error("$SYS.REQ.SERVER.PING.VARZ", "{\"tags\":\"a\"}", 400,
                 "json: cannot unmarshal string into Go struct field "
                 "VarzEventOptions.EventFilterOptions.tags of type []string");
    expect_error("$SYS.REQ.SERVER." FAKE_ID ".RELOAD", "{bad", 400,
                 "invalid character 'b' looking for beginning of object key string");
}

static void
test_zreq_what_fails_behind_it_is_code_500(void **state)
{
    (void)state;
    expect_error("$SYS.REQ.ACCOUNT.NOPE.INFO", "", 500, "Account NOPE does not exist");
    expect_error("$SYS.REQ.SERVER." FAKE_ID ".RELOAD", "", 500,
                 "can only reload config when a file is provided using -c or --config");
    expect_error("$SYS.REQ.SERVER." FAKE_ID ".KICK", "{\"cid\":9999}", 500,
                 "no such client or leafnode id");
    expect_error("$SYS.REQ.SERVER." FAKE_ID ".LDM", "{\"cid\":9999}", 500, "no such client id");
    json_t *o = ask(1, "$SYS.REQ.ACCOUNT.NOPE.INFO", "");
    assert_true(json_is_null(json_object_get(o, "data")));
    json_decref(o);
    o = ask(1, "$SYS.REQ.SERVER." FAKE_ID ".KICK", "{\"cid\":5}");
    assert_int_equal(json_object_size(o), 1);
    json_decref(o);
    assert_null(ask(1, "$SYS.REQ.SERVER." FAKE_ID ".KICK", ""));
}

static void
test_zreq_account_requests_name_their_account(void **state)
{
    (void)state;
    json_t *o = ask(1, "$SYS.REQ.ACCOUNT.SHOP.CONNZ", "{\"acc\":\"OTHER\",\"limit\":2}");
    const json_t *options = json_object_get(json_object_get(o, "data"), "options");
    assert_string_equal(json_string_value(json_object_get(options, "acc")), "SHOP");
    assert_int_equal(json_integer_value(json_object_get(options, "limit")), 2);
    json_decref(o);
    o = ask(1, "$SYS.REQ.ACCOUNT.SHOP.SUBSZ", "");
    options = json_object_get(json_object_get(o, "data"), "options");
    assert_string_equal(json_string_value(json_object_get(options, "account")), "SHOP");
    assert_true(json_is_true(json_object_get(options, "subscriptions")));
    json_decref(o);
    o = ask(1, "$SYS.REQ.ACCOUNT.SHOP.CONNS", "");
    assert_string_equal(json_string_value(json_object_get(o, "type")),
                        "io.nats.server.advisory.v1.account_connections");
    assert_string_equal(json_string_value(json_object_get(o, "acc")), "SHOP");
    assert_int_equal(strlen(json_string_value(json_object_get(o, "id"))), 22);
    json_decref(o);
    assert_null(ask(1, "$SYS.REQ.ACCOUNT.SHOP.CONNS", "{\"acc\":\"OTHER\"}"));
    assert_null(ask(1, "$SYS.REQ.ACCOUNT.IDLE.STATZ", ""));
    o = ask(1, "$SYS.REQ.ACCOUNT.IDLE.STATZ", "{\"include_unused\":true}");
    assert_non_null(o);
    json_decref(o);
}

static void
test_zreq_other_accounts_see_their_own_alone(void **state)
{
    (void)state;
    static const char *const subjects[] = {"$SYS.REQ.ACCOUNT.PING.CONNZ",
                                           "$SYS.REQ.SERVER.PING.CONNZ"};
    for (size_t i = 0; i < 2; i++) {
        json_t *o = ask(4, subjects[i], "{\"acc\":\"SYS\"}");
        const json_t *options = json_object_get(json_object_get(o, "data"), "options");
        assert_string_equal(json_string_value(json_object_get(options, "acc")), "A4");
        json_decref(o);
    }
    json_t *o = ask(4, "$SYS.REQ.ACCOUNT.PING.STATZ", "{\"accounts\":[\"SYS\"]}");
    const json_t *list = json_object_get(json_object_get(o, "data"), "account_statz");
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "acc")), "A4");
    json_decref(o);
}

static void
test_zreq_who_asks_for_compression_is_told_that_there_is_none(void **state)
{
    (void)state;
    struct fake_msg *m = raw(1, "$SYS.REQ.SERVER.PING.VARZ", "_INBOX.r", "",
                             "NATS/1.0\r\nAccept-Encoding: snappy\r\n\r\n");
    assert_string_equal(m->hdr, "NATS/1.0\r\nContent-Encoding: identity\r\n\r\n");
    fakehost_free(m);
}

static void
test_zreq_idz_and_counts_come_bare(void **state)
{
    (void)state;
    json_t *o = ask(1, "$SYS.REQ.SERVER.PING.IDZ", "{\"server_name\":\"other\"}");
    assert_int_equal(json_object_size(o), 3);
    assert_string_equal(json_string_value(json_object_get(o, "host")), "127.0.0.1");
    json_decref(o);
    struct fake_msg *m =
        raw(1, "$SYS.REQ.ACCOUNT.NSUBS", "_INBOX.r", "{\"acc\":\"A\",\"subject\":\"x\"}", NULL);
    assert_string_equal(m->data, "7");
    fakehost_free(m);
    assert_null(ask(1, "$SYS.REQ.ACCOUNT.NSUBS", ""));
    m = raw(1, "$SYS.DEBUG.SUBSCRIBERS", "_INBOX.r", " x.> ", NULL);
    assert_string_equal(m->data, "7");
    fakehost_free(m);
}

static void
test_zreq_without_a_reply_only_the_statistics_are_sent_to_all(void **state)
{
    (void)state;
    assert_null(raw(1, "$SYS.REQ.SERVER.PING.VARZ", "", "", NULL));
    struct fake_msg *m = raw(1, "$SYS.REQ.SERVER.PING", "", "", NULL);
    assert_string_equal(m->subject, "$SYS.SERVER." FAKE_ID ".STATSZ");
    assert_ptr_equal(m->acc, fakehost_account(1));
    fakehost_free(m);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_zreq_each_view_is_asked_by_ping_and_by_id),
        T(test_zreq_filters_silence_the_servers_that_are_not_meant),
        T(test_zreq_malformed_options_are_named_as_nats_server_does),
        T(test_zreq_what_fails_behind_it_is_code_500),
        T(test_zreq_account_requests_name_their_account),
        T(test_zreq_other_accounts_see_their_own_alone),
        T(test_zreq_who_asks_for_compression_is_told_that_there_is_none),
        T(test_zreq_idz_and_counts_come_bare),
        T(test_zreq_without_a_reply_only_the_statistics_are_sent_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
