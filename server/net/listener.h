/* SPDX-License-Identifier: Apache-2.0 */
/* The client port: accepts on the main thread and hands each connection to a loop in turn. */
#ifndef SERVER_NET_LISTENER_H
#define SERVER_NET_LISTENER_H

#include "server/base/status.h"

struct event_base;
struct listener;
struct server;

/* Binds and listens; accepts once base runs. port -1: any free one; *bound is the real one.
 * ST_IO: errno says why. ST_INVAL: host is no address of this machine. */
enum status listener_new(struct listener **out, struct server *s, struct event_base *base,
                         const char *host, int port, int *bound) MUST_CHECK;
/* Closes the port. NULL is allowed. */
void listener_free(struct listener *l);

#endif
