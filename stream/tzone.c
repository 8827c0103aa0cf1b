/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones from the system's files (RFC 8536): the transitions, and after the last of them the
 * rule of the footer as far as it is a plain one (Mm.w.d), which all of today's are. */
#include "stream/tzone.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/base/mem.h"

enum { MAX_FILE = 1 << 20 };

struct rule {
    int month, week, day;
    int32_t at; /* seconds after local midnight */
};

struct tzone {
    size_t n;
    int64_t *at;     /* owned: when … */
    int32_t *offset; /* owned: … this begins */
    int32_t first;   /* before at[0] */
    bool has_tail, has_summer;
    int32_t std, dst;
    struct rule to_dst, to_std;
};

static const char *const folders[] = {"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo",
                                      "/usr/lib/locale/TZ", NULL};

static int64_t
be(const unsigned char *p, unsigned n)
{
    uint64_t v = n == 4 && (p[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (unsigned i = 0; i < n; i++) {
        v = v << 8 | p[i];
    }
    return (int64_t)v;
}

/* ---- the footer ---- */

static const char *
skip_name(const char *s)
{
    if (*s == '<') {
        const char *end = strchr(s, '>');
        return end != NULL ? end + 1 : s + strlen(s);
    }
    while ((*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z')) {
        s++;
    }
    return s;
}

static const char *
read_clock(const char *s, int32_t *out)
{
    int sign = *s == '-' ? -1 : 1;
    if (*s == '-' || *s == '+') {
        s++;
    }
    int32_t unit = 3600;
    *out = 0;
    for (int i = 0; i < 3; i++) {
        char *end;
        *out += (int32_t)strtol(s, &end, 10) * unit;
        s = end;
        unit /= 60;
        if (*s != ':') {
            break;
        }
        s++;
    }
    *out *= sign;
    return s;
}

static const char *
read_rule(const char *s, struct rule *r)
{
    r->at = 7200;
    if (sscanf(s, ",M%d.%d.%d", &r->month, &r->week, &r->day) != 3) {
        return NULL;
    }
    s += 1 + strcspn(s + 1, ",/");
    return *s == '/' ? read_clock(s + 1, &r->at) : s;
}

static void
read_footer(struct tzone *z, const char *s)
{
    int32_t west;
    s = read_clock(skip_name(s), &west);
    z->std = -west;
    z->has_tail = true;
    if (*s == '\0') {
        return;
    }
    s = skip_name(s);
    z->dst = z->std + 3600;
    if (*s != ',' && *s != '\0') {
        s = read_clock(s, &west);
        z->dst = -west;
    }
    s = read_rule(s, &z->to_dst);
    z->has_summer = s != NULL && read_rule(s, &z->to_std) != NULL;
}

/* ---- the file ---- */

struct header {
    uint32_t isutc, isstd, leap, time, type, chars;
};

static bool
read_header(const unsigned char *p, size_t n, struct header *h)
{
    if (n < 44 || memcmp(p, "TZif", 4) != 0) {
        return false;
    }
    h->isutc = (uint32_t)be(p + 20, 4);
    h->isstd = (uint32_t)be(p + 24, 4);
    h->leap = (uint32_t)be(p + 28, 4);
    h->time = (uint32_t)be(p + 32, 4);
    h->type = (uint32_t)be(p + 36, 4);
    h->chars = (uint32_t)be(p + 40, 4);
    return h->time < MAX_FILE && h->type > 0 && h->type < 256 && h->chars < MAX_FILE &&
           h->leap < MAX_FILE && h->isutc < 256 && h->isstd < 256;
}

static size_t
body_len(const struct header *h, size_t word)
{
    return h->time * (word + 1) + (size_t)h->type * 6 + h->chars + h->leap * (word + 4) + h->isstd +
           h->isutc;
}

static enum status
read_body(struct tzone *z, const unsigned char *p, const struct header *h, size_t word)
{
    z->at = mem_alloc_array(h->time, sizeof *z->at);
    z->offset = mem_alloc_array(h->time, sizeof *z->offset);
    if (z->at == NULL || z->offset == NULL) {
        return ST_NOMEM;
    }
    const unsigned char *kinds = p + h->time * word, *types = kinds + h->time;
    z->first = (int32_t)be(types, 4);
    for (uint32_t i = 0; i < h->time; i++) {
        uint32_t kind = kinds[i] < h->type ? kinds[i] : 0;
        z->at[i] = be(p + i * word, (unsigned)word);
        z->offset[i] = (int32_t)be(types + (size_t)kind * 6, 4);
    }
    z->n = h->time;
    return ST_OK;
}

static enum status
parse(struct tzone *z, unsigned char *data, size_t n)
{
    struct header h;
    if (!read_header(data, n, &h) || n < 44 + body_len(&h, 4)) {
        return ST_NOTFOUND;
    }
    if (data[4] < '2') {
        return read_body(z, data + 44, &h, 4);
    }
    size_t at = 44 + body_len(&h, 4);
    if (!read_header(data + at, n - at, &h) || n < at + 44 + body_len(&h, 8)) {
        return ST_NOTFOUND;
    }
    enum status st = read_body(z, data + at + 44, &h, 8);
    at += 44 + body_len(&h, 8);
    if (st == ST_OK && at + 1 < n && data[at] == '\n') {
        char *end = memchr(data + at + 1, '\n', n - at - 1);
        if (end != NULL && end != (char *)data + at + 1) {
            *end = '\0';
            read_footer(z, (char *)data + at + 1);
        }
    }
    return st;
}

static enum status
load(struct tzone *z, const char *path)
{
    FILE *f = fopen(path, "rbe");
    if (f == NULL) {
        return ST_NOTFOUND;
    }
    enum status st = ST_NOMEM;
    unsigned char *data = mem_alloc_raw(MAX_FILE);
    if (data != NULL) {
        size_t n = fread(data, 1, MAX_FILE - 1, f);
        data[n] = '\0';
        st = parse(z, data, n);
    }
    mem_free(data);
    (void)fclose(f);
    return st;
}

static bool
is_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool ok = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
                  (s[i] >= '0' && s[i] <= '9') || strchr("_+-/", s[i]) != NULL;
        if (!ok || s[i] == '\0') {
            return false;
        }
    }
    return n > 0 && n < 64 && *s != '/' && *s != '-';
}

static enum status
load_named(struct tzone *z, const char *name, size_t len)
{
    char path[128];
    enum status st = ST_NOTFOUND;
    if (len == 0 || (len == 3 && memcmp(name, "UTC", 3) == 0)) {
        return ST_OK;
    }
    if (!is_name(name, len)) {
        return ST_NOTFOUND;
    }
    for (size_t i = 0; st == ST_NOTFOUND && folders[i] != NULL; i++) {
        snprintf(path, sizeof path, "%s/%.*s", folders[i], (int)len, name);
        st = load(z, path);
    }
    return st;
}

/* The server's own, as Go finds it: what TZ names, else the machine's, and UTC where it cannot be
 * read. */
static enum status
load_local(struct tzone *z)
{
    const char *name = getenv("TZ"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    enum status st;
    if (name == NULL) {
        st = load(z, "/etc/localtime");
    } else {
        name += *name == ':';
        st = *name == '/' ? load(z, name) : load_named(z, name, strlen(name));
    }
    return st == ST_NOTFOUND ? ST_OK : st;
}

enum status
tzone_load(struct tzone **out, const char *name, size_t len)
{
    struct tzone *z = mem_alloc(sizeof *z);
    if (z == NULL) {
        return ST_NOMEM;
    }
    bool local = len == 5 && memcmp(name, "Local", 5) == 0;
    enum status st = local ? load_local(z) : load_named(z, name, len);
    if (st != ST_OK) {
        tzone_free(z);
        return st;
    }
    *out = z;
    return ST_OK;
}

void
tzone_free(struct tzone *z)
{
    if (z != NULL) {
        mem_free(z->at);
        mem_free(z->offset);
        mem_free(z);
    }
}

/* ---- use ---- */

/* When the rule takes effect in a year, in seconds since 1970 of a clock that shows `offset`. */
static int64_t
rule_at(const struct rule *r, int year, int32_t offset)
{
    struct tm first = {.tm_year = year, .tm_mon = r->month - 1, .tm_mday = 1};
    time_t t = timegm(&first);
    int day = 1 + (r->day - first.tm_wday + 7) % 7 + (r->week - 1) * 7;
    struct tm next = {.tm_year = year, .tm_mon = r->month, .tm_mday = 1};
    int days = (int)((timegm(&next) - t) / 86400);
    while (day > days) {
        day -= 7;
    }
    return (int64_t)t + (int64_t)(day - 1) * 86400 + r->at - offset;
}

static int32_t
tail_offset(const struct tzone *z, int64_t t)
{
    struct tm tm;
    time_t l = (time_t)(t + z->std);
    if (!z->has_summer) {
        return z->std;
    }
    gmtime_r(&l, &tm);
    int64_t summer = rule_at(&z->to_dst, tm.tm_year, z->std);
    int64_t winter = rule_at(&z->to_std, tm.tm_year, z->dst);
    bool is_summer = summer < winter ? t >= summer && t < winter : t >= summer || t < winter;
    return is_summer ? z->dst : z->std;
}

int32_t
tzone_offset(const struct tzone *z, int64_t t)
{
    if (z == NULL) {
        return 0;
    }
    if (z->n == 0 || t >= z->at[z->n - 1]) {
        return z->has_tail ? tail_offset(z, t) : z->n > 0 ? z->offset[z->n - 1] : z->first;
    }
    size_t lo = 0, hi = z->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (z->at[mid] <= t) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo > 0 ? z->offset[lo - 1] : z->first;
}
