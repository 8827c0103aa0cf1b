/* SPDX-License-Identifier: Apache-2.0 */
/* Writing one message into the out-buffer of one subscriber. On the subscriber's loop. */
#ifndef SERVER_ROUTE_SEND_H
#define SERVER_ROUTE_SEND_H

#include <stdbool.h>

struct inbound;
struct sub;

/* False: the subscription does not take it (gone, no echo, denied, its maximum reached). May end
 * the subscription (auto-unsubscribe) or close the connection (slow consumer). */
bool send_to_sub(struct inbound *in, struct sub *s);

#endif
