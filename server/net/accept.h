/* SPDX-License-Identifier: Apache-2.0 */
/* A new connection on its way from the listener to its loop. */
#ifndef SERVER_NET_ACCEPT_H
#define SERVER_NET_ACCEPT_H

struct server;

/* Takes fd. Main thread. */
void accept_client(struct server *s, int fd);

#endif
