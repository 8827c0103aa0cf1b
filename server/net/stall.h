/* SPDX-License-Identifier: Apache-2.0 */
/* Fast producers: a connection that publishes to a receiver with much waiting is not read for a
 * moment, so that the receiver can catch up before it counts as slow. As in nats-server the wait
 * is short (10 ms at most for what one read brought), so a stuck receiver cannot stop producers;
 * only where a whole loop is behind (its mailbox is full) does the wait last until it is not. */
#ifndef SERVER_NET_STALL_H
#define SERVER_NET_STALL_H

#include <event2/util.h>
#include <stdint.h>

struct conn;
struct loop;
struct peer;

/* Called after a delivery from c to the connection of p (any loop), for which so many bytes wait.
 */
void stall_note(struct conn *c, struct peer *p, int64_t pending);
/* At the end of what one read brought: stops reading if a receiver was noted. */
void stall_apply(struct conn *c);
/* Lets those read again whose receiver has caught up or whose time is over. */
void stall_check(struct loop *l);
void stall_on_timer(evutil_socket_t fd, short what, void *loop);
/* Before c is freed. */
void stall_forget(struct conn *c);

#endif
