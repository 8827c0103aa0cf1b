/* SPDX-License-Identifier: Apache-2.0 */
/* Publish only: nobody listens. A PONG at both ends of the measured time proves that the server
 * has processed what was sent, so nothing that stands in a socket is counted. */
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/bench/loadgen/flood.h"
#include "tests/bench/loadgen/meter.h"
#include "tests/bench/loadgen/mode.h"

#define BLOCK_BYTES (64 * 1024)
#define SYNC_NS     (30 * CLOCK_S)

struct pub {
    struct conn conn;
    struct flood flood;
};

static enum status
publish(struct bench *b, struct pub *p, size_t n, double seconds)
{
    int64_t end = clock_mono_ns() + (int64_t)(seconds * (double)CLOCK_S);
    int64_t now;

    while ((now = clock_mono_ns()) < end) {
        bool more = false;
        for (size_t i = 0; i < n; i++) {
            more |= flood_pump(&p[i].flood, &p[i].conn, UINT64_MAX, now);
        }
        enum status st = net_turn(&b->net, more ? 0 : CLOCK_MS / 2);
        if (st != ST_OK) {
            return st;
        }
    }
    for (size_t i = 0; i < n; i++) {
        enum status st = flood_finish(&p[i].flood, &p[i].conn);
        if (st == ST_OK) {
            st = conn_sync(&p[i].conn, SYNC_NS);
        }
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static uint64_t
sent(const struct pub *p, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += p[i].flood.sent;
    }
    return sum;
}

static enum status
open_all(struct bench *b, struct pub *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        flood_init(&p[i].flood, b->opts->rate / (double)n);
        uint64_t msgs = flood_block_size(&p[i].flood, (size_t)b->opts->size, BLOCK_BYTES);
        while (p[i].flood.msgs < msgs) {
            flood_add(&p[i].flood, b->opts->subject, (size_t)b->opts->size);
        }
        if (buf_status(&p[i].flood.block) != ST_OK) {
            return ST_NOMEM;
        }
        enum status st = conn_open(&p[i].conn, &b->net, "");
        if (st != ST_OK) {
            return st;
        }
        p[i].flood.start = clock_mono_ns();
    }
    return ST_OK;
}

static enum status
run(struct bench *b)
{
    const struct opts *o = b->opts;
    size_t n = (size_t)o->pubs;
    struct pub *p = mem_alloc_array(n, sizeof(*p));
    struct meter from;
    struct meter to;

    if (p == NULL) {
        return ST_NOMEM;
    }
    enum status st = open_all(b, p, n);
    if (st == ST_OK) {
        st = publish(b, p, n, o->warmup);
    }
    if (st == ST_OK) {
        uint64_t before = sent(p, n);
        meter_take(&from, (pid_t)o->pid);
        st = publish(b, p, n, o->seconds);
        meter_take(&to, (pid_t)o->pid);
        meter_report(b->out, &from, &to, sent(p, n) - before);
    }
    for (size_t i = 0; i < n; i++) {
        conn_close(&p[i].conn);
        flood_fini(&p[i].flood);
    }
    mem_free(p);
    return st;
}

const struct mode mode_pub = {
    .name = "pub",
    .doc = "publish only; unit: a message processed by the server",
    .uses = "size, pubs, subject",
    .needs_rate = true,
    .run = run,
};
