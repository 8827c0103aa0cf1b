/* SPDX-License-Identifier: Apache-2.0 */
/* Between deliveries and the JetStream engine: what arrives for a service of it, on the I/O loop
 * that read it, and what it sends. */
#ifndef SERVER_ROUTE_DELIVER_JS_H
#define SERVER_ROUTE_DELIVER_JS_H

#include <stdbool.h>
#include <stddef.h>

struct inbound;
struct js_out;
struct list_node;
struct loop;
struct sub_service;

/* Hands the message to the service. False: it did not take it. On the loop. */
bool deliver_js_receive(const struct inbound *in, const struct sub_service *service);

/* Sends by way of the loop; takes o. Any thread. */
void deliver_js_send(struct loop *l, struct js_out *o);
/* The same for a list of js_out.node, by way of the loops that they name; empty after it. */
void deliver_js_send_list(struct loop *const *loops, unsigned n_loops, struct list_node *list);

#endif
