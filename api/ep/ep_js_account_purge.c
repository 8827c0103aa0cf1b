/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/jobj.h"
#include "api/js_req.h"
#include "api/plane.h"
#include "stream/js_account.h"
#include "stream/stream.h"

static struct js_account *
find(struct js *js, const char *name)
{
    struct js_account *a = NULL;
    while ((a = js_account_next(js, a)) != NULL && strcmp(a->name, name) != 0) {
    }
    return a;
}

static enum status
purge(struct js_account *acc, uint64_t cid)
{
    struct stream **v;
    size_t n;
    enum status st = js_account_streams(acc, &v, &n);
    if (st != ST_OK) {
        return st;
    }
    for (size_t i = 0; i < n; i++) {
        struct js_fail f = {0};
        if (stream_delete(v[i], cid, &f) != JS_OK) {
            continue; /* somebody else deletes it */
        }
    }
    js_streams_free(v, n);
    return ST_OK;
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    char name[JS_REQ_NAME];
    struct js_req q = {.a = a, .r = r, .out = out, .type = r->ep->type};
    q.js = a->host->jetstream(a->host->ctx);
    struct js_account *acc =
        q.js != NULL ? find(q.js, js_req_token(&q, 5, name, sizeof(name))) : NULL;
    uint64_t ticket = q.js != NULL ? js_ticket(q.js) : 0;
    if (acc == NULL) {
        js_req_fail(&q, JS_ERR_NOT_ENABLED_FOR_ACCOUNT);
    } else if (purge(acc, r->origin.cid) != ST_OK) {
        js_req_nomem(&q);
    } else {
        json_t *o = js_req_object(&q);
        jobj_bool(&o, "initiated", true);
        js_req_answer_committed(&q, ticket, false, o);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_account_purge = {
    .name = "js_account_purge",
    .subjects = {"$JS.API.ACCOUNT.PURGE.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_JS | API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.nats.jetstream.api.v1.account_purge_response",
    .run = run,
    .doc = "Deletes all streams of an account.",
};
