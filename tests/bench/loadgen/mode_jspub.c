/* SPDX-License-Identifier: Apache-2.0 */
/* Fills streams: publishes with a reply subject and waits for the acknowledgements, so that no
 * server is asked to hold more than --window messages at a time. */
#include <stdio.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/bench/loadgen/answer.h"
#include "tests/bench/loadgen/meter.h"
#include "tests/bench/loadgen/mode.h"

#define SYNC_NS (10 * CLOCK_S)

struct filler {
    struct bench *b;   /* borrowed: the caller's */
    struct conn *conn; /* owned: one each publisher */
    char *payload;     /* owned: size bytes, and CR LF */
    uint64_t sent;
    uint64_t acked;
};

static void
on_ack(struct conn *c, const struct frame *f)
{
    struct filler *q = c->arg;

    if (answer_of(f) != ANSWER_OK) {
        net_fail(c->net, "not stored: %.*s", (int)f->data.n, f->data.p);
    }
    q->acked++;
}

static void
publish(struct filler *q)
{
    const struct opts *o = q->b->opts;
    size_t pub = q->sent % (size_t)o->pubs;
    struct conn *c = &q->conn[pub];

    if (o->subjects > 1) {
        conn_printf(c, "PUB %s.%lu", o->subject, (unsigned long)(q->sent % (size_t)o->subjects));
    } else {
        conn_printf(c, "PUB %s", o->subject);
    }
    conn_printf(c, " _INBOX.lg.%zu %ld\r\n", pub, o->size);
    conn_put(c, q->payload, (size_t)o->size + 2);
    q->sent++;
}

static enum status
drive(struct filler *q)
{
    const struct opts *o = q->b->opts;
    int64_t end = clock_mono_ns() + (int64_t)(o->seconds * (double)CLOCK_S);
    uint64_t count = (uint64_t)o->count;

    while (q->acked < count) {
        while (q->sent < count && q->sent - q->acked < (uint64_t)o->window) {
            publish(q);
        }
        for (size_t i = 0; i < (size_t)o->pubs; i++) {
            conn_flush(&q->conn[i]);
        }
        enum status st = net_turn(&q->b->net, 10 * CLOCK_MS);
        if (st != ST_OK) {
            return st;
        }
        if (clock_mono_ns() > end) {
            net_fail(&q->b->net, "only %llu messages were acknowledged in time",
                     (unsigned long long)q->acked);
            return ST_TIMEOUT;
        }
    }
    return ST_OK;
}

static enum status
open_all(struct filler *q)
{
    enum status st = ST_OK;

    for (size_t i = 0; st == ST_OK && i < (size_t)q->b->opts->pubs; i++) {
        struct conn *c = &q->conn[i];
        st = conn_open(c, &q->b->net, "");
        if (st != ST_OK) {
            return st;
        }
        c->arg = q;
        c->on_frame = on_ack;
        conn_printf(c, "SUB _INBOX.lg.%zu 1\r\n", i);
        st = conn_sync(c, SYNC_NS);
    }
    return st;
}

static enum status
run(struct bench *b)
{
    const struct opts *o = b->opts;
    struct filler q = {.b = b};
    struct meter from;
    struct meter to;
    enum status st = ST_NOMEM;

    if (strlen(o->subject) > 100) {
        net_fail(&b->net, "jspub: a subject of at most 100 bytes");
        return ST_INVAL;
    }
    q.conn = mem_alloc_array((size_t)o->pubs, sizeof(*q.conn));
    q.payload = mem_alloc((size_t)o->size + 2);
    if (q.conn != NULL && q.payload != NULL) {
        memset(q.payload, 'j', (size_t)o->size);
        memcpy(q.payload + o->size, "\r\n", 2);
        st = open_all(&q);
    }
    if (st == ST_OK) {
        meter_take(&from, (pid_t)o->pid);
        st = drive(&q);
        meter_take(&to, (pid_t)o->pid);
        meter_report(b->out, &from, &to, q.acked);
    }
    for (size_t i = 0; q.conn != NULL && i < (size_t)o->pubs; i++) {
        conn_close(&q.conn[i]);
    }
    mem_free(q.conn);
    mem_free(q.payload);
    return st;
}

const struct mode mode_jspub = {
    .name = "jspub",
    .doc = "publishes --count messages to streams, on SUBJECT.0, SUBJECT.1, … (one: on SUBJECT); "
           "ends when all are acknowledged, fails after --seconds; unit: an acknowledged message",
    .uses = "count, size, pubs, subjects, window, subject",
    .run = run,
};
