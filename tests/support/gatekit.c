/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/gatekit.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmk.h"

struct gatekit gatekit;

static void
wake(void *arg, int64_t at)
{
    (void)arg;
    int64_t was = atomic_load(&gatekit.woken);
    while (at < was && !atomic_compare_exchange_weak(&gatekit.woken, &was, at)) {
    }
}

struct gates_plane
gatekit_plane(void)
{
    atomic_store(&gatekit.woken, INT64_MAX);
    return (struct gates_plane){
        .groups = gatekit.groups, .last_id = &gatekit.last_id, .wake = wake};
}

void
gatekit_group(const char *json)
{
    struct group_conf c;
    json_t *o = json == NULL ? NULL : json_loads(json, 0, NULL);
    assert_int_equal(group_conf_init(&c, "w", gatekit.err, sizeof(gatekit.err)), ST_OK);
    if (o != NULL && group_conf_parse(&c, o, gatekit.err, sizeof(gatekit.err)) != ST_OK) {
        fail_msg("%s", gatekit.err);
    }
    assert_true(o != NULL || json == NULL);
    json_decref(o);
    assert_int_equal(groups_set(gatekit.groups, GROUP_FROM_CONFIG, &c, json == NULL ? 0 : 1),
                     ST_OK);
    (void)groups_drain(gatekit.groups, 1000);
}

struct group_counts
gatekit_group_counts(void)
{
    struct group_info i;
    assert_int_equal(groups_find(gatekit.groups, "w", &i), ST_OK);
    const struct group_counts *n = &i.counts;
    assert_int_equal(n->total_admitted, n->total_released + n->running);
    assert_int_equal(n->total_queued, n->queue_wait_count + n->total_cancelled +
                                          n->total_displaced + n->queued_current);
    assert_int_equal(n->total_throttled,
                     n->total_queued + n->total_queue_rejections - n->total_displaced);
    return i.counts;
}

void
gatekit_park(void)
{
    int64_t next;
    do {
        atomic_store(&gatekit.woken, INT64_MAX);
        next = groups_tick(gatekit.groups);
        while (groups_drain(gatekit.groups, 64)) {
        }
    } while (next <= gatekit.now.t);
}

struct gate_conf
gatekit_conf(const char *name, const char *subject, int64_t limit)
{
    struct gate_conf c;
    assert_int_equal(gate_conf_init(&c, name, gatekit.err, sizeof(gatekit.err)), ST_OK);
    (void)snprintf(c.account, sizeof(c.account), "A2");
    (void)snprintf(c.subject, sizeof(c.subject), "%s", subject);
    c.limit = limit;
    return c;
}

struct gate_info
gatekit_look(void)
{
    struct gate_info i;
    assert_true(gates_find(gatekit.gates, "g", &i));
    uint64_t sum = i.counts.parked + i.counts.queued + i.counts.running;
    for (int e = 0; e < LEDGER_END_COUNT; e++) {
        sum += i.counts.ended[e];
    }
    assert_int_equal(i.counts.received, sum);
    assert_int_equal(i.counts.queued, i.queue.depth);
    assert_int_equal(i.counts.running, i.queue.running);
    return i;
}

void
gatekit_expect_ended(enum ledger_end e, uint64_t n)
{
    assert_int_equal(gatekit_look().counts.ended[e], n);
}

int
gatekit_set_up(void **state)
{
    (void)state;
    struct clock c = clock_fake_of(&gatekit.now);
    struct gate_conf g = gatekit_conf("g", "svc.>", 2);
    gatekit.now.t = 1000 * CLOCK_S;
    fakehost_init(&gatekit.host);
    assert_int_equal(groups_new(&gatekit.groups, &c), ST_OK);
    struct gates_plane plane = gatekit_plane();
    assert_int_equal(gates_new(&gatekit.gates, &gatekit.host.host, &c, &plane, false), ST_OK);
    assert_int_equal(gates_create(gatekit.gates, &g, gatekit.err), ST_OK);
    return 0;
}

int
gatekit_tear_down(void **state)
{
    (void)state;
    gates_close(gatekit.gates);
    struct gate_request *r;
    while ((r = fakehost_gated(&gatekit.host)) != NULL) {
        struct gate_delivery d;
        if (gate_begin(r, true, &d)) {
            gate_sent(r, 0);
        }
    }
    gates_free(gatekit.gates);
    struct groups_totals t;
    groups_totals(gatekit.groups, &t);
    assert_int_equal(t.parked + t.running, 0);
    assert_int_equal(t.swept_admitted + t.swept_cancelled, 0);
    groups_close(gatekit.groups);
    groups_free(gatekit.groups);
    fakehost_fini(&gatekit.host);
    return 0;
}

void
gatekit_update(const struct gate_conf *c, size_t evicted)
{
    size_t n;
    assert_int_equal(gates_update(gatekit.gates, c, &n, gatekit.err), ST_OK);
    assert_int_equal(n, evicted);
}

static void
ask(uint64_t cid, const char *what, const char *hdr, int64_t unread)
{
    char block[256];
    struct api_message m = fakehost_request(2, cid, "svc.a", what, what);
    if (hdr != NULL) {
        m.hdr = block;
        m.hdr_len = strlen(hdr);
        (void)snprintf(block, sizeof(block), "%s%s", hdr, what);
        m.data = block + m.hdr_len;
    }
    m.now = gatekit.now.t - unread;
    assert_true(gate_receive(gatekit.host.gate, &m));
    (void)gatekit_look();
}

void
gatekit_ask_with(uint64_t cid, const char *what, const char *hdr)
{
    ask(cid, what, hdr, 0);
}

void
gatekit_ask_late(uint64_t cid, const char *what, int64_t unread)
{
    ask(cid, what, NULL, unread);
}

void
gatekit_ask(uint64_t cid, const char *what)
{
    gatekit_ask_with(cid, what, NULL);
}

/* The next one let through must be that one; it is delivered to so many connections, which count
 * up from RESPONDER. */
void
gatekit_delivered(const char *what, unsigned receivers)
{
    struct gate_delivery d;
    struct gate_request *r = fakehost_gated(&gatekit.host);
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
    (void)gatekit_look();
}

void
gatekit_none_delivered(void)
{
    assert_null(fakehost_gated(&gatekit.host));
}

void
gatekit_reply(const char *subject)
{
    if (gate_watch_maybe(gatekit.host.watch, subject, strlen(subject))) {
        gate_replied(gatekit.host.watch, subject, strlen(subject));
    }
    (void)gatekit_look();
}

/* "408 the deadline passed: the request was not executed, retry after 1.000 s", as the headers. */
static void
expect_same_in_payload(const struct fake_msg *m)
{
    static const char names[3][28] = {
        "Nats-Service-Error-Code: ", "Nats-Service-Error: ", "Nats-Retry-After: "};
    static const char *const between[] = {" ", ", retry after ", " s"};
    char text[256] = "";
    size_t n = 0;
    if (strncmp(m->hdr, "NATS/1.0 503", 12) == 0) {
        assert_string_equal(m->data, "");
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        const char *value = strstr(m->hdr, names[i]);
        assert_non_null(value);
        value += strlen(names[i]);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s%s", (int)strcspn(value, "\r"),
                              value, between[i]);
    }
    assert_string_equal(m->data, text);
}

void
gatekit_told(const char *subject, const char *in_header)
{
    struct fake_msg *m = fakehost_take(&gatekit.host);
    assert_non_null(m);
    assert_string_equal(m->subject, subject);
    expect_same_in_payload(m);
    if (strstr(m->hdr, in_header) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", in_header, m->hdr);
    }
    fakehost_free(m);
}

void
gatekit_nobody_told(void)
{
    assert_null(fakehost_take(&gatekit.host));
}

void
gatekit_grouped(const char *json, int64_t slots)
{
    struct gate_conf c = gatekit_conf("g", "svc.>", slots);
    gatekit_group(json);
    (void)snprintf(c.group, sizeof(c.group), "w");
    gatekit_update(&c, 0);
}

void
gatekit_parked(uint64_t n)
{
    assert_int_equal(gatekit_look().counts.parked, n);
    assert_int_equal(gatekit_group_counts().queued_current, n);
}

void
gatekit_permits(uint64_t n)
{
    assert_int_equal(gatekit_group_counts().running, n);
}
