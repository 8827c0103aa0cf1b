/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_req.h"
#include "stream/stream.h"

static void delete (struct js_req *q)
{
    struct stream *s = js_req_stream(q, 5);
    if (s == NULL) {
        return;
    }
    uint64_t ticket = js_ticket(q->js);
    enum js_error e = stream_delete(s, q->r->origin.cid, &q->fail);
    js_req_changed(q, e, ticket, stream_is_memory(s));
    stream_unref(s);
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

const struct api_endpoint ep_js_stream_delete = {
    .name = "js_stream_delete",
    .subjects = {"$JS.API.STREAM.DELETE.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.stream_delete_response",
    .run = run,
    .doc = "Deletes a stream with its consumers.",
};
