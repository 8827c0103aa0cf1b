/* SPDX-License-Identifier: Apache-2.0 */
/* What an ordinary NATS service looks like from outside: --slots requests are served at a time,
 * each takes --sleep-ms, the others wait in its own memory, oldest first. Capacity is
 * slots / sleep. For comparing an unprotected service with the API plane. */
#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/bench/loadgen/mode.h"

#define REPLY_MAX 120
#define WAIT_MAX  (1024 * 1024)
#define SYNC_NS   (10 * CLOCK_S)

struct waiting {
    char reply[REPLY_MAX];
    int64_t ends; /* when its time of service is over, once it is in a slot */
};

struct responder {
    struct bench *b; /* borrowed: the caller's */
    struct conn conn;
    struct waiting *ring; /* owned: WAIT_MAX of them, touched as they are used */
    uint64_t in;          /* arrived */
    uint64_t begun;       /* given a slot */
    uint64_t out;         /* answered; constant service time, so they end in order */
    uint64_t refused;     /* the ring was full */
};

static void
on_request(struct conn *c, const struct frame *f)
{
    struct responder *r = c->arg;

    if (f->reply.n == 0 || f->reply.n >= REPLY_MAX || r->in - r->out >= WAIT_MAX) {
        r->refused++;
        return;
    }
    struct waiting *w = &r->ring[r->in++ % WAIT_MAX];
    memcpy(w->reply, f->reply.p, f->reply.n);
    w->reply[f->reply.n] = '\0';
}

/* Ends and begins what is due; returns how long nothing will change. */
static int64_t
serve(struct responder *r)
{
    const struct opts *o = r->b->opts;
    int64_t service = (int64_t)(o->sleep_ms * (double)CLOCK_MS);
    int64_t now = clock_mono_ns();

    while (r->out < r->begun && r->ring[r->out % WAIT_MAX].ends <= now) {
        const struct waiting *w = &r->ring[r->out++ % WAIT_MAX];
        conn_printf(&r->conn, "PUB %s 11\r\n{\"ok\":true}\r\n", w->reply);
        /* The slot went on at once to the next, at the time it became free. */
        if (r->begun < r->in) {
            struct waiting *next = &r->ring[r->begun++ % WAIT_MAX];
            next->ends = w->ends + service > now ? w->ends + service : now + service;
        }
    }
    while (r->begun < r->in && r->begun - r->out < (uint64_t)o->slots) {
        r->ring[r->begun++ % WAIT_MAX].ends = now + service;
    }
    conn_flush(&r->conn);
    if (r->out < r->begun) {
        int64_t wait = r->ring[r->out % WAIT_MAX].ends - clock_mono_ns();
        return wait > 0 ? wait : 0;
    }
    return 10 * CLOCK_MS;
}

static enum status
run(struct bench *b)
{
    struct responder r = {.b = b};
    int64_t end = clock_mono_ns() + (int64_t)(b->opts->seconds * (double)CLOCK_S);

    r.ring = mem_alloc_array(WAIT_MAX, sizeof(*r.ring));
    if (r.ring == NULL) {
        return ST_NOMEM;
    }
    enum status st = conn_open(&r.conn, &b->net, "");
    if (st == ST_OK) {
        r.conn.arg = &r;
        r.conn.on_frame = on_request;
        conn_printf(&r.conn, "SUB %s 1\r\n", b->opts->subject);
        st = conn_sync(&r.conn, SYNC_NS);
    }
    while (st == ST_OK && clock_mono_ns() < end) {
        int64_t wait = serve(&r);
        st = net_turn(&b->net, wait < 10 * CLOCK_MS ? wait : 10 * CLOCK_MS);
    }
    json_object_set_new(b->out, "received", json_integer((json_int_t)r.in));
    json_object_set_new(b->out, "answered", json_integer((json_int_t)r.out));
    json_object_set_new(b->out, "refused", json_integer((json_int_t)r.refused));
    conn_close(&r.conn);
    mem_free(r.ring);
    return st;
}

const struct mode mode_responder = {
    .name = "responder",
    .doc = "an ordinary service without protection: --slots at a time, --sleep-ms each",
    .uses = "slots, sleep-ms, subject",
    .run = run,
};
