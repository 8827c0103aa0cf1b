/* SPDX-License-Identifier: Apache-2.0 */
/* A publisher that costs next to nothing: a block of ready PUB lines that is sent again and
 * again from the same memory, at a pace or as fast as the socket takes it. */
#ifndef TESTS_BENCH_LOADGEN_FLOOD_H
#define TESTS_BENCH_LOADGEN_FLOOD_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/loadgen/net.h"

struct flood {
    struct buf block; /* owned */
    uint64_t msgs;    /* messages in the block */
    size_t off;       /* how much of the block's present round is sent */
    uint64_t sent;    /* messages begun, in whole blocks */
    double rate;      /* messages a second; 0: as fast as it goes */
    int64_t start;    /* since when the pace counts */
};

void flood_init(struct flood *f, double rate);
void flood_fini(struct flood *f);

/* How many messages a block should have: for a pace, what is due in half a millisecond (a send for
 * each message would cost us more than the server); else as many as fill `bytes`. */
uint64_t flood_block_size(const struct flood *f, size_t size, size_t bytes);

/* One more message in the block, of size bytes. Failures show in buf_status(&f->block). */
void flood_add(struct flood *f, const char *subject, size_t size);

/* Sends what pace and `allow` (messages that may still begin) permit, at most a few blocks, so
 * that reading gets its turn. True: there was more to send at once. */
bool flood_pump(struct flood *f, struct conn *c, uint64_t allow, int64_t now);

/* Sends the rest of a block that was begun. ST_TIMEOUT: not within 10 s. */
enum status flood_finish(struct flood *f, struct conn *c) MUST_CHECK;

#endif
