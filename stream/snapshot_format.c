/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/snapshot_format.h"

#include <string.h>

#include "stream/s2_block.h"

enum { FRAME_MAX = 64 << 10, ENTRY_MAX = 80 << 20, CHUNK_HEAD = 4, CRC_LEN = 4 };
enum { CHUNK_COMPRESSED = 0, CHUNK_PLAIN = 1, CHUNK_ID = 0xff };

static const char magic[] = "NATSARC1";
static const char s2_id[] = "S2sTwO";

/* ---- checksums of S2: CRC-32C, masked ---- */

static uint32_t
crc32c(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t c = 0xffffffff;
    /* By halves of a byte: a table of 16 entries is enough. */
    uint32_t table[16];
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t v = i;
        for (int k = 0; k < 4; k++) {
            v = v >> 1 ^ (0x82f63b78 & (0 - (v & 1)));
        }
        table[i] = v;
    }
    for (size_t i = 0; i < n; i++) {
        c = c >> 4 ^ table[(c ^ p[i]) & 15];
        c = c >> 4 ^ table[(c ^ (p[i] >> 4)) & 15];
    }
    c = ~c;
    return (c >> 15 | c << 17) + 0xa282ead8;
}

/* ---- writing ---- */

static void
put_le(struct buf *b, uint32_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        buf_putc(b, (char)(v >> (8 * i)));
    }
}

static void
put_uvarint(struct buf *b, uint64_t v)
{
    while (v >= 0x80) {
        buf_putc(b, (char)(v | 0x80));
        v >>= 7;
    }
    buf_putc(b, (char)v);
}

static void
put_varint(struct buf *b, int64_t v)
{
    put_uvarint(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

/* Frames what there is, but for less than a frame unless `all`. */
static void
frame(struct snapshot_out *o, bool all)
{
    size_t at = 0;
    while (!o->raw.failed && o->raw.len - at >= (all ? 1 : FRAME_MAX)) {
        size_t n = o->raw.len - at < FRAME_MAX ? o->raw.len - at : FRAME_MAX;
        put_le(&o->framed, CHUNK_PLAIN, 1);
        put_le(&o->framed, (uint32_t)(n + CRC_LEN), 3);
        put_le(&o->framed, crc32c(o->raw.data + at, n), 4);
        buf_append(&o->framed, o->raw.data + at, n);
        at += n;
    }
    if (at > 0) {
        memmove(o->raw.data, o->raw.data + at, o->raw.len - at);
        o->raw.len -= at;
    }
}

static void
put_head(struct snapshot_out *o, const struct snapshot_entry *e)
{
    if (!o->begun) {
        put_le(&o->framed, CHUNK_ID, 1);
        put_le(&o->framed, sizeof s2_id - 1, 3);
        buf_puts(&o->framed, s2_id);
        buf_puts(&o->raw, magic);
        o->begun = true;
    }
    put_uvarint(&o->raw, e->name_len);
    put_varint(&o->raw, e->ts);
    put_uvarint(&o->raw, e->seq);
    put_uvarint(&o->raw, e->hdr_len);
    put_uvarint(&o->raw, e->data_len);
    buf_append(&o->raw, e->name, e->name_len);
}

void
snapshot_put(struct snapshot_out *o, const char *name, size_t name_len, int64_t ts,
             const void *data, size_t len)
{
    struct snapshot_entry e = {.name = name, .name_len = name_len, .ts = ts, .data_len = len};
    put_head(o, &e);
    buf_append(&o->raw, data, len);
    frame(o, false);
}

void
snapshot_put_msg(struct snapshot_out *o, const struct msg *m)
{
    struct snapshot_entry e = {.name = msg_subject(m),
                               .name_len = m->subject_len,
                               .ts = m->ts,
                               .seq = m->seq,
                               .hdr_len = m->hdr_len,
                               .data_len = m->data_len};
    put_head(o, &e);
    buf_append(&o->raw, msg_hdr(m), (size_t)m->hdr_len + m->data_len);
    frame(o, false);
}

void
snapshot_put_end(struct snapshot_out *o)
{
    struct snapshot_entry e = {.name = ""};
    put_head(o, &e);
    frame(o, true);
}

enum status
snapshot_out_status(const struct snapshot_out *o)
{
    return o->raw.failed || o->framed.failed ? ST_NOMEM : ST_OK;
}

void
snapshot_out_fini(struct snapshot_out *o)
{
    buf_fini(&o->raw);
    buf_fini(&o->framed);
}

/* ---- reading frames ---- */

static uint32_t
get_le(const char *p, unsigned bytes)
{
    uint32_t v = 0;
    for (unsigned i = bytes; i > 0; i--) {
        v = v << 8 | (unsigned char)p[i - 1];
    }
    return v;
}

static enum status
take_chunk(struct snapshot_in *in, unsigned kind, const char *data, size_t len)
{
    if (kind == CHUNK_ID) {
        in->has_id = len == sizeof s2_id - 1 && memcmp(data, s2_id, len) == 0;
        return in->has_id ? ST_OK : ST_SYNTAX;
    }
    if (!in->has_id) {
        return ST_SYNTAX;
    }
    if (kind != CHUNK_COMPRESSED && kind != CHUNK_PLAIN) {
        return kind >= 0x80 ? ST_OK : ST_SYNTAX;
    }
    if (len < CRC_LEN) {
        return ST_SYNTAX;
    }
    size_t before = in->raw.len;
    const char *block = data + CRC_LEN;
    enum status st = ST_OK;
    if (kind == CHUNK_PLAIN) {
        buf_append(&in->raw, block, len - CRC_LEN);
        st = buf_status(&in->raw);
    } else {
        st = s2_block_read(&in->raw, block, len - CRC_LEN);
    }
    if (st == ST_OK && crc32c(in->raw.data + before, in->raw.len - before) != get_le(data, 4)) {
        st = ST_SYNTAX;
    }
    return st;
}

enum status
snapshot_feed(struct snapshot_in *in, const void *data, size_t len)
{
    if (in->taken > 0) {
        memmove(in->framed.data, in->framed.data + in->taken, in->framed.len - in->taken);
        in->framed.len -= in->taken;
        in->taken = 0;
    }
    buf_append(&in->framed, data, len);
    return buf_status(&in->framed);
}

/* The next whole frame. ST_AGAIN: there is none. */
static enum status
take_frame(struct snapshot_in *in)
{
    const char *p = in->framed.data + in->taken;
    size_t left = in->framed.len - in->taken;
    size_t n = left >= CHUNK_HEAD ? get_le(p + 1, 3) : 0;
    if (left < CHUNK_HEAD || left - CHUNK_HEAD < n) {
        return ST_AGAIN;
    }
    if (in->at > 0) {
        memmove(in->raw.data, in->raw.data + in->at, in->raw.len - in->at);
        in->raw.len -= in->at;
        in->at = 0;
    }
    in->taken += CHUNK_HEAD + n;
    return take_chunk(in, (unsigned char)*p, p + CHUNK_HEAD, n);
}

/* ---- reading entries ---- */

struct cursor {
    const char *p; /* borrowed */
    size_t n, at;
    enum status st;
};

static uint64_t
get_uvarint(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; c->st == ST_OK; shift += 7) {
        if (c->at >= c->n) {
            c->st = ST_AGAIN;
        } else if (shift > 63) {
            c->st = ST_SYNTAX;
        } else {
            unsigned char b = (unsigned char)c->p[c->at++];
            v |= (uint64_t)(b & 0x7f) << shift;
            if (b < 0x80) {
                return v;
            }
        }
    }
    return 0;
}

/* The next entry of what is unpacked. */
static enum status
next_entry(struct snapshot_in *in, struct snapshot_entry *e)
{
    struct cursor c = {.p = in->raw.data, .n = in->raw.len, .at = in->at, .st = ST_OK};
    const size_t n = sizeof magic - 1;
    if (!in->has_magic) {
        if (c.n < n) {
            return ST_AGAIN;
        }
        if (memcmp(c.p, magic, n) != 0) {
            return ST_UNSUPPORTED;
        }
        in->has_magic = true;
        c.at = in->at = n;
    }
    e->name_len = get_uvarint(&c);
    uint64_t ts = get_uvarint(&c);
    e->ts = (int64_t)(ts >> 1 ^ (0 - (ts & 1)));
    e->seq = get_uvarint(&c);
    e->hdr_len = get_uvarint(&c);
    e->data_len = get_uvarint(&c);
    if (c.st != ST_OK) {
        return c.st;
    }
    if (e->name_len > ENTRY_MAX || e->hdr_len > ENTRY_MAX || e->data_len > ENTRY_MAX) {
        return ST_SYNTAX;
    }
    if (c.n - c.at < e->name_len + e->hdr_len + e->data_len) {
        return ST_AGAIN;
    }
    e->name = c.p + c.at;
    e->data = e->name + e->name_len;
    in->at = c.at + e->name_len + e->hdr_len + e->data_len;
    return ST_OK;
}

enum status
snapshot_next(struct snapshot_in *in, struct snapshot_entry *e)
{
    enum status st = next_entry(in, e);
    while (st == ST_AGAIN && (st = take_frame(in)) == ST_OK) {
        st = next_entry(in, e);
    }
    return st;
}

void
snapshot_in_fini(struct snapshot_in *in)
{
    buf_fini(&in->framed);
    buf_fini(&in->raw);
}
