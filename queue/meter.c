/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/meter.h"

#include "server/base/clock.h"

#define SERVICE_MEMORY 512u
#define RATE_MEMORY_NS (2 * CLOCK_S)

/* The octave and the two bits below the leading one. */
static unsigned
bucket_of(int64_t ns)
{
    uint64_t v = ns < 4 ? 4 : (uint64_t)ns;
    unsigned octave = 63u - (unsigned)__builtin_clzll(v);
    return octave * 4u + (unsigned)((v >> (octave - 2u)) & 3u);
}

static int64_t
middle_of(unsigned bucket)
{
    unsigned octave = bucket / 4u;
    uint64_t low = (UINT64_C(4) + bucket % 4u) << (octave - 2u);
    return (int64_t)(low + (UINT64_C(1) << (octave - 2u)) / 2u);
}

void
meter_service(struct meter *m, int64_t ns)
{
    m->count[bucket_of(ns)]++;
    if (++m->total < SERVICE_MEMORY) {
        return;
    }
    m->total = 0;
    for (unsigned i = 0; i < METER_BUCKETS; i++) {
        m->count[i] /= 2u;
        m->total += m->count[i];
    }
}

int64_t
meter_median(const struct meter *m)
{
    uint32_t below = 0;
    for (unsigned i = 8; i < METER_BUCKETS; i++) {
        below += m->count[i];
        if (below * 2u >= m->total && m->total > 0) {
            return middle_of(i);
        }
    }
    return 0;
}

void
meter_backlog(struct meter *m, int64_t now)
{
    if (!m->counting) {
        m->counting = true;
        m->last = now;
    }
}

void
meter_done(struct meter *m, int64_t now, bool waiting)
{
    if (m->counting && waiting) {
        m->time_ns += now - m->last;
        m->ended += 1.0;
    }
    m->counting = waiting;
    m->last = now;
    if (m->time_ns > RATE_MEMORY_NS) {
        m->time_ns /= 2;
        m->ended /= 2.0;
    }
}

double
meter_rate(const struct meter *m, int64_t now)
{
    int64_t time_ns = m->time_ns + (m->counting ? now - m->last : 0);
    return time_ns <= 0 ? 0.0 : m->ended * (double)CLOCK_S / (double)time_ns;
}
