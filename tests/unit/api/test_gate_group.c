/* SPDX-License-Identifier: Apache-2.0 */
/* A workload group in front of a gate's queue, without threads: the gate "g" has two slots, the
 * group "w" is what each test makes it. */
#include <stdio.h>
#include <string.h>

#include "api/gate_list.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/gatekit.h"

#define ONE "{\"throttling\":{\"limit\":1,\"attribute\":\"client\"},\"queue\":{\"size\":3}}"

static void
test_gate_group_parks_over_its_limit_and_lets_in_first_come_first_served(void **state)
{
    (void)state;
    gatekit_grouped(ONE, 2);
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    gatekit_ask(1, "r.3");
    gatekit_delivered("r.1", 1);
    gatekit_none_delivered();
    gatekit_parked(2);
    gatekit_permits(1);
    gatekit_reply("r.1");
    gatekit_delivered("r.2", 1);
    gatekit_none_delivered();
    gatekit_parked(1);
    gatekit_reply("r.2");
    gatekit_reply("r.3"); /* not delivered yet: but its slot is taken */
    gatekit_delivered("r.3", 1);
    gatekit_parked(0);
    gatekit_permits(0);
    gatekit_expect_ended(END_REPLIED, 3);
    gatekit_nobody_told();
}

static void
test_gate_group_refuses_with_429_in_the_form_of_services(void **state)
{
    (void)state;
    gatekit_grouped("{\"throttling\":{\"limit\":1}}", 2);
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    gatekit_told("r.2", "Nats-Service-Error: over the limit of the workload group: the request was "
                        "not executed\r\nNats-Service-Error-Code: 429\r\nNats-Retry-After: ");
    gatekit_expect_ended(END_THROTTLED, 1);
    gatekit_grouped("{\"throttling\":{\"limit\":1},\"queue\":{\"size\":1}}", 2);
    gatekit_ask(1, "r.3");
    gatekit_ask(1, "r.4");
    gatekit_told("r.4", "Nats-Service-Error: the workload group is full: the request was not "
                        "executed\r\nNats-Service-Error-Code: 429\r\nNats-Retry-After: ");
    gatekit_expect_ended(END_PARKING_FULL, 1);
    gatekit_delivered("r.1", 1);
    gatekit_reply("r.1");
    gatekit_delivered("r.3", 1);
    gatekit_reply("r.3");
    gatekit_permits(0);
}

static void
test_gate_group_refusal_may_be_no_responders(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 2);
    gatekit_group("{\"throttling\":{\"limit\":1}}");
    (void)snprintf(c.group, sizeof(c.group), "w");
    c.refuse = GATE_REFUSE_NO_RESPONDERS;
    gatekit_update(&c, 0);
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    gatekit_told("r.2", "NATS/1.0 503\r\nNats-Subject: svc.a\r\n\r\n");
    gatekit_delivered("r.1", 0);
}

static void
test_gate_group_bucket_below_its_share_displaces(void **state)
{
    (void)state;
    gatekit_grouped("{\"throttling\":{\"limit\":1,\"attribute\":\"user\"},\"queue\":{\"size\":2}}",
                    9);
    struct api_message m = fakehost_request(2, 1, "svc.a", "b.1", "b.1");
    m.now = gatekit.now.t;
    gatekit_ask(1, "a.1");
    gatekit_ask(1, "a.2");
    gatekit_ask(1, "a.3");
    m.origin.user = "bob";
    assert_true(gate_receive(gatekit.host.gate, &m)); /* runs */
    m.reply = "b.2";
    assert_true(gate_receive(gatekit.host.gate, &m));
    gatekit_told("a.3", "Nats-Service-Error-Code: 429");
    gatekit_expect_ended(END_DISPLACED, 1);
    gatekit_parked(2);
}

static void
ask_as(const char *user, const char *what)
{
    struct api_message m = fakehost_request(2, 1, "svc.a", what, what);
    m.now = gatekit.now.t;
    m.origin.user = user;
    assert_true(gate_receive(gatekit.host.gate, &m));
}

static void
test_gate_group_buckets_take_turns_in_the_queue(void **state)
{
    (void)state;
    static const char *const in_turn[] = {"a.1", "a.2", "b.1", "a.3", "b.2", "a.4", "a.5"};
    gatekit_grouped("{\"throttling\":{\"limit\":4,\"attribute\":\"user\"},\"queue\":{\"size\":9}}",
                    1);
    ask_as("alice", "a.1");
    ask_as("alice", "a.2");
    ask_as("alice", "a.3");
    ask_as("alice", "a.4");
    ask_as("alice", "a.5"); /* parked: its turn comes behind the others of its bucket */
    ask_as("bob", "b.1");
    ask_as("bob", "b.2");
    for (size_t i = 0; i < sizeof(in_turn) / sizeof(in_turn[0]); i++) {
        gatekit_delivered(in_turn[i], 1);
        gatekit_none_delivered();
        gatekit_reply(in_turn[i]);
    }
    gatekit_permits(0);
}

static void
test_gate_group_full_queue_evicts_of_the_bucket_that_holds_most(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 1);
    gatekit_group("{\"throttling\":{\"limit\":100,\"attribute\":\"user\"}}");
    (void)snprintf(c.group, sizeof(c.group), "w");
    c.request_queue_limit = 3;
    gatekit_update(&c, 0);
    ask_as("bob", "b.0");
    ask_as("bob", "b.1");
    ask_as("alice", "a.1");
    ask_as("alice", "a.2");
    ask_as("alice", "a.3");
    gatekit_told("a.1", "Nats-Service-Error-Code: 503");
    gatekit_nobody_told();
    gatekit_expect_ended(END_EVICTED, 1);
}

static void
test_gate_group_account_finds_what_waits_whatever_bucket_it_is_of(void **state)
{
    (void)state;
    struct gate_pick pick = {.match = {.flow = 2}};
    struct gate_waiting_info v[9];
    size_t max = 9;
    size_t total;
    gatekit_grouped("{\"throttling\":{\"limit\":3,\"attribute\":\"user\"},\"queue\":{\"size\":9}}",
                    1);
    ask_as("alice", "a.1");
    ask_as("alice", "a.2");
    ask_as("bob", "b.1");
    assert_int_equal(gates_list(gatekit.gates, &pick, 0, v, &max, &total), ST_OK);
    assert_int_equal(max, 2);
    assert_int_equal(total, 2);
    pick.match.flow = 3;
    max = 9;
    assert_int_equal(gates_list(gatekit.gates, &pick, 0, v, &max, &total), ST_OK);
    assert_int_equal(total, 0);
    assert_int_equal(gates_cancel_match(gatekit.gates, &pick), 0);
    pick.match.flow = 2;
    assert_int_equal(gates_cancel_match(gatekit.gates, &pick), 2);
    gatekit_told("a.2", "cancelled by an operator");
    gatekit_told("b.1", "cancelled by an operator");
}

static void
test_gate_group_takes_only_those_that_its_match_fits(void **state)
{
    (void)state;
    gatekit_grouped("{\"match\":{\"user\":\"bob\"},\"throttling\":{\"limit\":1}}", 9);
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    gatekit_delivered("r.1", 1);
    gatekit_delivered("r.2", 1);
    gatekit_permits(0);
}

static void
test_gate_without_a_group_is_not_judged_by_groups_that_would_match(void **state)
{
    (void)state;
    gatekit_group("{\"match\":{\"subject\":\"svc.>\"},\"throttling\":{\"limit\":1}}");
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    gatekit_delivered("r.1", 1);
    gatekit_delivered("r.2", 1);
    assert_int_equal(gatekit_group_counts().total_admitted, 0);
}

/* ---- the permit comes back, once, however the request ends -------------------------------------
 */

/* One that is parked comes in when the one before it has ended; then all ends. */
static void
expect_handed_over(enum ledger_end how)
{
    gatekit_expect_ended(how, 1);
    gatekit_parked(0);
    gatekit_permits(1);
    gatekit_delivered("next", 1);
    gatekit_reply("next");
    gatekit_permits(0);
    struct group_counts n = gatekit_group_counts();
    assert_int_equal(n.total_admitted, n.total_released);
}

static void
test_gate_group_permit_comes_back_when_the_responder_closes(void **state)
{
    (void)state;
    gatekit_grouped(ONE, 2);
    gatekit_ask(1, "r.1");
    gatekit_ask(2, "next");
    gatekit_delivered("r.1", 1);
    gates_conn_closed(gatekit.gates, RESPONDER);
    expect_handed_over(END_RESPONDER_GONE);
}

static void
test_gate_group_permit_comes_back_where_nobody_is_there(void **state)
{
    (void)state;
    gatekit_grouped(ONE, 2);
    gatekit_ask(1, "r.1");
    gatekit_ask(2, "next");
    gatekit_delivered("r.1", 0);
    expect_handed_over(END_NO_RESPONDERS);
}

static void
test_gate_group_permit_comes_back_at_the_reply_timeout(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 2);
    gatekit_group(ONE);
    (void)snprintf(c.group, sizeof(c.group), "w");
    c.reply_timeout = CLOCK_S;
    gatekit_update(&c, 0);
    gatekit_ask(1, "r.1");
    gatekit_ask(2, "next");
    gatekit_delivered("r.1", 1);
    clock_fake_advance(&gatekit.now, CLOCK_S);
    gates_tick(gatekit.gates);
    gatekit_reply("r.1"); /* late: frees nothing a second time */
    expect_handed_over(END_REPLY_TIMEOUT);
}

static void
test_gate_group_permit_comes_back_from_the_queue(void **state)
{
    (void)state;
    static const enum ledger_end how[] = {END_EXPIRED, END_EVICTED, END_DISCONNECT, END_OPERATOR};
    for (unsigned i = 0; i < 4; i++) {
        gatekit_tear_down(state);
        gatekit_set_up(state);
        /* One of another client, of a bucket of its own, takes the slot. */
        gatekit_grouped(
            "{\"throttling\":{\"limit\":1,\"attribute\":\"user\"},\"queue\":{\"size\":3}}", 1);
        struct api_message m = fakehost_request(2, 9, "svc.a", "slot", "slot");
        m.origin.user = "bob";
        m.now = gatekit.now.t;
        assert_true(gate_receive(gatekit.host.gate, &m));
        gatekit_delivered("slot", 1);
        gatekit_ask(1, "r.1"); /* queued, with a permit */
        gatekit_ask(2, "next");
        gatekit_parked(1);
        struct gate_conf c = gatekit_conf("g", "svc.>", 1);
        (void)snprintf(c.group, sizeof(c.group), "w");
        struct gate_pick pick = {.match = {.owner = 1}};
        switch ((int)how[i]) {
        case END_EXPIRED:
            clock_fake_advance(&gatekit.now, 6 * CLOCK_S);
            gates_tick(gatekit.gates);
            break;
        case END_EVICTED:
            c.request_queue_limit = 1;
            gatekit_update(&c, 0);
            m.origin.user = "eve";
            m.reply = "other";
            assert_true(gate_receive(gatekit.host.gate, &m));
            break;
        case END_DISCONNECT:
            gates_conn_closed(gatekit.gates, 1);
            break;
        default:
            assert_int_equal(gates_cancel_match(gatekit.gates, &pick), 1);
            break;
        }
        gatekit_expect_ended(how[i], 1);
        assert_true(gatekit_group_counts().total_released >= 1);
        gatekit_reply("slot");
        gatekit_reply("other");
        gatekit_reply("next");
        gatekit_reply("other");
        gatekit_permits(0);
        gatekit_parked(0);
    }
}

static void
test_gate_group_permit_comes_back_where_memory_runs_out(void **state)
{
    (void)state;
    gatekit_grouped("{\"throttling\":{\"limit\":1},\"queue\":{\"size\":9}}", 9);
    for (long n = 0; n < 12; n++) {
        /* One that gets the permit, then one that is to park. */
        mem_fail_at(n);
        gatekit_ask(1, "a");
        gatekit_ask(1, "b");
        mem_fail_at(-1);
        for (struct gate_request *r; (r = fakehost_gated(&gatekit.host)) != NULL;) {
            struct gate_delivery d;
            assert_true(gate_begin(r, true, &d));
            gate_sent(r, 0);
        }
        struct gate_counts c = gatekit_look().counts;
        assert_int_equal(c.parked + c.queued + c.running, 0);
        assert_int_equal(c.received, 2 * (uint64_t)(n + 1));
        gatekit_permits(0);
    }
    assert_true(gatekit_look().counts.ended[END_NOMEM] > 2);
}

/* ---- what ends while it is parked --------------------------------------------------------------
 */

static void
test_gate_group_deadline_while_parked(void **state)
{
    (void)state;
    gatekit_grouped(ONE, 2);
    gatekit_ask(1, "r.1");
    gatekit_ask_with(1, "r.2", "NATS/1.0\r\nNats-Request-Timeout: 1s\r\n\r\n");
    gatekit_ask(1, "r.3");
    assert_int_equal(atomic_load(&gatekit.woken), gatekit.now.t + CLOCK_S);
    /* The gate's own deadline of 5 s begins in the queue. */
    clock_fake_advance(&gatekit.now, 60 * CLOCK_S);
    gatekit_park();
    gatekit_told("r.2", "Nats-Service-Error-Code: 408");
    gatekit_nobody_told();
    gatekit_expect_ended(END_EXPIRED, 1);
    gatekit_delivered("r.1", 1);
    gatekit_reply("r.1");
    gatekit_delivered("r.3", 1);
    gatekit_permits(1);
}

static void
test_gate_group_cancel_after_and_operator_and_disconnect(void **state)
{
    (void)state;
    gatekit_grouped("{\"throttling\":{\"limit\":1},\"queue\":{\"size\":9},\"cancel_after\":\"1s\"}",
                    2);
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    clock_fake_advance(&gatekit.now, CLOCK_S);
    gatekit_park();
    gatekit_told("r.2", "Nats-Service-Error: waited too long for the workload group");
    gatekit_expect_ended(END_CANCEL_AFTER, 1);
    gatekit_ask(1, "r.3");
    gatekit_ask(7, "r.4");
    struct group_pick pick = {.match = {.owner = 7}, .gate = "g"};
    assert_int_equal(groups_cancel_match(gatekit.groups, &pick), 1);
    gatekit_told("r.4", "Nats-Service-Error: cancelled by an operator");
    gatekit_expect_ended(END_OPERATOR, 1);
    assert_int_equal(groups_cancel_owner(gatekit.groups, 1), 1);
    gatekit_nobody_told();
    gatekit_expect_ended(END_DISCONNECT, 1);
    gatekit_parked(0);
    gatekit_delivered("r.1", 1);
}

static void
test_gate_group_what_is_parked_is_listed_with_its_gate(void **state)
{
    (void)state;
    struct group_parked_info v[4];
    struct gate_waiting_info w[4];
    size_t n = 4;
    size_t total;
    gatekit_grouped("{\"throttling\":{\"limit\":3},\"queue\":{\"size\":9}}", 1);
    for (unsigned i = 0; i < 5; i++) {
        char reply[8];
        (void)snprintf(reply, sizeof(reply), "r.%u", i);
        gatekit_ask(1 + i, reply);
    }
    assert_int_equal(groups_list(gatekit.groups, &(struct group_pick){.gate = "g"}, 0, v, &n), 2);
    assert_int_equal(n, 2);
    assert_string_equal(v[0].gate, "g");
    assert_string_equal(v[0].group, "w");
    assert_string_equal(v[0].item.label, "svc.a");
    assert_int_equal(v[0].item.owner, 4);
    assert_int_equal(groups_list(gatekit.groups, &(struct group_pick){.gate = "x"}, 0, v, &n), 0);
    n = 1;
    assert_int_equal(gates_list(gatekit.gates, &(struct gate_pick){.gate = "g"}, 1, w, &n, &total),
                     ST_OK);
    assert_int_equal(n, 1);
    assert_int_equal(total, 2);
    assert_string_equal(w[0].gate, "g");
    assert_int_equal(w[0].item.owner, 3);
    struct gate_pick one = {.match = {.id = w[0].item.id}};
    assert_int_equal(gates_cancel_match(gatekit.gates, &one), 1);
    gatekit_told("r.2", "cancelled by an operator");
    /* Its permit has gone to one of the parked. */
    gatekit_parked(1);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, gatekit_set_up, gatekit_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_gate_group_parks_over_its_limit_and_lets_in_first_come_first_served),
        T(test_gate_group_refuses_with_429_in_the_form_of_services),
        T(test_gate_group_refusal_may_be_no_responders),
        T(test_gate_group_bucket_below_its_share_displaces),
        T(test_gate_group_buckets_take_turns_in_the_queue),
        T(test_gate_group_full_queue_evicts_of_the_bucket_that_holds_most),
        T(test_gate_group_account_finds_what_waits_whatever_bucket_it_is_of),
        T(test_gate_group_takes_only_those_that_its_match_fits),
        T(test_gate_without_a_group_is_not_judged_by_groups_that_would_match),
        T(test_gate_group_permit_comes_back_when_the_responder_closes),
        T(test_gate_group_permit_comes_back_where_nobody_is_there),
        T(test_gate_group_permit_comes_back_at_the_reply_timeout),
        T(test_gate_group_permit_comes_back_from_the_queue),
        T(test_gate_group_deadline_while_parked),
        T(test_gate_group_cancel_after_and_operator_and_disconnect),
        T(test_gate_group_what_is_parked_is_listed_with_its_gate),
        T(test_gate_group_permit_comes_back_where_memory_runs_out),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
