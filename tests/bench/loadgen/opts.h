/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the load generator: one table gives parsing, bounds and --help. */
#ifndef TESTS_BENCH_LOADGEN_OPTS_H
#define TESTS_BENCH_LOADGEN_OPTS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "server/base/status.h"

struct opts {
    const char *server;
    const char *user;
    const char *pass;
    const char *subject;
    const char *payload;
    const char *then;
    const char *timeout_header;
    const char *retry;
    double seconds;
    double warmup;
    double rate; /* 0 = "max" */
    double patience;
    double late_wait;
    double pause_at;
    double pause_for;
    double churn_rate;
    double sleep_ms;
    long pid;
    long count;
    long size;
    long pubs;
    long subs;
    long conns;
    long subjects;
    long window;
    long inflight;
    long retries;
    long seed;
    long held;
    long slots;
    bool seconds_given;
    bool rate_given;
    char **rest; /* borrowed from argv: what follows "--" */
};

/* argv[0] is the mode's name. The values point into argv. ST_INVAL: *why says what is wrong. */
enum status opts_parse(struct opts *o, int argc, char **argv, const char **why) MUST_CHECK;

void opts_help(FILE *out);

#endif
