/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of what a connection is, for views and events. On the connection's loop. */
#ifndef SERVER_NET_SNAPSHOT_H
#define SERVER_NET_SNAPSHOT_H

#include <stdbool.h>

#include "server/base/status.h"
#include "server/inspect.h"

struct conn;

/* The caller ends *out with conn_info_fini. ST_NOMEM: *out holds nothing. */
enum status snapshot_conn(const struct conn *c, bool subs, struct conn_info *out) MUST_CHECK;

/* A copy of a text, or NULL without memory: for the reason of a conn_info. */
char *snapshot_text(const char *s);

#endif
