/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/fakehost.h"

static struct fakehost host;
static struct api *api;

static int
set_up(void **state)
{
    (void)state;
    struct api_opts opts = fakehost_opts(2);
    fakehost_init(&host);
    assert_int_equal(api_new(&api, &host.host, &opts, &clock_real), ST_OK);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    api_close(api);
    api_free(api);
    fakehost_fini(&host);
    return 0;
}

static void
send(unsigned account, const char *subject, const char *data)
{
    struct api_message m = fakehost_request(account, 9, subject, "_INBOX.1", data);
    api_receive(api, fakehost_endpoint(api, subject, account == 1), &m);
}

/* Sends, and gives the answer as JSON. */
static json_t *
ask(unsigned account, const char *subject, const char *data)
{
    uint64_t before = host.published;
    send(account, subject, data);
    fakehost_wait(&host, before + 1);
    struct fake_msg *m = fakehost_take(&host);
    assert_non_null(m);
    assert_string_equal(m->subject, "_INBOX.1");
    assert_ptr_equal(m->acc, fakehost_account(account));
    json_t *o = json_loads(m->data, JSON_DECODE_ANY, NULL);
    assert_non_null(o);
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
test_api_user_info_is_answered_in_the_senders_account(void **state)
{
    (void)state;
    json_t *o = ask(3, "$SYS.REQ.USER.INFO", "");
    assert_string_equal(text(o, "data", "user"), "alice");
    assert_string_equal(text(o, "data", "account"), "A3");
    assert_string_equal(text(o, "server", "id"), FAKE_ID);
    json_decref(o);
}

static void
test_api_ping_answers_with_statsz(void **state)
{
    (void)state;
    json_t *o = ask(1, "$SYS.REQ.SERVER.PING", "");
    assert_string_equal(text(o, "statsz", "view"), "STATSZ");
    assert_string_equal(text(o, "server", "name"), FAKE_NAME);
    json_decref(o);
}

static void
test_api_set_cost_endpoint_answers_ok_also_from_another_thread(void **state)
{
    (void)state;
    json_t *o = ask(2, "$SYS.REQ.TEST.SLEEP", "{\"us\":10}");
    assert_true(json_is_true(json_object_get(o, "ok")));
    json_decref(o);
    o = ask(2, "$SYS.REQ.TEST.SLEEP", "{\"pending_us\":10}");
    assert_true(json_is_true(json_object_get(o, "ok")));
    json_decref(o);
}

static void
test_api_new_survives_each_single_fault_of_memory(void **state)
{
    (void)state;
    struct fakehost h;
    struct api_opts opts = fakehost_opts(2);
    fakehost_init(&h);
    json_set_alloc_funcs(mem_alloc_raw, mem_free);
    long live = mem_live();
    enum status st = ST_NOMEM;
    for (long n = 0; st != ST_OK; n++) {
        struct api *a;
        mem_fail_at(n);
        st = api_new(&a, &h.host, &opts, &clock_real);
        mem_fail_at(-1);
        if (st == ST_OK) {
            api_close(a);
            api_free(a);
        } else {
            assert_int_equal(st, ST_NOMEM);
        }
        assert_int_equal(mem_live(), live);
    }
    json_set_alloc_funcs(malloc, free);
    fakehost_fini(&h);
}

static void
test_api_new_refuses_settings_out_of_range(void **state)
{
    (void)state;
    struct fakehost h;
    struct api *a;
    fakehost_init(&h);
    struct api_opts opts = fakehost_opts(100000);
    assert_int_equal(api_new(&a, &h.host, &opts, &clock_real), ST_INVAL);
    opts = fakehost_opts(2);
    opts.adaptive_age = 0;
    assert_int_equal(api_new(&a, &h.host, &opts, &clock_real), ST_INVAL);
    fakehost_fini(&h);
}

static void
test_api_subscriptions_name_this_server_and_their_accounts(void **state)
{
    (void)state;
    const struct api_subscription *v;
    size_t n = api_subscriptions(api, &v);
    bool own = false;
    for (size_t i = 0; i < n; i++) {
        assert_null(strchr(v[i].subject, '{'));
        assert_false(v[i].system_only && v[i].users_only);
        own = own || strcmp(v[i].subject, "$SYS.REQ.SERVER." FAKE_ID ".VARZ") == 0;
        if (strncmp(v[i].subject, "$WLM.", 5) == 0) {
            assert_true(v[i].system_only);
        }
    }
    assert_true(own);
}

static void
test_api_workers_change_while_it_runs(void **state)
{
    (void)state;
    for (int64_t workers = 1; workers <= 8; workers *= 2) {
        struct api_opts opts = fakehost_opts(workers);
        assert_int_equal(api_update(api, &opts), ST_OK);
        json_decref(ask(3, "$SYS.REQ.USER.INFO", ""));
        json_t *z = api_apiz(api);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(z, "now"), "workers")),
                         workers);
        json_decref(z);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: it counts blocks, and threads of the set-cost endpoint may linger. */
        cmocka_unit_test(test_api_new_survives_each_single_fault_of_memory),
        cmocka_unit_test_setup_teardown(test_api_user_info_is_answered_in_the_senders_account,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_api_ping_answers_with_statsz, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_api_set_cost_endpoint_answers_ok_also_from_another_thread, set_up, tear_down),
        cmocka_unit_test(test_api_new_refuses_settings_out_of_range),
        cmocka_unit_test_setup_teardown(test_api_subscriptions_name_this_server_and_their_accounts,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_api_workers_change_while_it_runs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
