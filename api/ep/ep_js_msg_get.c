/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <string.h>

#include "api/jobj.h"
#include "api/js_req.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "stream/msg.h"
#include "stream/stream.h"

struct ask {
    uint64_t seq;
    char *last_by_subj, *next_by_subj; /* owned */
    int64_t batch, max_bytes;
    int64_t start_time;
    bool has_start_time;
    char **multi_last; /* owned */
    size_t n_multi_last;
    uint64_t up_to_seq;
    int64_t up_to_time;
    bool has_up_to_time;
    bool no_hdr;
};

#define AT(x) .off = offsetof(struct ask, x)
static const struct jfield fields[] = {
    {.key = "seq", .kind = JF_UINT, AT(seq)},
    {.key = "last_by_subj", .kind = JF_STR, AT(last_by_subj)},
    {.key = "next_by_subj", .kind = JF_STR, AT(next_by_subj)},
    {.key = "batch", .kind = JF_INT, .type = "int", AT(batch)},
    {.key = "max_bytes", .kind = JF_INT, .type = "int", AT(max_bytes)},
    {.key = "start_time",
     .kind = JF_TIME,
     AT(start_time),
     .off2 = offsetof(struct ask, has_start_time)},
    {.key = "multi_last",
     .kind = JF_STRS,
     AT(multi_last),
     .off2 = offsetof(struct ask, n_multi_last)},
    {.key = "up_to_seq", .kind = JF_UINT, AT(up_to_seq)},
    {.key = "up_to_time",
     .kind = JF_TIME,
     AT(up_to_time),
     .off2 = offsetof(struct ask, has_up_to_time)},
    {.key = "no_hdr", .kind = JF_BOOL, AT(no_hdr)},
    {0}};

static void
ask_fini(struct ask *ask)
{
    mem_free(ask->last_by_subj);
    mem_free(ask->next_by_subj);
    for (size_t i = 0; i < ask->n_multi_last; i++) {
        mem_free(ask->multi_last[i]);
    }
    mem_free(ask->multi_last);
}

/* Options that exclude each other, or none at all; batches are for DIRECT.GET. */
static bool
is_sound(const struct ask *ask)
{
    bool seq = ask->seq > 0;
    bool last = ask->last_by_subj != NULL;
    bool next = ask->next_by_subj != NULL;
    return ask->batch <= 0 && ask->max_bytes <= 0 && !(seq && last) &&
           (seq || last || next || ask->has_start_time) && !(seq && ask->has_start_time) &&
           !(ask->has_start_time && last) && !(last && next);
}

static json_t *
base64(const char *data, size_t n)
{
    size_t size = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL);
    char *text = mem_alloc_raw(size);
    if (text == NULL) {
        return NULL;
    }
    sodium_bin2base64(text, size, (const unsigned char *)data, n, sodium_base64_VARIANT_ORIGINAL);
    json_t *s = json_string_nocheck(text);
    mem_free(text);
    return s;
}

static json_t *
message_json(const struct msg *m, bool no_hdr)
{
    char time[CLOCK_RFC3339_LEN];
    json_t *o = json_object();
    jobj_str(&o, "subject", msg_subject(m));
    jobj_int(&o, "seq", m->seq);
    if (m->hdr_len > 0 && !no_hdr) {
        jobj_put(&o, "hdrs", base64(msg_hdr(m), m->hdr_len));
    }
    if (m->data_len > 0) {
        jobj_put(&o, "data", base64(msg_data(m), m->data_len));
    }
    jobj_str(&o, "time", clock_rfc3339(m->ts, time));
    return o;
}

static void
get(struct js_req *q, const struct ask *ask)
{
    struct msg *m;
    struct stream *s = js_req_stream(q, 6);
    if (s == NULL) {
        return;
    }
    struct stream_get g = {.seq = ask->seq,
                           .last_by_subj = ask->last_by_subj,
                           .next_by_subj = ask->next_by_subj,
                           .start_time = ask->start_time,
                           .has_start_time = ask->has_start_time};
    if (stream_msg_get(s, &g, &m, &q->fail) != JS_OK) {
        q->failed = true;
    } else {
        json_t *o = js_req_object(q);
        jobj_put(&o, "message", message_json(m, ask->no_hdr));
        q->uncounted = true;
        js_req_answer(q, o);
        msg_unref(m);
    }
    stream_unref(s);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct ask ask = {0};
    if (js_req_begin(&q, a, r, out, JS_BODY_REQUIRED) &&
        js_req_read(&q, fields, "JSApiMsgGetRequest", &ask)) {
        if (is_sound(&ask)) {
            get(&q, &ask);
        } else {
            js_req_fail(&q, JS_ERR_BAD_REQUEST);
        }
    }
    ask_fini(&ask);
    return js_req_end(&q);
}

const struct api_endpoint ep_js_msg_get = {
    .name = "js_msg_get",
    .subjects = {"$JS.API.STREAM.MSG.GET.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 6,
    .type = "io.nats.jetstream.api.v1.stream_msg_get_response",
    .run = run,
    .doc = "One message, by sequence, subject or time.",
};
