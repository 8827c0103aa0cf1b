/* SPDX-License-Identifier: Apache-2.0 */
/* Trace lines (-V) in nats-server's form. Ask log_enabled(LVL_TRACE) first. On the loop. */
#ifndef SERVER_PROTO_TRACE_H
#define SERVER_PROTO_TRACE_H

#include <stddef.h>

#include "server/proto/parser.h"

struct conn;

/* What one subscriber sees of a message: header block and payload in one. */
struct message_view {
    const char *data; /* borrowed: for the call */
    size_t size;
    size_t hdr_len;
};

/* "<<- [PUB foo 5]", and the payload (with trace_headers the header block in its place); secrets of
 * CONNECT are left out. */
void trace_in(const struct conn *c, const struct op *op);
/* "->> [line]", and the payload: what a subscriber gets. line without its CRLF. */
void trace_out(const struct conn *c, const char *line, size_t n, const struct message_view *v);

#endif
