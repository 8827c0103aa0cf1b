/* SPDX-License-Identifier: Apache-2.0 */
/* What signals do, as in nats-server: INT, TERM, QUIT stop; HUP reloads; USR1 reopens the log; USR2
 * enters lame-duck mode. Carried out by the main thread, by way of its event base. */
#ifndef SERVER_SIGNALS_H
#define SERVER_SIGNALS_H

#include "server/base/status.h"

struct server;

/* From here on no thread takes them: they wait for the base. Before any thread is started, all of
 * which have it from the main one. ST_IO, with errno. */
enum status signals_begin(struct server *s) MUST_CHECK;
/* As it was before. Where signals_begin has failed it does nothing. */
void signals_end(struct server *s);

#endif
