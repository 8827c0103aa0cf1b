/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/js_req.h"
#include "server/base/mem.h"
#include "stream/consumer.h"

enum { GROUP_MAX = 16 };

struct ask {
    char *group; /* owned */
};

static const struct jfield fields[] = {
    {.key = "group", .kind = JF_STR, .off = offsetof(struct ask, group)}, {0}};

static bool
is_group_name(const char *s)
{
    size_t n = strlen(s);
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_=-";
    return n <= GROUP_MAX && strspn(s, allowed) == n;
}

static void
unpin(struct js_req *q, const char *group)
{
    struct consumer *c = js_req_consumer(q, 6);
    if (c == NULL) {
        return;
    }
    if (consumer_unpin(c, group, &q->fail) != JS_OK) {
        q->failed = true;
    } else {
        js_req_answer(q, js_req_object(q));
    }
    consumer_unref(c);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct ask ask = {0};
    if (js_req_begin(&q, a, r, out, JS_BODY_PLAIN) &&
        js_req_read(&q, fields, "JSApiConsumerUnpinRequest", &ask)) {
        if (r->data_len == 0) {
            js_req_fail_text(&q, JS_ERR_INVALID_JSON, "unexpected end of JSON input");
        } else if (ask.group == NULL) {
            js_req_fail_text(&q, JS_ERR_INVALID_JSON, "consumer group not specified");
        } else if (!is_group_name(ask.group)) {
            js_req_fail(&q, JS_ERR_CONSUMER_INVALID_GROUP_NAME);
        } else {
            unpin(&q, ask.group);
        }
    }
    mem_free(ask.group);
    return js_req_end(&q);
}

const struct api_endpoint ep_js_consumer_unpin = {
    .name = "js_consumer_unpin",
    .subjects = {"$JS.API.CONSUMER.UNPIN.*.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.consumer_unpin_response",
    .run = run,
    .doc = "Lets another client become the pinned one of a group.",
};
