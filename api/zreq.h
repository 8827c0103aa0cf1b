/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for the monitor's views over $SYS: their JSON options, the filters that say which
 * servers are meant, and the answer {"server", "data", "error"}. On a worker. */
#ifndef API_ZREQ_H
#define API_ZREQ_H

#include <jansson.h>
#include <stdbool.h>

#include "api/endpoint.h"
#include "api/reply.h"
#include "api/request.h"

/* One request. Owned by the worker. */
struct zreq {
    struct api_request *r; /* borrowed: lives until the endpoint returns */
    json_t *options;       /* owned; an object, or NULL: none were sent */
    json_t *server;        /* owned; the "server" object of the answer */
};

/* ST_OK: zreq_answer it, then zreq_fini. Else there is nothing to do but return it, with out set:
 *   ST_NOTFOUND  another server is meant, or nobody hears the answer: nothing is said (ST_OK for
 *                the endpoint: see zreq_skipped)
 *   ST_SYNTAX    the options are malformed, and out says so (ST_OK for the endpoint, too)
 *   ST_NOMEM */
enum status zreq_begin(struct zreq *z, struct api *a, struct api_request *r,
                       struct reply *out) MUST_CHECK;
void zreq_fini(struct zreq *z);

/* What the endpoint returns for a failed zreq_begin. */
enum status zreq_skipped(enum status st) MUST_CHECK;

/* Takes data (the member `name`; NULL: without). error: NULL, or its description with code 500;
 * data is null then where the endpoint has a view. */
enum status zreq_answer(struct zreq *z, struct reply *out, const char *name, json_t *data,
                        const char *error) MUST_CHECK;

/* Asks the monitor for a view with z's options and answers with it as "data". */
enum status zreq_view(struct zreq *z, struct api *a, struct reply *out,
                      const char *view) MUST_CHECK;

/* api_endpoint.run of the endpoints that show their view as it is. */
enum status zreq_run(struct api *a, struct api_request *r, struct reply *out) MUST_CHECK;

/* The same for one account, which is put into the options as `key`: the one named by the subject
 * ($SYS.REQ.ACCOUNT.<name>.…), or for an API_EP_USERS endpoint the sender's own. */
enum status zreq_run_account(struct api *a, struct api_request *r, struct reply *out,
                             const char *key) MUST_CHECK;
/* That account into name (as long as a subject can be: cut at size). */
void zreq_account(const struct api_request *r, char *name, size_t size);

/* Sets a member of the options, which need not exist yet. Takes value. */
enum status zreq_set(struct zreq *z, const char *key, json_t *value) MUST_CHECK;

/* The payload as an object, for the endpoints that say nothing to what they cannot read.
 * ST_SYNTAX: it is none. */
enum status zreq_object(const struct api_request *r, json_t **o) MUST_CHECK;

/* api_endpoint.run of the endpoints that do something to the connection that the member "cid" (0
 * where it is not given) names: act is the host's, words the text for what it returns if that is
 * not ST_OK (static, or status_text). */
enum status zreq_act(struct api *a, struct api_request *r, struct reply *out,
                     enum status (*act)(void *ctx, uint64_t cid),
                     const char *(*words)(enum status st)) MUST_CHECK;

/* api_endpoint.run of the endpoints for the traffic of accounts: as zreq_run_account with the list
 * of accounts as option; says nothing where no account has a connection. */
enum status zreq_run_statz(struct api *a, struct api_request *r, struct reply *out,
                           bool one_account) MUST_CHECK;

#endif
