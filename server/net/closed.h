/* SPDX-License-Identifier: Apache-2.0 */
/* Why connections end, and the ring of the last ones that did (for /connz?state=closed). The ring
 * is owned by its loop. */
#ifndef SERVER_NET_CLOSED_H
#define SERVER_NET_CLOSED_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

#define CLOSE_REASONS(X)                                                                           \
    X(CLOSE_CLIENT, "Client Closed")                                                               \
    X(CLOSE_AUTH_TIMEOUT, "Authentication Timeout")                                                \
    X(CLOSE_AUTH, "Authentication Failure")                                                        \
    X(CLOSE_SLOW_PENDING, "Slow Consumer (Pending Bytes)")                                         \
    X(CLOSE_SLOW_DEADLINE, "Slow Consumer (Write Deadline)")                                       \
    X(CLOSE_WRITE, "Write Error")                                                                  \
    X(CLOSE_READ, "Read Error")                                                                    \
    X(CLOSE_PARSE, "Parse Error")                                                                  \
    X(CLOSE_STALE, "Stale Connection")                                                             \
    X(CLOSE_PROTOCOL, "Protocol Violation")                                                        \
    X(CLOSE_BAD_PROTO, "Bad Client Protocol Version")                                              \
    X(CLOSE_MAX_CONNS, "Maximum Connections Exceeded")                                             \
    X(CLOSE_MAX_ACCOUNT_CONNS, "Maximum Account Connections Exceeded")                             \
    X(CLOSE_MAX_PAYLOAD, "Maximum Message Payload Exceeded")                                       \
    X(CLOSE_MAX_LINE, "Maximum Control Line Exceeded")                                             \
    X(CLOSE_MAX_SUBS, "Maximum Subscriptions Exceeded")                                            \
    X(CLOSE_SHUTDOWN, "Server Shutdown")                                                           \
    X(CLOSE_MISSING_ACCOUNT, "Missing Account")                                                    \
    X(CLOSE_HEADERS, "Message Header Violation")                                                   \
    X(CLOSE_NO_RESPONDERS, "No Responders Requires Headers")                                       \
    X(CLOSE_KICKED, "Kicked")                                                                      \
    X(CLOSE_NOMEM, "Out Of Memory")

#define CLOSE_ENUM(name, text) name,
enum close_reason { CLOSE_REASONS(CLOSE_ENUM) };
#undef CLOSE_ENUM

/* As nats-server words it; never NULL. */
const char *close_reason_text(enum close_reason reason);

struct closed_ring;
struct conn_info;

enum status closed_ring_new(struct closed_ring **out, size_t cap) MUST_CHECK;
void closed_ring_free(struct closed_ring *r);
/* Takes what info owns (info itself is copied). Past cap the oldest goes. */
void closed_ring_push(struct closed_ring *r, struct conn_info *info);
size_t closed_ring_count(const struct closed_ring *r);
/* i counts from the oldest. */
const struct conn_info *closed_ring_at(const struct closed_ring *r, size_t i);

#endif
