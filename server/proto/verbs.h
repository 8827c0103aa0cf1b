/* SPDX-License-Identifier: Apache-2.0 */
/* What each operation of a client does. On the connection's loop. Any of these may close it. */
#ifndef SERVER_PROTO_VERBS_H
#define SERVER_PROTO_VERBS_H

#include <stdbool.h>
#include <stddef.h>

#include "server/proto/parser.h"

struct block;
struct conn;

/* Before CONNECT, where authentication is required, anything else is a violation unless a
 * no_auth_user is configured. False: the connection has been closed. */
bool verbs_may_begin(struct conn *c, char first);

/* backing: the block that op's payload lies in, or NULL. */
void verbs_run(struct conn *c, const struct op *op, struct block *backing);

/* Answers a parser's error as nats-server does and closes. */
void verbs_parse_error(struct conn *c, enum parse_result r, const struct op *op, const char *buf,
                       size_t len);

/* A log line about something a client was not allowed; at most a few of them a second. */
void verbs_log_violation(struct conn *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void verbs_auth_timeout(struct conn *c);
void verbs_auth_violation(struct conn *c);

/* One verb each. */
void verb_connect(struct conn *c, const struct op *op);
void verb_ping(struct conn *c);
void verb_pong(struct conn *c);
void verb_pub(struct conn *c, const struct op *op, struct block *backing);
void verb_sub(struct conn *c, const struct op *op);
void verb_unsub(struct conn *c, const struct op *op);

#endif
