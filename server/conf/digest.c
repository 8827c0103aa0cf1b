/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conf/digest.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/mem.h"
#include "server/conf/number.h"

#define MAX_DEPTH 2000
#define MAX_BYTES (256u << 20)

static enum status put_value(struct buf *b, const struct conf_value *v, int depth) MUST_CHECK;

/* The width of the UTF-8 sequence at s, 0 if it is none. */
static size_t
utf8_width(const unsigned char *s)
{
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    if (s[0] > 0xF4) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool outside = (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF4 && s[1] > 0x8F);
    return overlong || outside ? 0 : len;
}

static void
put_ascii(struct buf *b, unsigned char c)
{
    static const char named[] = "\"\"\\\\\nn\rr\tt\bb\ff";
    for (const char *n = named; *n != '\0'; n += 2) {
        if (c == (unsigned char)n[0]) {
            buf_printf(b, "\\%c", n[1]);
            return;
        }
    }
    if (c < 0x20 || c == '<' || c == '>' || c == '&') {
        buf_printf(b, "\\u%04x", c);
    } else {
        buf_putc(b, (char)c);
    }
}

static void
put_string(struct buf *b, const char *str)
{
    buf_putc(b, '"');
    for (const unsigned char *s = (const unsigned char *)str; *s != '\0';) {
        size_t width = utf8_width(s);
        if (width == 1) {
            put_ascii(b, *s);
        } else if (width == 0) {
            buf_puts(b, "\\ufffd");
            width = 1;
        } else if (width == 3 && s[0] == 0xE2 && s[1] == 0x80 && (s[2] & 0xFE) == 0xA8) {
            buf_puts(b, (s[2] & 1) != 0 ? "\\u2029" : "\\u2028");
        } else {
            buf_append(b, s, width);
        }
        s += width;
    }
    buf_putc(b, '"');
}

static int
by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum status
put_map(struct buf *b, const struct conf_map *m, int depth)
{
    size_t n = conf_map_len(m);
    const char **keys = mem_alloc_array(n, sizeof(*keys));
    if (keys == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        keys[i] = conf_map_key(m, i);
    }
    qsort(keys, n, sizeof(*keys), by_key);
    enum status st = ST_OK;
    buf_putc(b, '{');
    for (size_t i = 0; i < n && st == ST_OK; i++) {
        if (i > 0) {
            buf_putc(b, ',');
        }
        put_string(b, keys[i]);
        buf_putc(b, ':');
        st = put_value(b, conf_map_get(m, keys[i]), depth);
    }
    buf_putc(b, '}');
    mem_free(keys);
    return st;
}

static enum status
put_array(struct buf *b, const struct conf_array *array, int depth)
{
    enum status st = ST_OK;
    buf_putc(b, '[');
    for (size_t i = 0; i < conf_array_len(array) && st == ST_OK; i++) {
        if (i > 0) {
            buf_putc(b, ',');
        }
        st = put_value(b, conf_array_at(array, i), depth);
    }
    buf_putc(b, ']');
    return st;
}

static enum status
put_value(struct buf *b, const struct conf_value *v, int depth)
{
    char f[NUMBER_FLOAT_LEN];
    if (depth == MAX_DEPTH || b->len > MAX_BYTES) {
        return ST_LIMIT;
    }
    switch (v->type) {
    case CONF_STRING:
    case CONF_DATETIME:
        put_string(b, v->str);
        break;
    case CONF_BOOL:
        buf_puts(b, v->b ? "true" : "false");
        break;
    case CONF_INT:
        buf_printf(b, "%lld", (long long)v->i);
        break;
    case CONF_FLOAT:
        buf_puts(b, number_format_float(v->f, f));
        break;
    case CONF_ARRAY:
        return put_array(b, v->array, depth + 1);
    case CONF_MAP:
        return put_map(b, v->map, depth + 1);
    }
    return buf_status(b);
}

enum status
conf_digest(const struct conf_map *m, char out[CONF_DIGEST_LEN])
{
    struct buf b;
    buf_init(&b);
    enum status st = put_map(&b, m, 0);
    buf_putc(&b, '\n');
    if (st == ST_OK) {
        st = buf_status(&b);
    }
    if (st == ST_OK) {
        unsigned char hash[crypto_hash_sha256_BYTES];
        crypto_hash_sha256(hash, (const unsigned char *)b.data, b.len);
        int n = snprintf(out, CONF_DIGEST_LEN, "sha256:");
        for (size_t i = 0; i < sizeof(hash); i++) {
            n += snprintf(out + n, CONF_DIGEST_LEN - (size_t)n, "%02x", hash[i]);
        }
    }
    buf_fini(&b);
    return st;
}
