/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: atomic ones (Nats-Batch-Id …), stored whole or not at all, and fast ones
 * (allow_batched), whose messages are stored as they come and acknowledged with flow control. Under
 * the lock. */
#ifndef STREAM_INGEST_BATCH_H
#define STREAM_INGEST_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/js_error.h"

struct batches;
struct pub;
struct put;
struct stream;

/* True: the message is part of a batch and is dealt with; *e and f are the outcome. */
bool ingest_batch_takes(struct stream *s, struct pub *p, enum js_error *e, struct js_fail *f);
/* Ends those under way: the stream is deleted, or its configuration has them no more. */
void ingest_batches_end(struct stream *s, bool atomic, bool fast);
void ingest_batches_free(struct batches *b); /* NULL is allowed */
/* Ends those whose time is over; when the next one's is (wall ns; INT64_MAX: none). */
int64_t ingest_batches_expire(struct stream *s, int64_t now);

#endif
