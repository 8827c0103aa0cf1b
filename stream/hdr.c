/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/hdr.h"

#include <stdint.h>
#include <string.h>

static const char first_line[] = "NATS/1.0\r\n";

/* One line of a block: the text from `line` without its end, and where the next one begins. */
struct line {
    const char *text;
    size_t len;
    size_t next;
};

/* False at the empty line or the end. */
static bool
next_line(const char *hdr, size_t len, size_t at, struct line *l)
{
    if (at >= len) {
        return false;
    }
    const char *nl = memchr(hdr + at, '\n', len - at);
    size_t end = nl != NULL ? (size_t)(nl - hdr) : len;
    l->text = hdr + at;
    l->next = nl != NULL ? end + 1 : len;
    l->len = end - at;
    if (l->len > 0 && l->text[l->len - 1] == '\r') {
        l->len--;
    }
    return l->len > 0;
}

static size_t
after_first_line(const char *hdr, size_t len)
{
    const char *nl = hdr != NULL && len > 0 ? memchr(hdr, '\n', len) : NULL;
    return nl != NULL ? (size_t)(nl - hdr) + 1 : len;
}

static bool
line_is(const struct line *l, const char *name, size_t nlen)
{
    return l->len > nlen && l->text[nlen] == ':' && memcmp(l->text, name, nlen) == 0;
}

bool
hdr_find(const char *hdr, size_t len, const char *name, const char **value, size_t *vlen)
{
    size_t nlen = strlen(name);
    struct line l;
    for (size_t at = after_first_line(hdr, len); next_line(hdr, len, at, &l); at = l.next) {
        if (!line_is(&l, name, nlen)) {
            continue;
        }
        const char *v = l.text + nlen + 1;
        const char *end = l.text + l.len;
        while (v < end && *v == ' ') {
            v++;
        }
        *value = v;
        *vlen = (size_t)(end - v);
        return true;
    }
    return false;
}

enum status
hdr_u64(const char *hdr, size_t len, const char *name, unsigned long long *out)
{
    const char *v;
    size_t n;
    if (!hdr_find(hdr, len, name, &v, &n)) {
        return ST_NOTFOUND;
    }
    if (n == 0) {
        return ST_INVAL;
    }
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i] < '0' || v[i] > '9') {
            return ST_INVAL;
        }
        uint64_t d = (uint64_t)(v[i] - '0');
        if (x > (UINT64_MAX - d) / 10) {
            return ST_INVAL;
        }
        x = x * 10 + d;
    }
    *out = x;
    return ST_OK;
}

static void
copy_without(struct buf *out, const char *hdr, size_t len, const char *name, bool prefix)
{
    size_t nlen = strlen(name);
    size_t first = after_first_line(hdr, len);
    bool any = false;
    struct line l;
    for (size_t at = first; next_line(hdr, len, at, &l); at = l.next) {
        bool drop =
            prefix ? l.len >= nlen && memcmp(l.text, name, nlen) == 0 : line_is(&l, name, nlen);
        if (drop) {
            continue;
        }
        if (!any) {
            buf_append(out, hdr, first);
            any = true;
        }
        buf_append(out, l.text, l.len);
        buf_append(out, "\r\n", 2);
    }
    if (any) {
        buf_append(out, "\r\n", 2);
    }
}

void
hdr_copy_without(struct buf *out, const char *hdr, size_t len, const char *name)
{
    copy_without(out, hdr, len, name, false);
}

void
hdr_copy_without_prefix(struct buf *out, const char *hdr, size_t len, const char *prefix)
{
    copy_without(out, hdr, len, prefix, true);
}

void
hdr_add_n(struct buf *out, const char *name, const char *value, size_t vlen)
{
    if (out->len == 0) {
        buf_append(out, first_line, sizeof first_line - 1);
    } else if (out->len >= 2) {
        out->len -= 2;
    }
    buf_puts(out, name);
    buf_append(out, ": ", 2);
    buf_append(out, value, vlen);
    buf_append(out, "\r\n\r\n", 4);
}

void
hdr_add(struct buf *out, const char *name, const char *value)
{
    hdr_add_n(out, name, value, strlen(value));
}

void
hdr_put(struct buf *out, const char *hdr, size_t len, const char *name, const char *value)
{
    const char *old;
    size_t n;
    if (hdr_find(hdr, len, name, &old, &n)) {
        size_t before = (size_t)(old - hdr);
        buf_append(out, hdr, before);
        buf_puts(out, value);
        buf_append(out, old + n, len - before - n);
        return;
    }
    buf_append(out, hdr, len);
    hdr_add(out, name, value);
}
