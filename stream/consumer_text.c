/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/consumer_text.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A whole part and up to `digits` digits behind the point, without zeros at the end. */
static char *
put_fraction(char *out, uint64_t v, uint64_t unit, int digits, const char *suffix)
{
    char frac[24] = "";
    uint64_t rest = v % unit;
    if (rest > 0) {
        int n = snprintf(frac, sizeof frac, ".%0*" PRIu64, digits, rest);
        while (n > 0 && frac[n - 1] == '0') {
            frac[--n] = '\0';
        }
    }
    snprintf(out, DURATION_TEXT, "%" PRIu64 "%s%s", v / unit, frac, suffix);
    return out;
}

char *
duration_text(int64_t ns, char *out)
{
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char text[DURATION_TEXT];
    if (u == 0) {
        snprintf(text, sizeof text, "0s");
    } else if (u < 1000) {
        snprintf(text, sizeof text, "%" PRIu64 "ns", u);
    } else if (u < 1000000) {
        put_fraction(text, u, 1000, 3, "\xc2\xb5s");
    } else if (u < 1000000000) {
        put_fraction(text, u, 1000000, 6, "ms");
    } else {
        uint64_t minutes = u / 60000000000U;
        char secs[DURATION_TEXT];
        put_fraction(secs, u % 60000000000U, 1000000000, 9, "s");
        if (minutes == 0) {
            snprintf(text, sizeof text, "%s", secs);
        } else if (minutes < 60) {
            snprintf(text, sizeof text, "%" PRIu64 "m%.24s", minutes, secs);
        } else {
            snprintf(text, sizeof text, "%" PRIu64 "h%" PRIu64 "m%.16s", minutes / 60, minutes % 60,
                     secs);
        }
    }
    snprintf(out, DURATION_TEXT, "%s%.38s", ns < 0 ? "-" : "", text);
    return out;
}

struct unit {
    const char *name;
    int64_t ns;
};

static const struct unit units[] = {{"ns", 1},           {"us", 1000},        {"\xc2\xb5s", 1000},
                                    {"\xce\xbcs", 1000}, {"ms", 1000000},     {"s", 1000000000},
                                    {"m", 60000000000},  {"h", 3600000000000}};

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* One number with its unit. */
static enum status
parse_part(const char **p, const char *end, double *ns)
{
    double v = 0;
    double scale = 1;
    bool any = false;
    for (; *p < end && is_digit(**p); (*p)++) {
        v = v * 10 + (**p - '0');
        any = true;
    }
    if (*p < end && **p == '.') {
        for ((*p)++; *p < end && is_digit(**p); (*p)++) {
            scale /= 10;
            v += (**p - '0') * scale;
            any = true;
        }
    }
    const char *unit = *p;
    while (*p < end && !is_digit(**p) && **p != '.') {
        (*p)++;
    }
    size_t n = (size_t)(*p - unit);
    for (size_t i = 0; any && i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) == n && memcmp(units[i].name, unit, n) == 0) {
            *ns += v * (double)units[i].ns;
            return ST_OK;
        }
    }
    return ST_SYNTAX;
}

enum status
duration_parse(const char *s, size_t n, int64_t *ns)
{
    const char *p = s;
    const char *end = s + n;
    bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) {
        p++;
    }
    if (end - p == 1 && *p == '0') {
        *ns = 0;
        return ST_OK;
    }
    double total = 0;
    enum status st = p < end ? ST_OK : ST_SYNTAX;
    while (st == ST_OK && p < end) {
        st = parse_part(&p, end, &total);
    }
    if (st != ST_OK || total >= 9.2e18) {
        return ST_SYNTAX;
    }
    *ns = (int64_t)(minus ? -total : total + 0.5);
    return ST_OK;
}

char *
random_name(char *out, size_t n)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < n; i++) {
        out[i] = digits[randombytes_uniform(sizeof digits - 1)];
    }
    out[n] = '\0';
    return out;
}
