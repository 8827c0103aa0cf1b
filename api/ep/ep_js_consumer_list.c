/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_consumer.h"
#include "api/js_req.h"

enum { LIMIT = 256 };

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct js_consumer_page page = {.limit = LIMIT, .detail = true};
    if (js_req_begin(&q, a, r, out, JS_BODY_OPTIONAL) &&
        js_req_read(&q, js_consumer_page_fields, "JSApiConsumersRequest", &page)) {
        js_consumer_page_answer(&q, &page);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_consumer_list = {
    .name = "js_consumer_list",
    .subjects = {"$JS.API.CONSUMER.LIST.*"},
    .level = APIQ_INFO,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.consumer_list_response",
    .run = run,
    .doc = "The same with what CONSUMER.INFO tells.",
};
