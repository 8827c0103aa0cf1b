/* SPDX-License-Identifier: Apache-2.0 */
#include "api/header.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/base/clock.h"

static void
trim(const char **s, size_t *len)
{
    while (*len > 0 && (**s == ' ' || **s == '\t')) {
        (*s)++;
        (*len)--;
    }
    while (*len > 0 && ((*s)[*len - 1] == ' ' || (*s)[*len - 1] == '\t')) {
        (*len)--;
    }
}

bool
header_find(const char *hdr, size_t len, const char *name, const char **value, size_t *value_len)
{
    size_t name_len = strlen(name);
    const char *end = hdr == NULL ? NULL : hdr + len;
    const char *line = hdr == NULL ? NULL : memmem(hdr, len, "\r\n", 2);
    while (line != NULL) {
        line += 2;
        size_t left = (size_t)(end - line);
        const char *eol = memmem(line, left, "\r\n", 2);
        if (eol == NULL || eol == line) {
            return false;
        }
        size_t n = (size_t)(eol - line);
        if (n > name_len && line[name_len] == ':' && strncasecmp(line, name, name_len) == 0) {
            *value = line + name_len + 1;
            *value_len = n - name_len - 1;
            trim(value, value_len);
            return true;
        }
        line = eol;
    }
    return false;
}

static const struct {
    const char *name;
    double ns;
} units[] = {
    {"ns", 1},   {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3},
    {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},        {"h", 3600e9},
};

static bool
take_number(const char **s, const char *end, double *out)
{
    double v = 0;
    double scale = 1;
    bool any = false;
    bool fraction = false;
    for (; *s < end; (*s)++) {
        char c = **s;
        if (c == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (c < '0' || c > '9') {
            break;
        }
        any = true;
        v = v * 10 + (c - '0');
        scale = fraction ? scale * 10 : scale;
    }
    /* NB: thousands of digits give infinity over infinity. */
    *out = v / scale;
    return any && isfinite(*out);
}

static bool
take_unit(const char **s, const char *end, double *ns)
{
    size_t n = 0;
    while (*s + n < end && (*s)[n] != '.' && ((*s)[n] < '0' || (*s)[n] > '9')) {
        n++;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) == n && memcmp(units[i].name, *s, n) == 0) {
            *s += n;
            *ns = units[i].ns;
            return true;
        }
    }
    return false;
}

enum status
header_duration(const char *s, size_t len, int64_t *ns)
{
    const char *end = s + len;
    bool negative = len > 0 && *s == '-';
    if (len > 0 && (*s == '-' || *s == '+')) {
        s++;
    }
    if (s == end) {
        return ST_INVAL;
    }
    double total = 0;
    bool plain = true;
    for (bool first = true; s < end; first = false) {
        const char *start = s;
        double v;
        double unit = (double)CLOCK_MS;
        if (!take_number(&s, end, &v)) {
            return ST_INVAL;
        }
        plain = first && s == end && memchr(start, '.', (size_t)(s - start)) == NULL;
        if (!plain && !take_unit(&s, end, &unit)) {
            return ST_INVAL;
        }
        total += v * unit;
    }
    int64_t v = total > (double)HEADER_DURATION_MAX ? HEADER_DURATION_MAX : (int64_t)total;
    *ns = negative ? -v : v;
    return ST_OK;
}

const char *
header_time_text(int64_t ns, char out[HEADER_TIME_LEN])
{
    static const struct {
        int64_t ns;
        const char *unit;
    } scale[] = {{CLOCK_S, "s"}, {CLOCK_MS, "ms"}, {CLOCK_US, "us"}, {1, "ns"}};
    size_t i = 0;
    while (ns % scale[i].ns != 0) {
        i++;
    }
    (void)snprintf(out, HEADER_TIME_LEN, "%lld%s", (long long)(ns / scale[i].ns), scale[i].unit);
    return out;
}

enum status
header_timeout(const char *hdr, size_t len, int64_t *ns)
{
    const char *v;
    size_t n;
    if (hdr == NULL || !header_find(hdr, len, HEADER_TIMEOUT, &v, &n)) {
        return ST_NOTFOUND;
    }
    enum status st = header_duration(v, n, ns);
    if (st == ST_OK && *ns > HEADER_TIMEOUT_MAX) {
        *ns = HEADER_TIMEOUT_MAX;
    }
    return st;
}
