/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_stream.h"

#include <string.h>

#include "api/gojson.h"
#include "api/jobj.h"
#include "api/js_req.h"
#include "server/base/mem.h"
#include "stream/js_account.h"
#include "stream/stream.h"

bool
js_stream_config_of(struct js_req *q, json_t *o, struct stream_config **out)
{
    json_t *empty = o == NULL ? json_object() : NULL;
    enum js_error e =
        stream_config_from_json(o != NULL ? o : empty, js_opts(q->js)->strict, out, &q->fail);
    json_decref(empty);
    if (e != JS_OK) {
        q->failed = true;
    }
    return e == JS_OK;
}

bool
js_stream_config(struct js_req *q, struct stream_config **out, bool *pedantic)
{
    const json_t *v = json_object_get(q->body, "pedantic");
    if (v != NULL && !json_is_boolean(v) && !json_is_null(v)) {
        char err[160];
        (void)snprintf(err, sizeof(err),
                       "json: cannot unmarshal %s into Go struct field "
                       "StreamConfigRequest.pedantic of type bool",
                       gojson_type(v));
        return js_req_fail_text(q, JS_ERR_INVALID_JSON, err);
    }
    *pedantic = json_is_true(v);
    (void)json_object_del(q->body, "pedantic");
    return js_stream_config_of(q, q->body, out);
}

bool
js_stream_name_config(struct js_req *q, struct stream_config *cfg, const char *name)
{
    if (cfg->name == NULL) {
        cfg->name = mem_strdup(name);
        if (cfg->name == NULL) {
            return js_req_nomem(q);
        }
    }
    if (strcmp(cfg->name, name) != 0) {
        return js_req_fail(q, JS_ERR_STREAM_MISMATCH);
    }
    if (strpbrk(name, "\\/") != NULL) {
        return js_req_fail(q, JS_ERR_STREAM_NAME_CONTAINS_PATH_SEPARATORS);
    }
    return true;
}

json_t *
js_stream_merge(json_t *o, json_t *info)
{
    if (o != NULL && (info == NULL || json_object_update(o, info) != 0)) {
        json_decref(o);
        o = NULL;
    }
    json_decref(info);
    return o;
}

static json_t *
info_of(struct stream *s)
{
    uint64_t total;
    struct stream_info_opts opts = {0};
    return stream_info_json(s, &opts, &total, NULL);
}

json_t *
js_stream_plain(json_t *info)
{
    /* A copy: the stream shares it with other answers. */
    json_t *config = json_deep_copy(json_object_get(info, "config"));
    json_t *metadata = json_object_get(config, "metadata");
    (void)json_object_del(metadata, "_nats.ver");
    (void)json_object_del(metadata, "_nats.level");
    if (config != NULL && json_object_set_new(info, "config", config) != 0) {
        json_decref(info);
        return NULL;
    }
    return info;
}

json_t *
js_stream_answer(struct js_req *q, struct stream *s)
{
    return js_stream_merge(js_req_object(q), info_of(s));
}

const struct jfield js_stream_page_fields[] = {
    JS_REQ_OFFSET,
    {.key = "subject", .kind = JF_STR, .off = offsetof(struct js_stream_page, subject)},
    {0}};

json_t *
js_stream_page_answer(struct js_req *q, const struct js_stream_page *p)
{
    struct js_page got = {
        .filter = p->subject, .offset = p->offset > 0 ? (size_t)p->offset : 0, .limit = p->limit};
    if (js_account_page(q->acc, &got) != ST_OK) {
        return NULL;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < got.n; i++) {
        const struct stream *s = got.v[i];
        jarr_add(&list,
                 p->detail ? js_stream_plain(info_of(got.v[i])) : json_string(stream_name(s)));
    }
    js_streams_free(got.v, got.n);
    json_t *o = js_req_object(q);
    jobj_int(&o, "total", got.total);
    jobj_int(&o, "offset", got.offset < got.total ? got.offset : got.total);
    jobj_int(&o, "limit", p->limit);
    if (list != NULL && json_array_size(list) == 0 && !p->detail) {
        json_decref(list);
        list = json_null(); /* as nats-server has it */
    }
    jobj_put(&o, "streams", list);
    return o;
}
