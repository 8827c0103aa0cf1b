/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_req.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/dispatch.h"
#include "api/gojson.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/typed.h"
#include "server/base/mem.h"
#include "server/base/version.h"
#include "stream/consumer.h"
#include "stream/hdr.h"
#include "stream/jtidy.h"
#include "stream/stream.h"

#define SYSTEM_TYPE   "io.nats.jetstream.api.v1.system_response"
#define AUDIT_TYPE    "io.nats.jetstream.advisory.v1.api_audit"
#define AUDIT_SUBJECT "$JS.EVENT.ADVISORY.API"
enum { ERR_LEN = 400 };

bool
js_req_fail(struct js_req *q, enum js_error e)
{
    if (q->fail.e == JS_OK) {
        (void)js_fail_plain(&q->fail, e);
    }
    q->failed = true;
    return false;
}

bool
js_req_fail_text(struct js_req *q, enum js_error e, const char *text)
{
    (void)js_fail_text(&q->fail, e, text);
    q->failed = true;
    return false;
}

bool
js_req_nomem(struct js_req *q)
{
    (void)js_fail_status(&q->fail, ST_NOMEM);
    q->failed = true;
    return false;
}

/* The sender may demand a level of the API that we do not have. */
static bool
is_level_too_high(const struct api_request *r)
{
    const char *v;
    size_t n;
    char text[16];
    char *end;
    if (!hdr_find(r->hdr, r->hdr_len, "Nats-Required-Api-Level", &v, &n) || n == 0) {
        return false;
    }
    if (n >= sizeof(text)) {
        return true;
    }
    memcpy(text, v, n);
    text[n] = '\0';
    long level = strtol(text, &end, 10);
    return *end != '\0' || level > JS_API_LEVEL;
}

static bool
looks_like_json(const struct api_request *r)
{
    size_t i = strspn(r->data, " \t\r\n");
    return r->data[i] == '{' || r->data[i] == '[';
}

static bool
load(struct js_req *q)
{
    char err[ERR_LEN];
    struct buf tidy;
    buf_init(&tidy);
    enum status st = jtidy(q->r->data, q->r->data_len, &tidy);
    if (st == ST_OK) {
        st = gojson_load(tidy.data, tidy.len, 0, &q->body, err, sizeof(err));
    }
    buf_fini(&tidy);
    if (st == ST_NOTFOUND || st == ST_SYNTAX) {
        st = gojson_load(q->r->data, q->r->data_len, 0, &q->body, err, sizeof(err));
    }
    if (st == ST_NOMEM) {
        return js_req_nomem(q);
    }
    if (st != ST_OK) {
        if (!q->plain) {
            (void)gojson_decoder_error(q->r->data, q->r->data_len, err, sizeof(err));
        }
        return js_req_fail_text(q, JS_ERR_INVALID_JSON, err);
    }
    if (json_is_null(q->body)) {
        q->body = NULL; /* as good as nothing; a static value: nothing to free */
    }
    return true;
}

static bool
is_empty(const struct js_req *q)
{
    return q->r->data_len == 0 || (json_is_object(q->body) && json_object_size(q->body) == 0);
}

static bool
read_body(struct js_req *q, enum js_body how)
{
    bool ok = true;
    if (how == JS_BODY_NONE || (how == JS_BODY_OPTIONAL && !looks_like_json(q->r))) {
        return true;
    }
    /* A decoder that reads nothing but blanks has read an empty request. */
    bool blank = strspn(q->r->data, " \t\r\n") == q->r->data_len && how != JS_BODY_PLAIN;
    if (q->r->data_len > 0 && (how == JS_BODY_EMPTY || !blank)) {
        ok = load(q);
    }
    if (how == JS_BODY_EMPTY) {
        memset(&q->fail, 0, sizeof(q->fail));
        q->failed = false;
        return (ok && is_empty(q)) || js_req_fail(q, JS_ERR_NOT_EMPTY_REQUEST);
    }
    if (ok && how == JS_BODY_REQUIRED && is_empty(q)) {
        return js_req_fail(q, JS_ERR_BAD_REQUEST);
    }
    return ok;
}

bool
js_req_begin(struct js_req *q, struct api *a, struct api_request *r, struct reply *out,
             enum js_body body)
{
    *q = (struct js_req){.a = a, .r = r, .out = out, .type = r->ep->type};
    q->js = a->host->jetstream(a->host->ctx);
    q->acc = q->js != NULL ? js_account_of(q->js, r->origin.account) : NULL;
    if (q->js == NULL) {
        return js_req_fail(q, JS_ERR_NOT_ENABLED);
    }
    if (is_level_too_high(r)) {
        return js_req_fail(q, JS_ERR_REQUIRED_API_LEVEL);
    }
    if (q->acc == NULL) {
        if (r->origin.is_operator && strcmp(r->subject, "$JS.API.INFO") != 0) {
            q->type = SYSTEM_TYPE;
        }
        return js_req_fail(q, JS_ERR_NOT_ENABLED_FOR_ACCOUNT);
    }
    q->plain = body == JS_BODY_PLAIN || !js_opts(q->js)->strict;
    return read_body(q, body);
}

static void
audit(const struct js_req *q)
{
    const struct api_host *h = q->a->host;
    const struct api_request *r = q->r;
    if (!h->has_interest(h->ctx, r->origin.account, AUDIT_SUBJECT)) {
        return;
    }
    json_t *o = typed_event(AUDIT_TYPE);
    json_t *client = h->client_info(h->ctx, &r->origin);
    const char *domain = q->js != NULL ? js_opts(q->js)->domain : NULL;
    jobj_str(&o, "server", h->server_name(h->ctx));
    jobj_put(&o, "client", client != NULL ? client : json_null());
    jobj_str(&o, "subject", r->subject);
    if (r->data_len > 0) {
        jobj_str(&o, "request", r->data);
    }
    jobj_str(&o, "response", q->out->body.data != NULL ? q->out->body.data : "");
    if (domain != NULL) {
        jobj_str(&o, "domain", domain);
    }
    char *text = o != NULL ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (text != NULL) {
        struct api_bytes body = {NULL, 0, text, strlen(text)};
        h->publish(h->ctx, r->origin.account, r->origin.loop, AUDIT_SUBJECT, NULL, &body);
    }
    free(text);
}

static void
count(const struct js_req *q, bool is_error)
{
    if (q->uncounted && !is_error) {
        return;
    }
    if (q->acc != NULL) {
        js_count_api(q->acc, is_error);
    }
    audit(q);
}

static enum status
fill_error(struct reply *out, const char *type, const struct js_fail *f)
{
    return reply_error(out, type, f->code, f->err_code, "%s", f->text);
}

enum status
js_req_end(struct js_req *q)
{
    if (q->failed) {
        q->st = fill_error(q->out, q->type, &q->fail);
        count(q, true);
    }
    json_decref(q->body);
    return q->st;
}

bool
js_req_read(struct js_req *q, const struct jfield *fields, const char *go, void *base)
{
    char err[ERR_LEN];
    if (q->body == NULL) {
        return true;
    }
    struct jread in = {.fields = fields, .type = go, .path = "", .strict = !q->plain};
    if (!json_is_object(q->body)) {
        (void)snprintf(err, sizeof(err),
                       "json: cannot unmarshal %s into Go value of type server.%s",
                       gojson_type(q->body), go);
        return js_req_fail_text(q, JS_ERR_INVALID_JSON, err);
    }
    enum status st = jfield_read(&in, q->body, base);
    if (st == ST_SYNTAX) {
        return js_req_fail_text(q, JS_ERR_INVALID_JSON, in.err);
    }
    return st == ST_OK || js_req_nomem(q);
}

enum status
js_req_read_offset(struct jread *in, const json_t *v, void *base)
{
    return jtidy_int(v, base) ? ST_OK : jfield_no_integer(in, v, "ApiPagedRequest.offset", "int");
}

char *
js_req_token(const struct js_req *q, unsigned n, char *out, size_t size)
{
    const char *at = q->r->subject;
    while (--n > 0 && at != NULL) {
        at = strchr(at, '.');
        at = at != NULL ? at + 1 : NULL;
    }
    (void)snprintf(out, size, "%.*s", at != NULL ? (int)strcspn(at, ".") : 0, at != NULL ? at : "");
    return out;
}

struct stream *
js_req_stream(struct js_req *q, unsigned token)
{
    char name[JS_REQ_NAME];
    struct stream *s = stream_find(q->acc, js_req_token(q, token, name, sizeof(name)));
    if (s == NULL) {
        js_req_fail(q, JS_ERR_STREAM_NOT_FOUND);
    }
    return s;
}

struct consumer *
js_req_consumer(struct js_req *q, unsigned token)
{
    char name[JS_REQ_NAME];
    struct stream *s = js_req_stream(q, token - 1);
    if (s == NULL) {
        return NULL;
    }
    struct consumer *c = consumer_find(s, js_req_token(q, token, name, sizeof(name)));
    if (c == NULL) {
        js_req_fail(q, JS_ERR_CONSUMER_NOT_FOUND);
    }
    stream_unref(s);
    return c;
}

json_t *
js_req_object(const struct js_req *q)
{
    json_t *o = json_object();
    jobj_str(&o, "type", q->type);
    return o;
}

void
js_req_answer(struct js_req *q, json_t *o)
{
    if (reply_json(q->out, o) != ST_OK) {
        js_req_nomem(q);
        return;
    }
    count(q, false);
}

#define NOT_WRITTEN                                                                                \
    "not on disk yet: the store takes no writes now, keeps what was changed and tries again"

/* An answer that waits for the disk. Owned by the worker until js_when_committed, then by the
 * store's thread. */
struct pending {
    struct api_request *r; /* owned until dispatch_complete */
    struct reply out;
    const char *type; /* borrowed: static */
};

static void
on_committed(void *arg, enum status st)
{
    struct pending *p = arg;
    if (st != ST_OK) {
        struct js_fail f = {0};
        buf_reset(&p->out.body);
        (void)(st == ST_IO ? js_fail_text(&f, JS_ERR_STREAM_GENERAL_ERROR, NOT_WRITTEN)
                           : js_fail_status(&f, st));
        st = fill_error(&p->out, p->type, &f);
    }
    dispatch_complete(p->r, st, &p->out);
    reply_fini(&p->out);
    mem_free(p);
}

void
js_req_answer_committed(struct js_req *q, uint64_t ticket, bool memory, json_t *o)
{
    js_req_answer(q, o);
    if (q->failed || memory) {
        return;
    }
    struct pending *p = mem_alloc(sizeof(*p));
    if (p == NULL) {
        js_req_nomem(q);
        return;
    }
    *p = (struct pending){.r = q->r, .out = *q->out, .type = q->type};
    reply_init(q->out);
    q->st = ST_PENDING;
    dispatch_defer(q->r);
    enum status st = js_when_committed(q->js, ticket, memory, on_committed, p);
    if (st != ST_OK) {
        on_committed(p, st);
    }
}

void
js_req_changed(struct js_req *q, enum js_error e, uint64_t ticket, bool memory)
{
    if (e != JS_OK) {
        q->failed = true;
        return;
    }
    json_t *o = js_req_object(q);
    jobj_bool(&o, "success", true);
    js_req_answer_committed(q, ticket, memory, o);
}

/* ---- of a cluster ---- */

/* The types of the answers, by what the subject begins with. */
static const struct {
    const char *begin, *type;
} cluster_types[] = {
    {"$JS.API.STREAM.LEADER.", "io.nats.jetstream.api.v1.stream_leader_stepdown_response"},
    {"$JS.API.STREAM.PEER.REMOVE.", "io.nats.jetstream.api.v1.stream_remove_peer_response"},
    {"$JS.API.STREAM.PEER.EVACUATE.", "io.nats.jetstream.api.v1.stream_evacuate_peer_response"},
    {"$JS.API.STREAM.CANCEL_MOVE.", "io.nats.jetstream.api.v1.stream_cancel_move_response"},
    {"$JS.API.CONSUMER.LEADER.", "io.nats.jetstream.api.v1.consumer_leader_stepdown_response"},
    {"$JS.API.CONSUMER.PEER.REMOVE.", "io.nats.jetstream.api.v1.consumer_remove_peer_response"},
    {"$JS.API.CONSUMER.PEER.EVACUATE.", "io.nats.jetstream.api.v1.consumer_evacuate_peer_response"},
};

enum status
js_req_needs_cluster(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    if (js_req_begin(&q, a, r, out, JS_BODY_NONE)) {
        js_req_fail(&q, JS_ERR_CLUSTER_REQUIRED);
    }
    for (size_t i = 0; i < sizeof(cluster_types) / sizeof(cluster_types[0]); i++) {
        if (strncmp(r->subject, cluster_types[i].begin, strlen(cluster_types[i].begin)) == 0) {
            q.type = cluster_types[i].type;
        }
    }
    return js_req_end(&q);
}
