/* SPDX-License-Identifier: Apache-2.0 */
/* The one set of results that a function of ours can fail with. ST_OK is 0. */
#ifndef SERVER_BASE_STATUS_H
#define SERVER_BASE_STATUS_H

#define MUST_CHECK __attribute__((warn_unused_result))

#define STATUS_LIST(X)                                                                             \
    X(ST_OK, "ok")                                                                                 \
    X(ST_NOMEM, "out of memory")                                                                   \
    X(ST_INVAL, "invalid argument")                                                                \
    X(ST_SYNTAX, "syntax error")                                                                   \
    X(ST_NOTFOUND, "not found")                                                                    \
    X(ST_EXISTS, "already exists")                                                                 \
    X(ST_FULL, "full")                                                                             \
    X(ST_AGAIN, "try again")                                                                       \
    X(ST_CLOSED, "closed")                                                                         \
    X(ST_TIMEOUT, "timed out")                                                                     \
    X(ST_EXPIRED, "deadline passed")                                                               \
    X(ST_CANCELLED, "cancelled")                                                                   \
    X(ST_PERM, "not permitted")                                                                    \
    X(ST_LIMIT, "limit reached")                                                                   \
    X(ST_UNSUPPORTED, "not supported yet")                                                         \
    X(ST_IO, "input/output error")                                                                 \
    X(ST_PENDING, "completes later")

#define STATUS_ENUM(name, text) name,
enum status { STATUS_LIST(STATUS_ENUM) ST_COUNT_ };
#undef STATUS_ENUM

/* A static English text, never NULL, also for a value that is no status. */
const char *status_text(enum status st);

#endif
