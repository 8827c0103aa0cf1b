/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"
#include "api/js_req.h"
#include "server/base/version.h"
#include "stream/js_account.h"

static json_t *
limits_json(struct js_account *acc)
{
    struct js_limits l;
    js_account_limits(acc, &l);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "max_memory",
                     (json_int_t)l.max_memory, "max_storage", (json_int_t)l.max_file, "max_streams",
                     (json_int_t)l.max_streams, "max_consumers", (json_int_t)l.max_consumers,
                     "max_ack_pending", (json_int_t)l.max_ack_pending, "memory_max_stream_bytes",
                     (json_int_t)l.memory_max_stream_bytes, "storage_max_stream_bytes",
                     (json_int_t)l.store_max_stream_bytes, "max_bytes_required",
                     l.max_bytes_required ? 1 : 0);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct js_usage u;
    if (!js_req_begin(&q, a, r, out, JS_BODY_NONE)) {
        return js_req_end(&q);
    }
    js_account_usage(q.acc, &u);
    json_t *o = js_req_object(&q);
    jobj_int(&o, "memory", u.memory);
    jobj_int(&o, "storage", u.file);
    jobj_int(&o, "reserved_memory", u.reserved_memory);
    jobj_int(&o, "reserved_storage", u.reserved_file);
    jobj_int(&o, "streams", u.streams);
    jobj_int(&o, "consumers", u.consumers);
    jobj_put(&o, "limits", limits_json(q.acc));
    if (js_opts(q.js)->domain != NULL) {
        jobj_str(&o, "domain", js_opts(q.js)->domain);
    }
    jobj_put(&o, "api",
             json_pack("{s:i, s:I, s:I}", "level", JS_API_LEVEL, "total", (json_int_t)u.api_total,
                       "errors", (json_int_t)u.api_errors));
    js_req_answer(&q, o);
    return js_req_end(&q);
}

const struct api_endpoint ep_js_info = {
    .name = "js_info",
    .subjects = {"$JS.API.INFO"},
    .level = APIQ_INFO,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .type = "io.nats.jetstream.api.v1.account_info_response",
    .run = run,
    .doc = "Usage and limits of the sender's account.",
};
