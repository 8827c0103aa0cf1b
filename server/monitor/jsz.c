/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/jsz.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/monitor/jput.h"
#include "server/monitor/js_stats.h"
#include "server/monitor/views.h"
#include "server/monitor/vopts.h"
#include "server/server.h"
#include "stream/consumer.h"
#include "stream/js_account.h"
#include "stream/stream.h"

enum { LIMIT_DEFAULT = 1024 };

struct options {
    const char *account; /* borrowed: of the request */
    bool accounts, streams, consumers, config, leader_only;
    int64_t offset, limit;
};

static void
read_options(struct vopts *o, struct options *out)
{
    out->account = vopts_str(o, "account", "string");
    out->accounts = vopts_bool(o, "accounts");
    out->streams = vopts_bool(o, "streams");
    out->consumers = vopts_bool(o, "consumer");
    vopts_bool(o, "direct_consumer");
    out->config = vopts_bool(o, "config");
    vopts_bool(o, "raft");
    vopts_bool(o, "stream_leader_only");
    out->offset = vopts_int(o, "offset", "int");
    out->limit = vopts_int(o, "limit", "int");
    out->leader_only = vopts_bool(o, "leader_only");
    out->streams = out->streams || out->consumers;
    out->accounts = out->accounts || (out->streams && out->account[0] == '\0');
    out->offset = out->offset > 0 ? out->offset : 0;
    out->limit = out->limit != 0 ? out->limit : LIMIT_DEFAULT;
}

static void
move(struct jput *p, json_t *to, const char *key, const json_t *from)
{
    json_t *v = json_object_get(from, key);
    if (v != NULL) {
        jput_val(p, to, key, json_incref(v));
    }
}

/* What is kept: without what an answer adds of the server that gives it. */
static void
strip_metadata(json_t *info)
{
    json_t *metadata = json_object_get(json_object_get(info, "config"), "metadata");
    (void)json_object_del(metadata, "_nats.level");
    (void)json_object_del(metadata, "_nats.ver");
}

static void
put_consumers(struct jput *p, json_t *o, struct stream *s, const struct options *opt)
{
    struct consumer **v;
    size_t n;
    if (consumers_of(s, &v, &n) != ST_OK) {
        p->failed = true;
        return;
    }
    json_t *list = n > 0 ? jput_arr(p, o, "consumer_detail") : NULL;
    for (size_t i = 0; i < n; i++) {
        json_t *info = consumer_info_json(v[i]);
        if (info == NULL) {
            continue; /* it is going */
        }
        strip_metadata(info);
        if (!opt->config) {
            json_object_del(info, "config");
        }
        p->failed |= json_array_append_new(list, info) != 0;
    }
    consumers_free(v, n);
}

static void
put_stream(struct jput *p, json_t *list, struct server *srv, struct stream *s,
           const struct options *opt)
{
    uint64_t total;
    struct stream_info_opts io = {0};
    json_t *info = stream_info_json(s, &io, &total, NULL);
    if (info == NULL) {
        return; /* it is going */
    }
    json_t *o = jput_add_obj(p, list);
    jput_str(p, o, "name", stream_name(s));
    move(p, o, "created", info);
    jput_str(p, jput_obj(p, o, "cluster"), "leader", server_name(srv));
    if (opt->config) {
        strip_metadata(info);
        move(p, o, "config", info);
    }
    move(p, o, "state", info);
    if (opt->consumers) {
        put_consumers(p, o, s, opt);
    }
    move(p, o, "mirror", info);
    move(p, o, "sources", info);
    json_decref(info);
}

static void
put_account(struct jput *p, json_t *o, struct server *srv, struct js_account *a,
            const struct options *opt)
{
    struct stream **v;
    size_t n;
    jput_str(p, o, "name", a->name);
    jput_str(p, o, "id", a->name);
    js_stats_put_account(p, o, a);
    if (!opt->streams) {
        return;
    }
    if (js_account_streams(a, &v, &n) != ST_OK) {
        p->failed = true;
        return;
    }
    json_t *list = n > 0 ? jput_arr(p, o, "stream_detail") : NULL;
    for (size_t i = 0; i < n; i++) {
        put_stream(p, list, srv, v[i], opt);
    }
    js_streams_free(v, n);
}

static struct js_account *
find(struct js *js, const char *name)
{
    struct js_account *a = NULL;
    while ((a = js_account_next(js, a)) != NULL && strcmp(a->name, name) != 0) {
    }
    return a;
}

static int
by_name(const void *a, const void *b)
{
    const struct js_account *const *x = a;
    const struct js_account *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void
put_page(struct jput *p, json_t *root, struct server *s, const struct options *opt)
{
    struct js *js = server_js(s);
    size_t n = js_stats_accounts(js);
    size_t have = 0;
    struct js_account **v = mem_alloc_array(n, sizeof(struct js_account *));
    if (v == NULL) {
        p->failed = true;
        return;
    }
    struct js_account *a = NULL;
    while (have < n && (a = js_account_next(js, a)) != NULL) {
        v[have++] = a;
    }
    qsort(v, have, sizeof(struct js_account *), by_name);
    size_t from = (size_t)opt->offset < have ? (size_t)opt->offset : have;
    size_t most = opt->limit > 0 ? (size_t)opt->limit : have;
    size_t to = have - from > most ? from + most : have;
    json_t *list = from < to ? jput_arr(p, root, "account_details") : NULL;
    for (size_t i = from; i < to; i++) {
        put_account(p, jput_add_obj(p, list), s, v[i], opt);
    }
    mem_free(v);
}

static void
put_totals(struct jput *p, json_t *root, struct js *js)
{
    struct js_usage u = {0};
    if (js != NULL) {
        js_usage(js, &u);
    }
    jput_int(p, root, "streams", (int64_t)u.streams);
    jput_int(p, root, "consumers", (int64_t)u.consumers);
    jput_int(p, root, "messages", (int64_t)u.messages);
    jput_int(p, root, "bytes", (int64_t)(u.memory + u.file));
}

static void
put_details(struct jput *p, json_t *root, struct server *s, const struct options *opt)
{
    struct js *js = server_js(s);
    struct js_account *a = js != NULL && opt->account[0] != '\0' ? find(js, opt->account) : NULL;
    if (a != NULL) {
        put_account(p, jput_add_obj(p, jput_arr(p, root, "account_details")), s, a, opt);
    } else if (js != NULL && opt->accounts) {
        put_page(p, root, s, opt);
    }
}

enum status
jsz_build(struct server *s, struct vopts *o, json_t **out)
{
    struct options opt;
    struct js *js = server_js(s);
    read_options(o, &opt);
    if (o->st != ST_OK) {
        return o->st;
    }
    if (opt.leader_only && js == NULL) {
        return vopts_fail(o, ST_CANCELLED, "filtered response: not leader");
    }
    struct jput p = {0};
    json_t *root = jput_new(&p);
    js_stats_put(&p, root, js);
    json_t *head = views_begin(&p, s);
    p.failed |= root == NULL || head == NULL || json_object_update(root, head) != 0;
    json_decref(head);
    jput_bool_opt(&p, root, "disabled", js == NULL);
    js_stats_put_config(&p, root, s);
    js_stats_put_compress_ok(&p, root);
    put_totals(&p, root, js);
    put_details(&p, root, s, &opt);
    jput_int(&p, root, "total", (int64_t)js_stats_accounts(js));
    return jput_end(&p, root, out);
}

enum status
jsz_build_account(struct server *s, struct vopts *o, json_t **out)
{
    struct options opt;
    struct js *js = server_js(s);
    *out = NULL;
    read_options(o, &opt);
    if (o->st != ST_OK) {
        return o->st;
    }
    if (js == NULL) {
        return vopts_fail(o, ST_INVAL, "jetstream not enabled");
    }
    if (server_account(s, opt.account) == NULL) {
        return vopts_fail(o, ST_INVAL, "account \"%s\" not found", opt.account);
    }
    struct js_account *a = find(js, opt.account);
    if (a == NULL) {
        return vopts_fail(o, ST_INVAL, "account \"%s\" not jetstream enabled", opt.account);
    }
    struct jput p = {0};
    json_t *root = jput_new(&p);
    put_account(&p, root, s, a, &opt);
    return jput_end(&p, root, out);
}
