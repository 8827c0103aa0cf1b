/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

#include <stdio.h>
#include <string.h>

#include "api/filter.h"
#include "api/gojson.h"
#include "api/header.h"
#include "api/plane.h"
#include "server/base/mem.h"

#define ERR_LEN 256

static const char *
go_name(const struct api_endpoint *ep)
{
    return ep->go == NULL ? "EventFilterOptions" : ep->go;
}

/* z->options from the payload. ST_SYNTAX: err says what is wrong. */
static enum status
parse(struct zreq *z, char *err)
{
    const struct api_request *r = z->r;
    if (r->data_len == 0) {
        return ST_OK;
    }
    enum status st = gojson_load(r->data, r->data_len, 0, &z->options, err, ERR_LEN);
    if (st != ST_OK) {
        return st;
    }
    if (json_is_null(z->options)) {
        z->options = NULL; /* a static value: nothing to free */
        return ST_OK;
    }
    if (!json_is_object(z->options)) {
        (void)snprintf(err, ERR_LEN, "json: cannot unmarshal %s into Go value of type server.%s",
                       gojson_type(z->options), go_name(r->ep));
        return ST_SYNTAX;
    }
    return filter_check(z->options, go_name(r->ep), err, ERR_LEN);
}

static enum status
answer_error(struct zreq *z, struct reply *out, int code, const char *text)
{
    json_t *desc = json_string(text);
    json_t *all = json_pack("{s:O, s:{s:i, s:o}}", "server", z->server, "error", "code", code,
                            "description", desc == NULL ? json_string("invalid request") : desc);
    return reply_json(out, all);
}

enum status
zreq_begin(struct zreq *z, struct api *a, struct api_request *r, struct reply *out)
{
    char err[ERR_LEN];
    *z = (struct zreq){.r = r};
    if (*r->reply == '\0' && (r->ep->flags & API_EP_NO_REPLY) == 0) {
        out->none = true;
        return ST_NOTFOUND;
    }
    z->server = a->host->server_info(a->host->ctx);
    if (z->server == NULL) {
        return ST_NOMEM;
    }
    enum status st = parse(z, err);
    if (st == ST_SYNTAX) {
        st = answer_error(z, out, 400, err) == ST_OK ? ST_SYNTAX : ST_NOMEM;
    } else if (st == ST_OK && z->options != NULL && !filter_matches(z->options, z->server)) {
        out->none = true;
        st = ST_NOTFOUND;
    }
    if (st != ST_OK) {
        zreq_fini(z);
    }
    return st;
}

void
zreq_fini(struct zreq *z)
{
    json_decref(z->options);
    json_decref(z->server);
}

enum status
zreq_skipped(enum status st)
{
    return st == ST_NOTFOUND || st == ST_SYNTAX ? ST_OK : st;
}

/* We know no compression; who asks for one is told that there is none. */
static void
tell_encoding(const struct zreq *z, struct reply *out)
{
    const char *v;
    size_t n;
    if (header_find(z->r->hdr, z->r->hdr_len, "Accept-Encoding", &v, &n) && n > 0) {
        out->hdr = "NATS/1.0\r\nContent-Encoding: identity\r\n\r\n";
    }
}

enum status
zreq_answer(struct zreq *z, struct reply *out, const char *name, json_t *data, const char *error)
{
    json_t *all = json_pack("{s:O}", "server", z->server);
    bool ok = all != NULL;
    if (error != NULL && z->r->ep->view != NULL) {
        data = json_null();
    }
    if (data != NULL) {
        ok = json_object_set_new(all, name, data) == 0 && ok;
    }
    if (error != NULL) {
        json_t *e = json_pack("{s:i, s:s}", "code", 500, "description", error);
        ok = json_object_set_new(all, "error", e) == 0 && ok;
    } else {
        tell_encoding(z, out);
    }
    if (!ok) {
        json_decref(all);
        return ST_NOMEM;
    }
    return reply_json(out, all);
}

/* What the monitor said (st; takes data and err) becomes the answer. */
static enum status
answer_view(struct zreq *z, struct reply *out, enum status st, json_t *data, char *err)
{
    const char *text = st == ST_OK ? NULL : err == NULL ? status_text(st) : err;
    if (st == ST_SYNTAX) {
        st = answer_error(z, out, 400, text); /* an option of the wrong type */
    } else {
        st = zreq_answer(z, out, "data", data, text);
    }
    mem_free(err);
    return st;
}

enum status
zreq_view(struct zreq *z, struct api *a, struct reply *out, const char *view)
{
    json_t *data = NULL;
    char *err = NULL;
    enum status st = a->host->monitor(a->host->ctx, view, z->options, &data, &err);
    if (st == ST_NOMEM) {
        return st;
    }
    if (st == ST_CANCELLED) {
        out->none = true; /* the options exclude this server */
        mem_free(err);
        return ST_OK;
    }
    return answer_view(z, out, st, data, err);
}

enum status
zreq_run(struct api *a, struct api_request *r, struct reply *out)
{
    struct zreq z;
    enum status st = zreq_begin(&z, a, r, out);
    if (st != ST_OK) {
        return zreq_skipped(st);
    }
    st = zreq_view(&z, a, out, r->ep->view);
    zreq_fini(&z);
    return st;
}

enum status
zreq_set(struct zreq *z, const char *key, json_t *value)
{
    if (z->options == NULL) {
        z->options = json_object();
    }
    return json_object_set_new(z->options, key, value) == 0 ? ST_OK : ST_NOMEM;
}

void
zreq_account(const struct api_request *r, char *name, size_t size)
{
    if ((r->ep->flags & API_EP_USERS) != 0) {
        (void)snprintf(name, size, "%s", r->origin.account_name);
        return;
    }
    const char *at = r->subject;
    for (int i = 0; i < 3 && at != NULL; i++) {
        at = strchr(at, '.');
        at = at == NULL ? NULL : at + 1;
    }
    (void)snprintf(name, size, "%.*s", at == NULL ? 0 : (int)strcspn(at, "."),
                   at == NULL ? "" : at);
}

enum status
zreq_run_account(struct api *a, struct api_request *r, struct reply *out, const char *key)
{
    struct zreq z;
    enum status st = zreq_begin(&z, a, r, out);
    if (st != ST_OK) {
        return zreq_skipped(st);
    }
    char name[512];
    zreq_account(r, name, sizeof(name));
    st = zreq_set(&z, key, json_string(name));
    if (st == ST_OK) {
        st = zreq_view(&z, a, out, r->ep->view);
    }
    zreq_fini(&z);
    return st;
}

enum status
zreq_object(const struct api_request *r, json_t **o)
{
    char err[ERR_LEN];
    enum status st = gojson_load(r->data, r->data_len, 0, o, err, sizeof(err));
    if (st == ST_OK && !json_is_object(*o)) {
        json_decref(*o);
        *o = NULL;
        st = ST_SYNTAX;
    }
    return st;
}

/* The member "cid". ST_SYNTAX: the payload is no object, or cid is no number. */
static enum status
read_cid(const struct api_request *r, uint64_t *cid)
{
    json_t *o;
    enum status st = zreq_object(r, &o);
    if (st != ST_OK) {
        return st;
    }
    const json_t *v = json_object_get(o, "cid");
    bool ok = v == NULL || json_is_integer(v);
    *cid = (uint64_t)json_integer_value(v);
    json_decref(o);
    return ok ? ST_OK : ST_SYNTAX;
}

enum status
zreq_act(struct api *a, struct api_request *r, struct reply *out,
         enum status (*act)(void *ctx, uint64_t cid), const char *(*words)(enum status st))
{
    uint64_t cid;
    enum status st = read_cid(r, &cid);
    if (st != ST_OK) {
        /* NB: nats-server says nothing to a request that it cannot read. */
        out->none = st == ST_SYNTAX;
        return zreq_skipped(st);
    }
    struct zreq z;
    st = zreq_begin(&z, a, r, out);
    if (st != ST_OK) {
        return zreq_skipped(st);
    }
    st = act(a->host->ctx, cid);
    st = zreq_answer(&z, out, "data", NULL, st != ST_OK ? words(st) : NULL);
    zreq_fini(&z);
    return st;
}

static enum status
answer_statz(struct zreq *z, struct api *a, struct reply *out)
{
    json_t *data = NULL;
    char *err = NULL;
    enum status st = a->host->monitor(a->host->ctx, z->r->ep->view, z->options, &data, &err);
    if (st == ST_NOMEM) {
        return st;
    }
    bool unused = json_is_true(json_object_get(z->options, "include_unused"));
    if (st == ST_OK && !unused && json_array_size(json_object_get(data, "account_statz")) == 0) {
        json_decref(data);
        out->none = true;
        return ST_OK;
    }
    return answer_view(z, out, st, data, err);
}

enum status
zreq_run_statz(struct api *a, struct api_request *r, struct reply *out, bool one_account)
{
    struct zreq z;
    enum status st = zreq_begin(&z, a, r, out);
    if (st != ST_OK) {
        return zreq_skipped(st);
    }
    if (one_account) {
        char name[512];
        zreq_account(r, name, sizeof(name));
        st = zreq_set(&z, "accounts", json_pack("[s]", name));
    }
    if (st == ST_OK) {
        st = answer_statz(&z, a, out);
    }
    zreq_fini(&z);
    return st;
}
