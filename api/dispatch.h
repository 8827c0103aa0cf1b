/* SPDX-License-Identifier: Apache-2.0 */
/* A message becomes a request, waits in the queue, runs on a worker, and is answered; or it ends
 * in one of the other ways of api/ledger.h, and is answered too. */
#ifndef API_DISPATCH_H
#define API_DISPATCH_H

#include <stdbool.h>

#include "api/api.h"
#include "api/ledger.h"
#include "queue/pool.h"

struct api_request;
struct reply;

/* As api_receive. */
void dispatch_receive(struct api *a, const struct api_endpoint *ep, const struct api_message *m);

/* Ends requests that fell out of the queue, all in the same way; the list is empty after it.
 * Returns how many. Any thread that may publish. */
size_t dispatch_fallen(struct api *a, struct list_node *fallen, enum ledger_end why);

/* After a permit may have come free: lets in what is parked. levels: bits 1u << level, of those
 * that something has left. Not within a callback of api/group_entry.h. */
void dispatch_pump(struct api *a, unsigned levels);
#define DISPATCH_ALL_LEVELS ((1U << APIQ_LEVELS) - 1)

/* For an endpoint that returns ST_PENDING: call defer before another thread can see the request,
 * then complete from there, once. st: as api_endpoint.run returns it. out stays the caller's. */
void dispatch_defer(struct api_request *r);
void dispatch_complete(struct api_request *r, enum status st, struct reply *out);

/* The callbacks of the pool that runs this plane. */
struct pool_ops dispatch_pool_ops(struct api *a);

/* For a plane made with no workers: pulls one item and does what a worker does.
 * False: there is nothing to pull now. */
bool dispatch_step(struct api *a, enum apiq_lane lane);

#endif
