/* SPDX-License-Identifier: Apache-2.0 */
/* Publishers and subscribers with a bounded number of messages between them: what pubsub, many
 * and churn have in common. */
#ifndef TESTS_BENCH_LOADGEN_PUBSUB_H
#define TESTS_BENCH_LOADGEN_PUBSUB_H

#include "tests/bench/loadgen/flood.h"
#include "tests/bench/loadgen/meter.h"
#include "tests/bench/loadgen/mode.h"

struct pubsub {
    struct bench *b;     /* borrowed: the mode's caller's */
    struct conn *pub;    /* owned: npub of them */
    struct flood *flood; /* owned: one a publisher */
    struct conn *sub;    /* owned: nsub of them */
    size_t npub;
    size_t nsub;
    double copies; /* deliveries of each message */
};

/* Connects. The maker then fills the floods and subscribes. pubsub_fini on every path. */
enum status pubsub_init(struct pubsub *p, struct bench *b) MUST_CHECK;
void pubsub_fini(struct pubsub *p);

/* Makes sure that all subscriptions are in force, and starts the pace. */
enum status pubsub_start(struct pubsub *p) MUST_CHECK;

/* One turn: publish what may be published, handle what came. */
enum status pubsub_turn(struct pubsub *p) MUST_CHECK;

enum status pubsub_run(struct pubsub *p, double seconds) MUST_CHECK;

uint64_t pubsub_sent(const struct pubsub *p);
uint64_t pubsub_received(const struct pubsub *p);

/* Warm-up, the measured time, then waits until all is delivered; reports, with "lost". */
enum status pubsub_measure(struct pubsub *p) MUST_CHECK;

/* Stops publishing and waits for what is on its way (10 s at most); sets "lost". */
enum status pubsub_drain(struct pubsub *p) MUST_CHECK;

#endif
