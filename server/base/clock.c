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

static char *
put_digits(char *out, int64_t v, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        out[i] = (char)('0' + v % 10);
        v /= 10;
    }
    return out + count;
}

/* YYYY-MM-DD of days since 1970-01-01: gmtime_r and strftime cost more than all else of an answer.
 * The year begins in March, so that the day that comes and goes is its last. */
static char *
put_date(char *out, int64_t days)
{
    int64_t d = days + 719468; /* from 0000-03-01 */
    int64_t era = d / 146097;  /* 400 years each; int64_t nanoseconds stay in positive ones */
    int64_t doe = d % 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int64_t month = mp < 10 ? mp + 3 : mp - 9;
    out = put_digits(out, era * 400 + yoe + (month <= 2), 4);
    *out++ = '-';
    out = put_digits(out, month, 2);
    *out++ = '-';
    return put_digits(out, doy - (153 * mp + 2) / 5 + 1, 2);
}

char *
clock_rfc3339(int64_t wall_ns, char *out)
{
    int64_t sec = wall_ns / CLOCK_S;
    int64_t frac = wall_ns % CLOCK_S;
    if (frac < 0) {
        frac += CLOCK_S;
        sec--;
    }
    int64_t days = sec / 86400 - (sec % 86400 < 0);
    sec -= days * 86400;
    char *p = put_date(out, days);
    *p++ = 'T';
    p = put_digits(p, sec / 3600, 2);
    *p++ = ':';
    p = put_digits(p, sec / 60 % 60, 2);
    *p++ = ':';
    p = put_digits(p, sec % 60, 2);
    if (frac != 0) {
        *p++ = '.';
        p = put_digits(p, frac, 9);
        while (p[-1] == '0') {
            p--;
        }
    }
    *p++ = 'Z';
    *p = '\0';
    return out;
}
