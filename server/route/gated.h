/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side of gates (api/gate.h): the subject of a gate in its account, and the delivery
 * of what it lets through. Any thread. */
#ifndef SERVER_ROUTE_GATED_H
#define SERVER_ROUTE_GATED_H

#include "server/base/status.h"

struct gate;
struct gate_request;
struct gate_watch;
struct server;
struct sub;

/* As host->gate_open, gate_close, gate_deliver. */
enum status gated_open(struct gate_watch *w, struct gate *g, const char *subject,
                       struct sub **out) MUST_CHECK;
void gated_close(struct gate_watch *w, struct sub *s);
void gated_deliver(struct server *s, struct gate_request *r);

#endif
