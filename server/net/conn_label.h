/* SPDX-License-Identifier: Apache-2.0 */
/* How the log names a connection, in nats-server's form: its address and id, and once it has logged
 * in the client's own words about itself and who it is:
 *   127.0.0.1:41126 - cid:5 - "v1.2:c:name" - "ACCOUNT/user:name"
 * Owning loop. */
#ifndef SERVER_NET_CONN_LABEL_H
#define SERVER_NET_CONN_LABEL_H

#include <stddef.h>

struct conn;

enum { CONN_LABEL_LEN = 512 };

/* What does not fit is cut; control characters of names are escaped. */
void conn_label(const struct conn *c, char out[CONN_LABEL_LEN]);

#endif
