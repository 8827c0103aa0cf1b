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

struct reqrep;

struct requester {
    struct conn conn;
    struct reqrep *all; /* borrowed: it holds us */
    size_t index;
    int64_t *sent; /* owned: when each slot's request was written */
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

static void
request(struct requester *r, size_t slot)
{
    const struct reqrep *q = r->all;

    conn_printf(&r->conn, "PUB %s _INBOX.lg.%zu.%zu %zu\r\n", q->b->opts->subject, r->index, slot,
                q->size);
    conn_put(&r->conn, q->payload, q->size);
    conn_put(&r->conn, "\r\n", 2);
    r->sent[slot] = clock_mono_ns();
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
        hist_add(&all->hist, clock_mono_ns() - r->sent[slot]);
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
        r->sent = mem_alloc_array((size_t)o->inflight, sizeof(*r->sent));
        if (r->sent == NULL) {
            return ST_NOMEM;
        }
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
            conn_close(&q->req[i].conn);
            mem_free(q->req[i].sent);
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
    .doc = "as reqrep, but asks what the server answers itself: its capacity; unit: a reply "
           "without error",
    .uses = "subject, payload, conns, inflight; rate must be max",
    .needs_rate = true,
    .run = run_closed,
};
