/* SPDX-License-Identifier: Apache-2.0 */
/* A block is the length of its content (a varint) and then elements: bytes that stand for
 * themselves, and copies of what came before. The two low bits of an element's first byte tell
 * which; numbers have their lowest byte first. */
#include "stream/s2_block.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum kind { LITERAL, COPY_1, COPY_2, COPY_4 };

struct reader {
    const unsigned char *p, *end; /* borrowed: what is not read yet */
    unsigned char *out;           /* borrowed: the content so far ends at `at` */
    size_t at, size;
    size_t offset; /* of the last copy */
};

/* n bytes, 1 to 4. */
static bool
number(struct reader *r, unsigned n, uint32_t *v)
{
    if ((size_t)(r->end - r->p) < n) {
        return false;
    }
    *v = 0;
    for (unsigned i = 0; i < n; i++) {
        *v |= (uint32_t)r->p[i] << (8 * i);
    }
    r->p += n;
    return true;
}

static bool
literal(struct reader *r, unsigned code)
{
    uint32_t n = code;
    if (code >= 60 && !number(r, code - 59, &n)) {
        return false;
    }
    if (n >= r->size - r->at || n >= (size_t)(r->end - r->p)) {
        return false;
    }
    memcpy(r->out + r->at, r->p, (size_t)n + 1);
    r->at += (size_t)n + 1;
    r->p += (size_t)n + 1;
    return true;
}

/* The length of a copy from where the last one was. */
static bool
repeated(struct reader *r, unsigned code, uint32_t *len)
{
    static const uint32_t base[] = {4, 256, 65536};
    *len = code;
    if (code >= 5) {
        if (!number(r, code - 4, len)) {
            return false;
        }
        *len += base[code - 5];
    }
    *len += 4;
    return true;
}

static bool
copy(struct reader *r, size_t len)
{
    if (r->offset == 0 || r->offset > r->at || len > r->size - r->at) {
        return false;
    }
    /* Byte by byte: a copy may read what it has just written. */
    for (size_t i = 0; i < len; i++, r->at++) {
        r->out[r->at] = r->out[r->at - r->offset];
    }
    return true;
}

static bool
copy_near(struct reader *r, unsigned char tag)
{
    uint32_t low, len = tag >> 2 & 7;
    if (!number(r, 1, &low)) {
        return false;
    }
    uint32_t offset = (tag & 0xe0U) << 3 | low;
    if (offset == 0) {
        return repeated(r, len, &len) && copy(r, len);
    }
    r->offset = offset;
    return copy(r, (size_t)len + 4);
}

static bool
element(struct reader *r)
{
    unsigned char tag = *r->p++;
    enum kind kind = tag & 3;
    uint32_t offset;
    if (kind == LITERAL) {
        return literal(r, tag >> 2);
    }
    if (kind == COPY_1) {
        return copy_near(r, tag);
    }
    if (!number(r, kind == COPY_2 ? 2 : 4, &offset)) {
        return false;
    }
    r->offset = offset;
    return copy(r, (size_t)(tag >> 2) + 1);
}

static bool
content_size(struct reader *r, size_t *size)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 35 && r->p < r->end; shift += 7) {
        unsigned char b = *r->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *size = (size_t)v;
            return v <= S2_BLOCK_MAX;
        }
    }
    return false;
}

enum status
s2_block_read(struct buf *out, const void *block, size_t len)
{
    struct reader r = {.p = block};
    bool ok = true;
    r.end = r.p + len;
    if (!content_size(&r, &r.size)) {
        return ST_SYNTAX;
    }
    if (r.size == 0) {
        return len == 1 ? ST_OK : ST_SYNTAX;
    }
    if (buf_reserve(out, r.size) != ST_OK) {
        return ST_NOMEM;
    }
    r.out = (unsigned char *)out->data + out->len;
    while (ok && r.p < r.end) {
        ok = element(&r);
    }
    if (!ok || r.at != r.size) {
        return ST_SYNTAX;
    }
    out->len += r.size;
    return ST_OK;
}
