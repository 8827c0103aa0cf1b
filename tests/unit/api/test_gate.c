/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in a gate: the way in, the slots, each way to end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/gatekit.h"

static void
test_gate_runs_as_many_as_it_has_slots(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_ask(2, "b");
    gatekit_ask(3, "c");
    gatekit_delivered("a", 1);
    gatekit_delivered("b", 1);
    gatekit_none_delivered();
    assert_int_equal(gatekit_look().counts.queued, 1);
    gatekit_reply("b");
    gatekit_delivered("c", 1);
    gatekit_reply("a");
    gatekit_reply("c");
    gatekit_expect_ended(END_REPLIED, 3);
    assert_int_equal(gatekit_look().counts.running, 0);
    gatekit_nobody_told();
}

static void
test_gate_is_freed_by_the_first_reply_only(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask(1, "c");
    gatekit_ask(1, "d");
    gatekit_delivered("a", 1);
    gatekit_delivered("b", 1);
    gatekit_reply("a");
    gatekit_reply("a");
    gatekit_reply("elsewhere");
    gatekit_delivered("c", 1);
    gatekit_none_delivered();
    gatekit_expect_ended(END_REPLIED, 1);
}

static void
test_gate_reply_to_a_shared_subject_frees_the_oldest(void **state)
{
    (void)state;
    gatekit_ask(1, "same");
    gatekit_ask(1, "same");
    gatekit_ask(1, "c");
    gatekit_delivered("same", 1);
    gatekit_delivered("same", 1);
    gatekit_reply("same");
    gatekit_delivered("c", 1);
    assert_int_equal(gatekit_look().counts.running, 2);
    gatekit_reply("same");
    assert_int_equal(gatekit_look().counts.running, 1);
}

static void
test_gate_reply_in_another_account_frees_nothing(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("other", "svc.>", 1);
    (void)snprintf(c.account, sizeof(c.account), "A3");
    gatekit_ask(1, "a");
    gatekit_delivered("a", 1);
    assert_int_equal(gates_create(gatekit.gates, &c, gatekit.err), ST_OK);
    gatekit_reply("a"); /* gatekit.host.watch is that of the last gate */
    assert_int_equal(gatekit_look().counts.running, 1);
}

static void
test_gate_is_freed_when_all_who_got_it_have_closed(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_delivered("a", 3);
    gates_conn_closed(gatekit.gates, RESPONDER);
    gates_conn_closed(gatekit.gates, RESPONDER + 2);
    assert_int_equal(gatekit_look().counts.running, 1);
    gates_conn_closed(gatekit.gates, RESPONDER + 1);
    gatekit_expect_ended(END_RESPONDER_GONE, 1);
    assert_int_equal(gatekit_look().counts.running, 0);
}

static void
test_gate_waits_for_copies_on_their_way_to_other_loops(void **state)
{
    (void)state;
    struct gate_delivery d;
    gatekit_ask(1, "a");
    struct gate_request *r = fakehost_gated(&gatekit.host);
    assert_true(gate_begin(r, true, &d));
    gate_hold(r);
    gate_sent(r, 1);
    assert_int_equal(gatekit_look().counts.running, 1);
    gate_took(r, RESPONDER);
    gate_untook(r, RESPONDER); /* it did not want it, and was the last */
    gate_let_go(r);
    gatekit_expect_ended(END_RESPONDER_GONE, 1);
}

static void
test_gate_reply_may_overtake_the_delivery(void **state)
{
    (void)state;
    struct gate_delivery d;
    gatekit_ask(1, "a");
    struct gate_request *r = fakehost_gated(&gatekit.host);
    assert_true(gate_begin(r, true, &d));
    gate_hold(r);
    gate_took(r, RESPONDER);
    gatekit_reply("a");
    gate_took(r, RESPONDER + 1);
    gate_sent(r, 2);
    gate_let_go(r);
    gates_conn_closed(gatekit.gates, RESPONDER);
    gates_conn_closed(gatekit.gates, RESPONDER + 1);
    gatekit_expect_ended(END_REPLIED, 1);
}

static void
test_gate_is_freed_where_nobody_is_there(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask(1, "c");
    gatekit_delivered("a", 0);
    gatekit_delivered("b", 0);
    gatekit_delivered("c", 0);
    gatekit_expect_ended(END_NO_RESPONDERS, 3);
    gatekit_nobody_told(); /* the host says so */
}

static void
test_gate_reply_timeout_frees_the_slot_and_nothing_else(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 1);
    c.reply_timeout = 2 * CLOCK_S;
    c.request_deadline = 0;
    gatekit_update(&c, 0);
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_delivered("a", 1);
    clock_fake_advance(&gatekit.now, 2 * CLOCK_S - 1);
    gates_tick(gatekit.gates);
    gatekit_none_delivered();
    clock_fake_advance(&gatekit.now, 1);
    gates_tick(gatekit.gates);
    gatekit_delivered("b", 1);
    gatekit_expect_ended(END_REPLY_TIMEOUT, 1);
    gatekit_reply("a"); /* late: passes by */
    assert_int_equal(gatekit_look().counts.running, 1);
    gatekit_nobody_told();
}

static void
test_gate_full_evicts_the_oldest_and_tells_it(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 1);
    c.request_queue_limit = 2;
    gatekit_update(&c, 0);
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask(1, "c");
    gatekit_ask(1, "d");
    gatekit_told(
        "b", "NATS/1.0\r\nNats-Service-Error: the queue is full: the request was not executed\r\n"
             "Nats-Service-Error-Code: 503\r\nNats-Retry-After: ");
    gatekit_nobody_told();
    gatekit_expect_ended(END_EVICTED, 1);
    gatekit_delivered("a", 1);
    gatekit_reply("a");
    gatekit_delivered("c", 1);
}

static void
test_gate_may_refuse_as_no_responders(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 1);
    c.request_queue_limit = 1;
    c.refuse = GATE_REFUSE_NO_RESPONDERS;
    gatekit_update(&c, 0);
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask(1, "c");
    gatekit_told("b", "NATS/1.0 503\r\nNats-Subject: svc.a\r\n\r\n");
    gatekit_nobody_told();
}

static void
test_gate_refuses_with_an_error_who_does_not_know_no_responders(void **state)
{
    (void)state;
    struct gate_conf c = gatekit_conf("g", "svc.>", 1);
    struct api_message m = fakehost_request(2, 1, "svc.a", "b", "b");
    m.now = gatekit.now.t;
    m.origin.no_responders = false;
    c.request_queue_limit = 1;
    c.refuse = GATE_REFUSE_NO_RESPONDERS;
    gatekit_update(&c, 0);
    gatekit_ask(1, "a");
    assert_true(gate_receive(gatekit.host.gate, &m));
    gatekit_ask(1, "c");
    gatekit_told("b", "Nats-Service-Error-Code: 503");
    m.hdr = "NATS/1.0\r\nNats-Request-Timeout: 0\r\n\r\n";
    m.hdr_len = strlen(m.hdr);
    m.reply = "d";
    assert_true(gate_receive(gatekit.host.gate, &m)); /* refused before a request is made of it */
    gatekit_told("d", "Nats-Service-Error-Code: 408");
    gatekit_nobody_told();
}

static void
test_gate_expired_is_told_though_no_slot_is_free(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask(1, "c");
    clock_fake_advance(&gatekit.now, 5 * CLOCK_S);
    gates_tick(gatekit.gates);
    gatekit_told("c", "Nats-Service-Error: the deadline passed: the request was not executed\r\n"
                      "Nats-Service-Error-Code: 408\r\n");
    gatekit_nobody_told();
    gatekit_expect_ended(END_EXPIRED, 1);
}

static void
test_gate_takes_the_requesters_own_deadline(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask_with(1, "c", "NATS/1.0\r\nNats-Request-Timeout: 100ms\r\n\r\n");
    gatekit_ask_with(1, "d", "NATS/1.0\r\nNats-Request-Timeout: soon\r\n\r\n");
    gatekit_ask_with(1, "e", "NATS/1.0\r\nNats-Request-Timeout: 0\r\n\r\n");
    gatekit_told("e", "Error-Code: 408");
    clock_fake_advance(&gatekit.now, 100 * CLOCK_MS);
    gates_tick(gatekit.gates);
    gatekit_told("c", "Error-Code: 408");
    gatekit_nobody_told();
    assert_int_equal(gatekit_look().counts.queued, 1);
}

/* Newest first at once, and of those the oldest that still has time. */
static void
test_gate_after_a_standstill_runs_the_oldest_that_still_has_time(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_delivered("a", 1);
    gatekit_delivered("b", 1);
    gatekit_ask_late(1, "stale", 3 * CLOCK_S);
    gatekit_ask_late(1, "old", 600 * CLOCK_MS);
    gatekit_ask_late(1, "young", 10 * CLOCK_MS);
    assert_int_equal(gatekit_look().queue.oldest_age_ns, 3 * CLOCK_S);
    gatekit_reply("a");
    gatekit_delivered("old", 1);
    gatekit_reply("b");
    gatekit_delivered("young", 1);
    gatekit_reply("old");
    gatekit_delivered("stale", 1);
}

static void
test_gate_header_and_payload_come_out_as_they_went_in(void **state)
{
    (void)state;
    static const char hdr[] = "NATS/1.0\r\nX: y\r\n\r\n";
    struct gate_delivery d;
    gatekit_ask_with(1, "a", hdr);
    struct gate_request *r = fakehost_gated(&gatekit.host);
    assert_true(gate_begin(r, true, &d));
    assert_int_equal(d.hdr_len, strlen(hdr));
    assert_memory_equal(d.data, hdr, strlen(hdr));
    assert_memory_equal(d.data + d.hdr_len, "a", 1);
    assert_int_equal(d.cid, 1);
    gate_sent(r, 0);
}

static void
test_gate_a_requester_that_closes_takes_its_requests_along(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_ask(7, "b");
    gatekit_ask(7, "c");
    gatekit_ask(1, "d");
    gates_conn_closed(gatekit.gates, 7);
    gatekit_expect_ended(END_DISCONNECT, 1); /* c; b runs */
    gatekit_delivered("a", 1);
    struct gate_delivery d;
    assert_false(gate_begin(fakehost_gated(&gatekit.host), false, &d));
    gatekit_expect_ended(END_DISCONNECT, 2);
    gatekit_delivered("d", 1);
    gatekit_nobody_told();
}

static void
test_gate_work_that_nobody_waits_for_is_done_though_its_sender_left(void **state)
{
    (void)state;
    atomic_store(&gatekit.host.nobody_listens, true);
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask(7, "c");
    gates_conn_closed(gatekit.gates, 7);
    clock_fake_advance(&gatekit.now, CLOCK_S);
    gatekit_delivered("a", 0);
    gatekit_delivered("b", 0);
    struct gate_delivery d;
    struct gate_request *r = fakehost_gated(&gatekit.host);
    assert_true(gate_begin(r, false, &d));
    gate_sent(r, 0);
}

static void
test_gate_does_not_run_what_nobody_hears_any_more(void **state)
{
    (void)state;
    gatekit_ask(1, "a");
    gatekit_ask(1, "b");
    gatekit_ask(1, "c");
    clock_fake_advance(&gatekit.now, CLOCK_S);
    atomic_store(&gatekit.host.nobody_listens, true);
    gatekit_delivered("a", 0);
    gatekit_expect_ended(END_NO_INTEREST, 1);
    gatekit_delivered("b", 0);
    gatekit_none_delivered();
}

static void
test_gate_tells_who_found_no_memory(void **state)
{
    (void)state;
    for (long n = 0; n < 3; n++) {
        mem_fail_at(n);
        gatekit_ask(1, "a");
        mem_fail_at(-1);
        struct gate_request *r = fakehost_gated(&gatekit.host);
        if (r != NULL) {
            struct gate_delivery d;
            assert_true(gate_begin(r, true, &d));
            gate_sent(r, 0);
            continue;
        }
        gatekit_told("a", "Nats-Service-Error: the server is out of memory");
    }
    assert_true(gatekit_look().counts.ended[END_NOMEM] > 0);
}

static void
test_gate_mass_cancel_leaves_nothing(void **state)
{
    (void)state;
    char text[16];
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(text, sizeof(text), "r%d", i);
        struct api_message m = fakehost_request(2, 5, "svc.a", text, text);
        assert_true(gate_receive(gatekit.host.gate, &m));
    }
    assert_int_equal(gatekit_look().counts.queued, 9998);
    gates_conn_closed(gatekit.gates, 5);
    assert_int_equal(gatekit_look().counts.queued, 0);
    gatekit_expect_ended(END_DISCONNECT, 9998);
    gatekit_nobody_told();
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, gatekit_set_up, gatekit_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_gate_runs_as_many_as_it_has_slots),
        T(test_gate_is_freed_by_the_first_reply_only),
        T(test_gate_reply_to_a_shared_subject_frees_the_oldest),
        T(test_gate_reply_in_another_account_frees_nothing),
        T(test_gate_is_freed_when_all_who_got_it_have_closed),
        T(test_gate_waits_for_copies_on_their_way_to_other_loops),
        T(test_gate_reply_may_overtake_the_delivery),
        T(test_gate_is_freed_where_nobody_is_there),
        T(test_gate_reply_timeout_frees_the_slot_and_nothing_else),
        T(test_gate_full_evicts_the_oldest_and_tells_it),
        T(test_gate_may_refuse_as_no_responders),
        T(test_gate_refuses_with_an_error_who_does_not_know_no_responders),
        T(test_gate_expired_is_told_though_no_slot_is_free),
        T(test_gate_takes_the_requesters_own_deadline),
        T(test_gate_after_a_standstill_runs_the_oldest_that_still_has_time),
        T(test_gate_header_and_payload_come_out_as_they_went_in),
        T(test_gate_a_requester_that_closes_takes_its_requests_along),
        T(test_gate_work_that_nobody_waits_for_is_done_though_its_sender_left),
        T(test_gate_does_not_run_what_nobody_hears_any_more),
        T(test_gate_tells_who_found_no_memory),
        T(test_gate_mass_cancel_leaves_nothing),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
