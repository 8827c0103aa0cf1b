/* SPDX-License-Identifier: Apache-2.0 */
/* Trace lines (-V) in nats-server's form. Ask log_enabled(LVL_TRACE) first. On the loop. */
#ifndef SERVER_PROTO_TRACE_H
#define SERVER_PROTO_TRACE_H

#include <stddef.h>

#include "server/proto/parser.h"

struct conn;

/* "<<- [PUB foo 5]", and the payload; secrets of CONNECT are left out. */
void trace_in(const struct conn *c, const struct op *op);
/* "->> [line]", and the payload: what a subscriber gets. line without its CRLF. */
void trace_out(const struct conn *c, const char *line, size_t n, const char *data, size_t size);

#endif
