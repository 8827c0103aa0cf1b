/* SPDX-License-Identifier: Apache-2.0 */
/* A histogram of nanoseconds, log-linear: 64 cells in use an octave, so a percentile is within 1.6
 * %. Embedded; zeroed is ready. Owned by one thread. */
#ifndef TESTS_BENCH_LOADGEN_HIST_H
#define TESTS_BENCH_LOADGEN_HIST_H

#include <jansson.h>
#include <stdint.h>

#define HIST_STEPS   128
#define HIST_OCTAVES 40

struct hist {
    uint64_t count;
    int64_t max;
    double sum;
    uint64_t cell[HIST_OCTAVES * HIST_STEPS];
};

void hist_add(struct hist *h, int64_t ns);

/* The value below which a share q (0 … 1) lies; 0 for an empty histogram. */
int64_t hist_quantile(const struct hist *h, double q);

/* {"n", "mean_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms"}; NULL: out of memory. */
json_t *hist_json(const struct hist *h);

#endif
