/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"
#include "api/js_req.h"
#include "stream/consumer.h"

static void delete (struct js_req *q)
{
    struct consumer *c = js_req_consumer(q, 6);
    if (c == NULL) {
        return;
    }
    uint64_t ticket = js_ticket(q->js);
    if (consumer_delete(c, q->r->origin.cid, &q->fail) != JS_OK) {
        q->failed = true;
    } else {
        json_t *o = js_req_object(q);
        jobj_bool(&o, "success", true);
        js_req_answer_committed(q, ticket, consumer_is_memory(c), o);
    }
    consumer_unref(c);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    if (js_req_begin(&q, a, r, out, JS_BODY_EMPTY)) {
        delete (&q);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_consumer_delete = {
    .name = "js_consumer_delete",
    .subjects = {"$JS.API.CONSUMER.DELETE.*.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.consumer_delete_response",
    .run = run,
    .doc = "Deletes a consumer.",
};
