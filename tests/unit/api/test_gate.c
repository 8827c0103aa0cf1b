/* SPDX-License-Identifier: Apache-2.0 */
/* Gates without a server: the test is the host that delivers, and moves the clock. After each step
 * the books must add up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/gate.h"
#include "api/gates.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/fakehost.h"

#define RESPONDER 100u

static struct fakehost host;
static struct clock_fake now;
static struct gates *gates;
static char err[GATE_ERR_LEN];

static struct gate_conf
conf(const char *name, const char *subject, int64_t limit)
{
    struct gate_conf c;
    assert_int_equal(gate_conf_init(&c, name, err, sizeof(err)), ST_OK);
    (void)snprintf(c.account, sizeof(c.account), "A2");
    (void)snprintf(c.subject, sizeof(c.subject), "%s", subject);
    c.limit = limit;
    return c;
}

static struct gate_info
look(void)
{
    struct gate_info i;
    assert_true(gates_find(gates, "g", &i));
    uint64_t sum = i.counts.queued + i.counts.running;
    for (int e = 0; e < GATE_END_COUNT; e++) {
        sum += i.counts.ended[e];
    }
    assert_int_equal(i.counts.received, sum);
    assert_int_equal(i.counts.queued, i.queue.depth);
    assert_int_equal(i.counts.running, i.queue.running);
    return i;
}

static void
expect_ended(enum gate_end e, uint64_t n)
{
    assert_int_equal(look().counts.ended[e], n);
}

static int
set_up(void **state)
{
    (void)state;
    struct clock c = clock_fake_of(&now);
    struct gate_conf g = conf("g", "svc.>", 2);
    now.t = 1000 * CLOCK_S;
    fakehost_init(&host);
    assert_int_equal(gates_new(&gates, &host.host, &c, false), ST_OK);
    assert_int_equal(gates_create(gates, &g, err), ST_OK);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    gates_close(gates);
    struct gate_request *r;
    while ((r = fakehost_gated(&host)) != NULL) {
        struct gate_delivery d;
        if (gate_begin(r, true, &d)) {
            gate_sent(r, 0);
        }
    }
    gates_free(gates);
    fakehost_fini(&host);
    return 0;
}

static void
update(const struct gate_conf *c, size_t evicted)
{
    size_t n;
    assert_int_equal(gates_update(gates, c, &n, err), ST_OK);
    assert_int_equal(n, evicted);
}

/* A request of connection cid whose reply subject and payload are the same text. */
static void
ask_with(uint64_t cid, const char *what, const char *hdr)
{
    char block[256];
    struct api_message m = fakehost_request(2, cid, "svc.a", what, what);
    if (hdr != NULL) {
        m.hdr = block;
        m.hdr_len = strlen(hdr);
        (void)snprintf(block, sizeof(block), "%s%s", hdr, what);
        m.data = block + m.hdr_len;
    }
    m.now = now.t;
    assert_true(gate_receive(host.gate, &m));
    (void)look();
}

static void
ask(uint64_t cid, const char *what)
{
    ask_with(cid, what, NULL);
}

/* The next one let through must be that one; it is delivered to so many connections, which count
 * up from RESPONDER. */
static void
delivered(const char *what, unsigned receivers)
{
    struct gate_delivery d;
    struct gate_request *r = fakehost_gated(&host);
    assert_non_null(r);
    assert_true(gate_begin(r, true, &d));
    assert_int_equal(d.size - d.hdr_len, strlen(what));
    assert_memory_equal(d.data + d.hdr_len, what, strlen(what));
    assert_string_equal(d.subject, "svc.a");
    assert_string_equal(d.reply, what);
    for (unsigned i = 0; i < receivers; i++) {
        gate_took(r, RESPONDER + i);
    }
    gate_sent(r, receivers);
    (void)look();
}

static void
none_delivered(void)
{
    assert_null(fakehost_gated(&host));
}

static void
reply(const char *subject)
{
    if (gate_watch_maybe(host.watch, subject, strlen(subject))) {
        gate_replied(host.watch, subject, strlen(subject));
    }
    (void)look();
}

/* The next message told must be for that reply subject and have that in its headers. */
static void
told(const char *subject, const char *in_header)
{
    struct fake_msg *m = fakehost_take(&host);
    assert_non_null(m);
    assert_string_equal(m->subject, subject);
    assert_string_equal(m->data, "");
    if (strstr(m->hdr, in_header) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", in_header, m->hdr);
    }
    fakehost_free(m);
}

static void
nobody_told(void)
{
    assert_null(fakehost_take(&host));
}

static void
test_gate_runs_as_many_as_it_has_slots(void **state)
{
    (void)state;
    ask(1, "a");
    ask(2, "b");
    ask(3, "c");
    delivered("a", 1);
    delivered("b", 1);
    none_delivered();
    assert_int_equal(look().counts.queued, 1);
    reply("b");
    delivered("c", 1);
    reply("a");
    reply("c");
    expect_ended(GATE_REPLIED, 3);
    assert_int_equal(look().counts.running, 0);
    nobody_told();
}

static void
test_gate_is_freed_by_the_first_reply_only(void **state)
{
    (void)state;
    ask(1, "a");
    ask(1, "b");
    ask(1, "c");
    ask(1, "d");
    delivered("a", 1);
    delivered("b", 1);
    reply("a");
    reply("a");
    reply("elsewhere");
    delivered("c", 1);
    none_delivered();
    expect_ended(GATE_REPLIED, 1);
}

static void
test_gate_reply_to_a_shared_subject_frees_the_oldest(void **state)
{
    (void)state;
    ask(1, "same");
    ask(1, "same");
    ask(1, "c");
    delivered("same", 1);
    delivered("same", 1);
    reply("same");
    delivered("c", 1);
    assert_int_equal(look().counts.running, 2);
    reply("same");
    assert_int_equal(look().counts.running, 1);
}

static void
test_gate_reply_in_another_account_frees_nothing(void **state)
{
    (void)state;
    struct gate_conf c = conf("other", "svc.>", 1);
    (void)snprintf(c.account, sizeof(c.account), "A3");
    ask(1, "a");
    delivered("a", 1);
    assert_int_equal(gates_create(gates, &c, err), ST_OK);
    reply("a"); /* host.watch is that of the last gate */
    assert_int_equal(look().counts.running, 1);
}

static void
test_gate_is_freed_when_all_who_got_it_have_closed(void **state)
{
    (void)state;
    ask(1, "a");
    delivered("a", 3);
    gates_conn_closed(gates, RESPONDER);
    gates_conn_closed(gates, RESPONDER + 2);
    assert_int_equal(look().counts.running, 1);
    gates_conn_closed(gates, RESPONDER + 1);
    expect_ended(GATE_GONE, 1);
    assert_int_equal(look().counts.running, 0);
}

static void
test_gate_waits_for_copies_on_their_way_to_other_loops(void **state)
{
    (void)state;
    struct gate_delivery d;
    ask(1, "a");
    struct gate_request *r = fakehost_gated(&host);
    assert_true(gate_begin(r, true, &d));
    gate_hold(r);
    gate_sent(r, 1);
    assert_int_equal(look().counts.running, 1);
    gate_took(r, RESPONDER);
    gate_untook(r, RESPONDER); /* it did not want it, and was the last */
    gate_let_go(r);
    expect_ended(GATE_GONE, 1);
}

static void
test_gate_reply_may_overtake_the_delivery(void **state)
{
    (void)state;
    struct gate_delivery d;
    ask(1, "a");
    struct gate_request *r = fakehost_gated(&host);
    assert_true(gate_begin(r, true, &d));
    gate_hold(r);
    gate_took(r, RESPONDER);
    reply("a");
    gate_took(r, RESPONDER + 1);
    gate_sent(r, 2);
    gate_let_go(r);
    gates_conn_closed(gates, RESPONDER);
    gates_conn_closed(gates, RESPONDER + 1);
    expect_ended(GATE_REPLIED, 1);
}

static void
test_gate_is_freed_where_nobody_is_there(void **state)
{
    (void)state;
    ask(1, "a");
    ask(1, "b");
    ask(1, "c");
    delivered("a", 0);
    delivered("b", 0);
    delivered("c", 0);
    expect_ended(GATE_NOBODY, 3);
    nobody_told(); /* the host says so */
}

static void
test_gate_reply_timeout_frees_the_slot_and_nothing_else(void **state)
{
    (void)state;
    struct gate_conf c = conf("g", "svc.>", 1);
    c.reply_timeout = 2 * CLOCK_S;
    c.request_deadline = 0;
    update(&c, 0);
    ask(1, "a");
    ask(1, "b");
    delivered("a", 1);
    clock_fake_advance(&now, 2 * CLOCK_S - 1);
    gates_tick(gates);
    none_delivered();
    clock_fake_advance(&now, 1);
    gates_tick(gates);
    delivered("b", 1);
    expect_ended(GATE_TIMEOUT, 1);
    reply("a"); /* late: passes by */
    assert_int_equal(look().counts.running, 1);
    nobody_told();
}

static void
test_gate_full_evicts_the_oldest_and_tells_it(void **state)
{
    (void)state;
    struct gate_conf c = conf("g", "svc.>", 1);
    c.request_queue_limit = 2;
    update(&c, 0);
    ask(1, "a");
    ask(1, "b");
    ask(1, "c");
    ask(1, "d");
    told("b", "NATS/1.0\r\nNats-Service-Error: the queue is full: the request was not executed\r\n"
              "Nats-Service-Error-Code: 503\r\nNats-Retry-After: ");
    nobody_told();
    expect_ended(GATE_FULL, 1);
    delivered("a", 1);
    reply("a");
    delivered("c", 1);
}

static void
test_gate_may_refuse_as_no_responders(void **state)
{
    (void)state;
    struct gate_conf c = conf("g", "svc.>", 1);
    c.request_queue_limit = 1;
    c.refuse = GATE_REFUSE_NO_RESPONDERS;
    update(&c, 0);
    ask(1, "a");
    ask(1, "b");
    ask(1, "c");
    told("b", "NATS/1.0 503\r\nNats-Subject: svc.a\r\n\r\n");
    nobody_told();
}

static void
test_gate_expired_is_told_though_no_slot_is_free(void **state)
{
    (void)state;
    ask(1, "a");
    ask(1, "b");
    ask(1, "c");
    clock_fake_advance(&now, 5 * CLOCK_S);
    gates_tick(gates);
    told("c", "Nats-Service-Error: the deadline passed: the request was not executed\r\n"
              "Nats-Service-Error-Code: 408\r\n");
    nobody_told();
    expect_ended(GATE_LATE, 1);
}

static void
test_gate_takes_the_requesters_own_deadline(void **state)
{
    (void)state;
    ask(1, "a");
    ask(1, "b");
    ask_with(1, "c", "NATS/1.0\r\nNats-Request-Timeout: 100ms\r\n\r\n");
    ask_with(1, "d", "NATS/1.0\r\nNats-Request-Timeout: soon\r\n\r\n");
    ask_with(1, "e", "NATS/1.0\r\nNats-Request-Timeout: 0\r\n\r\n");
    told("e", "Error-Code: 408");
    clock_fake_advance(&now, 100 * CLOCK_MS);
    gates_tick(gates);
    told("c", "Error-Code: 408");
    nobody_told();
    assert_int_equal(look().counts.queued, 1);
}

static void
test_gate_header_and_payload_come_out_as_they_went_in(void **state)
{
    (void)state;
    static const char hdr[] = "NATS/1.0\r\nX: y\r\n\r\n";
    struct gate_delivery d;
    ask_with(1, "a", hdr);
    struct gate_request *r = fakehost_gated(&host);
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
    ask(1, "a");
    ask(7, "b");
    ask(7, "c");
    ask(1, "d");
    gates_conn_closed(gates, 7);
    expect_ended(GATE_LEFT, 1); /* c; b runs */
    delivered("a", 1);
    struct gate_delivery d;
    assert_false(gate_begin(fakehost_gated(&host), false, &d));
    expect_ended(GATE_LEFT, 2);
    delivered("d", 1);
    nobody_told();
}

static void
test_gate_work_that_nobody_waits_for_is_done_though_its_sender_left(void **state)
{
    (void)state;
    atomic_store(&host.nobody_listens, true);
    ask(1, "a");
    ask(1, "b");
    ask(7, "c");
    gates_conn_closed(gates, 7);
    clock_fake_advance(&now, CLOCK_S);
    delivered("a", 0);
    delivered("b", 0);
    struct gate_delivery d;
    struct gate_request *r = fakehost_gated(&host);
    assert_true(gate_begin(r, false, &d));
    gate_sent(r, 0);
}

static void
test_gate_does_not_run_what_nobody_hears_any_more(void **state)
{
    (void)state;
    ask(1, "a");
    ask(1, "b");
    ask(1, "c");
    clock_fake_advance(&now, CLOCK_S);
    atomic_store(&host.nobody_listens, true);
    delivered("a", 0);
    expect_ended(GATE_UNHEARD, 1);
    delivered("b", 0);
    none_delivered();
}

static void
test_gate_limits_change_while_requests_wait(void **state)
{
    (void)state;
    struct gate_conf c = conf("g", "svc.>", 4);
    for (char s[2] = "a"; s[0] <= 'j'; s[0]++) {
        ask(1, s);
    }
    delivered("a", 1);
    delivered("b", 1);
    none_delivered();
    update(&c, 0); /* two more slots are filled at once */
    delivered("c", 1);
    delivered("d", 1);
    none_delivered();
    c.limit = 1;
    c.discipline = APIQ_LIFO;
    c.request_queue_limit = 3;
    update(&c, 3);
    told("e", "503");
    told("f", "503");
    told("g", "503");
    reply("a");
    reply("b");
    reply("c");
    none_delivered();
    reply("d");
    delivered("j", 1);
    none_delivered();
    c.request_deadline = CLOCK_S;
    update(&c, 0);
    clock_fake_advance(&now, CLOCK_S);
    gates_tick(gates);
    expect_ended(GATE_LATE, 2);
}

static void
test_gate_deleted_passes_on_what_waits(void **state)
{
    (void)state;
    size_t passed;
    struct gate *g = gate_ref(host.gate);
    ask(1, "a");
    ask(1, "b");
    ask(1, "c");
    ask(1, "d");
    assert_int_equal(gates_delete(gates, "g", &passed, err), ST_OK);
    assert_int_equal(passed, 2);
    static const char *const order[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        struct gate_delivery d;
        struct gate_request *r = fakehost_gated(&host);
        assert_true(gate_begin(r, true, &d));
        assert_string_equal(d.reply, order[i]);
        gate_took(r, RESPONDER);
        gate_sent(r, 1);
    }
    none_delivered();
    nobody_told();
    struct api_message m = fakehost_request(2, 1, "svc.a", "e", "e");
    assert_false(gate_receive(g, &m)); /* on its way when the gate went */
    gate_unref(g);
    assert_int_equal(gates_delete(gates, "g", &passed, err), ST_NOTFOUND);
}

static void
test_gate_closed_refuses_what_waits(void **state)
{
    (void)state;
    ask(1, "a");
    ask(1, "b");
    ask(1, "c");
    gates_close(gates);
    told("c", "Nats-Service-Error: the server is shutting down: the request was not executed\r\n"
              "Nats-Service-Error-Code: 503");
    nobody_told();
    struct gate_conf c = conf("h", "x", 1);
    assert_int_equal(gates_create(gates, &c, err), ST_CLOSED);
}

static void
test_gates_refuse_what_does_not_fit(void **state)
{
    (void)state;
    size_t n;
    struct gate_conf c = conf("g", "y", 1);
    assert_int_equal(gates_create(gates, &c, err), ST_EXISTS);
    assert_non_null(strstr(err, "name: there is a gate \"g\""));
    c = conf("h", "svc.*.x", 1);
    assert_int_equal(gates_create(gates, &c, err), ST_EXISTS);
    assert_non_null(strstr(err, "subject: \"svc.*.x\" overlaps \"svc.>\" of gate \"g\""));
    (void)snprintf(c.account, sizeof(c.account), "NOBODY");
    assert_int_equal(gates_create(gates, &c, err), ST_NOTFOUND);
    assert_non_null(strstr(err, "account: "));
    (void)snprintf(c.account, sizeof(c.account), "A3");
    assert_int_equal(gates_create(gates, &c, err), ST_OK); /* another account */
    c.limit = 5;
    (void)snprintf(c.subject, sizeof(c.subject), "z");
    assert_int_equal(gates_update(gates, &c, &n, err), ST_INVAL);
    assert_non_null(strstr(err, "subject: cannot be changed"));
    c = conf("k", "z", 1);
    assert_int_equal(gates_update(gates, &c, &n, err), ST_NOTFOUND);
}

static void
test_gates_of_the_configuration_replace_those_before(void **state)
{
    (void)state;
    struct gate_info i;
    struct gate_conf a = conf("a", "svc.x", 1); /* in the way of g, which was made over the API */
    struct gate_conf b = conf("b", "t", 1);
    struct gate_conf api = conf("api", "u", 1);
    assert_int_equal(gates_create(gates, &api, err), ST_OK);
    assert_int_equal(gates_apply(gates, (const struct gate_conf *[]){&a, &b}, 2), ST_OK);
    assert_false(gates_find(gates, "g", &i));
    assert_true(gates_find(gates, "api", &i));
    assert_false(i.from_config);
    assert_true(gates_find(gates, "a", &i));
    assert_true(i.from_config);
    a.limit = 9;
    b = conf("b", "t2", 1);
    assert_int_equal(gates_apply(gates, (const struct gate_conf *[]){&a, &b}, 2), ST_OK);
    assert_true(gates_find(gates, "a", &i));
    assert_int_equal(i.conf.limit, 9);
    assert_true(gates_find(gates, "b", &i));
    assert_string_equal(i.conf.subject, "t2");
    assert_int_equal(gates_apply(gates, NULL, 0), ST_OK);
    assert_true(gates_info(gates, 0, &i));
    assert_string_equal(i.conf.name, "api");
    assert_false(gates_info(gates, 1, &i));
}

static void
test_gates_survive_want_of_memory(void **state)
{
    (void)state;
    struct clock clk = clock_fake_of(&now);
    struct gate_conf c = conf("g", "svc.>", 1);
    for (long n = 0;; n++) {
        struct gates *gs = NULL;
        long live = mem_live();
        mem_fail_at(n);
        enum status st = gates_new(&gs, &host.host, &clk, false);
        if (st == ST_OK) {
            st = gates_create(gs, &c, err);
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

static void
test_gate_tells_who_found_no_memory(void **state)
{
    (void)state;
    for (long n = 0; n < 3; n++) {
        mem_fail_at(n);
        ask(1, "a");
        mem_fail_at(-1);
        struct gate_request *r = fakehost_gated(&host);
        if (r != NULL) {
            struct gate_delivery d;
            assert_true(gate_begin(r, true, &d));
            gate_sent(r, 0);
            continue;
        }
        told("a", "Nats-Service-Error: the server is out of memory");
    }
    assert_true(look().counts.ended[GATE_NOMEM] > 0);
}

static void
test_gate_mass_cancel_leaves_nothing(void **state)
{
    (void)state;
    char text[16];
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(text, sizeof(text), "r%d", i);
        struct api_message m = fakehost_request(2, 5, "svc.a", text, text);
        assert_true(gate_receive(host.gate, &m));
    }
    assert_int_equal(look().counts.queued, 9998);
    gates_conn_closed(gates, 5);
    assert_int_equal(look().counts.queued, 0);
    expect_ended(GATE_LEFT, 9998);
    nobody_told();
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
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
        T(test_gate_expired_is_told_though_no_slot_is_free),
        T(test_gate_takes_the_requesters_own_deadline),
        T(test_gate_header_and_payload_come_out_as_they_went_in),
        T(test_gate_a_requester_that_closes_takes_its_requests_along),
        T(test_gate_work_that_nobody_waits_for_is_done_though_its_sender_left),
        T(test_gate_does_not_run_what_nobody_hears_any_more),
        T(test_gate_limits_change_while_requests_wait),
        T(test_gate_deleted_passes_on_what_waits),
        T(test_gate_closed_refuses_what_waits),
        T(test_gates_refuse_what_does_not_fit),
        T(test_gates_of_the_configuration_replace_those_before),
        T(test_gates_survive_want_of_memory),
        T(test_gate_tells_who_found_no_memory),
        T(test_gate_mass_cancel_leaves_nothing),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
