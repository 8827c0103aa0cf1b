/* SPDX-License-Identifier: Apache-2.0 */
/* allow_responses: the reply subjects that a connection received and may therefore publish to,
 * for a number of messages and a time. On the connection's loop. */
#ifndef SERVER_ROUTE_REPLIES_H
#define SERVER_ROUTE_REPLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct perms;
struct reply_perms;

/* p is borrowed for the call. */
enum status replies_new(struct reply_perms **out, const struct perms *p) MUST_CHECK;
/* NULL is allowed. */
void replies_free(struct reply_perms *r);

/* A message with this reply subject was delivered. At most 4,096 are kept: past that, those that
 * are used up or too old go, then the oldest. Without memory the reply is not allowed. */
void replies_note(struct reply_perms *r, const char *reply, size_t n, int64_t now);

/* Uses one of the allowed messages, if there is one. */
bool replies_allow(struct reply_perms *r, const char *subject, size_t n, int64_t now);

#endif
