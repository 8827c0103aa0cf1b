/* SPDX-License-Identifier: Apache-2.0 */
/* Reading from and writing to the socket of a connection. On its loop. */
#ifndef SERVER_NET_CONN_IO_H
#define SERVER_NET_CONN_IO_H

#include <stdbool.h>

struct conn;

/* Assigns the events and begins to read. */
void conn_io_init(struct conn *c);
/* One attempt to write everything that waits, without arming or closing anything. False: the
 * socket is broken. */
bool conn_io_write(struct conn *c);

#endif
