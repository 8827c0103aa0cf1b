/* SPDX-License-Identifier: Apache-2.0 */
/* What a user may ask about itself: $SYS.REQ.USER.INFO. */
#ifndef SERVER_PROTO_USER_INFO_H
#define SERVER_PROTO_USER_INFO_H

#include <jansson.h>
#include <stdint.h>

#include "server/base/status.h"

struct server;

/* {"user", "account", "permissions", …} of a connection. New reference. ST_NOTFOUND: it is gone.
 * Any thread but a loop. */
enum status user_info_of(struct server *s, uint64_t cid, json_t **out) MUST_CHECK;

#endif
