/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include "tests/unit/server/monitor/fake_server.h"

static json_t *
options_of(const char *json)
{
    if (json == NULL) {
        return NULL;
    }
    json_t *o = json_loads(json, 0, NULL);
    assert_non_null(o);
    return o;
}

static json_t *
view(const char *what, const char *options)
{
    json_t *o = options_of(options);
    json_t *out;
    char *err;
    assert_int_equal(monitor_view(fake_handle(), what, o, &out, &err), ST_OK);
    assert_null(err);
    json_decref(o);
    return out;
}

static void
assert_fails(const char *what, const char *options, enum status st, const char *text)
{
    json_t *o = options_of(options);
    json_t *out;
    char *err;
    assert_int_equal(monitor_view(fake_handle(), what, o, &out, &err), st);
    assert_null(out);
    if (text != NULL) {
        assert_string_equal(err, text);
    } else {
        assert_null(err);
    }
    mem_free(err);
    json_decref(o);
}

/* "cid cid …" of the connections in the answer. */
static void
assert_cids(const char *options, const char *expected)
{
    json_t *v = view("CONNZ", options);
    char got[64] = "";
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(v, "connections"), i, c)
    {
        char one[16];
        snprintf(one, sizeof one, i > 0 ? " %d" : "%d",
                 (int)json_integer_value(json_object_get(c, "cid")));
        strcat(got, one);
    }
    assert_string_equal(got, expected);
    assert_int_equal(json_integer_value(json_object_get(v, "num_connections")),
                     json_array_size(json_object_get(v, "connections")));
    json_decref(v);
}

static int64_t
number(const json_t *o, const char *key)
{
    assert_true(json_is_integer(json_object_get(o, key)));
    return json_integer_value(json_object_get(o, key));
}

static const char *
string(const json_t *o, const char *key)
{
    assert_true(json_is_string(json_object_get(o, key)));
    return json_string_value(json_object_get(o, key));
}

static void
test_connz_sorts_by_every_key(void **state)
{
    (void)state;
    assert_cids(NULL, "1 2 3");
    assert_cids("{\"sort\":\"cid\",\"state\":2}", "1 2 3 4 5");
    assert_cids("{\"sort\":\"start\"}", "1 2 3");
    static const char *const descending[] = {"subs",     "pending",    "msgs_to", "msgs_from",
                                             "bytes_to", "bytes_from", "last",    "rtt"};
    for (size_t i = 0; i < sizeof descending / sizeof descending[0]; i++) {
        char options[64];
        snprintf(options, sizeof options, "{\"sort\":\"%s\",\"state\":2}", descending[i]);
        assert_cids(options, "1 2 3 4 5");
    }
    assert_cids("{\"sort\":\"idle\"}", "3 2 1");
    assert_cids("{\"sort\":\"uptime\"}", "3 2 1");
    assert_cids("{\"sort\":\"stop\",\"state\":1}", "4 5");
    assert_cids("{\"sort\":\"reason\",\"state\":1}", "5 4");
}

static void
test_connz_refuses_orders_that_make_no_sense(void **state)
{
    (void)state;
    assert_fails("CONNZ", "{\"sort\":\"x\"}", ST_INVAL, "invalid sorting option: x");
    assert_fails("CONNZ", "{\"sort\":\"stop\"}", ST_INVAL,
                 "sort by stop only valid on closed connections");
    assert_fails("CONNZ", "{\"sort\":\"reason\",\"state\":2}", ST_INVAL,
                 "sort by reason only valid on closed connections");
    assert_fails("CONNZ", "{\"filter_subject\":\"foo\"}", ST_INVAL,
                 "filter by subject only valid with account filtering");
}

static void
test_connz_pages_and_counts_before_it_narrows(void **state)
{
    (void)state;
    assert_cids("{\"offset\":1,\"limit\":1}", "2");
    assert_cids("{\"offset\":99}", "");
    assert_cids("{\"offset\":-5,\"limit\":-1}", "1 2 3");
    assert_cids("{\"user\":\"u1\",\"state\":2}", "2 4");
    assert_cids("{\"cid\":4}", "");
    assert_cids("{\"cid\":4,\"state\":2}", "4");
    assert_cids("{\"state\":7}", "");
    assert_cids("{\"acc\":\"A\"}", "2 3");
    assert_cids("{\"acc\":\"A\",\"filter_subject\":\"*.2\"}", "3");
    assert_cids("{\"acc\":\"A\",\"filter_subject\":\">\"}", "2 3");
    assert_cids("{\"mqtt_client\":\"m\"}", "");
    json_t *v = view("CONNZ", "{\"user\":\"u1\",\"limit\":2}");
    assert_int_equal(number(v, "total"), 3);
    assert_int_equal(number(v, "limit"), 2);
    json_decref(v);
}

static void
test_connz_of_an_unknown_account_is_blank(void **state)
{
    (void)state;
    json_t *v = view("CONNZ", "{\"acc\":\"none\"}");
    assert_string_equal(string(v, "server_id"), "");
    assert_true(json_is_null(json_object_get(v, "connections")));
    json_decref(v);
}

static void
test_connz_shows_a_connection_as_nats_does(void **state)
{
    (void)state;
    json_t *v = view("CONNZ", "{\"cid\":2,\"auth\":true,\"subscriptions\":true}");
    json_t *c = json_array_get(json_object_get(v, "connections"), 0);
    assert_string_equal(string(c, "ip"), "127.0.0.1");
    assert_string_equal(string(c, "rtt"), "1.111104ms");
    assert_string_equal(string(c, "name"), "b\xEF\xBF\xBD");
    assert_string_equal(string(c, "authorized_user"), "u1");
    assert_string_equal(string(c, "account"), "A");
    assert_string_equal(string(c, "name_tag"), "A");
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(c, "subscriptions_list"), 0)), "foo.1");
    assert_null(json_object_get(c, "stop"));
    assert_null(json_object_get(c, "stalls"));
    json_decref(v);
    v = view("CONNZ", "{\"cid\":5,\"state\":1,\"subscriptions_detail\":true}");
    c = json_array_get(json_object_get(v, "connections"), 0);
    assert_string_equal(string(c, "reason"), "Client Closed");
    assert_string_equal(string(c, "stop"), "2023-11-14T22:15:00Z");
    assert_string_equal(string(c, "uptime"), "1m36s");
    assert_string_equal(string(c, "idle"), "1m34s");
    assert_null(json_object_get(c, "account"));
    json_t *sub = json_array_get(json_object_get(c, "subscriptions_list_detail"), 0);
    assert_string_equal(string(sub, "subject"), "foo.4");
    assert_int_equal(number(sub, "msgs"), 3);
    assert_string_equal(string(sub, "account"), "A");
    assert_null(json_object_get(sub, "max"));
    json_decref(v);
}

static void
test_views_tell_wrong_types_in_nats_words(void **state)
{
    (void)state;
    assert_fails("CONNZ", "{\"limit\":\"x\"}", ST_SYNTAX,
                 "json: cannot unmarshal string into Go struct field "
                 "ConnzEventOptions.ConnzOptions.limit of type int");
    assert_fails("CONNZ", "{\"limit\":1.5}", ST_SYNTAX,
                 "json: cannot unmarshal number 1.5 into Go struct field "
                 "ConnzEventOptions.ConnzOptions.limit of type int");
    assert_fails("CONNZ", "{\"cid\":-1}", ST_SYNTAX,
                 "json: cannot unmarshal number -1 into Go struct field "
                 "ConnzEventOptions.ConnzOptions.cid of type uint64");
    assert_fails("CONNZ", "{\"auth\":1}", ST_SYNTAX,
                 "json: cannot unmarshal number into Go struct field "
                 "ConnzEventOptions.ConnzOptions.auth of type bool");
    assert_fails("CONNZ", "{\"state\":\"open\"}", ST_SYNTAX,
                 "json: cannot unmarshal string into Go struct field "
                 "ConnzEventOptions.ConnzOptions.state of type server.ConnState");
    assert_fails("CONNZ", "[1]", ST_SYNTAX,
                 "json: cannot unmarshal array into Go value of type server.ConnzEventOptions");
    assert_cids("{\"LIMIT\":1,\"nope\":{},\"cid\":null}", "1");
}

static void
test_subsz_tests_a_subject_and_pages(void **state)
{
    (void)state;
    json_t *v = view("SUBSZ", NULL);
    assert_int_equal(number(v, "num_subscriptions"), 4);
    assert_int_equal(number(v, "total"), 0);
    assert_float_equal(json_real_value(json_object_get(v, "cache_hit_rate")), 0.25, 1e-9);
    assert_float_equal(json_real_value(json_object_get(v, "avg_fanout")), 1.5, 1e-9);
    assert_null(json_object_get(v, "subscriptions_list"));
    json_decref(v);
    v = view("SUBSZ", "{\"subscriptions\":true,\"test\":\"foo.x\",\"limit\":1}");
    assert_int_equal(number(v, "total"), 2);
    json_t *list = json_object_get(v, "subscriptions_list");
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(string(json_array_get(list, 0), "subject"), "foo.*");
    assert_string_equal(string(json_array_get(list, 0), "account_tag"), "A");
    json_decref(v);
    v = view("SUBSZ", "{\"subscriptions\":true,\"account\":\"none\"}");
    assert_int_equal(number(v, "num_subscriptions"), 0);
    json_decref(v);
    assert_fails("SUBSZ", "{\"test\":\"foo.*\"}", ST_INVAL,
                 "invalid test subject, must be valid publish subject: foo.*");
}

static void
test_accounts_are_listed_and_detailed(void **state)
{
    (void)state;
    json_t *v = view("ACCOUNTZ", NULL);
    assert_string_equal(string(v, "system_account"), "SYS");
    json_t *names = json_object_get(v, "accounts");
    assert_int_equal(json_array_size(names), 3);
    assert_string_equal(json_string_value(json_array_get(names, 0)), "$G");
    json_decref(v);
    v = view("ACCOUNTZ", "{\"account\":\"A\"}");
    json_t *d = json_object_get(v, "account_detail");
    assert_int_equal(number(d, "client_connections"), 2);
    assert_null(json_object_get(d, "is_system"));
    json_decref(v);
    v = view("ACCINFO", "{\"account\":\"SYS\"}");
    assert_true(json_is_true(json_object_get(v, "is_system")));
    json_decref(v);
    assert_fails("ACCOUNTZ", "{\"account\":\"Z\"}", ST_INVAL, "Account Z does not exist");
}

static void
test_account_statistics_leave_out_the_unused(void **state)
{
    (void)state;
    json_t *v = view("ACCSTATZ", NULL);
    assert_int_equal(json_array_size(json_object_get(v, "account_statz")), 2);
    json_decref(v);
    v = view("ACCSTATZ", "{\"include_unused\":true}");
    assert_int_equal(json_array_size(json_object_get(v, "account_statz")), 3);
    json_decref(v);
    v = view("ACCSTATZ", "{\"accounts\":[\"A\",\"nope\"]}");
    json_t *a = json_array_get(json_object_get(v, "account_statz"), 0);
    assert_string_equal(string(a, "acc"), "A");
    assert_int_equal(number(json_object_get(a, "received"), "msgs"), 7);
    assert_int_equal(number(json_object_get(json_object_get(a, "sent"), "leafs"), "bytes"), 0);
    json_decref(v);
    assert_fails("CONNS", "{\"acc\":\"Z\"}", ST_NOTFOUND, NULL);
    v = view("CONNS", "{\"acc\":\"A\"}");
    assert_string_equal(string(v, "acc"), "A");
    assert_int_equal(number(v, "total_conns"), 2);
    json_decref(v);
}

static void
assert_nsubs(const char *options, int64_t expected)
{
    json_t *v = view("NSUBS", options);
    assert_int_equal(json_integer_value(v), expected);
    json_decref(v);
}

static void
test_nsubs_counts_what_a_subject_reaches(void **state)
{
    (void)state;
    assert_nsubs("{\"acc\":\"A\",\"subject\":\"foo.x\"}", 2);
    assert_nsubs("{\"acc\":\"A\",\"subject\":\"foo\"}", 1);
    assert_nsubs("{\"acc\":\"A\",\"subject\":\"foo.>\"}", 2);
    assert_nsubs("{\"acc\":\"A\",\"subject\":\"*\"}", 2);
    assert_nsubs("{\"acc\":\"A\",\"subject\":\"foo\",\"queue\":\"q\"}", 0);
    assert_nsubs("{\"acc\":\"A\",\"subject\":\"\"}", 0);
    assert_fails("NSUBS", "{\"acc\":\"Z\",\"subject\":\"foo\"}", ST_NOTFOUND, NULL);
}

static void
test_healthz_has_a_code_for_every_state(void **state)
{
    (void)state;
    json_t *v = view("HEALTHZ", NULL);
    assert_string_equal(string(v, "status"), "ok");
    assert_int_equal(number(v, "status_code"), 200);
    json_decref(v);
    v = view("HEALTHZ", "{\"stream\":\"S\"}");
    assert_int_equal(number(v, "status_code"), 400);
    assert_string_equal(string(v, "error"),
                        "\"account\" must not be empty when checking stream health");
    json_decref(v);
    v = view("HEALTHZ", "{\"consumer\":\"S\",\"details\":true}");
    json_t *e = json_array_get(json_object_get(v, "errors"), 0);
    assert_string_equal(string(e, "type"), "BAD_REQUEST");
    json_decref(v);
    fake.lame_duck = true;
    v = view("HEALTHZ", NULL);
    fake.lame_duck = false;
    assert_int_equal(number(v, "status_code"), 500);
    assert_string_equal(string(v, "status"), "error");
    json_decref(v);
}

static void
test_ipqueuesz_shows_busy_queues_unless_all_are_wanted(void **state)
{
    (void)state;
    json_t *v = view("IPQUEUESZ", NULL);
    assert_int_equal(json_object_size(v), 1);
    assert_non_null(json_object_get(v, "API info"));
    json_decref(v);
    v = view("IPQUEUESZ", "{\"all\":true}");
    assert_int_equal(json_object_size(v), 2);
    json_decref(v);
    v = view("IPQUEUESZ", "{\"all\":true,\"filter\":\"dl\"}");
    assert_int_equal(json_object_size(v), 1);
    json_decref(v);
}

static void
test_views_without_meaning_here_answer_as_nats_does(void **state)
{
    (void)state;
    json_t *v = view("JSZ", NULL);
    assert_true(json_is_true(json_object_get(v, "disabled")));
    json_decref(v);
    assert_fails("JSZ", "{\"leader_only\":true}", ST_CANCELLED, "filtered response: not leader");
    assert_fails("ACCJSZ", "{\"account\":\"A\"}", ST_INVAL, "jetstream not enabled");
    v = view("PROFILEZ", "{\"name\":\"heap\"}");
    assert_string_equal(string(v, "error"), "Profile \"heap\" not found");
    json_decref(v);
    v = view("IDZ", NULL);
    assert_string_equal(string(v, "id"), "NFAKE");
    json_decref(v);
    assert_fails("NOPEZ", NULL, ST_NOTFOUND, NULL);
}

static void
test_views_report_loops_that_do_not_answer(void **state)
{
    (void)state;
    fake.inspect = ST_TIMEOUT;
    assert_fails("CONNZ", NULL, ST_TIMEOUT, NULL);
    assert_fails("ACCOUNTZ", NULL, ST_TIMEOUT, NULL);
    assert_fails("STATSZ", NULL, ST_TIMEOUT, NULL);
    fake.inspect = ST_OK;
}

static void
sweep(const char *what, const json_t *options)
{
    long before = mem_live();
    enum status st = ST_NOMEM;
    for (long n = 0; st == ST_NOMEM; n++) {
        json_t *out;
        char *err;
        mem_fail_at(n);
        st = monitor_view(fake_handle(), what, options, &out, &err);
        bool has_fired = mem_fail_fired();
        mem_fail_at(-1);
        assert_true(st != ST_NOMEM || (out == NULL && has_fired));
        json_decref(out);
        mem_free(err);
        assert_int_equal(mem_live(), before);
    }
}

static void
test_views_survive_running_out_of_memory(void **state)
{
    (void)state;
    json_set_alloc_funcs(mem_alloc, mem_free);
    static const char *const names[] = {"VARZ",    "CONNZ",    "SUBSZ",    "ROUTEZ",   "GATEWAYZ",
                                        "LEAFZ",   "RAFTZ",    "ACCOUNTZ", "ACCSTATZ", "CONNS",
                                        "ACCINFO", "NSUBS",    "JSZ",      "STATSZ",   "HEALTHZ",
                                        "EXPVARZ", "PROFILEZ", "IDZ"};
    json_t *o = json_pack("{s:b,s:b,s:b,s:s,s:s,s:i}", "subscriptions", 1, "auth", 1, "details", 1,
                          "account", "A", "acc", "A", "state", 2);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sweep(names[i], o);
    }
    json_object_set_new(o, "stream", json_string("S"));
    json_object_set_new(o, "account", json_string(""));
    sweep("HEALTHZ", o);
    sweep("ACCOUNTZ", o);
    json_object_set_new(o, "sort", json_string("zz"));
    sweep("CONNZ", o);
    json_decref(o);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connz_sorts_by_every_key),
        cmocka_unit_test(test_connz_refuses_orders_that_make_no_sense),
        cmocka_unit_test(test_connz_pages_and_counts_before_it_narrows),
        cmocka_unit_test(test_connz_of_an_unknown_account_is_blank),
        cmocka_unit_test(test_connz_shows_a_connection_as_nats_does),
        cmocka_unit_test(test_views_tell_wrong_types_in_nats_words),
        cmocka_unit_test(test_subsz_tests_a_subject_and_pages),
        cmocka_unit_test(test_accounts_are_listed_and_detailed),
        cmocka_unit_test(test_account_statistics_leave_out_the_unused),
        cmocka_unit_test(test_nsubs_counts_what_a_subject_reaches),
        cmocka_unit_test(test_healthz_has_a_code_for_every_state),
        cmocka_unit_test(test_ipqueuesz_shows_busy_queues_unless_all_are_wanted),
        cmocka_unit_test(test_views_without_meaning_here_answer_as_nats_does),
        cmocka_unit_test(test_views_report_loops_that_do_not_answer),
        cmocka_unit_test(test_views_survive_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
