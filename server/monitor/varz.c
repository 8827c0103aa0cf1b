/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/varz.h"

#include <string.h>

#include "server/base/clock.h"
#include "server/config.h"
#include "server/inspect.h"
#include "server/monitor/jput.h"
#include "server/monitor/js_stats.h"
#include "server/monitor/monitor.h"
#include "server/monitor/text.h"
#include "server/monitor/usage.h"
#include "server/monitor/vopts.h"
#include "server/server.h"

enum { TLS_TIMEOUT_S = 2 }; /* nats-server's default; shown also where TLS is off */

void
varz_put_kinds(struct jput *p, json_t *o, const char *key, int64_t clients)
{
    json_t *k = jput_obj(p, o, key);
    jput_int(p, k, "clients", clients);
    jput_int(p, k, "routes", 0);
    jput_int(p, k, "gateways", 0);
    jput_int(p, k, "leafs", 0);
}

void
varz_put_tags(struct jput *p, json_t *o, const struct config *c)
{
    json_t *tags = c->n_tags > 0 ? jput_arr(p, o, "tags") : NULL;
    for (size_t i = 0; i < c->n_tags; i++) {
        jput_add_str(p, tags, c->tags[i]);
    }
    json_t *metadata = c->n_metadata > 0 ? jput_obj(p, o, "metadata") : NULL;
    for (size_t i = 0; i < c->n_metadata; i++) {
        jput_str(p, metadata, c->metadata[i].key, c->metadata[i].value);
    }
}

static const char *
or_empty(const char *s)
{
    return s != NULL ? s : "";
}

static void
put_settings(struct jput *p, json_t *o, struct server *s, const struct config *c)
{
    jput_str(p, o, "server_id", server_id(s));
    jput_str(p, o, "server_name", server_name(s));
    jput_str(p, o, "version", SERVER_VERSION);
    jput_int(p, o, "proto", SERVER_PROTO);
    jput_str(p, o, "go", "");
    jput_str(p, o, "host", server_host(s));
    jput_int(p, o, "port", server_port(s));
    jput_bool_opt(p, o, "auth_required", c->auth_required);
    jput_int(p, o, "max_connections", c->max_connections);
    jput_int_opt(p, o, "max_subscriptions", c->max_subscriptions > 0 ? c->max_subscriptions : 0);
    jput_int(p, o, "ping_interval", c->ping_interval);
    jput_int(p, o, "ping_max", c->ping_max);
    jput_str(p, o, "http_host", c->http_host != NULL ? c->http_host : or_empty(c->host));
    jput_int(p, o, "http_port", c->http_port);
    bool has_base = c->http_base_path != NULL && strcmp(c->http_base_path, "/") != 0;
    jput_str(p, o, "http_base_path", has_base ? c->http_base_path : "");
    jput_int(p, o, "https_port", c->https_port);
    jput_real(p, o, "auth_timeout", (double)c->auth_timeout / (double)CLOCK_S);
    jput_int(p, o, "max_control_line", c->max_control_line);
    jput_int(p, o, "max_payload", c->max_payload);
    jput_int(p, o, "max_pending", c->max_pending);
    static const char *const not_here[] = {"cluster", "gateway", "leaf", "mqtt", "websocket"};
    for (size_t i = 0; i < sizeof not_here / sizeof not_here[0]; i++) {
        jput_obj(p, o, not_here[i]);
    }
    js_stats_put_varz(p, o, s);
    js_stats_put_compress_ok(p, json_object_get(o, "jetstream"));
    jput_int(p, o, "tls_timeout", TLS_TIMEOUT_S);
    jput_int(p, o, "write_deadline", c->write_deadline);
}

static void
put_process(struct jput *p, json_t *o, struct server *s)
{
    int64_t now = clock_wall_ns();
    char text[TEXT_LEN];
    jput_time(p, o, "start", server_start_wall(s));
    jput_time(p, o, "now", now);
    jput_str(p, o, "uptime", text_uptime(now - server_start_wall(s), text));
    jput_int(p, o, "mem", usage_rss());
    jput_int(p, o, "cores", usage_cores());
    jput_int(p, o, "gomaxprocs", usage_cores());
    jput_real(p, o, "cpu", monitor_cpu_percent(server_monitor(s)));
}

static void
put_counters(struct jput *p, json_t *o, const struct server_totals *t)
{
    jput_int(p, o, "connections", t->connections);
    jput_int(p, o, "total_connections", t->total_connections);
    jput_int(p, o, "routes", 0);
    jput_int(p, o, "remotes", 0);
    jput_int(p, o, "leafnodes", 0);
    jput_int(p, o, "in_msgs", t->in_msgs);
    jput_int(p, o, "in_bytes", t->in_bytes);
    jput_int(p, o, "in_client_msgs", t->in_client_msgs);
    jput_int(p, o, "in_client_bytes", t->in_client_bytes);
    jput_int(p, o, "out_msgs", t->out_msgs);
    jput_int(p, o, "out_bytes", t->out_bytes);
    jput_int(p, o, "out_client_msgs", t->out_client_msgs);
    jput_int(p, o, "out_client_bytes", t->out_client_bytes);
    jput_int(p, o, "slow_consumers", t->slow_consumers);
    jput_int(p, o, "stale_connections", t->stale_connections);
    jput_int(p, o, "stalled_clients", t->stalled_clients);
    jput_int(p, o, "subscriptions", t->subscriptions);
}

static void
put_rest(struct jput *p, json_t *o, struct server *s, const struct config *c,
         const struct server_totals *t)
{
    jput_val(p, o, "http_req_stats", monitor_http_stats(server_monitor(s)));
    jput_time(p, o, "config_load_time", server_config_load_wall(s));
    jput_str(p, o, "config_digest", c->config_digest);
    varz_put_tags(p, o, c);
    jput_str_opt(p, o, "system_account", c->system_account);
    varz_put_kinds(p, o, "slow_consumer_stats", t->slow_consumers);
    varz_put_kinds(p, o, "stale_connection_stats", t->stale_connections);
    json_t *disk = jput_obj(p, o, "disk_io_wait_stats");
    jput_int(p, disk, "waiters", 0);
    jput_int(p, disk, "waits", 0);
    jput_int(p, disk, "wait_time", 0);
    jput_int(p, disk, "max_wait_time", 0);
    json_t *own = jput_obj(p, o, "sluice");
    jput_str(p, own, "version", SLUICE_VERSION);
    jput_int(p, own, "auth_errors", t->auth_errors);
    jput_int(p, own, "replies_dropped", t->replies_dropped);
}

enum status
varz_build(struct server *s, struct vopts *o, json_t **out)
{
    if (o->st != ST_OK) {
        return o->st;
    }
    struct server_totals totals = {0};
    inspect_totals(s, &totals);
    struct config *c = server_config(s);
    struct jput p = {0};
    json_t *root = jput_new(&p);
    put_settings(&p, root, s, c);
    put_process(&p, root, s);
    put_counters(&p, root, &totals);
    put_rest(&p, root, s, c, &totals);
    config_unref(c);
    return jput_end(&p, root, out);
}
