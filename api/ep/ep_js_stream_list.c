/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"
#include "api/js_req.h"
#include "api/js_stream.h"
#include "server/base/mem.h"

enum { LIMIT = 256 };

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct js_stream_page page = {.limit = LIMIT, .detail = true};
    if (js_req_begin(&q, a, r, out, JS_BODY_OPTIONAL) &&
        js_req_read(&q, js_stream_page_fields, "JSApiStreamListRequest", &page)) {
        js_req_answer(&q, js_stream_page_answer(&q, &page));
    }
    mem_free(page.subject);
    return js_req_end(&q);
}

const struct api_endpoint ep_js_stream_list = {
    .name = "js_stream_list",
    .subjects = {"$JS.API.STREAM.LIST"},
    .level = APIQ_INFO,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .type = "io.nats.jetstream.api.v1.stream_list_response",
    .run = run,
    .doc = "The same with what STREAM.INFO tells.",
};
