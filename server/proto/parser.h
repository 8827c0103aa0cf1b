/* SPDX-License-Identifier: Apache-2.0 */
/* The client protocol's grammar: bytes in, one operation out. Pure: no I/O, no memory of its own,
 * no state but two limits, so the same bytes give the same operations however they are split.
 * Any thread. Behaviour as nats-server 2.15's parser: verbs in any case, blanks and tabs between
 * arguments, lines that end in LF or CRLF. */
#ifndef SERVER_PROTO_PARSER_H
#define SERVER_PROTO_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parser {
    int64_t max_control_line; /* of the arguments, bytes */
    int64_t max_payload;      /* header and payload together; < 0: none */
    bool headers;             /* HPUB is allowed */
};

enum op_kind {
    OP_CONNECT,
    OP_PING,
    OP_PONG,
    OP_PUB,
    OP_HPUB,
    OP_SUB,
    OP_UNSUB,
    OP_INFO, /* sent by a confused peer; without effect */
    OP_PLUS_OK,
    OP_MINUS_ERR,
};

/* Byte ranges point into the parsed bytes. */
struct op {
    enum op_kind kind;
    const char *arg; /* the line without verb, blanks around it and line end */
    size_t arg_len;
    const char *subject; /* PUB, HPUB, SUB */
    size_t subject_len;
    const char *reply; /* PUB, HPUB: NULL where there is none; SUB: the queue */
    size_t reply_len;
    const char *sid; /* SUB, UNSUB */
    size_t sid_len;
    int64_t max;      /* UNSUB: the number of messages; -1: none or not a number */
    const char *data; /* PUB, HPUB: header block and payload in one */
    size_t size;
    size_t hdr_len; /* HPUB: of that, the header block */
};

enum parse_result {
    PARSE_OP,   /* *op is set, *used bytes belong to it */
    PARSE_MORE, /* the operation is not whole; *used is the length that it will have as far as that
                   is known (0: the line has not ended) */
    PARSE_CUT,  /* as PARSE_MORE, and all behind the first *used bytes means nothing: they may go */
    PARSE_ERR_UNKNOWN,      /* no such operation, or bytes behind a payload that are not CRLF */
    PARSE_ERR_ARGS,         /* the arguments of a known verb are wrong; op->arg has them */
    PARSE_ERR_CONTROL_LINE, /* a line longer than max_control_line */
    PARSE_ERR_PAYLOAD,      /* larger than max_payload; op->size has the size */
    PARSE_ERR_HEADERS,      /* HPUB without header support */
};

/* Parses the operation that begins at buf. Errors show as soon as the bytes cannot become an
 * operation any more. */
enum parse_result parser_next(const struct parser *p, const char *buf, size_t len, size_t *used,
                              struct op *op);

/* Upper-case name for traces, e.g. "PUB". */
const char *op_name(enum op_kind kind);

#endif
