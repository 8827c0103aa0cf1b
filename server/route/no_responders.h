/* SPDX-License-Identifier: Apache-2.0 */
/* The status 503 for a request that nobody got. On the requester's loop. */
#ifndef SERVER_ROUTE_NO_RESPONDERS_H
#define SERVER_ROUTE_NO_RESPONDERS_H

struct conn;
struct inbound;

/* Tells the requester, where it asked for that at CONNECT and listens on the reply subject. */
void no_responders(struct conn *c, const struct inbound *in);

#endif
