/* SPDX-License-Identifier: Apache-2.0 */
/* How much of something there was lately: a sum whose parts fade by half in half_life (ns, the same
 * in every call for one sum). A value; guarded by whoever owns it. Zeroed is ready. */
#ifndef API_RATE_H
#define API_RATE_H

#include <stdint.h>

#define RATE_NOW    INT64_C(1000000000)  /* half-life of what tells the state of this moment */
#define RATE_RECENT INT64_C(10000000000) /* … of what is to be seen for a while after it */

struct rate {
    double sum;
    int64_t at; /* clock time up to which `sum` has faded */
};

void rate_add(struct rate *r, double x, int64_t now, int64_t half_life);
/* The faded sum: for comparing. */
double rate_sum(const struct rate *r, int64_t now, int64_t half_life);
/* A second: what a steady stream of that sum amounts to. */
double rate_per_sec(const struct rate *r, int64_t now, int64_t half_life);

#endif
