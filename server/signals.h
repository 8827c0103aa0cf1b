/* SPDX-License-Identifier: Apache-2.0 */
/* What signals do, as in nats-server: INT, TERM, QUIT stop; HUP reloads; USR1 reopens the log; USR2
 * enters lame-duck mode. Main thread, by way of its event base. */
#ifndef SERVER_SIGNALS_H
#define SERVER_SIGNALS_H

struct server;

void signals_begin(struct server *s);
void signals_end(struct server *s);

#endif
