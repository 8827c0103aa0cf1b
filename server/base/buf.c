/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"

void
buf_init(struct buf *b)
{
    *b = (struct buf){0};
}

void
buf_fini(struct buf *b)
{
    mem_free(b->data);
    buf_init(b);
}

void
buf_reset(struct buf *b)
{
    b->len = 0;
    b->failed = false;
}

enum status
buf_reserve(struct buf *b, size_t extra)
{
    if (extra >= SIZE_MAX / 2 - b->len) {
        b->failed = true;
        return ST_NOMEM;
    }
    size_t need = b->len + extra + 1;
    if (need <= b->cap) {
        return ST_OK;
    }
    size_t cap = b->cap > 0 ? b->cap : 64;
    while (cap < need) {
        cap *= 2;
    }
    char *data = mem_realloc(b->data, cap);
    if (data == NULL) {
        b->failed = true;
        return ST_NOMEM;
    }
    b->data = data;
    b->cap = cap;
    return ST_OK;
}

void
buf_append(struct buf *b, const void *data, size_t n)
{
    if (b->failed || buf_reserve(b, n) != ST_OK) {
        return;
    }
    if (n > 0) {
        memcpy(b->data + b->len, data, n);
    }
    b->len += n;
    b->data[b->len] = '\0';
}

void
buf_puts(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}

void
buf_putc(struct buf *b, char c)
{
    buf_append(b, &c, 1);
}

void
buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n >= 0 && !b->failed && buf_reserve(b, (size_t)n) == ST_OK) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

enum status
buf_status(const struct buf *b)
{
    return b->failed ? ST_NOMEM : ST_OK;
}

char *
buf_detach(struct buf *b, size_t *len)
{
    if (b->failed || buf_reserve(b, 0) != ST_OK) {
        buf_fini(b);
        return NULL;
    }
    char *data = b->data;
    data[b->len] = '\0';
    if (len != NULL) {
        *len = b->len;
    }
    buf_init(b);
    return data;
}
