/* SPDX-License-Identifier: Apache-2.0 */
/* What a NATS server sends, read one frame at a time from a byte string. Pure: no I/O, no memory
 * of its own; the spans of a frame point into the caller's bytes. */
#ifndef TESTS_BENCH_LOADGEN_WIRE_H
#define TESTS_BENCH_LOADGEN_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct span {
    const char *p; /* borrowed: lives as long as the bytes that were parsed */
    size_t n;
};

enum frame_kind { FRAME_MSG, FRAME_PING, FRAME_PONG, FRAME_OK, FRAME_ERR, FRAME_INFO };

struct frame {
    enum frame_kind kind;
    struct span subject; /* FRAME_MSG */
    struct span reply;   /* FRAME_MSG: empty where there is none */
    struct span hdr;     /* FRAME_MSG: empty for a message without headers */
    struct span data;    /* FRAME_MSG: the payload; FRAME_ERR, FRAME_INFO: the text */
    size_t head;         /* bytes of the line, with its CR LF */
    size_t total;        /* bytes of the whole frame */
};

/* ST_AGAIN: the frame is not whole yet. ST_SYNTAX: this is no NATS server. */
enum status wire_next(const char *p, size_t n, struct frame *f) MUST_CHECK;

/* The value of a header line `name` in a header block, trimmed; n == 0 where there is none. */
struct span wire_header(struct span hdr, const char *name);

/* The number in `NATS/1.0 503`, 0 where the block has no status. */
int wire_hdr_status(struct span hdr);

#endif
