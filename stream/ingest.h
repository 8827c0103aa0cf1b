/* SPDX-License-Identifier: Apache-2.0 */
/* The path of a publish into a stream: checks, sequence, store; the PubAck after the commit.
 *
 * Order of the checks, as nats-server has it: sealed → subject transform → batch headers → expected
 * stream, dedupe by Nats-Msg-Id, expected last sequence (of subject), last msg id → counter → TTL,
 * rollup, schedule → size, limits → append. Errors go to the reply subject as PubAck errors. */
#ifndef STREAM_INGEST_H
#define STREAM_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "stream/js_host.h"

struct msg;
struct stream;

/* The service of a stream's subjects; arg is the stream. I/O threads. */
void ingest_receive(void *stream, const struct js_in *in);

/* A message from inside: a source, a schedule, a delete marker, a mirror. No stream's lock is held.
 */
struct ingest_inner {
    const char *subject;
    const char *hdr;
    size_t hdr_len;
    const char *data;
    size_t data_len;
    uint64_t seq; /* mirror: it gets just this sequence; 0: the next */
    int64_t ts;   /* 0: now */
};
enum status ingest_inner(struct stream *s, const struct ingest_inner *in) MUST_CHECK;

/* Enforces the limits of the configuration at a start, after an append or an update; nothing goes
 * where what is new is refused. Under the lock. */
void ingest_enforce_limits(struct stream *s);

#endif
