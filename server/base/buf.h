/* SPDX-License-Identifier: Apache-2.0 */
/* A growable byte string. Owned by one thread. A failed append leaves what was there and sets
 * `failed`, so that a series of appends needs one check at its end. */
#ifndef SERVER_BASE_BUF_H
#define SERVER_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/base/status.h"

struct buf {
    char *data; /* owned; NUL behind len once anything was appended, else NULL */
    size_t len;
    size_t cap;
    bool failed;
};

void buf_init(struct buf *b);
void buf_fini(struct buf *b);

/* Forgets the content, keeps the memory, clears `failed`. */
void buf_reset(struct buf *b);

enum status buf_reserve(struct buf *b, size_t extra) MUST_CHECK;
void buf_append(struct buf *b, const void *data, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* ST_NOMEM if any append since buf_init or buf_reset failed. */
enum status buf_status(const struct buf *b) MUST_CHECK;

/* Gives the bytes away: the caller frees them with mem_free; b is as after buf_init.
 * NULL if an append failed. An empty buffer gives "". */
char *buf_detach(struct buf *b, size_t *len) MUST_CHECK;

#endif
