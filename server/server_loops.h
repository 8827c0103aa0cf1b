/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of the server, for code that runs on one of them. Constant while loops run. */
#ifndef SERVER_SERVER_LOOPS_H
#define SERVER_SERVER_LOOPS_H

#include <stdint.h>

struct hasher;
struct loop;
struct server;

uint32_t server_n_loops(const struct server *s);
/* i < server_n_loops. */
struct loop *server_loop(const struct server *s, uint32_t i);

struct hasher *server_hasher(const struct server *s);

/* Adds to the number of open client connections (accepted and not yet closed); returns the new
 * number. */
int64_t server_count_conns(struct server *s, int64_t by);

/* A message that found no memory before it reached a loop. Any thread. */
void server_count_dropped(struct server *s);

#endif
