/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of a connection that has ended, until the peer has what was still to be sent, an error
 * text most often: at most for write_deadline and 2 seconds. On the loop. */
#ifndef SERVER_NET_LINGER_H
#define SERVER_NET_LINGER_H

struct loop;
struct outbuf;

/* Takes fd, and the content of out (which is empty after it). Closes fd at once where nothing
 * waits, the peer has gone or there is no memory. */
void linger_begin(struct loop *l, int fd, struct outbuf *out);

#endif
