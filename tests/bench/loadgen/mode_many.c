/* SPDX-License-Identifier: Apache-2.0 */
/* Many publishers, many subjects, subscribers with wildcards. Subject <prefix>.<i>.<k>: each
 * publisher goes through all of them in an order of its own, subscriber k has <prefix>.*.<k>. */
#include <stdio.h>

#include "tests/bench/loadgen/pubsub.h"

static enum status
fill(struct pubsub *p, size_t publisher)
{
    const struct opts *o = p->b->opts;
    size_t n = (size_t)o->subjects;
    char subject[256];

    for (size_t j = 0; j < n; j++) {
        /* NB: 7919 is prime, so the stride visits every subject once for any n below it. */
        size_t s = (j * 7919 + publisher * n / p->npub) % n;
        int len =
            snprintf(subject, sizeof(subject), "%s.%zu.%zu", o->subject, s / p->nsub, s % p->nsub);
        if (len < 0 || (size_t)len >= sizeof(subject)) {
            return ST_INVAL;
        }
        flood_add(&p->flood[publisher], subject, (size_t)o->size);
    }
    return buf_status(&p->flood[publisher].block);
}

static enum status
run(struct bench *b)
{
    struct pubsub p;
    enum status st = pubsub_init(&p, b);

    for (size_t i = 0; st == ST_OK && i < p.npub; i++) {
        st = fill(&p, i);
    }
    for (size_t k = 0; st == ST_OK && k < p.nsub; k++) {
        conn_printf(&p.sub[k], "SUB %s.*.%zu 1\r\n", b->opts->subject, k);
    }
    if (st == ST_OK) {
        st = pubsub_measure(&p);
    }
    pubsub_fini(&p);
    return st;
}

const struct mode mode_many = {
    .name = "many",
    .doc = "--pubs publishers on --subjects subjects, --subs wildcard subscribers share them; "
           "unit: a delivery",
    .uses = "size, pubs, subs, subjects, window, subject",
    .needs_rate = true,
    .run = run,
};
