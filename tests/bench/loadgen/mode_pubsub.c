/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/pubsub.h"

/* Small enough that a block is a small part of the window of a wide fan-out. */
#define BLOCK_BYTES (32 * 1024)

static enum status
run(struct bench *b)
{
    const struct opts *o = b->opts;
    struct pubsub p;
    enum status st = pubsub_init(&p, b);

    if (st != ST_OK) {
        goto out;
    }
    p.copies = (double)p.nsub;
    for (size_t i = 0; i < p.npub; i++) {
        struct flood *f = &p.flood[i];
        uint64_t msgs = flood_block_size(f, (size_t)o->size, BLOCK_BYTES);
        uint64_t part = (uint64_t)o->window / (4 * p.npub) + 1;
        while (f->msgs < (msgs < part ? msgs : part)) {
            flood_add(f, o->subject, (size_t)o->size);
        }
    }
    for (size_t i = 0; i < p.nsub; i++) {
        conn_printf(&p.sub[i], "SUB %s 1\r\n", o->subject);
    }
    st = pubsub_measure(&p);
out:
    pubsub_fini(&p);
    return st;
}

const struct mode mode_pubsub = {
    .name = "pubsub",
    .doc = "each of --subs subscribers gets all that --pubs publishers send; unit: a delivery",
    .uses = "size, pubs, subs, window, subject",
    .needs_rate = true,
    .run = run,
};
