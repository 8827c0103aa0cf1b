/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/rfc3339.h"

#include <stdbool.h>
#include <string.h>

#include "server/base/clock.h"

struct scan {
    const char *s; /* borrowed */
    size_t n, at;
};

static bool
digits(struct scan *c, unsigned count, int *out)
{
    int v = 0;
    for (unsigned i = 0; i < count; i++) {
        if (c->at >= c->n || c->s[c->at] < '0' || c->s[c->at] > '9') {
            return false;
        }
        v = v * 10 + (c->s[c->at++] - '0');
    }
    *out = v;
    return true;
}

static bool
byte(struct scan *c, char want)
{
    if (c->at < c->n && c->s[c->at] == want) {
        c->at++;
        return true;
    }
    return false;
}

static int
month_days(int y, int m)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return days[m - 1] + (m == 2 && leap ? 1 : 0);
}

/* Days since 1970-01-01 (Howard Hinnant's formula). */
static int64_t
days_from_civil(int y, int m, int d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

static bool
fraction(struct scan *c, int64_t *ns)
{
    *ns = 0;
    if (!byte(c, '.') && !byte(c, ',')) {
        return true;
    }
    int64_t unit = 100000000;
    size_t from = c->at;
    while (c->at < c->n && c->s[c->at] >= '0' && c->s[c->at] <= '9') {
        *ns += (c->s[c->at++] - '0') * unit;
        unit /= 10;
    }
    return c->at > from;
}

static bool
zone(struct scan *c, int64_t *seconds)
{
    *seconds = 0;
    if (byte(c, 'Z')) {
        return true;
    }
    int sign = byte(c, '+') ? 1 : byte(c, '-') ? -1 : 0;
    int h, m;
    if (sign == 0 || !digits(c, 2, &h) || !byte(c, ':') || !digits(c, 2, &m) || h > 24 || m > 60) {
        return false;
    }
    *seconds = sign * (h * INT64_C(3600) + m * INT64_C(60));
    return true;
}

enum status
rfc3339_parse(const char *s, size_t n, int64_t *out)
{
    struct scan c = {s, n, 0};
    int y, mo, d, h, mi, sec;
    int64_t ns, off;
    bool ok = digits(&c, 4, &y) && byte(&c, '-') && digits(&c, 2, &mo) && byte(&c, '-') &&
              digits(&c, 2, &d) && byte(&c, 'T') && digits(&c, 2, &h) && byte(&c, ':') &&
              digits(&c, 2, &mi) && byte(&c, ':') && digits(&c, 2, &sec) && fraction(&c, &ns) &&
              zone(&c, &off) && c.at == n;
    if (!ok || mo < 1 || mo > 12 || d < 1 || d > month_days(y, mo) || h > 23 || mi > 59 ||
        sec > 59) {
        return ST_SYNTAX;
    }
    int64_t total =
        days_from_civil(y, mo, d) * 86400 + h * INT64_C(3600) + mi * INT64_C(60) + sec - off;
    if (total <= INT64_MIN / CLOCK_S) {
        *out = RFC3339_ZERO;
    } else if (total >= INT64_MAX / CLOCK_S) {
        *out = INT64_MAX;
    } else {
        *out = total * CLOCK_S + ns;
    }
    return ST_OK;
}

char *
rfc3339_format(int64_t wall_ns, char *out)
{
    if (wall_ns == RFC3339_ZERO) {
        static const char zero[] = "0001-01-01T00:00:00Z";
        return memcpy(out, zero, sizeof zero);
    }
    return clock_rfc3339(wall_ns, out);
}
