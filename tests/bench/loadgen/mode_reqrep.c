/* SPDX-License-Identifier: Apache-2.0 */
/* Closed loop: --conns requesters, each with --inflight open requests. reqrep brings a responder
 * of ours that answers at once; closed asks what already answers, which gives its capacity.
 * Latency is from the write of the request to the read of its reply. */
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/bench/loadgen/answer.h"
#include "tests/bench/loadgen/hist.h"
#include "tests/bench/loadgen/meter.h"
#include "tests/bench/loadgen/mode.h"

#define SYNC_NS (10 * CLOCK_S)
#define TURNS   2

struct reqrep;

/* One open request at a time: in turns the two that it has, if it has two. */
struct slot {
    struct buf ask[TURNS]; /* what is written; the second is empty without --then */
    unsigned turn;
    int64_t sent;
};

struct requester {
    struct conn conn;
    struct reqrep *all; /* borrowed: it holds us */
    size_t index;
    struct slot *slot; /* owned */
};

struct reqrep {
    struct bench *b; /* borrowed: the caller's */
    struct conn responder;
    struct requester *req; /* owned */
    struct hist hist;
    char *payload; /* owned: size bytes */
    size_t size;
    uint64_t done;
    uint64_t errors;
    bool measuring;
    bool stopping;
};

/* Each '@' of the n bytes becomes the slot's name. */
static void
expand(struct buf *out, const char *p, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '@') {
            buf_printf(out, "%s", name);
        } else {
            buf_append(out, p + i, 1);
        }
    }
}

static void
prepare_ask(const struct requester *r, size_t slot, struct buf *out, const char *subject,
            struct span payload)
{
    char name[48];
    struct buf body;

    (void)snprintf(name, sizeof(name), "%zu-%zu", r->index, slot);
    buf_init(&body);
    expand(&body, payload.p, payload.n, name);
    buf_printf(out, "PUB ");
    expand(out, subject, strlen(subject), name);
    buf_printf(out, " _INBOX.lg.%zu.%zu %zu\r\n", r->index, slot, body.len);
    if (body.len > 0) {
        buf_append(out, body.data, body.len);
    }
    buf_printf(out, "\r\n");
    if (body.failed || out->failed) {
        net_fail(&r->all->b->net, "out of memory");
    }
    buf_fini(&body);
}

static void
prepare(struct requester *r)
{
    const struct opts *o = r->all->b->opts;
    struct span payload = {r->all->payload, r->all->size};

    for (size_t i = 0; i < (size_t)o->inflight; i++) {
        struct slot *s = &r->slot[i];
        buf_init(&s->ask[0]);
        buf_init(&s->ask[1]);
        prepare_ask(r, i, &s->ask[0], o->subject, payload);
        if (o->then != NULL) {
            prepare_ask(r, i, &s->ask[1], o->then, (struct span){"", 0});
        }
    }
}

static void
request(struct requester *r, size_t slot)
{
    struct slot *s = &r->slot[slot];
    const struct buf *ask = &s->ask[s->turn];

    conn_put(&r->conn, ask->data, ask->len);
    s->turn = s->ask[1].len > 0 ? 1 - s->turn : 0;
    s->sent = clock_mono_ns();
}

static void
on_reply(struct conn *c, const struct frame *f)
{
    struct requester *r = c->arg;
    struct reqrep *all = r->all;
    const char *dot = memrchr(f->subject.p, '.', f->subject.n);
    size_t slot = dot == NULL ? SIZE_MAX : strtoul(dot + 1, NULL, 10);

    if (slot >= (size_t)all->b->opts->inflight || wire_hdr_status(f->hdr) == 503) {
        net_fail(&all->b->net, "nobody answers, or on a wrong subject");
        return;
    }
    if (answer_of(f) != ANSWER_OK) {
        all->errors++;
    } else if (all->measuring) {
        hist_add(&all->hist, clock_mono_ns() - r->slot[slot].sent);
        all->done++;
    }
    if (!all->stopping) {
        request(r, slot);
    }
}

static void
on_request(struct conn *c, const struct frame *f)
{
    conn_put(c, "PUB ", 4);
    conn_put(c, f->reply.p, f->reply.n);
    conn_printf(c, " %zu\r\n", f->data.n);
    conn_put(c, f->data.p, f->data.n);
    conn_put(c, "\r\n", 2);
}

static enum status
turn(struct reqrep *q)
{
    enum status st = net_turn(&q->b->net, CLOCK_MS);

    for (size_t i = 0; i < (size_t)q->b->opts->conns; i++) {
        conn_flush(&q->req[i].conn);
    }
    if (q->responder.net != NULL) {
        conn_flush(&q->responder);
    }
    return st;
}

static enum status
turn_for(struct reqrep *q, double seconds)
{
    int64_t end = clock_mono_ns() + (int64_t)(seconds * (double)CLOCK_S);

    while (clock_mono_ns() < end) {
        enum status st = turn(q);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status
open_responder(struct reqrep *q)
{
    enum status st = conn_open(&q->responder, &q->b->net, "");

    if (st != ST_OK) {
        return st;
    }
    q->responder.on_frame = on_request;
    conn_printf(&q->responder, "SUB %s 1\r\n", q->b->opts->subject);
    return conn_sync(&q->responder, SYNC_NS);
}

static enum status
open_requesters(struct reqrep *q)
{
    const struct opts *o = q->b->opts;
    enum status st = ST_OK;

    for (size_t i = 0; st == ST_OK && i < (size_t)o->conns; i++) {
        struct requester *r = &q->req[i];
        r->all = q;
        r->index = i;
        r->slot = mem_alloc_array((size_t)o->inflight, sizeof(*r->slot));
        if (r->slot == NULL) {
            return ST_NOMEM;
        }
        prepare(r);
        st = conn_open(&r->conn, &q->b->net, "");
        if (st != ST_OK) {
            return st;
        }
        r->conn.arg = r;
        r->conn.on_frame = on_reply;
        conn_printf(&r->conn, "SUB _INBOX.lg.%zu.* 1\r\n", i);
        st = conn_sync(&r->conn, SYNC_NS);
    }
    return st;
}

static enum status
measure(struct reqrep *q)
{
    const struct opts *o = q->b->opts;
    struct meter from;
    struct meter to;

    for (size_t i = 0; i < (size_t)o->conns; i++) {
        for (size_t k = 0; k < (size_t)o->inflight; k++) {
            request(&q->req[i], k);
        }
    }
    enum status st = turn_for(q, o->warmup);
    if (st != ST_OK) {
        return st;
    }
    q->measuring = true;
    meter_take(&from, (pid_t)o->pid);
    st = turn_for(q, o->seconds);
    meter_take(&to, (pid_t)o->pid);
    q->measuring = false;
    q->stopping = true;
    if (st != ST_OK) {
        return st;
    }
    meter_report(q->b->out, &from, &to, q->done);
    json_object_set_new(q->b->out, "errors", json_integer((json_int_t)q->errors));
    json_object_set_new(q->b->out, "latency", hist_json(&q->hist));
    return ST_OK;
}

static void
requester_fini(struct requester *r, size_t slots)
{
    for (size_t i = 0; r->slot != NULL && i < slots; i++) {
        buf_fini(&r->slot[i].ask[0]);
        buf_fini(&r->slot[i].ask[1]);
    }
    mem_free(r->slot);
    conn_close(&r->conn);
}

/* responder: bring one, with payloads of --size; else --payload is what is asked. */
static enum status
run_as(struct bench *b, bool responder)
{
    size_t n = (size_t)b->opts->conns;
    struct reqrep *q = mem_alloc(sizeof(*q));
    enum status st = ST_NOMEM;

    if (q == NULL) {
        return st;
    }
    q->b = b;
    q->size = responder ? (size_t)b->opts->size : strlen(b->opts->payload);
    q->req = mem_alloc_array(n, sizeof(*q->req));
    q->payload = mem_alloc(q->size + 1);
    if (q->req != NULL && q->payload != NULL) {
        memset(q->payload, 'r', q->size);
        if (!responder) {
            memcpy(q->payload, b->opts->payload, q->size);
        }
        st = responder ? open_responder(q) : ST_OK;
        if (st == ST_OK) {
            st = open_requesters(q);
        }
        if (st == ST_OK) {
            st = measure(q);
        }
        for (size_t i = 0; i < n; i++) {
            requester_fini(&q->req[i], (size_t)b->opts->inflight);
        }
    }
    conn_close(&q->responder);
    mem_free(q->payload);
    mem_free(q->req);
    mem_free(q);
    return st;
}

static enum status
run_reqrep(struct bench *b)
{
    return run_as(b, true);
}

static enum status
run_closed(struct bench *b)
{
    return run_as(b, false);
}

const struct mode mode_reqrep = {
    .name = "reqrep",
    .doc = "request and reply through a responder, closed loop; unit: a reply",
    .uses = "size, conns, inflight, subject; rate must be max",
    .needs_rate = true,
    .run = run_reqrep,
};

const struct mode mode_closed = {
    .name = "closed",
    .doc = "as reqrep, but asks what the server answers itself: its capacity; with --then that in "
           "turns; '@' becomes a name for each open request; unit: a reply without error",
    .uses = "subject, payload, then, conns, inflight; rate must be max",
    .needs_rate = true,
    .run = run_closed,
};
