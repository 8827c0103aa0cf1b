/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/events.h"

#include <time.h>

#include "tests/support/cmk.h"

#include "tests/unit/server/monitor/fake_server.h"

static int
reset(void **state)
{
    (void)state;
    pthread_mutex_lock(&fake.lock);
    fake.n_sent = 0;
    pthread_mutex_unlock(&fake.lock);
    fake.has_interest = true;
    fake.config.system_account = "SYS";
    return 0;
}

static json_t *
sent(int i, const char *subject)
{
    assert_true(i < fake.n_sent);
    assert_string_equal(fake.sent[i].subject, subject);
    json_t *j = json_loads(fake.sent[i].data, 0, NULL);
    assert_non_null(j);
    return j;
}

static const char *
string(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    assert_non_null(s);
    return s;
}

static struct conn_info
client(size_t i)
{
    struct conn_info c;
    assert_true(fake_conn(&c, i, false));
    return c;
}

static void
free_client(struct conn_info *c)
{
    struct conn_info *v = mem_alloc(sizeof *v);
    assert_non_null(v);
    *v = *c;
    inspect_free_conns(v, 1);
}

static void
test_events_connect_names_the_client(void **state)
{
    (void)state;
    struct conn_info c = client(2);
    events_connect(fake_handle(), &c);
    json_t *j = sent(0, "$SYS.ACCOUNT.A.CONNECT");
    assert_string_equal(string(j, "type"), "io.nats.server.advisory.v1.client_connect");
    assert_int_equal(strlen(string(j, "id")), 22);
    assert_string_equal(string(json_object_get(j, "server"), "id"), "NFAKE");
    json_t *cl = json_object_get(j, "client");
    assert_string_equal(string(cl, "acc"), "A");
    assert_string_equal(string(cl, "user"), "u0");
    assert_string_equal(string(cl, "kind"), "Client");
    assert_string_equal(string(cl, "client_type"), "nats");
    assert_int_equal(json_integer_value(json_object_get(cl, "id")), 3);
    assert_null(json_object_get(cl, "stop"));
    json_decref(j);
    free_client(&c);
}

static void
test_events_disconnect_counts_from_the_clients_side(void **state)
{
    (void)state;
    struct conn_info c = client(3);
    c.in_msgs = 11;
    events_disconnect(fake_handle(), &c);
    json_t *j = sent(0, "$SYS.ACCOUNT.A.DISCONNECT");
    assert_string_equal(string(j, "type"), "io.nats.server.advisory.v1.client_disconnect");
    assert_string_equal(string(j, "reason"), "Stale Connection");
    assert_string_equal(string(json_object_get(j, "client"), "stop"), "2023-11-14T22:15:00Z");
    json_t *d = json_object_get(j, "sent");
    assert_int_equal(json_integer_value(json_object_get(d, "msgs")), 11);
    json_decref(j);
    free_client(&c);
}

static void
test_events_auth_error_goes_to_the_servers_subject(void **state)
{
    (void)state;
    struct conn_info c = client(0);
    events_auth_error(fake_handle(), &c);
    json_decref(sent(0, "$SYS.SERVER.NFAKE.CLIENT.AUTH.ERR"));
    events_shutdown(fake_handle());
    json_t *j = sent(1, "$SYS.SERVER.NFAKE.SHUTDOWN");
    assert_string_equal(string(j, "ver"), SERVER_VERSION);
    json_decref(j);
    events_lame_duck(fake_handle());
    json_decref(sent(2, "$SYS.SERVER.NFAKE.LAMEDUCK"));
    free_client(&c);
}

static void
test_events_cost_nothing_without_a_listener_or_a_system_account(void **state)
{
    (void)state;
    struct conn_info c = client(2);
    long before = mem_live();
    fake.has_interest = false;
    mem_fail_at(0);
    events_connect(fake_handle(), &c);
    events_disconnect(fake_handle(), &c);
    events_auth_error(fake_handle(), &c);
    fake.has_interest = true;
    fake.config.system_account = NULL;
    events_connect(fake_handle(), &c);
    events_disconnect(fake_handle(), &c);
    events_shutdown(fake_handle());
    assert_false(mem_fail_fired());
    mem_fail_at(-1);
    assert_int_equal(fake.n_sent, 0);
    assert_int_equal(mem_live(), before);
    free_client(&c);
}

static void
test_events_without_memory_are_dropped_whole(void **state)
{
    (void)state;
    json_set_alloc_funcs(mem_alloc, mem_free);
    struct conn_info c = client(4);
    long before = mem_live();
    bool has_fired = true;
    for (long n = 0; has_fired; n++) {
        fake.n_sent = 0;
        mem_fail_at(n);
        events_disconnect(fake_handle(), &c);
        has_fired = mem_fail_fired();
        mem_fail_at(-1);
        assert_int_equal(mem_live(), before);
        json_t *j = fake.n_sent > 0 ? json_loads(fake.sent[0].data, 0, NULL) : NULL;
        assert_true(fake.n_sent == 0 || json_object_get(j, "reason") != NULL);
        json_decref(j);
    }
    json_decref(sent(0, "$SYS.ACCOUNT.A.DISCONNECT"));
    free_client(&c);
}

/* Waits until a message on that subject was sent; false after 5 s. */
static bool
wait_for(const char *subject)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    pthread_mutex_lock(&fake.lock);
    bool found = false;
    int rc = 0;
    while (!found && rc == 0) {
        for (int i = 0; i < fake.n_sent; i++) {
            found = found || strcmp(fake.sent[i].subject, subject) == 0;
        }
        if (!found) {
            rc = pthread_cond_timedwait(&fake.on_sent, &fake.lock, &until);
        }
    }
    pthread_mutex_unlock(&fake.lock);
    return found;
}

static void
test_monitor_sends_statistics_soon_and_account_changes_at_once(void **state)
{
    (void)state;
    assert_int_equal(monitor_new(&fake.monitor, fake_handle()), ST_OK);
    assert_int_equal(monitor_start(fake.monitor), ST_OK);
    assert_int_equal(monitor_port(fake.monitor), 0);
    struct conn_info c = client(2);
    events_connect(fake_handle(), &c);
    assert_true(wait_for("$SYS.ACCOUNT.A.SERVER.CONNS"));
    assert_true(wait_for("$SYS.SERVER.ACCOUNT.A.CONNS"));
    assert_true(wait_for("$SYS.SERVER.NFAKE.STATSZ"));
    monitor_stop(fake.monitor);
    for (int i = 0; i < fake.n_sent; i++) {
        json_t *j = json_loads(fake.sent[i].data, 0, NULL);
        assert_non_null(j);
        bool is_stats = strstr(fake.sent[i].subject, "STATSZ") != NULL;
        assert_int_equal(is_stats, json_object_get(j, "statsz") != NULL);
        json_decref(j);
    }
    monitor_free(fake.monitor);
    fake.monitor = NULL;
    free_client(&c);
}

static void
test_monitor_new_survives_running_out_of_memory(void **state)
{
    (void)state;
    long before = mem_live();
    enum status st = ST_NOMEM;
    for (long n = 0; st != ST_OK; n++) {
        struct monitor *m = NULL;
        mem_fail_at(n);
        st = monitor_new(&m, fake_handle());
        mem_fail_at(-1);
        if (st == ST_OK) {
            monitor_free(m);
        }
        assert_int_equal(mem_live(), before);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_events_connect_names_the_client, reset),
        cmocka_unit_test_setup(test_events_disconnect_counts_from_the_clients_side, reset),
        cmocka_unit_test_setup(test_events_auth_error_goes_to_the_servers_subject, reset),
        cmocka_unit_test_setup(test_events_cost_nothing_without_a_listener_or_a_system_account,
                               reset),
        cmocka_unit_test_setup(test_events_without_memory_are_dropped_whole, reset),
        cmocka_unit_test_setup(test_monitor_sends_statistics_soon_and_account_changes_at_once,
                               reset),
        cmocka_unit_test_setup(test_monitor_new_survives_running_out_of_memory, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
