/* SPDX-License-Identifier: Apache-2.0 */
/* What may end a gated request at the same time, in every order, with a workload group in front:
 * it has one end, its slot and its permit come back once, and the next one comes in. */
#include <stdio.h>
#include <string.h>

#include "api/gate_list.h"
#include "tests/support/cmk.h"
#include "tests/support/gatekit.h"

/* One slot, one permit for all, room for the next. */
static void
prepare(void)
{
    struct gate_conf c = gatekit_conf("g", "svc.>", 1);
    gatekit_group("{\"throttling\":{\"limit\":1},\"queue\":{\"size\":9}}");
    (void)snprintf(c.group, sizeof(c.group), "w");
    c.reply_timeout = CLOCK_S;
    gatekit_update(&c, 0);
}

/* So many have ended, one runs, and its reply ends that too. */
static void
expect_next(const char *what, uint64_t ended)
{
    struct gate_counts n = gatekit_look().counts;
    assert_int_equal(n.running, 1);
    assert_int_equal(n.parked + n.queued, 0);
    assert_int_equal(n.received, ended + 1);
    assert_int_equal(gatekit_group_counts().running, 1);
    gatekit_delivered(what, 1);
    gatekit_reply(what);
    struct group_counts w = gatekit_group_counts();
    assert_int_equal(w.running, 0);
    assert_int_equal(w.total_admitted, w.total_released);
    assert_int_equal(gatekit_look().counts.running, 0);
}

/* ---- what may end one that runs ---- */

static struct gate_request *running;

static void
sent(void)
{
    gate_sent(running, 1);
}
static void
replied(void)
{
    gatekit_reply("r.1");
}
static void
responder_closes(void)
{
    gates_conn_closed(gatekit.gates, RESPONDER);
}
static void
time_is_over(void)
{
    gates_tick(gatekit.gates);
}

#define EVENTS 4
static void (*const events[EVENTS])(void) = {sent, replied, responder_closes, time_is_over};

static void
in_order(const unsigned order[EVENTS])
{
    struct gate_delivery d;
    prepare();
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "next");
    assert_int_equal(gatekit_look().counts.parked, 1);
    running = fakehost_gated(&gatekit.host);
    assert_true(gate_begin(running, true, &d));
    gate_took(running, RESPONDER);
    clock_fake_advance(&gatekit.now, CLOCK_S);
    for (unsigned i = 0; i < EVENTS; i++) {
        events[order[i]]();
        (void)gatekit_group_counts();
    }
    expect_next("next", 1);
}

static void
test_gate_whatever_ends_a_running_request_first_ends_it_once(void **state)
{
    unsigned orders = 0;
    for (unsigned i = 0; i < EVENTS * EVENTS * EVENTS * EVENTS; i++) {
        unsigned o[EVENTS] = {i % 4, i / 4 % 4, i / 16 % 4, i / 64};
        if ((1U << o[0] | 1U << o[1] | 1U << o[2] | 1U << o[3]) != 15) {
            continue;
        }
        gatekit_tear_down(state);
        gatekit_set_up(state);
        in_order(o);
        orders++;
    }
    assert_int_equal(orders, 24);
}

/* ---- scenario 3: cancelled while it is being dispatched ---- */

static void
test_gate_requester_that_leaves_between_the_pull_and_the_delivery(void **state)
{
    (void)state;
    struct gate_delivery d;
    prepare();
    gatekit_ask(1, "r.1");
    gatekit_ask(2, "next");
    struct gate_request *r = fakehost_gated(&gatekit.host);
    (void)groups_cancel_owner(gatekit.groups, 1);
    gates_conn_closed(gatekit.gates, 1);
    assert_false(gate_begin(r, false, &d));
    gatekit_expect_ended(END_DISCONNECT, 1);
    expect_next("next", 1);
}

static void
test_gate_reply_before_the_delivery_of_one_whose_requester_left(void **state)
{
    (void)state;
    struct gate_delivery d;
    prepare();
    gatekit_ask(1, "r.1");
    gatekit_ask(2, "next");
    struct gate_request *r = fakehost_gated(&gatekit.host);
    gatekit_reply("r.1");
    /* It is delivered all the same, to nobody who counts. */
    if (gate_begin(r, false, &d)) {
        gate_sent(r, 1);
    }
    gatekit_expect_ended(END_REPLIED, 1);
    expect_next("next", 1);
}

static void
test_gate_cancel_finds_nothing_that_is_dispatched_already(void **state)
{
    (void)state;
    prepare();
    gatekit_ask(1, "r.1");
    gatekit_ask(2, "next");
    struct gate_pick all = {.gate = "g"};
    assert_int_equal(gates_cancel_match(gatekit.gates, &all), 0);
    gatekit_delivered("r.1", 1);
    gatekit_reply("r.1");
    expect_next("next", 1);
}

/* ---- scenario 4: the permit comes as the waiter's time is over ---- */

static void
test_gate_permit_for_one_whose_deadline_has_just_passed_goes_to_the_next(void **state)
{
    (void)state;
    prepare();
    gatekit_ask(1, "r.1");
    gatekit_ask_with(1, "late", "NATS/1.0\r\nNats-Request-Timeout: 500ms\r\n\r\n");
    gatekit_ask(1, "next");
    gatekit_delivered("r.1", 1);
    /* Its deadline passes, and the permit is there before anybody has looked. */
    clock_fake_advance(&gatekit.now, CLOCK_S / 2);
    gatekit_reply("r.1");
    gatekit_told("late", "Nats-Service-Error-Code: 408");
    gatekit_nobody_told();
    gatekit_expect_ended(END_EXPIRED, 1);
    gatekit_park();
    expect_next("next", 2);
}

static void
test_gate_permit_for_one_whose_requester_leaves_goes_to_the_next(void **state)
{
    (void)state;
    prepare();
    gatekit_ask(1, "r.1");
    gatekit_ask(7, "gone");
    gatekit_ask(1, "next");
    gatekit_delivered("r.1", 1);
    assert_int_equal(groups_cancel_owner(gatekit.groups, 7), 1);
    gatekit_reply("r.1");
    gates_conn_closed(gatekit.gates, 7);
    gatekit_nobody_told();
    gatekit_expect_ended(END_DISCONNECT, 1);
    expect_next("next", 2);
}

/* ---- scenario 7 ---- */

static void
test_gate_pumped_by_all_at_once_runs_each_once(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 9);
    prepare();
    gatekit_ask(1, "r.1");
    gatekit_ask(1, "r.2");
    gatekit_ask(1, "r.3");
    /* The slots grow, the group goes, a tick: all of them look for what may run. */
    gatekit_update(&c, 0);
    gatekit_group(NULL);
    gates_tick(gatekit.gates);
    gatekit_park();
    gatekit_delivered("r.1", 1);
    gatekit_delivered("r.2", 1);
    gatekit_delivered("r.3", 1);
    gatekit_none_delivered();
    gatekit_reply("r.1");
    gatekit_reply("r.2");
    gatekit_reply("r.3");
    gatekit_expect_ended(END_REPLIED, 3);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, gatekit_set_up, gatekit_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_gate_whatever_ends_a_running_request_first_ends_it_once),
        T(test_gate_requester_that_leaves_between_the_pull_and_the_delivery),
        T(test_gate_reply_before_the_delivery_of_one_whose_requester_left),
        T(test_gate_cancel_finds_nothing_that_is_dispatched_already),
        T(test_gate_permit_for_one_whose_deadline_has_just_passed_goes_to_the_next),
        T(test_gate_permit_for_one_whose_requester_leaves_goes_to_the_next),
        T(test_gate_pumped_by_all_at_once_runs_each_once),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
