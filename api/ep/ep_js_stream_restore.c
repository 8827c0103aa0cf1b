/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/js_req.h"
#include "api/js_stream.h"
#include "stream/stream.h"

struct ask {
    json_t *config; /* owned or NULL */
};

/* Only looked at for its types: what is restored tells its own. */
struct state {
    uint64_t count;
    int64_t n, time;
    bool has_time;
    json_t *subjects; /* owned or NULL */
};

#define COUNT(k)                                                                                   \
    {                                                                                              \
        .key = (k), .kind = JF_UINT, .off = offsetof(struct state, count)                          \
    }
#define WHEN(k)                                                                                    \
    {                                                                                              \
        .key = (k), .kind = JF_TIME, .off = offsetof(struct state, time),                          \
        .off2 = offsetof(struct state, has_time)                                                   \
    }
#define INT(k)                                                                                     \
    {                                                                                              \
        .key = (k), .kind = JF_INT, .type = "int", .off = offsetof(struct state, n)                \
    }
static const struct jfield state_fields[] = {COUNT("messages"),
                                             COUNT("bytes"),
                                             COUNT("first_seq"),
                                             WHEN("first_ts"),
                                             COUNT("last_seq"),
                                             WHEN("last_ts"),
                                             INT("num_subjects"),
                                             {.key = "subjects",
                                              .kind = JF_OBJECT,
                                              .type = "map[string]uint64",
                                              .off = offsetof(struct state, subjects)},
                                             INT("num_deleted"),
                                             {.key = "deleted", .kind = JF_IGNORED},
                                             {.key = "lost", .kind = JF_IGNORED},
                                             INT("consumer_count"),
                                             {0}};

static enum status
read_state(struct jread *r, const json_t *v, void *base)
{
    (void)base;
    struct state s = {0};
    if (!json_is_object(v)) {
        return jfield_mismatch(r, v, "state", "server.StreamState");
    }
    struct jread sub = {
        .fields = state_fields, .type = "StreamState", .path = "state.", .strict = r->strict};
    enum status st = jfield_read(&sub, v, &s);
    json_decref(s.subjects);
    r->failed |= sub.failed;
    memcpy(r->err, sub.err, sizeof(r->err));
    return st;
}

static const struct jfield fields[] = {{.key = "config",
                                        .kind = JF_OBJECT,
                                        .type = "server.StreamConfig",
                                        .off = offsetof(struct ask, config)},
                                       {.key = "state", .kind = JF_CUSTOM, .read = read_state},
                                       {0}};

static void
restore(struct js_req *q, const struct ask *ask)
{
    char name[JS_REQ_NAME];
    struct stream_config *cfg;
    json_t *answer = NULL;
    js_req_token(q, 5, name, sizeof(name));
    if (!js_stream_config_of(q, ask->config, &cfg)) {
        return;
    }
    if (!js_stream_name_config(q, cfg, name)) {
        stream_config_free(cfg);
        return;
    }
    if (stream_restore(q->acc, cfg, q->r->origin.cid, &answer, &q->fail) != JS_OK) {
        q->failed = true;
        return;
    }
    js_req_answer(q, js_stream_merge(js_req_object(q), answer));
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct ask ask = {0};
    if (js_req_begin(&q, a, r, out, JS_BODY_REQUIRED) &&
        js_req_read(&q, fields, "JSApiStreamRestoreRequest", &ask)) {
        restore(&q, &ask);
    }
    json_decref(ask.config);
    return js_req_end(&q);
}

const struct api_endpoint ep_js_stream_restore = {
    .name = "js_stream_restore",
    .subjects = {"$JS.API.STREAM.RESTORE.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.stream_restore_response",
    .run = run,
    .doc = "Makes a stream of such a copy.",
};
