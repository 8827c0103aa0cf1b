/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/jwrite.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { INT_LEN = 20, REAL_LEN = 40 };

/* The length of the UTF-8 sequence that p begins with; 0: it is none. n > 0. */
static size_t
utf8_len(const unsigned char *p, size_t n)
{
    /* By the first byte: the length, and the bounds of the second, which exclude what could be
     * shorter, surrogates, and what is past U+10FFFF. */
    size_t len = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    unsigned lo = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned hi = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (len == 0 || n < len || p[1] < lo || p[1] > hi) {
        return 0;
    }
    for (size_t i = 2; i < len; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf) {
            return 0;
        }
    }
    return len;
}

static void
escape(struct buf *b, unsigned char c)
{
    static const char names[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    char out[8];
    if (c == '"' || c == '\\') {
        (void)snprintf(out, sizeof(out), "\\%c", c);
    } else if (c < sizeof(names) && names[c] != '\0') {
        (void)snprintf(out, sizeof(out), "\\%c", names[c]);
    } else {
        (void)snprintf(out, sizeof(out), "\\u%04X", c);
    }
    buf_puts(b, out);
}

static bool
is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Nearly all texts need no escapes. False: nothing was written. */
static bool
write_plain(struct buf *b, const char *text, size_t n)
{
    if (buf_reserve(b, n + 2) != ST_OK) {
        return false;
    }
    char *out = b->data + b->len;
    *out++ = '"';
    for (size_t i = 0; i < n; i++) {
        if (!is_plain((unsigned char)text[i])) {
            return false;
        }
        *out++ = text[i];
    }
    *out++ = '"';
    *out = '\0';
    b->len += n + 2;
    return true;
}

static void
write_text(struct buf *b, const char *text, size_t n)
{
    if (write_plain(b, text, n)) {
        return;
    }
    const unsigned char *p = (const unsigned char *)text;
    size_t from = 0;
    size_t i = 0;
    buf_putc(b, '"');
    while (i < n) {
        size_t step = is_plain(p[i]) ? 1 : p[i] >= 0x80 ? utf8_len(p + i, n - i) : 0;
        if (step > 0) {
            i += step;
            continue;
        }
        buf_append(b, text + from, i - from);
        if (p[i] >= 0x80) {
            buf_puts(b, "\\ufffd");
        } else {
            escape(b, p[i]);
        }
        from = ++i;
    }
    buf_append(b, text + from, n - from);
    buf_putc(b, '"');
}

static void
write_integer(struct buf *b, json_int_t v)
{
    char out[INT_LEN];
    size_t at = sizeof(out);
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do {
        out[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u > 0);
    if (v < 0) {
        out[--at] = '-';
    }
    buf_append(b, out + at, sizeof(out) - at);
}

static void
write_real(struct buf *b, const json_t *v)
{
    char out[REAL_LEN];
    size_t n = json_dumpb(v, out, sizeof(out), JSON_ENCODE_ANY | JSON_REAL_PRECISION(16));
    buf_append(b, out, n < sizeof(out) ? n : 0);
}

static void
write_object(struct buf *b, const json_t *v)
{
    char before = '{';
    /* NB: jansson's iterators take no const; they change nothing. */
    json_t *o = (json_t *)(uintptr_t)v;
    for (void *it = json_object_iter(o); it != NULL; it = json_object_iter_next(o, it)) {
        buf_putc(b, before);
        write_text(b, json_object_iter_key(it), json_object_iter_key_len(it));
        buf_putc(b, ':');
        jwrite(b, json_object_iter_value(it));
        before = ',';
    }
    buf_puts(b, before == '{' ? "{}" : "}");
}

static void
write_array(struct buf *b, const json_t *v)
{
    size_t n = json_array_size(v);
    buf_putc(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            buf_putc(b, ',');
        }
        jwrite(b, json_array_get(v, i));
    }
    buf_putc(b, ']');
}

void
jwrite(struct buf *b, const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        write_object(b, v);
        break;
    case JSON_ARRAY:
        write_array(b, v);
        break;
    case JSON_STRING:
        write_text(b, json_string_value(v), json_string_length(v));
        break;
    case JSON_INTEGER:
        write_integer(b, json_integer_value(v));
        break;
    case JSON_REAL:
        write_real(b, v);
        break;
    case JSON_TRUE:
        buf_puts(b, "true");
        break;
    case JSON_FALSE:
        buf_puts(b, "false");
        break;
    case JSON_NULL:
        buf_puts(b, "null");
        break;
    }
}
