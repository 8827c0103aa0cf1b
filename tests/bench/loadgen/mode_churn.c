/* SPDX-License-Identifier: Apache-2.0 */
/* Inboxes come and go (SUB _INBOX.<random>.*, and UNSUB of the one made 1,000 before) on one
 * connection while 1 -> 1 runs on two others: does churn disturb those who only want messages?
 * A PONG after every hundred pairs, four hundreds on their way, keeps the server's pace. */
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "tests/bench/loadgen/pubsub.h"

#define BATCH       100
#define ALIVE       1000
#define BATCHES_OUT 4
#define BLOCK_BYTES (32 * 1024)

struct churn {
    struct conn conn;
    unsigned short rand[3];
    uint64_t made; /* also the sid of the last */
    uint64_t pings;
    int64_t start;
};

static void
inbox(struct churn *c)
{
    static const char abc[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char id[23];

    for (size_t i = 0; i < sizeof(id) - 1; i++) {
        id[i] = abc[(unsigned long)nrand48(c->rand) % (sizeof(abc) - 1)];
    }
    id[sizeof(id) - 1] = '\0';
    c->made++;
    conn_printf(&c->conn, "SUB _INBOX.%s.* %llu\r\n", id, (unsigned long long)c->made);
    if (c->made > ALIVE) {
        conn_printf(&c->conn, "UNSUB %llu\r\n", (unsigned long long)(c->made - ALIVE));
    }
}

static void
churn_pump(struct churn *c, const struct opts *o)
{
    double due = (double)(clock_mono_ns() - c->start) / (double)CLOCK_S * o->churn_rate;

    while (c->made < (uint64_t)o->count && c->pings - c->conn.pongs < BATCHES_OUT &&
           (o->churn_rate <= 0 || (double)(c->made + BATCH) <= due)) {
        for (int i = 0; i < BATCH; i++) {
            inbox(c);
        }
        conn_put(&c->conn, "PING\r\n", 6);
        c->pings++;
    }
    conn_flush(&c->conn);
}

static enum status
measure(struct pubsub *p, struct churn *c)
{
    const struct opts *o = p->b->opts;
    struct meter from;
    struct meter to;

    enum status st = pubsub_run(p, o->warmup);
    uint64_t got = pubsub_received(p);
    meter_take(&from, (pid_t)o->pid);
    c->start = from.at;
    int64_t end = from.at + (int64_t)(o->seconds * (double)CLOCK_S);
    while (st == ST_OK && (c->made < (uint64_t)o->count || c->conn.pongs < c->pings)) {
        if (clock_mono_ns() > end) {
            json_object_set_new(p->b->out, "cut_short", json_true());
            break;
        }
        churn_pump(c, o);
        st = pubsub_turn(p);
    }
    meter_take(&to, (pid_t)o->pid);
    if (st != ST_OK) {
        return st;
    }
    meter_report(p->b->out, &from, &to, pubsub_received(p) - got);
    double t = (double)(to.at - from.at) / (double)CLOCK_S;
    json_object_set_new(p->b->out, "churn_pairs", json_integer((json_int_t)c->made));
    json_object_set_new(p->b->out, "churn_rate", json_real((double)c->made / t));
    return pubsub_drain(p);
}

static enum status
run(struct bench *b)
{
    const struct opts *o = b->opts;
    struct pubsub p;
    struct churn c;
    enum status st = pubsub_init(&p, b);

    memset(&c, 0, sizeof(c));
    memcpy(c.rand, &o->seed, sizeof(c.rand));
    for (size_t i = 0; st == ST_OK && i < p.npub; i++) {
        uint64_t msgs = flood_block_size(&p.flood[i], (size_t)o->size, BLOCK_BYTES);
        while (p.flood[i].msgs < msgs) {
            flood_add(&p.flood[i], o->subject, (size_t)o->size);
        }
    }
    for (size_t i = 0; st == ST_OK && i < p.nsub; i++) {
        conn_printf(&p.sub[i], "SUB %s 1\r\n", o->subject);
    }
    p.copies = (double)p.nsub;
    if (st == ST_OK) {
        st = conn_open(&c.conn, &b->net, "");
    }
    if (st == ST_OK) {
        st = pubsub_start(&p);
    }
    if (st == ST_OK) {
        st = measure(&p, &c);
    }
    conn_close(&c.conn);
    pubsub_fini(&p);
    return st;
}

const struct mode mode_churn = {
    .name = "churn",
    .doc = "--count inboxes are subscribed and unsubscribed while 1 -> 1 runs; ends when they are "
           "done; unit: a delivery of 1 -> 1",
    .uses = "count, churn-rate, size, window, subject, seed",
    .needs_rate = true,
    .run = run,
};
