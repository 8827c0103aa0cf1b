/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_consumer.h"
#include "api/js_req.h"
#include "api/js_stream.h"
#include "stream/consumer.h"

static void
answer(struct js_req *q)
{
    struct consumer *c = js_req_consumer(q, 6);
    if (c != NULL) {
        js_req_answer(q, js_consumer_answer(q, c));
        consumer_unref(c);
    }
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    if (js_req_begin(&q, a, r, out, JS_BODY_EMPTY)) {
        answer(&q);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_consumer_info = {
    .name = "js_consumer_info",
    .subjects = {"$JS.API.CONSUMER.INFO.*.*"},
    .level = APIQ_INFO,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.consumer_info_response",
    .run = run,
    .doc = "Configuration and state of a consumer.",
};
