/* SPDX-License-Identifier: Apache-2.0 */
/* A consumer in the copy of a stream, as nats-server 2.15 has it: {"config", "state"}, and beside
 * them what only we know, which nats-server passes over. */
#ifndef STREAM_CONSUMER_COPY_H
#define STREAM_CONSUMER_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include "server/base/buf.h"
#include "server/base/status.h"

struct consumer;
struct stream;

/* False: it is not part of a copy (of the reader of one client, or gone with a restart). */
bool consumer_is_copied(const struct consumer *c);
/* Appends its text. Under the stream's lock. */
void consumer_copy_out(const struct consumer *c, struct buf *out);
/* Makes the consumer of such a text, or of a record of ours. ST_INVAL. */
enum status consumer_copy_in(struct stream *s, const char *name, const char *text,
                             size_t len) MUST_CHECK;

#endif
