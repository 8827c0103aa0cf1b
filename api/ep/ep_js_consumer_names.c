/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_consumer.h"
#include "api/js_req.h"

enum { LIMIT = 1024 };

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct js_consumer_page page = {.limit = LIMIT, .detail = false};
    if (js_req_begin(&q, a, r, out, JS_BODY_OPTIONAL) &&
        js_req_read(&q, js_consumer_page_fields, "JSApiConsumersRequest", &page)) {
        js_consumer_page_answer(&q, &page);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_consumer_names = {
    .name = "js_consumer_names",
    .subjects = {"$JS.API.CONSUMER.NAMES.*"},
    .level = APIQ_INFO,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.consumer_names_response",
    .run = run,
    .doc = "Names of the consumers of a stream, by pages.",
};
