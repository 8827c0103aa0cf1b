/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/js_req.h"
#include "api/js_stream.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/stream.h"

struct ask {
    char *deliver_subject; /* owned */
    bool no_consumers, check_msgs;
    int64_t chunk_size, window_size;
};

#define AT(x) .off = offsetof(struct ask, x)
static const struct jfield fields[] = {
    {.key = "deliver_subject", .kind = JF_STR, AT(deliver_subject)},
    {.key = "no_consumers", .kind = JF_BOOL, AT(no_consumers)},
    {.key = "chunk_size", .kind = JF_INT, .type = "int", AT(chunk_size)},
    {.key = "window_size", .kind = JF_INT, .type = "int", AT(window_size)},
    {.key = "jsck", .kind = JF_BOOL, AT(check_msgs)},
    {0}};

static void
snapshot(struct js_req *q, struct stream *s)
{
    struct ask ask = {0};
    json_t *answer = NULL;
    if (js_req_read(q, fields, "JSApiStreamSnapshotRequest", &ask)) {
        const char *to = ask.deliver_subject;
        struct stream_snapshot_rq rq = {.deliver_subject = to,
                                        .no_consumers = ask.no_consumers,
                                        .check_msgs = ask.check_msgs,
                                        .chunk_size = ask.chunk_size,
                                        .window_size = ask.window_size,
                                        .cid = q->r->origin.cid};
        if (to == NULL || !subject_is_literal(to, strlen(to))) {
            js_req_fail(q, JS_ERR_SNAPSHOT_DELIVER_SUBJECT_INVALID);
        } else if (stream_snapshot(s, &rq, &answer, &q->fail) != JS_OK) {
            q->failed = true;
        } else {
            js_req_answer(q, js_stream_merge(js_req_object(q), answer));
        }
    }
    mem_free(ask.deliver_subject);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    if (js_req_begin(&q, a, r, out, JS_BODY_REQUIRED)) {
        struct stream *s = js_req_stream(&q, 5);
        if (s != NULL) {
            snapshot(&q, s);
            stream_unref(s);
        }
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_stream_snapshot = {
    .name = "js_stream_snapshot",
    .subjects = {"$JS.API.STREAM.SNAPSHOT.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.stream_snapshot_response",
    .run = run,
    .doc = "Sends a copy of a stream to a subject.",
};
