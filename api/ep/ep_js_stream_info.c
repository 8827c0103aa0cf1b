/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"
#include "api/js_req.h"
#include "api/js_stream.h"
#include "api/plane.h"
#include "server/base/mem.h"
#include "stream/stream.h"

enum { MAX_SUBJECTS = 100000 };

struct ask {
    int64_t offset;
    bool deleted_details;
    char *subjects_filter; /* owned */
};

static const struct jfield fields[] = {
    JS_REQ_OFFSET,
    {.key = "deleted_details", .kind = JF_BOOL, .off = offsetof(struct ask, deleted_details)},
    {.key = "subjects_filter", .kind = JF_STR, .off = offsetof(struct ask, subjects_filter)},
    {0}};

static void
answer(struct js_req *q, const struct ask *ask)
{
    uint64_t total = 0;
    struct stream *s = js_req_stream(q, 5);
    if (s == NULL) {
        return;
    }
    struct stream_info_opts opts = {.deleted_details = ask->deleted_details,
                                    .subjects_filter = ask->subjects_filter,
                                    .offset = ask->offset > 0 ? (uint64_t)ask->offset : 0,
                                    .limit = MAX_SUBJECTS};
    json_t *info = stream_info_json(s, &opts, &total, &q->fail);
    stream_unref(s);
    if (info == NULL) {
        q->failed = true;
        if (q->fail.e == JS_OK) {
            js_req_nomem(q);
        }
        return;
    }
    json_t *o = js_req_object(q);
    jobj_int(&o, "total", total);
    jobj_int(&o, "offset", total > 0 ? opts.offset : 0);
    jobj_int(&o, "limit", total > 0 ? opts.limit : 0);
    o = js_stream_merge(o, info);
    if (o != NULL) {
        const struct api_host *h = q->a->host;
        jobj_put(&o, "cluster", json_pack("{s:s}", "leader", h->server_name(h->ctx)));
    }
    js_req_answer(q, o);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct ask ask = {0};
    if (js_req_begin(&q, a, r, out, JS_BODY_OPTIONAL) &&
        js_req_read(&q, fields, "JSApiStreamInfoRequest", &ask)) {
        answer(&q, &ask);
    }
    mem_free(ask.subjects_filter);
    return js_req_end(&q);
}

const struct api_endpoint ep_js_stream_info = {
    .name = "js_stream_info",
    .subjects = {"$JS.API.STREAM.INFO.*"},
    .level = APIQ_INFO,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.stream_info_response",
    .run = run,
    .doc = "Configuration and state of a stream.",
};
