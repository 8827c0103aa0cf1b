/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/js_stats.h"

#include <string.h>

#include "server/base/version.h"
#include "server/config.h"
#include "server/server.h"
#include "stream/js.h"
#include "stream/js_account.h"

size_t
js_stats_accounts(struct js *js)
{
    size_t n = 0;
    struct js_account *a = NULL;
    while (js != NULL && (a = js_account_next(js, a)) != NULL) {
        n++;
    }
    return n;
}

static void
put(struct jput *p, json_t *o, const struct js_usage *u, size_t accounts, int level)
{
    jput_int(p, o, "memory", (int64_t)u->memory);
    jput_int(p, o, "storage", (int64_t)u->file);
    jput_int(p, o, "reserved_memory", (int64_t)u->reserved_memory);
    jput_int(p, o, "reserved_storage", (int64_t)u->reserved_file);
    jput_int(p, o, "accounts", (int64_t)accounts);
    jput_int(p, o, "ha_assets", 0);
    json_t *api = jput_obj(p, o, "api");
    jput_int(p, api, "level", level);
    jput_int(p, api, "total", (int64_t)u->api_total);
    jput_int(p, api, "errors", (int64_t)u->api_errors);
}

void
js_stats_put(struct jput *p, json_t *o, struct js *js)
{
    struct js_usage u = {0};
    if (js != NULL) {
        js_usage(js, &u);
    }
    put(p, o, &u, js_stats_accounts(js), js != NULL ? JS_API_LEVEL : 0);
}

void
js_stats_put_account(struct jput *p, json_t *o, struct js_account *a)
{
    struct js_usage u;
    struct js_limits limits;
    js_account_usage(a, &u);
    js_account_limits(a, &limits);
    u.reserved_memory = limits.max_memory >= 0 ? (uint64_t)limits.max_memory : u.reserved_memory;
    u.reserved_file = limits.max_file >= 0 ? (uint64_t)limits.max_file : u.reserved_file;
    put(p, o, &u, 0, 0);
}

static void
put_limits(struct jput *p, json_t *o, const struct config_js *j)
{
    json_t *limits = jput_obj(p, o, "limits");
    jput_int_opt(p, limits, "max_request_batch", j->max_request_batch);
    jput_int_opt(p, limits, "max_ack_pending", j->max_ack_pending);
    jput_int_opt(p, limits, "max_ha_assets", j->max_ha_assets);
    jput_int_opt(p, limits, "duplicate_window", j->duplicate_window);
    jput_int_opt(p, limits, "max_batch_inflight_per_stream", j->batch_per_stream);
    jput_int_opt(p, limits, "max_batch_inflight_total", j->batch_total);
    jput_int_opt(p, limits, "max_batch_size", j->batch_msgs);
    jput_int_opt(p, limits, "max_batch_timeout", j->batch_timeout);
    jput_int_opt(p, limits, "default_max_consumers", j->max_consumers);
}

void
js_stats_put_config(struct jput *p, json_t *o, struct server *s)
{
    struct js *js = server_js(s);
    const struct js_opts *opts = js != NULL ? js_opts(js) : NULL;
    struct js_caps caps = {0};
    json_t *config = jput_obj(p, o, "config");
    if (js != NULL) {
        js_caps(js, &caps);
    }
    jput_int(p, config, "max_memory", caps.max_memory);
    jput_int(p, config, "max_storage", caps.max_file);
    if (opts == NULL) {
        return;
    }
    json_t *dir = json_sprintf("%s/jetstream", opts->store_dir);
    jput_val(p, config, "store_dir", dir);
    jput_int_opt(p, config, "sync_interval", opts->sync_interval);
    jput_bool_opt(p, config, "sync_always", opts->sync_always);
    jput_str_opt(p, config, "domain", opts->domain);
    jput_bool_opt(p, config, "strict", opts->strict);
    struct config *c = server_config(s);
    put_limits(p, o, &c->js);
    config_unref(c);
}

void
js_stats_put_compress_ok(struct jput *p, json_t *o)
{
    json_t *config = json_object_get(o, "config");
    if (json_object_get(config, "store_dir") != NULL) {
        jput_bool(p, config, "compress_ok", true);
    }
}

void
js_stats_put_varz(struct jput *p, json_t *o, struct server *s)
{
    json_t *js = jput_obj(p, o, "jetstream");
    if (server_js(s) == NULL) {
        return;
    }
    json_t *parts = jput_new(p);
    js_stats_put_config(p, parts, s);
    jput_val(p, js, "config", json_incref(json_object_get(parts, "config")));
    js_stats_put(p, jput_obj(p, js, "stats"), server_js(s));
    jput_val(p, js, "limits", json_incref(json_object_get(parts, "limits")));
    json_decref(parts);
}
