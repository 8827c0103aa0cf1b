/* SPDX-License-Identifier: Apache-2.0 */
/* The subscriptions of a connection, by the id that the client chose. On its loop. */
#ifndef SERVER_NET_CONN_SUBS_H
#define SERVER_NET_CONN_SUBS_H

#include <stddef.h>

#include "server/base/status.h"
#include "server/net/conn.h"
#include "server/route/sub.h"

/* NULL: none. Borrowed: until it is removed. */
struct sub *conn_subs_find(const struct conn *c, const char *sid, size_t n);
/* The sid must be free, the subject valid. ST_NOMEM, ST_INVAL (a part is too long). */
enum status conn_subs_add(struct conn *c, const struct sub_spec *spec) MUST_CHECK;
void conn_subs_remove(struct conn *c, struct sub *s);
void conn_subs_remove_all(struct conn *c);

/* All of them in no order: the first, and the one behind s. NULL: that was all. Ask for the next
 * one before s is removed. */
struct sub *conn_subs_first(const struct conn *c);
struct sub *conn_subs_next(const struct conn *c, const struct sub *s);

#endif
