/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/cron.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "stream/tzone.h"

#define STAR (UINT64_C(1) << 63)

struct bounds {
    unsigned min, max;
    const char *const *names; /* of min and on; NULL: none */
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};
static const struct bounds bounds[6] = {{0, 59, NULL}, {0, 59, NULL},        {0, 23, NULL},
                                        {1, 31, NULL}, {1, 12, month_names}, {0, 6, day_names}};

struct text {
    const char *s; /* borrowed */
    size_t n;
};

/* Cuts off what precedes the first `c`; false: there is none, *head is all. */
static bool
cut(struct text *t, char c, struct text *head)
{
    const char *at = memchr(t->s, c, t->n);
    *head = *t;
    if (at == NULL) {
        t->n = 0;
        return false;
    }
    head->n = (size_t)(at - t->s);
    t->s = at + 1;
    t->n -= head->n + 1;
    return true;
}

static bool
number(const struct text *t, const struct bounds *b, unsigned *out)
{
    for (unsigned i = 0; b != NULL && b->names != NULL && b->names[i] != NULL; i++) {
        if (t->n == 3 && strncasecmp(b->names[i], t->s, 3) == 0) {
            *out = b->min + i;
            return true;
        }
    }
    unsigned v = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->s[i] < '0' || t->s[i] > '9' || v > 100000) {
            return false;
        }
        v = v * 10 + (unsigned)(t->s[i] - '0');
    }
    *out = v;
    return t->n > 0;
}

/* "*", "3", "1-5", "2/3", "1-9/2" */
static bool
range(struct text t, const struct bounds *b, uint64_t *bits)
{
    struct text span, low, high;
    unsigned start = b->min, end = b->max, step = 1;
    bool has_step = cut(&t, '/', &span);
    struct text rest = span;
    bool has_high = cut(&rest, '-', &low);
    high = rest;
    uint64_t extra = 0;
    if (low.n == 1 && (*low.s == '*' || *low.s == '?')) {
        extra = STAR;
    } else {
        if (!number(&low, b, &start) || (has_high && !number(&high, b, &end))) {
            return false;
        }
        if (!has_high && !has_step) {
            end = start;
        }
    }
    if (has_step) {
        if (!number(&t, NULL, &step)) {
            return false;
        }
        extra = step > 1 ? 0 : extra;
    }
    if (start < b->min || end > b->max || start > end || step == 0) {
        return false;
    }
    for (unsigned i = start; i <= end; i += step) {
        *bits |= UINT64_C(1) << i;
    }
    *bits |= extra;
    return true;
}

static bool
field(struct text t, const struct bounds *b, uint64_t *bits)
{
    struct text one;
    *bits = 0;
    while (t.n > 0) {
        cut(&t, ',', &one);
        if (one.n > 0 && !range(one, b, bits)) {
            return false;
        }
    }
    return true;
}

static bool
parse(const char *pattern, size_t len, uint64_t bits[6])
{
    size_t at = 0;
    for (unsigned i = 0; i < 6; i++) {
        while (at < len && (pattern[at] == ' ' || pattern[at] == '\t')) {
            at++;
        }
        size_t from = at;
        while (at < len && pattern[at] != ' ' && pattern[at] != '\t') {
            at++;
        }
        struct text t = {pattern + from, at - from};
        if (t.n == 0 || !field(t, &bounds[i], &bits[i])) {
            return false;
        }
    }
    while (at < len && (pattern[at] == ' ' || pattern[at] == '\t')) {
        at++;
    }
    return at == len;
}

/* ---- the search, in local time ---- */

static void
local(const struct tzone *z, int64_t t, struct tm *tm)
{
    time_t l = (time_t)(t + tzone_offset(z, t));
    gmtime_r(&l, tm);
}

/* The time of a local date; where clocks jump, one that is near. */
static int64_t
at_local(const struct tzone *z, struct tm *tm)
{
    int64_t l = (int64_t)timegm(tm);
    int64_t t = l - tzone_offset(z, l);
    return l - tzone_offset(z, t);
}

static bool
has(uint64_t bits, int i)
{
    return (bits >> i & 1) != 0;
}

static bool
day_fits(const uint64_t bits[6], const struct tm *tm)
{
    bool month = has(bits[3], tm->tm_mday), week = has(bits[5], tm->tm_wday);
    return (bits[3] & STAR) != 0 || (bits[5] & STAR) != 0 ? month && week : month || week;
}

static int64_t
start_of_day(const struct tzone *z, const struct tm *tm, int months, int days)
{
    struct tm d = {.tm_year = tm->tm_year,
                   .tm_mon = tm->tm_mon + months,
                   .tm_mday = months != 0 ? 1 : tm->tm_mday + days};
    return at_local(z, &d);
}

enum status
cron_next(const char *pattern, size_t len, const struct tzone *z, int64_t ts, int64_t *out)
{
    uint64_t bits[6];
    struct tm tm;
    if (!parse(pattern, len, bits)) {
        return ST_SYNTAX;
    }
    int64_t t = ts + 1;
    local(z, t, &tm);
    int limit = tm.tm_year + 5;
    while (tm.tm_year <= limit) {
        int64_t before = t;
        if (!has(bits[4], tm.tm_mon + 1)) {
            t = start_of_day(z, &tm, 1, 0);
        } else if (!day_fits(bits, &tm)) {
            t = start_of_day(z, &tm, 0, 1);
        } else if (!has(bits[2], tm.tm_hour)) {
            t += 3600 - (tm.tm_min * 60 + tm.tm_sec);
        } else if (!has(bits[1], tm.tm_min)) {
            t += 60 - tm.tm_sec;
        } else if (!has(bits[0], tm.tm_sec)) {
            t++;
        } else {
            *out = t;
            return ST_OK;
        }
        t = t > before ? t : before + 1;
        local(z, t, &tm);
    }
    return ST_SYNTAX;
}
