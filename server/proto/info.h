/* SPDX-License-Identifier: Apache-2.0 */
/* The INFO line. The part that all connections share is a snapshot with a reference count, made
 * by the main thread at start, at a reload and for lame-duck mode. */
#ifndef SERVER_PROTO_INFO_H
#define SERVER_PROTO_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "server/base/status.h"

struct conn;
struct info;

struct info_spec {
    const char *server_id, *server_name, *host, *xkey;
    int port;
    bool headers, auth_required, jetstream, lame_duck;
    const char *domain; /* of JetStream; NULL: none */
    int64_t max_payload;
};

enum status info_new(struct info **out, const struct info_spec *spec) MUST_CHECK;
struct info *info_ref(struct info *i);
/* NULL is allowed. */
void info_unref(struct info *i);

/* Queues "INFO {…}" for the connection, from its loop's snapshot. connect_info: the one after the
 * first PONG, which tells the account. */
void info_send(struct conn *c, bool connect_info);

#endif
