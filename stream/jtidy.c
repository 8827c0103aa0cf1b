/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/jtidy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define MARK        '\x01'
#define MARK_TEXT   "\"\\u0001"
enum { PLAIN_DIGITS = 18 };

struct text {
    const char *p, *end; /* borrowed */
    struct buf *out;
    bool changed;
};

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_continuation(const struct text *t, int i)
{
    return t->end - t->p > i && ((unsigned char)t->p[i] & 0xc0) == 0x80;
}

/* How many bytes the character has that begins here; 0: none does. */
static size_t
utf8_length(const struct text *t)
{
    unsigned char c = (unsigned char)t->p[0];
    unsigned char d = t->end - t->p > 1 ? (unsigned char)t->p[1] : 0;
    if (c < 0x80) {
        return 1;
    }
    if (c >= 0xc2 && c <= 0xdf) {
        return is_continuation(t, 1) ? 2 : 0;
    }
    if (c >= 0xe0 && c <= 0xef) {
        bool bad = (c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f);
        return !bad && is_continuation(t, 1) && is_continuation(t, 2) ? 3 : 0;
    }
    bool bad = c < 0xf0 || c > 0xf4 || (c == 0xf0 && d < 0x90) || (c == 0xf4 && d > 0x8f);
    return !bad && is_continuation(t, 1) && is_continuation(t, 2) && is_continuation(t, 3) ? 4 : 0;
}

/* The code of a \uXXXX that begins there, or -1. */
static int
escape_at(const struct text *t, const char *p)
{
    int code = 0;
    if (t->end - p < 6 || p[0] != '\\' || p[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < 6; i++) {
        const char *hex = "0123456789abcdef";
        const char *at = p[i] != '\0' ? strchr(hex, p[i] | 0x20) : NULL;
        if (at == NULL) {
            return -1;
        }
        code = code << 4 | (int)(at - hex);
    }
    return code;
}

static void
copy(struct text *t, size_t n)
{
    buf_append(t->out, t->p, n);
    t->p += n;
}

static void
replace(struct text *t, size_t n)
{
    buf_puts(t->out, REPLACEMENT);
    t->p += n;
    t->changed = true;
}

static void
tidy_escape(struct text *t)
{
    int code = escape_at(t, t->p);
    if (code < 0xd800 || code > 0xdfff) {
        copy(t, t->end - t->p >= 2 ? 2 : 1);
        return;
    }
    int low = code < 0xdc00 ? escape_at(t, t->p + 6) : -1;
    if (low >= 0xdc00 && low <= 0xdfff) {
        copy(t, 12);
    } else {
        replace(t, 6);
    }
}

static void
tidy_string(struct text *t)
{
    copy(t, 1);
    while (t->p < t->end && *t->p != '"') {
        size_t n = *t->p == '\\' ? 0 : utf8_length(t);
        if (*t->p == '\\') {
            tidy_escape(t);
        } else if (n == 0) {
            replace(t, 1);
        } else {
            copy(t, n);
        }
    }
    if (t->p < t->end) {
        copy(t, 1);
    }
}

static void
tidy_number(struct text *t)
{
    const char *end = t->p;
    size_t digits = 0;
    bool plain = *t->p != '-' || t->end - t->p < 2 || t->p[1] != '0';
    while (end < t->end && (is_digit(*end) || (*end != '\0' && strchr("+-.eE", *end) != NULL))) {
        digits += is_digit(*end);
        plain = plain && (is_digit(*end) || end == t->p);
        end++;
    }
    size_t n = (size_t)(end - t->p);
    if (plain && digits <= PLAIN_DIGITS) {
        copy(t, n);
        return;
    }
    buf_puts(t->out, MARK_TEXT);
    copy(t, n);
    buf_putc(t->out, '"');
    t->changed = true;
}

enum status
jtidy(const char *data, size_t len, struct buf *out)
{
    struct text t = {.p = data, .end = data + len, .out = out};
    size_t before = out->len;
    while (t.p < t.end) {
        if (*t.p == '"') {
            tidy_string(&t);
        } else if (*t.p == '-' || is_digit(*t.p)) {
            tidy_number(&t);
        } else {
            copy(&t, 1);
        }
    }
    if (buf_status(out) != ST_OK) {
        return ST_NOMEM;
    }
    if (!t.changed) {
        out->len = before;
        return ST_NOTFOUND;
    }
    return ST_OK;
}

json_t *
jtidy_load(const char *data, size_t len, size_t flags, json_error_t *err)
{
    struct buf b;
    buf_init(&b);
    json_t *o = jtidy(data, len, &b) == ST_OK ? json_loadb(b.data, b.len, flags, NULL) : NULL;
    buf_fini(&b);
    return o != NULL ? o : json_loadb(data, len, flags, err);
}

const char *
jtidy_number(const json_t *v)
{
    const char *s = json_is_string(v) ? json_string_value(v) : "";
    size_t n = json_is_string(v) ? json_string_length(v) : 0;
    return n > 1 && s[0] == MARK && strspn(s + 1, "0123456789+-.eE") == n - 1 ? s + 1 : NULL;
}

bool
jtidy_int(const json_t *v, int64_t *out)
{
    const char *s = jtidy_number(v);
    char *end;
    if (s == NULL) {
        *out = json_integer_value(v);
        return json_is_integer(v);
    }
    errno = 0;
    *out = strtoll(s, &end, 10);
    return *end == '\0' && errno == 0;
}

bool
jtidy_uint(const json_t *v, uint64_t *out)
{
    const char *s = jtidy_number(v);
    char *end;
    if (s == NULL) {
        *out = (uint64_t)json_integer_value(v);
        return json_is_integer(v) && json_integer_value(v) >= 0;
    }
    errno = 0;
    *out = strtoull(s, &end, 10);
    return *s != '-' && *end == '\0' && errno == 0;
}
