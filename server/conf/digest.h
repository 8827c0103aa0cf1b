/* SPDX-License-Identifier: Apache-2.0 */
/* The digest of a configuration that nats-server prints with -t and shows in /varz: "sha256:" and
 * the hash of the tree as Go's JSON encoder writes it, keys in order. The same file has the same
 * digest in both servers. */
#ifndef SERVER_CONF_DIGEST_H
#define SERVER_CONF_DIGEST_H

#include "server/base/status.h"
#include "server/conf/tree.h"

#define CONF_DIGEST_LEN 72

/* ST_NOMEM; ST_LIMIT: variables make the tree too big or too deep to write down. */
enum status conf_digest(const struct conf_map *m, char out[CONF_DIGEST_LEN]) MUST_CHECK;

#endif
