/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/js_req.h"
#include "api/js_stream.h"
#include "stream/stream.h"

static bool
check(struct js_req *q, const struct stream_config *cfg)
{
    char name[JS_REQ_NAME];
    js_req_token(q, 5, name, sizeof(name));
    if (cfg->name == NULL || strcmp(name, cfg->name) != 0) {
        return js_req_fail(q, JS_ERR_STREAM_MISMATCH);
    }
    if (strpbrk(name, "\\/") != NULL) {
        return js_req_fail(q, JS_ERR_STREAM_NAME_CONTAINS_PATH_SEPARATORS);
    }
    if (cfg->sealed) {
        return js_req_fail_text(q, JS_ERR_STREAM_INVALID_CONFIG,
                                "stream configuration for create can not be sealed");
    }
    if (cfg->mirror_direct && cfg->mirror == NULL) {
        return js_req_fail_text(q, JS_ERR_STREAM_INVALID_CONFIG,
                                "stream has no mirror but does have mirror direct");
    }
    return true;
}

static void
create(struct js_req *q)
{
    struct stream_config *cfg;
    struct stream_request rq = {.cid = q->r->origin.cid};
    struct stream *s;
    bool created;
    if (!js_stream_config(q, &cfg, &rq.pedantic)) {
        return;
    }
    if (!check(q, cfg)) {
        stream_config_free(cfg);
        return;
    }
    uint64_t ticket = js_ticket(q->js);
    if (stream_create(q->acc, cfg, &rq, &s, &created, &q->fail) != JS_OK) {
        q->failed = true;
        return;
    }
    json_t *o = js_stream_answer(q, s);
    if (o != NULL && json_object_set_new(o, "did_create", json_true()) != 0) {
        json_decref(o);
        o = NULL;
    }
    (void)json_object_del(o, "domain"); /* only the other answers have it */
    js_req_answer_committed(q, ticket, stream_is_memory(s), o);
    stream_unref(s);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    if (js_req_begin(&q, a, r, out, JS_BODY_ANY)) {
        create(&q);
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_stream_create = {
    .name = "js_stream_create",
    .subjects = {"$JS.API.STREAM.CREATE.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.stream_create_response",
    .run = run,
    .doc = "Makes a stream.",
};
