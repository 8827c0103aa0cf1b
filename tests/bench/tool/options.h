/* SPDX-License-Identifier: Apache-2.0 */
/* What the tool is told. */
#ifndef TESTS_BENCH_TOOL_OPTIONS_H
#define TESTS_BENCH_TOOL_OPTIONS_H

#include <stdbool.h>

#include "tests/bench/loadgen/optab.h"
#include "tests/bench/loadgen/opts.h"

#define OPTIONS_RATE_MAX 1000000.0

struct options {
    struct opts load; /* its user and pass are those of the options, not those of the URL */
    const char *token;
    struct opt_list tenants;
    bool json;
    bool progress;
    bool quiet;
};

/* Reads and checks all that can be checked without a server. ST_INVAL: why (of size n) is one line
 * that says what is wrong. */
enum status options_parse(struct options *o, int argc, char **argv, char *why, size_t n) MUST_CHECK;

void options_help(void);

#endif
