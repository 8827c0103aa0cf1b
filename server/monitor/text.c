/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/text.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"

char *
text_uptime(int64_t ns, char *out)
{
    int64_t s = ns / CLOCK_S;
    int64_t m = s / 60;
    int64_t h = m / 60;
    int64_t d = h / 24;
    int64_t y = d / 365;
    size_t n = 0;
    out[0] = '\0';
    if (y > 0) {
        n += (size_t)snprintf(out + n, TEXT_LEN - n, "%" PRId64 "y", y);
    }
    if (d > 0) {
        n += (size_t)snprintf(out + n, TEXT_LEN - n, "%" PRId64 "d", d % 365);
    }
    if (h > 0) {
        n += (size_t)snprintf(out + n, TEXT_LEN - n, "%" PRId64 "h", h % 24);
    }
    if (m > 0) {
        n += (size_t)snprintf(out + n, TEXT_LEN - n, "%" PRId64 "m", m % 60);
    }
    snprintf(out + n, TEXT_LEN - n, "%" PRId64 "s", s % 60);
    return out;
}

/* whole.fraction without trailing zeros; digits of the fraction: of unit. */
static size_t
put_decimal(char *out, size_t cap, uint64_t v, uint64_t unit)
{
    size_t n = (size_t)snprintf(out, cap, "%" PRIu64, v / unit);
    uint64_t frac = v % unit;
    if (frac == 0) {
        return n;
    }
    out[n++] = '.';
    while (frac != 0 && n + 1 < cap) {
        unit /= 10;
        out[n++] = (char)('0' + frac / unit);
        frac %= unit;
    }
    out[n] = '\0';
    return n;
}

char *
text_duration(int64_t ns, char *out)
{
    uint64_t v = ns < 0 ? (uint64_t)0 - (uint64_t)ns : (uint64_t)ns;
    size_t n = 0;
    if (ns < 0) {
        out[n++] = '-';
    }
    if (v == 0) {
        snprintf(out, TEXT_LEN, "0s");
        return out;
    }
    if (v < (uint64_t)CLOCK_S) {
        static const struct {
            uint64_t unit;
            const char *name;
        } small[] = {{1000000, "ms"}, {1000, "\xC2\xB5s"}, {1, "ns"}};
        size_t i = v >= 1000000 ? 0 : v >= 1000 ? 1 : 2;
        n += put_decimal(out + n, TEXT_LEN - n, v, small[i].unit);
        snprintf(out + n, TEXT_LEN - n, "%s", small[i].name);
        return out;
    }
    uint64_t minute = 60 * (uint64_t)CLOCK_S;
    uint64_t hour = 60 * minute;
    if (v >= hour) {
        n += (size_t)snprintf(out + n, TEXT_LEN - n, "%" PRIu64 "h", v / hour);
    }
    if (v >= minute) {
        n += (size_t)snprintf(out + n, TEXT_LEN - n, "%" PRIu64 "m", v % hour / minute);
    }
    n += put_decimal(out + n, TEXT_LEN - n, v % minute, (uint64_t)CLOCK_S);
    snprintf(out + n, TEXT_LEN - n, "s");
    return out;
}

bool
text_parse_bool(const char *s, bool *out, const char **why)
{
    static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"};
    static const char *const no[] = {"0", "f", "F", "FALSE", "false", "False"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        if (strcmp(s, yes[i]) == 0 || strcmp(s, no[i]) == 0) {
            *out = strcmp(s, yes[i]) == 0;
            return true;
        }
    }
    *why = "invalid syntax";
    return false;
}

static bool
is_all_digits(const char *s)
{
    return s[0] != '\0' && strspn(s, "0123456789") == strlen(s);
}

bool
text_parse_int(const char *s, int64_t *out, const char **why)
{
    if (!is_all_digits(s[0] == '-' || s[0] == '+' ? s + 1 : s)) {
        *why = "invalid syntax";
        return false;
    }
    errno = 0;
    *out = strtoll(s, NULL, 10);
    *why = "value out of range";
    return errno == 0;
}

bool
text_parse_uint(const char *s, uint64_t *out, const char **why)
{
    if (!is_all_digits(s)) {
        *why = "invalid syntax";
        return false;
    }
    errno = 0;
    *out = strtoull(s, NULL, 10);
    *why = "value out of range";
    return errno == 0;
}

char *
text_new_id(char out[TEXT_ID_LEN])
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    unsigned char r[TEXT_ID_LEN - 1];
    randombytes_buf(r, sizeof r);
    for (size_t i = 0; i < sizeof r; i++) {
        out[i] = digits[r[i] % (sizeof digits - 1)];
    }
    out[sizeof r] = '\0';
    return out;
}
