/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/flood.h"

#include <string.h>

#include "server/base/clock.h"

#define BLOCKS_PER_PUMP 4
#define BLOCKS_A_SECOND 2000
#define LINE_GUESS      20
#define PAYLOAD_MAX     (64 * 1024)
#define FINISH_NS       (10 * CLOCK_S)

void
flood_init(struct flood *f, double rate)
{
    memset(f, 0, sizeof(*f));
    buf_init(&f->block);
    f->rate = rate;
}

void
flood_fini(struct flood *f)
{
    buf_fini(&f->block);
}

uint64_t
flood_block_size(const struct flood *f, size_t size, size_t bytes)
{
    uint64_t fit = bytes / (size + LINE_GUESS) + 1;
    uint64_t due = (uint64_t)(f->rate / BLOCKS_A_SECOND) + 1;

    return f->rate > 0 && due < fit ? due : fit;
}

void
flood_add(struct flood *f, const char *subject, size_t size)
{
    static char payload[PAYLOAD_MAX];

    if (payload[0] == '\0') {
        memset(payload, 'x', sizeof(payload));
    }
    buf_printf(&f->block, "PUB %s %zu\r\n", subject, size);
    while (size > 0) {
        size_t n = size < sizeof(payload) ? size : sizeof(payload);
        buf_append(&f->block, payload, n);
        size -= n;
    }
    buf_puts(&f->block, "\r\n");
    f->msgs++;
}

static bool
may_begin(const struct flood *f, uint64_t allow, int64_t now)
{
    if (allow < f->msgs) {
        return false;
    }
    if (f->rate <= 0) {
        return true;
    }
    double due = (double)(now - f->start) / (double)CLOCK_S * f->rate;
    return (double)(f->sent + f->msgs) <= due;
}

/* Sends on; true when the block is done. */
static bool
push(struct flood *f, struct conn *c)
{
    f->off += conn_send(c, f->block.data + f->off, f->block.len - f->off);
    c->hold = f->off < f->block.len;
    if (c->hold) {
        return false;
    }
    f->off = 0;
    return true;
}

bool
flood_pump(struct flood *f, struct conn *c, uint64_t allow, int64_t now)
{
    for (int i = 0; i < BLOCKS_PER_PUMP; i++) {
        /* NB: a PONG that waits in the out-buffer must not land inside a block. */
        conn_flush(c);
        if (c->want_write) {
            return false;
        }
        if (f->off == 0) {
            if (!may_begin(f, allow, now)) {
                return false;
            }
            f->sent += f->msgs;
            allow -= f->msgs;
        }
        if (!push(f, c)) {
            return false;
        }
    }
    return true;
}

enum status
flood_finish(struct flood *f, struct conn *c)
{
    int64_t end = clock_mono_ns() + FINISH_NS;

    while (f->off > 0) {
        if (clock_mono_ns() > end) {
            net_fail(c->net, "the server does not read");
            return ST_TIMEOUT;
        }
        if (!c->want_write && push(f, c)) {
            break;
        }
        enum status st = net_turn(c->net, CLOCK_MS);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}
