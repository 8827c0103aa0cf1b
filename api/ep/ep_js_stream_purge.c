/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"
#include "api/js_req.h"
#include "server/base/mem.h"
#include "stream/stream.h"

struct ask {
    uint64_t seq, keep;
    char *filter; /* owned */
};

static const struct jfield fields[] = {
    {.key = "seq", .kind = JF_UINT, .off = offsetof(struct ask, seq)},
    {.key = "filter", .kind = JF_STR, .off = offsetof(struct ask, filter)},
    {.key = "keep", .kind = JF_UINT, .off = offsetof(struct ask, keep)},
    {0}};

static void
purge(struct js_req *q, const struct ask *ask)
{
    uint64_t purged = 0;
    struct stream *s = js_req_stream(q, 5);
    if (s == NULL) {
        return;
    }
    struct stream_purge p = {.filter = ask->filter, .seq = ask->seq, .keep = ask->keep};
    if (p.seq > INT64_MAX) {
        p.seq = INT64_MAX; /* no log has more */
    }
    uint64_t ticket = js_ticket(q->js);
    if (stream_purge(s, &p, &purged, &q->fail) != JS_OK) {
        q->failed = true;
    } else {
        json_t *o = js_req_object(q);
        jobj_bool(&o, "success", true);
        jobj_int(&o, "purged", purged);
        js_req_answer_committed(q, ticket, stream_is_memory(s), o);
    }
    stream_unref(s);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct ask ask = {0};
    if (js_req_begin(&q, a, r, out, JS_BODY_OPTIONAL) &&
        js_req_read(&q, fields, "JSApiStreamPurgeRequest", &ask)) {
        if (ask.seq > 0 && ask.keep > 0) {
            js_req_fail(&q, JS_ERR_BAD_REQUEST);
        } else {
            purge(&q, &ask);
        }
    }
    mem_free(ask.filter);
    return js_req_end(&q);
}

const struct api_endpoint ep_js_stream_purge = {
    .name = "js_stream_purge",
    .subjects = {"$JS.API.STREAM.PURGE.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.stream_purge_response",
    .run = run,
    .doc = "Removes messages of a stream: all, or by filter, seq and keep.",
};
