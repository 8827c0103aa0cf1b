/* SPDX-License-Identifier: Apache-2.0 */
/* One thing that the API plane can do. Each is one const struct in a file of its own under
 * api/ep/, listed in api/endpoints.c; subscriptions, levels and documentation come from there. */
#ifndef API_ENDPOINT_H
#define API_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "queue/item.h"
#include "server/base/status.h"

struct api;
struct api_request;
struct reply;

#define API_EP_SUBJECTS 3

enum api_ep_flags {
    API_EP_SYSTEM = 1 << 0,    /* served in the system account only */
    API_EP_USERS = 1 << 1,     /* served in every account but the system's */
    API_EP_LIFT = 1 << 2,      /* on the operator level where the system account asks */
    API_EP_NO_REPLY = 1 << 3,  /* has an effect worth its run where nobody asked for an answer */
    API_EP_JS = 1 << 5,        /* served where JetStream is on */
    API_EP_TEST_ONLY = 1 << 4, /* not in a release: left out of the documentation */
};

/* Constant; the texts are static. */
struct api_endpoint {
    const char *name;
    /* Ends with NULL unless full. "{id}" stands for the id of this server. */
    const char *subjects[API_EP_SUBJECTS];
    enum apiq_level level;
    unsigned flags;
    /* Where not 0: requests of one connection that agree in this token of their subject (counted
     * from 1, the stream's name) run one after the other in the order of their arrival. */
    unsigned order_token;
    const char *type; /* "type" of its answers and refusals; NULL: they have none */
    const char *view; /* the monitor's view that it shows (api/zreq.h), or NULL */
    const char *go;   /* nats-server's name for its options, in error texts, or NULL */
    /* On a worker. Fills `out`, which is published when it has returned.
     *   ST_OK       answered (or out->none: nothing is to be said)
     *   ST_PENDING  another thread ends it (api/dispatch.h); out is not looked at
     *   other       it failed: an error says so, unless out has a body already */
    enum status (*run)(struct api *a, struct api_request *r, struct reply *out);
    const char *doc; /* one sentence */
};

/* The order key of a request (queue/item.h): 0 where the endpoint has no order_token, or the
 * subject no such token, or where no connection sent it (cid 0). */
uint64_t endpoint_order_key(const struct api_endpoint *ep, uint64_t account_key, uint64_t cid,
                            const char *subject);

#endif
