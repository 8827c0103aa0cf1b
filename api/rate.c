/* SPDX-License-Identifier: Apache-2.0 */
#include "api/rate.h"

#include <math.h>

/* Fading in steps keeps exp2 off the path of every request; within a step nothing is lost. */
#define STEPS 100

static double
faded(const struct rate *r, int64_t now, int64_t half_life)
{
    int64_t dt = now - r->at;
    return dt < half_life / STEPS ? r->sum : r->sum * exp2(-(double)dt / (double)half_life);
}

void
rate_add(struct rate *r, double x, int64_t now, int64_t half_life)
{
    if (now - r->at >= half_life / STEPS) {
        r->sum = faded(r, now, half_life);
        r->at = now;
    }
    r->sum += x;
}

double
rate_sum(const struct rate *r, int64_t now, int64_t half_life)
{
    return faded(r, now, half_life);
}

double
rate_per_sec(const struct rate *r, int64_t now, int64_t half_life)
{
    return faded(r, now, half_life) * M_LN2 / ((double)half_life / 1e9);
}
