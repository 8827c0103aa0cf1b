/* SPDX-License-Identifier: Apache-2.0 */
/* An owned copy of one request: a single block with its texts behind the struct. Owned by the
 * I/O thread that makes it, then by the queue, then by the worker (or whoever it fell out to);
 * nobody shares it. */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include "api/endpoint.h"
#include "api/group_entry.h"
#include "api/host.h"
#include "api/ledger.h"
#include "queue/item.h"
#include "server/base/status.h"

struct api_request {
    struct apiq_item item; /* the queue's while it waits and runs */
    struct ledger_ticket ticket;
    struct group_entry group;      /* the groups' while it is parked */
    struct api *api;               /* borrowed: outlives its requests */
    const struct api_endpoint *ep; /* borrowed: endpoints are constants */
    struct api_origin origin;      /* its texts are in this block */
    const char *subject;           /* owned: in this block, as are all texts below */
    const char *reply;             /* ""  where there is none */
    const char *hdr;               /* NULL: none */
    size_t hdr_len;
    const char *data; /* with a NUL behind it */
    size_t data_len;
    bool was_parked;
    bool watch; /* its reply had interest when it arrived: without any it need not run */
};

/* item is filled but for the settings that dispatch makes (deadline, order key). ST_NOMEM. */
enum status request_new(struct api_request **out, struct api *a, const struct api_endpoint *ep,
                        const struct api_message *m) MUST_CHECK;
void request_free(struct api_request *r);

struct api_request *request_of(struct apiq_item *it);
struct api_request *request_of_entry(struct group_entry *e);

#endif
