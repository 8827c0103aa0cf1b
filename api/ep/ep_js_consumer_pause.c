/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"
#include "api/js_req.h"
#include "stream/consumer.h"
#include "stream/rfc3339.h"

struct ask {
    int64_t until;
    bool has_until;
};

static const struct jfield fields[] = {{.key = "pause_until",
                                        .kind = JF_TIME,
                                        .off = offsetof(struct ask, until),
                                        .off2 = offsetof(struct ask, has_until)},
                                       {0}};

static void
pause_until(struct js_req *q, const struct ask *ask)
{
    char time[64];
    bool paused = false;
    int64_t left = 0;
    struct consumer *c = js_req_consumer(q, 6);
    if (c == NULL) {
        return;
    }
    bool given = ask->has_until && ask->until != RFC3339_ZERO;
    uint64_t ticket = js_ticket(q->js);
    if (consumer_pause(c, given ? ask->until : 0, &paused, &left, &q->fail) != JS_OK) {
        q->failed = true;
    } else {
        json_t *o = js_req_object(q);
        jobj_bool(&o, "paused", paused);
        jobj_str(&o, "pause_until", rfc3339_format(given ? ask->until : RFC3339_ZERO, time));
        if (paused) {
            jobj_int(&o, "pause_remaining", (uint64_t)left);
        }
        js_req_answer_committed(q, ticket, consumer_is_memory(c), o);
    }
    consumer_unref(c);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct ask ask = {0};
    if (js_req_begin(&q, a, r, out, JS_BODY_OPTIONAL) &&
        js_req_read(&q, fields, "JSApiConsumerPauseRequest", &ask)) {
        pause_until(&q, &ask);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_consumer_pause = {
    .name = "js_consumer_pause",
    .subjects = {"$JS.API.CONSUMER.PAUSE.*.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.consumer_pause_response",
    .run = run,
    .doc = "Pauses a consumer until a time, or lets it go on.",
};
