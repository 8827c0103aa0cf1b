/* SPDX-License-Identifier: Apache-2.0 */
/* How much of something there was lately: a sum whose parts fade by half in RATE_HALF_LIFE.
 * A value; guarded by whoever owns it. Zeroed is ready. */
#ifndef API_RATE_H
#define API_RATE_H

#include <stdint.h>

#define RATE_HALF_LIFE INT64_C(10000000000)

struct rate {
    double sum;
    int64_t at; /* clock time up to which `sum` has faded */
};

void rate_add(struct rate *r, double x, int64_t now);
/* The faded sum: for comparing. */
double rate_sum(const struct rate *r, int64_t now);
/* A second: what a steady stream of that sum amounts to. */
double rate_per_sec(const struct rate *r, int64_t now);

#endif
