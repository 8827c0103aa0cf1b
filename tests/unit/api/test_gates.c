/* SPDX-License-Identifier: Apache-2.0 */
/* Gates made, changed, removed, with requests waiting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/gatekit.h"

static void
test_gate_limits_change_while_requests_wait(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 4);
    for (char s[2] = "a"; s[0] <= 'j'; s[0]++) {
        gatekit_ask(1, s);
    }
    gatekit_delivered("a", 1);
    gatekit_delivered("b", 1);
    gatekit_none_delivered();
    gatekit_update(&c, 0); /* two more slots are filled at once */
    gatekit_delivered("c", 1);
    gatekit_delivered("d", 1);
    gatekit_none_delivered();
    c.limit = 1;
    c.discipline = APIQ_LIFO;
    c.request_queue_limit = 3;
    gatekit_update(&c, 3);
    gatekit_told("e", "503");
    gatekit_told("f", "503");
    gatekit_told("g", "503");
    gatekit_reply("a");
    gatekit_reply("b");
    gatekit_reply("c");
    gatekit_none_delivered();
    gatekit_reply("d");
    gatekit_delivered("j", 1);
    gatekit_none_delivered();
    c.request_deadline = CLOCK_S;
    gatekit_update(&c, 0);
    clock_fake_advance(&gatekit.now, CLOCK_S);
    gates_tick(gatekit.gates);
    gatekit_expect_ended(END_EXPIRED, 2);
}

static void
test_gate_deleted_passes_on_what_waits(void **state)
{
    (void)state;
    size_t passed;
    struct gate *g = gate_ref(gatekit.host.gate);
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask(1, "c");
    gatekit_ask(1, "d");
    assert_int_equal(gates_delete(gatekit.gates, "g", &passed, gatekit.err), ST_OK);
    assert_int_equal(passed, 2);
    static const char *const order[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        struct gate_delivery d;
        struct gate_request *r = fakehost_gated(&gatekit.host);
        assert_true(gate_begin(r, true, &d));
        assert_string_equal(d.reply, order[i]);
        gate_took(r, RESPONDER);
        gate_sent(r, 1);
    }
    gatekit_none_delivered();
    gatekit_nobody_told();
    struct api_message m = fakehost_request(2, 1, "svc.a", "e", "e");
    assert_false(gate_receive(g, &m)); /* on its way when the gate went */
    gate_unref(g);
    assert_int_equal(gates_delete(gatekit.gates, "g", &passed, gatekit.err), ST_NOTFOUND);
}

static void
test_gate_closed_refuses_what_waits(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask(1, "c");
    gates_close(gatekit.gates);
    gatekit_told("c",
                 "Nats-Service-Error: the server is shutting down: the request was not executed\r\n"
                 "Nats-Service-Error-Code: 503");
    gatekit_nobody_told();
    struct gate_conf c = gatekit_conf("h", "x", 1);
    assert_int_equal(gates_create(gatekit.gates, &c, gatekit.err), ST_CLOSED);
}

static void
test_gates_refuse_what_does_not_fit(void **state)
{
    (void)state;
    size_t n;
    struct gate_conf c = gatekit_conf("g", "y", 1);
    assert_int_equal(gates_create(gatekit.gates, &c, gatekit.err), ST_EXISTS);
    assert_non_null(strstr(gatekit.err, "name: there is a gate \"g\""));
    c = gatekit_conf("h", "svc.*.x", 1);
    assert_int_equal(gates_create(gatekit.gates, &c, gatekit.err), ST_EXISTS);
    assert_non_null(strstr(gatekit.err, "subject: \"svc.*.x\" overlaps \"svc.>\" of gate \"g\""));
    (void)snprintf(c.account, sizeof(c.account), "NOBODY");
    assert_int_equal(gates_create(gatekit.gates, &c, gatekit.err), ST_NOTFOUND);
    assert_non_null(strstr(gatekit.err, "account: "));
    (void)snprintf(c.account, sizeof(c.account), "A3");
    assert_int_equal(gates_create(gatekit.gates, &c, gatekit.err), ST_OK); /* another account */
    c.limit = 5;
    (void)snprintf(c.subject, sizeof(c.subject), "z");
    assert_int_equal(gates_update(gatekit.gates, &c, &n, gatekit.err), ST_INVAL);
    assert_non_null(strstr(gatekit.err, "subject: cannot be changed"));
    c = gatekit_conf("k", "z", 1);
    assert_int_equal(gates_update(gatekit.gates, &c, &n, gatekit.err), ST_NOTFOUND);
}

static void
test_gates_of_the_configuration_replace_those_before(void **state)
{
    (void)state;
    struct gate_info i;
    struct gate_conf a =
        gatekit_conf("a", "svc.x", 1); /* in the way of g, which was made over the API */
    struct gate_conf b = gatekit_conf("b", "t", 1);
    struct gate_conf api = gatekit_conf("api", "u", 1);
    assert_int_equal(gates_create(gatekit.gates, &api, gatekit.err), ST_OK);
    assert_int_equal(gates_apply(gatekit.gates, (const struct gate_conf *[]){&a, &b}, 2), ST_OK);
    assert_false(gates_find(gatekit.gates, "g", &i));
    assert_true(gates_find(gatekit.gates, "api", &i));
    assert_false(i.from_config);
    assert_true(gates_find(gatekit.gates, "a", &i));
    assert_true(i.from_config);
    a.limit = 9;
    b = gatekit_conf("b", "t2", 1);
    assert_int_equal(gates_apply(gatekit.gates, (const struct gate_conf *[]){&a, &b}, 2), ST_OK);
    assert_true(gates_find(gatekit.gates, "a", &i));
    assert_int_equal(i.conf.limit, 9);
    assert_true(gates_find(gatekit.gates, "b", &i));
    assert_string_equal(i.conf.subject, "t2");
    assert_int_equal(gates_apply(gatekit.gates, NULL, 0), ST_OK);
    assert_true(gates_info(gatekit.gates, 0, &i));
    assert_string_equal(i.conf.name, "api");
    assert_false(gates_info(gatekit.gates, 1, &i));
}

static void
test_gates_survive_want_of_memory(void **state)
{
    (void)state;
    struct clock clk = clock_fake_of(&gatekit.now);
    struct gate_conf c = gatekit_conf("g", "svc.>", 1);
    struct gates_plane plane = gatekit_plane();
    for (long n = 0;; n++) {
        struct gates *gs = NULL;
        long live = mem_live();
        mem_fail_at(n);
        enum status st = gates_new(&gs, &gatekit.host.host, &clk, &plane, false);
        if (st == ST_OK) {
            st = gates_create(gs, &c, gatekit.err);
        }
        mem_fail_at(-1);
        gates_free(gs);
        assert_int_equal(mem_live(), live);
        if (st == ST_OK) {
            break;
        }
        assert_int_equal(st, ST_NOMEM);
    }
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, gatekit_set_up, gatekit_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_gate_limits_change_while_requests_wait),
        T(test_gate_deleted_passes_on_what_waits),
        T(test_gate_closed_refuses_what_waits),
        T(test_gates_refuse_what_does_not_fit),
        T(test_gates_of_the_configuration_replace_those_before),
        T(test_gates_survive_want_of_memory),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
