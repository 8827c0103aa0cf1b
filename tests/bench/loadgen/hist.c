/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/hist.h"

#include "server/base/clock.h"

static unsigned
cell_of(int64_t ns)
{
    uint64_t v = ns < 0 ? 0 : (uint64_t)ns;
    if (v < HIST_STEPS) {
        return (unsigned)v;
    }
    unsigned top = 63U - (unsigned)__builtin_clzll(v);
    unsigned octave = top - 6;
    if (octave >= HIST_OCTAVES) {
        return HIST_OCTAVES * HIST_STEPS - 1;
    }
    /* v >> octave is in [HIST_STEPS / 2, HIST_STEPS): the upper half of an octave's cells. */
    return octave * HIST_STEPS + (unsigned)(v >> octave);
}

static int64_t
value_of(unsigned cell)
{
    unsigned octave = cell / HIST_STEPS;
    return (int64_t)((uint64_t)(cell % HIST_STEPS) << octave);
}

void
hist_add(struct hist *h, int64_t ns)
{
    h->cell[cell_of(ns)]++;
    h->count++;
    h->sum += (double)ns;
    if (ns > h->max) {
        h->max = ns;
    }
}

int64_t
hist_quantile(const struct hist *h, double q)
{
    uint64_t want = (uint64_t)(q * (double)h->count);
    uint64_t seen = 0;

    for (unsigned i = 0; i < HIST_OCTAVES * HIST_STEPS; i++) {
        seen += h->cell[i];
        if (seen > want) {
            return value_of(i);
        }
    }
    return h->max;
}

static double
ms(int64_t ns)
{
    return (double)ns / (double)CLOCK_MS;
}

json_t *
hist_json(const struct hist *h)
{
    double mean = h->count == 0 ? 0 : h->sum / (double)h->count / (double)CLOCK_MS;
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "n", (json_int_t)h->count, "mean_ms", mean,
                     "p50_ms", ms(hist_quantile(h, 0.5)), "p90_ms", ms(hist_quantile(h, 0.9)),
                     "p99_ms", ms(hist_quantile(h, 0.99)), "max_ms", ms(h->max));
}
