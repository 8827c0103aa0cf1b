/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a connection that has been closed: for the loop, at the end of its turn. */
#ifndef SERVER_NET_CONN_FREE_H
#define SERVER_NET_CONN_FREE_H

struct conn;

void conn_free(struct conn *c);

#endif
