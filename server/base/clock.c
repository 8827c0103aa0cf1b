/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t
read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * CLOCK_S + ts.tv_nsec;
}

int64_t
clock_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t
clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

static int64_t
real_now(void *arg)
{
    (void)arg;
    return clock_mono_ns();
}

const struct clock clock_real = {real_now, NULL};

static int64_t
fake_now(void *arg)
{
    struct clock_fake *f = arg;
    return atomic_load(&f->t);
}

struct clock
clock_fake_of(struct clock_fake *f)
{
    return (struct clock){fake_now, f};
}

void
clock_fake_advance(struct clock_fake *f, int64_t ns)
{
    atomic_fetch_add(&f->t, ns);
}

char *
clock_rfc3339(int64_t wall_ns, char *out)
{
    time_t sec = (time_t)(wall_ns / CLOCK_S);
    int64_t frac = wall_ns % CLOCK_S;
    if (frac < 0) {
        frac += CLOCK_S;
        sec--;
    }
    struct tm tm;
    gmtime_r(&sec, &tm);
    size_t n = strftime(out, CLOCK_RFC3339_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
    if (frac != 0) {
        n += (size_t)snprintf(out + n, CLOCK_RFC3339_LEN - n, ".%09ld", (long)frac);
        while (out[n - 1] == '0') {
            n--;
        }
    }
    out[n] = 'Z';
    out[n + 1] = '\0';
    return out;
}
