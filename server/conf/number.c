/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conf/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum status
number_parse_int(const char *s, int64_t *out)
{
    const char *digits = s[0] == '-' || s[0] == '+' ? s + 1 : s;
    if (!isdigit((unsigned char)digits[0])) {
        return ST_SYNTAX;
    }
    char *end;
    errno = 0;
    *out = strtoll(s, &end, 10);
    if (*end != '\0') {
        return ST_SYNTAX;
    }
    return errno == ERANGE ? ST_LIMIT : ST_OK;
}

enum status
number_parse_flag(const char *s, int64_t *out)
{
    const char *digits = s[0] == '-' || s[0] == '+' ? s + 1 : s;
    static const struct {
        const char *prefix;
        size_t skip;
        int base;
    } bases[] = {{"0x", 2, 16}, {"0o", 2, 8}, {"0b", 2, 2}, {"0", 1, 8}};
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        const char *rest = digits + bases[i].skip;
        if (strncasecmp(digits, bases[i].prefix, bases[i].skip) != 0 || strcmp(digits, "0") == 0) {
            continue;
        }
        char *end;
        errno = 0;
        long long v = strtoll(rest, &end, bases[i].base);
        if (!isalnum((unsigned char)rest[0]) || *end != '\0') {
            return ST_SYNTAX;
        }
        *out = s[0] == '-' ? -v : v;
        return errno == ERANGE ? ST_LIMIT : ST_OK;
    }
    return number_parse_int(s, out);
}

/* The factor of a size suffix, 0 if there is no such suffix. */
static int64_t
factor_of(const char *suffix)
{
    static const char units[] = "kmgtpe";
    if (suffix[0] == '\0') {
        return 1;
    }
    const char *unit = strchr(units, tolower((unsigned char)suffix[0]));
    bool binary = strcasecmp(suffix + 1, "b") == 0 || strcasecmp(suffix + 1, "i") == 0 ||
                  strcasecmp(suffix + 1, "ib") == 0;
    if (unit == NULL || (suffix[1] != '\0' && !binary)) {
        return 0;
    }
    int64_t factor = 1;
    for (const char *u = units; u <= unit; u++) {
        factor *= binary ? 1024 : 1000;
    }
    return factor;
}

enum status
number_parse_size(const char *s, int64_t *out)
{
    char digits[32];
    size_t n = strspn(s, "-0123456789");
    int64_t factor = factor_of(s + n);
    if (factor == 0) {
        return ST_SYNTAX;
    }
    if (n >= sizeof(digits)) {
        return ST_LIMIT;
    }
    memcpy(digits, s, n);
    digits[n] = '\0';
    int64_t v;
    enum status st = number_parse_int(digits, &v);
    if (st != ST_OK) {
        return st;
    }
    return __builtin_mul_overflow(v, factor, out) ? ST_LIMIT : ST_OK;
}

enum status
number_parse_float(const char *s, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(s, &end);
    if (end == s || *end != '\0') {
        return ST_SYNTAX;
    }
    return isinf(*out) ? ST_LIMIT : ST_OK;
}

char *
number_format_float(double f, char out[NUMBER_FLOAT_LEN])
{
    char e[40];
    int digits = 0;
    do {
        snprintf(e, sizeof(e), "%.*e", digits++, f);
    } while (digits < 18 && strtod(e, NULL) != f);

    char *mark = strchr(e, 'e');
    int exp10 = mark != NULL ? atoi(mark + 1) : 0;
    if (mark == NULL || (f != 0 && (exp10 < -6 || exp10 >= 21))) {
        /* Go writes 1e-07 as 1e-07 too, but drops a zero that pads the exponent. */
        size_t n = strlen(e);
        if (mark != NULL && n >= 4 && e[n - 4] == 'e' && e[n - 2] == '0' && e[n - 3] == '-') {
            e[n - 2] = e[n - 1];
            e[n - 1] = '\0';
        }
        snprintf(out, NUMBER_FLOAT_LEN, "%s", e);
        return out;
    }
    int after_point = digits - 1 - exp10;
    snprintf(out, NUMBER_FLOAT_LEN, "%.*f", after_point > 0 ? after_point : 0, f);
    return out;
}

bool
number_is_datetime(const char *s)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 0;
    int month = 0;
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int end = 0;
    if (sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &day, &hour, &minute, &second,
               &end) != 6 ||
        end != 20 || s[end] != '\0') {
        return false;
    }
    if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day >= 1 && day <= days[month - 1] + (month == 2 && leap ? 1 : 0);
}

struct unit {
    const char *name;
    uint64_t ns;
};

static const struct unit duration_units[] = {
    {"ns", 1},       {"us", 1000},       {"\xC2\xB5s", 1000}, {"\xCE\xBCs", 1000},
    {"ms", 1000000}, {"s", 1000000000u}, {"m", 60000000000u}, {"h", 3600000000000u},
};

static const struct unit *
unit_named(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof(duration_units) / sizeof(duration_units[0]); i++) {
        if (strlen(duration_units[i].name) == n && memcmp(duration_units[i].name, name, n) == 0) {
            return &duration_units[i];
        }
    }
    return NULL;
}

/* Reads one "1.5h" off *p and adds it. why is a format for the unit's name and the whole. */
static enum status
duration_part(const char **p, uint64_t *total, const char **why, int *unit_len)
{
    static const uint64_t max = (uint64_t)1 << 63;
    uint64_t whole = 0;
    double fraction = 0;
    double scale = 1;
    const char *begin = *p;
    for (; isdigit((unsigned char)**p); (*p)++) {
        if (whole > max / 10) {
            return ST_LIMIT;
        }
        whole = whole * 10 + (uint64_t)(**p - '0');
    }
    bool digits = *p > begin;
    if (**p == '.') {
        (*p)++;
        for (; isdigit((unsigned char)**p); (*p)++) {
            digits = true;
            if (scale < 1e18) {
                fraction = fraction * 10 + (**p - '0');
                scale *= 10;
            }
        }
    }
    if (!digits) {
        return ST_LIMIT;
    }
    *unit_len = (int)strcspn(*p, ".0123456789");
    if (*unit_len == 0) {
        *why = "missing unit";
        return ST_SYNTAX;
    }
    const struct unit *unit = unit_named(*p, (size_t)*unit_len);
    if (unit == NULL) {
        *why = "unknown unit";
        return ST_SYNTAX;
    }
    *p += *unit_len;
    if (whole > max / unit->ns) {
        return ST_LIMIT;
    }
    uint64_t part = whole * unit->ns + (uint64_t)(fraction * ((double)unit->ns / scale));
    if (part > max || __builtin_add_overflow(*total, part, total) || *total > max) {
        return ST_LIMIT;
    }
    return ST_OK;
}

enum status
number_parse_duration(const char *s, int64_t *out, char why[NUMBER_WHY_LEN])
{
    const char *p = s;
    bool negative = *p == '-';
    uint64_t total = 0;
    if (*p == '-' || *p == '+') {
        p++;
    }
    *out = 0;
    if (strcmp(p, "0") == 0) {
        return ST_OK;
    }
    bool bad = *p == '\0';
    while (*p != '\0' && !bad) {
        const char *fault = NULL;
        int unit_len = 0;
        enum status st = duration_part(&p, &total, &fault, &unit_len);
        if (st == ST_SYNTAX && unit_len == 0) {
            snprintf(why, NUMBER_WHY_LEN, "time: %s in duration \"%.80s\"", fault, s);
            return ST_SYNTAX;
        }
        if (st == ST_SYNTAX) {
            snprintf(why, NUMBER_WHY_LEN, "time: %s \"%.*s\" in duration \"%.80s\"", fault,
                     unit_len < 40 ? unit_len : 40, p, s);
            return ST_SYNTAX;
        }
        bad = st != ST_OK;
    }
    if (bad || (!negative && total > INT64_MAX)) {
        snprintf(why, NUMBER_WHY_LEN, "time: invalid duration \"%.80s\"", s);
        return ST_SYNTAX;
    }
    *out = negative ? (int64_t)(0 - total) : (int64_t)total;
    return ST_OK;
}

/* "12.5" of n units of 10^digits: the fraction without the zeros at its end. */
static void
put_fraction(char *out, size_t size, uint64_t n, int digits)
{
    uint64_t unit = 1;
    for (int i = 0; i < digits; i++) {
        unit *= 10;
    }
    uint64_t rest = n % unit;
    while (digits > 0 && rest % 10 == 0) {
        rest /= 10;
        digits--;
    }
    if (digits == 0) {
        snprintf(out, size, "%llu", (unsigned long long)(n / unit));
    } else {
        snprintf(out, size, "%llu.%0*llu", (unsigned long long)(n / unit), digits,
                 (unsigned long long)rest);
    }
}

char *
number_format_duration(int64_t ns, char out[NUMBER_DURATION_LEN])
{
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const char *sign = ns < 0 ? "-" : "";
    char number[24];
    if (u == 0) {
        snprintf(out, NUMBER_DURATION_LEN, "0s");
    } else if (u < 1000000000u) {
        int digits = u < 1000 ? 0 : u < 1000000 ? 3 : 6;
        put_fraction(number, sizeof(number), u, digits);
        snprintf(out, NUMBER_DURATION_LEN, "%s%s%s", sign, number,
                 digits == 0   ? "ns"
                 : digits == 3 ? "\xC2\xB5s"
                               : "ms");
    } else {
        uint64_t minutes = u / 60000000000u;
        put_fraction(number, sizeof(number), u % 60000000000u, 9);
        if (minutes == 0) {
            snprintf(out, NUMBER_DURATION_LEN, "%s%ss", sign, number);
        } else if (minutes < 60) {
            snprintf(out, NUMBER_DURATION_LEN, "%s%llum%ss", sign, (unsigned long long)minutes,
                     number);
        } else {
            snprintf(out, NUMBER_DURATION_LEN, "%s%lluh%llum%ss", sign,
                     (unsigned long long)(minutes / 60), (unsigned long long)(minutes % 60),
                     number);
        }
    }
    return out;
}

const char *
number_format_size(int64_t n, char out[NUMBER_SIZE_LEN])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    double v = (double)n;
    size_t i = 0;
    while (v >= 1024 && i + 1 < sizeof units / sizeof units[0]) {
        v /= 1024;
        i++;
    }
    snprintf(out, NUMBER_SIZE_LEN, i > 0 ? "%.2f %s" : "%.0f %s", v, units[i]);
    return out;
}
