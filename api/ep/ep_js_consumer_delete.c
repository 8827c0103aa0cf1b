/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_req.h"
#include "stream/consumer.h"

static void delete (struct js_req *q)
{
    struct consumer *c = js_req_consumer(q, 6);
    if (c == NULL) {
        return;
    }
    uint64_t ticket = js_ticket(q->js);
    enum js_error e = consumer_delete(c, q->r->origin.cid, &q->fail);
    js_req_changed(q, e, ticket, consumer_is_memory(c));
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
