/* SPDX-License-Identifier: Apache-2.0 */
/* Time as a value that is passed in, so that tests move it. All times are int64_t nanoseconds. */
#ifndef SERVER_BASE_CLOCK_H
#define SERVER_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_US INT64_C(1000)
#define CLOCK_MS INT64_C(1000000)
#define CLOCK_S  INT64_C(1000000000)

/* A monotonic clock. Immutable after its making; `now` may be called from any thread. */
struct clock {
    int64_t (*now)(void *arg);
    void *arg; /* borrowed: the maker keeps it for as long as the clock is used */
};

/* The machine's CLOCK_MONOTONIC. */
extern const struct clock clock_real;

static inline int64_t
clock_now(const struct clock *c)
{
    return c->now(c->arg);
}

/* Then and so much later; the end of time where that is beyond it. */
static inline int64_t
clock_after(int64_t t, int64_t later)
{
    int64_t sum;
    if (__builtin_add_overflow(t, later, &sum)) {
        return later > 0 ? INT64_MAX : INT64_MIN;
    }
    return sum;
}

/* Monotonic now (as clock_real). */
int64_t clock_mono_ns(void);
/* Wall clock, nanoseconds since 1970. */
int64_t clock_wall_ns(void);

/* A clock that tests move by hand. Any thread may read it. */
struct clock_fake {
    _Atomic int64_t t;
};
struct clock clock_fake_of(struct clock_fake *f);
void clock_fake_advance(struct clock_fake *f, int64_t ns);

/* Writes wall time t as Go's time.RFC3339Nano does, in UTC ("2026-11-29T18:16:47.5466Z");
 * out holds at least CLOCK_RFC3339_LEN bytes. Returns out. */
#define CLOCK_RFC3339_LEN 40
char *clock_rfc3339(int64_t wall_ns, char *out);

#endif
