/* SPDX-License-Identifier: Apache-2.0 */
/* What waits to be written to one connection: a list of pieces, small ones copied together into
 * chunks from the loop's pool, large ones by reference. An empty one holds no memory. Owned by
 * the connection's loop. */
#ifndef SERVER_NET_OUTBUF_H
#define SERVER_NET_OUTBUF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "server/base/status.h"
#include "server/net/block.h"

enum { OUTBUF_CHUNK = 16 * 1024 };

struct outseg;

/* Free chunks of one loop; at most `keep` are kept. */
struct outpool {
    struct outseg *free; /* owned list */
    uint32_t n, keep;
};
void outpool_init(struct outpool *p, uint32_t keep);
void outpool_fini(struct outpool *p);

struct outbuf {
    struct outseg *head; /* owned list */
    struct outseg *tail; /* borrowed: the last of it */
    int64_t pending;     /* bytes in it */
};

/* n contiguous bytes (n <= OUTBUF_CHUNK) at the end, to be written by the caller and then made
 * part of it by outbuf_commit with what was used. NULL: no memory. */
char *outbuf_reserve(struct outbuf *o, struct outpool *p, size_t n) MUST_CHECK;
void outbuf_commit(struct outbuf *o, size_t n);

enum status outbuf_append(struct outbuf *o, struct outpool *p, const void *data,
                          size_t n) MUST_CHECK;
/* Appends bytes inside the block by reference. */
enum status outbuf_append_block(struct outbuf *o, struct outpool *p, struct block *b,
                                const char *data, size_t n) MUST_CHECK;

/* Fills at most max entries; returns how many. */
int outbuf_iov(const struct outbuf *o, struct iovec *iov, int max);
/* The first n bytes have been written. */
void outbuf_consume(struct outbuf *o, struct outpool *p, size_t n);
void outbuf_clear(struct outbuf *o, struct outpool *p);

#endif
