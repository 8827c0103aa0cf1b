/* SPDX-License-Identifier: Apache-2.0 */
/* What a kind of load is: one mode a file, one table in modes.c. */
#ifndef TESTS_BENCH_LOADGEN_MODE_H
#define TESTS_BENCH_LOADGEN_MODE_H

#include <jansson.h>
#include <stdbool.h>

#include "server/base/status.h"
#include "tests/bench/loadgen/net.h"
#include "tests/bench/loadgen/opts.h"

struct bench {
    const struct opts *opts; /* borrowed: main's */
    struct net net;
    json_t *out; /* ref: what is printed */
};

struct mode {
    const char *name;
    const char *doc;
    const char *uses; /* the options that matter to it */
    bool needs_rate;
    /* Fills b->out. Any failure ends the run; b->net.failure says more. */
    enum status (*run)(struct bench *b);
};

/* NULL behind the last. */
extern const struct mode *const modes[];

extern const struct mode mode_pub;
extern const struct mode mode_pubsub;
extern const struct mode mode_many;
extern const struct mode mode_reqrep;
extern const struct mode mode_closed;
extern const struct mode mode_churn;
extern const struct mode mode_idle;
extern const struct mode mode_wild;
extern const struct mode mode_start;
extern const struct mode mode_overload;
extern const struct mode mode_responder;
extern const struct mode mode_jspub;

#endif
