/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_req.h"
#include "stream/stream.h"

struct ask {
    uint64_t seq;
    bool no_erase;
};

static const struct jfield fields[] = {
    {.key = "seq", .kind = JF_UINT, .off = offsetof(struct ask, seq)},
    {.key = "no_erase", .kind = JF_BOOL, .off = offsetof(struct ask, no_erase)},
    {0}};

static void delete (struct js_req *q, const struct ask *ask)
{
    struct stream *s = js_req_stream(q, 6);
    if (s == NULL) {
        return;
    }
    uint64_t ticket = js_ticket(q->js);
    enum js_error e = stream_msg_delete(s, ask->seq, ask->no_erase, &q->fail);
    js_req_changed(q, e, ticket, stream_is_memory(s));
    stream_unref(s);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct ask ask = {0};
    if (js_req_begin(&q, a, r, out, JS_BODY_REQUIRED) &&
        js_req_read(&q, fields, "JSApiMsgDeleteRequest", &ask)) {
        delete (&q, &ask);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_msg_delete = {
    .name = "js_msg_delete",
    .subjects = {"$JS.API.STREAM.MSG.DELETE.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 6,
    .type = "io.nats.jetstream.api.v1.stream_msg_delete_response",
    .run = run,
    .doc = "Removes one message.",
};
