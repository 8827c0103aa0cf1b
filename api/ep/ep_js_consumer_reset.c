/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"
#include "api/js_consumer.h"
#include "api/js_req.h"
#include "stream/consumer.h"

struct ask {
    uint64_t seq;
};

static const struct jfield fields[] = {
    {.key = "seq", .kind = JF_UINT, .off = offsetof(struct ask, seq)}, {0}};

static void
reset(struct js_req *q, uint64_t seq)
{
    uint64_t to = 0;
    struct consumer *c = js_req_consumer(q, 6);
    if (c == NULL) {
        return;
    }
    uint64_t ticket = js_ticket(q->js);
    if (consumer_reset(c, seq, &to, &q->fail) != JS_OK) {
        q->failed = true;
    } else {
        json_t *o = js_consumer_answer(q, c);
        if (o != NULL) {
            jobj_int(&o, "reset_seq", to);
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
    if (js_req_begin(&q, a, r, out, JS_BODY_PLAIN) &&
        js_req_read(&q, fields, "JSApiConsumerResetRequest", &ask)) {
        /* No log has more. */
        reset(&q, ask.seq < INT64_MAX ? ask.seq : INT64_MAX);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_consumer_reset = {
    .name = "js_consumer_reset",
    .subjects = {"$JS.API.CONSUMER.RESET.*.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.consumer_reset_response",
    .run = run,
    .doc = "Sets a consumer back to its first unacknowledged message, or to a sequence.",
};
