/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the store: synchronous, any thread, sees what the database has. */
#ifndef STREAM_STORE_READ_H
#define STREAM_STORE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "stream/msg.h"
#include "stream/store.h"

/* What is committed may be in the journal alone for some 20 ms, where no read sees it: whoever is
 * told of a commit keeps it in memory until store_is_drained says so of the mark taken then. */
uint64_t store_mark(const struct store *s);
bool store_is_drained(const struct store *s, uint64_t mark);

/* Messages of rows lo … hi in their order (desc: the other way), at most n of them and about
 * max_bytes, each with one reference. seq = offset of the row + base. subject(ctx, id) gives the
 * text of a subject's number. */
struct store_range {
    uint64_t lo, hi, base;
    size_t n, max_bytes;
    bool desc;
    const char *(*subject)(void *ctx, uint32_t id, size_t *len);
    void *ctx;
};
enum status store_read(struct store *s, const struct store_range *r, struct msg **out,
                       size_t *n) MUST_CHECK;

/* The heads of rows lo … hi: no payload is read. fn returns false to stop. */
struct store_head {
    uint64_t row;
    int64_t ts;
    uint32_t subject_id, size, flags; /* size: of header block and payload */
    uint32_t hdr_len;
};
enum status store_scan(struct store *s, uint64_t lo, uint64_t hi,
                       bool (*fn)(void *arg, const struct store_head *h), void *arg) MUST_CHECK;
/* Records, for a start. fn returns false to stop (without memory, say). */
struct store_record {
    uint64_t stream, id; /* id: a subject's number, an index chunk's row, a log's base */
    const char *name;    /* borrowed for the call */
    size_t name_len;
    const void *data;
    size_t data_len;
};
typedef bool store_record_fn(void *arg, const struct store_record *r);
enum status store_streams(struct store *s, store_record_fn *fn, void *arg) MUST_CHECK;
enum status store_log(struct store *s, uint64_t stream, store_record_fn *fn, void *arg) MUST_CHECK;
enum status store_consumers(struct store *s, uint64_t stream, store_record_fn *fn,
                            void *arg) MUST_CHECK;
enum status store_subjects(struct store *s, uint64_t stream, store_record_fn *fn,
                           void *arg) MUST_CHECK;
enum status store_chunks(struct store *s, uint64_t lo, uint64_t hi, store_record_fn *fn,
                         void *arg) MUST_CHECK;

#endif
