/* SPDX-License-Identifier: Apache-2.0 */
/* The one timer of a connection: first the authentication time-out, then pings. On its loop. */
#ifndef SERVER_NET_CONN_TIMER_H
#define SERVER_NET_CONN_TIMER_H

#include "server/net/conn.h"

/* Replaces what runs. */
void conn_timer_start(struct conn *c, enum conn_timer what);

#endif
