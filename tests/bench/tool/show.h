/* SPDX-License-Identifier: Apache-2.0 */
/* What a person reads: the line a second, the table at the end. */
#ifndef TESTS_BENCH_TOOL_SHOW_H
#define TESTS_BENCH_TOOL_SHOW_H

#include <jansson.h>

#include "tests/bench/loadgen/overload_drive.h"

/* A line on stderr; for drive.on_second. */
void show_second(const struct drive *d, int64_t since_start);

/* The result as overload's JSON has it, as a table on stdout. */
void show_table(const json_t *out);

/* Jain's index of what n tenants got in parts of their fair share: 1, all the same; 1 / n, one has
 * all. The shares are max-min of what was answered in all: who asks for less than an equal part
 * has a right to all it asks, and the others share the rest. 0 where nothing was answered. */
double show_jain(const double *got, const double *asked, size_t n);

#endif
