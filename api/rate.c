/* SPDX-License-Identifier: Apache-2.0 */
#include "api/rate.h"

#include <math.h>

/* Fading in steps keeps exp2 off the path of every request; within a step nothing is lost. */
#define STEP (RATE_HALF_LIFE / 100)

static double
faded(const struct rate *r, int64_t now)
{
    int64_t dt = now - r->at;
    return dt < STEP ? r->sum : r->sum * exp2(-(double)dt / (double)RATE_HALF_LIFE);
}

void
rate_add(struct rate *r, double x, int64_t now)
{
    if (now - r->at >= STEP) {
        r->sum = faded(r, now);
        r->at = now;
    }
    r->sum += x;
}

double
rate_sum(const struct rate *r, int64_t now)
{
    return faded(r, now);
}

double
rate_per_sec(const struct rate *r, int64_t now)
{
    return faded(r, now) * M_LN2 / ((double)RATE_HALF_LIFE / 1e9);
}
