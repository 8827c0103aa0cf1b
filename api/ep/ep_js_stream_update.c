/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/js_req.h"
#include "api/js_stream.h"
#include "stream/stream.h"

static void
update(struct js_req *q)
{
    char name[JS_REQ_NAME];
    struct stream_config *cfg;
    struct stream_request rq = {.cid = q->r->origin.cid};
    struct stream *s;
    if (!js_stream_config(q, &cfg, &rq.pedantic)) {
        return;
    }
    js_req_token(q, 5, name, sizeof(name));
    if (stream_check_request(q->acc, cfg, rq.pedantic, &q->fail) != JS_OK) {
        stream_config_free(cfg);
        q->failed = true;
        return;
    }
    if (cfg->name != NULL && strcmp(name, cfg->name) != 0) {
        stream_config_free(cfg);
        js_req_fail(q, JS_ERR_STREAM_MISMATCH);
        return;
    }
    uint64_t ticket = js_ticket(q->js);
    if (stream_update(q->acc, cfg, &rq, &s, &q->fail) != JS_OK) {
        q->failed = true;
        return;
    }
    js_req_answer_committed(q, ticket, stream_is_memory(s), js_stream_answer(q, s));
    stream_unref(s);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    if (js_req_begin(&q, a, r, out, JS_BODY_ANY)) {
        update(&q);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_stream_update = {
    .name = "js_stream_update",
    .subjects = {"$JS.API.STREAM.UPDATE.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.stream_update_response",
    .run = run,
    .doc = "Changes the configuration of a stream.",
};
