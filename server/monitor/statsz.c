/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/statsz.h"

#include "server/inspect.h"
#include "server/monitor/jput.h"
#include "server/monitor/js_stats.h"
#include "server/monitor/monitor.h"
#include "server/monitor/usage.h"
#include "server/monitor/varz.h"
#include "server/monitor/vopts.h"
#include "server/server.h"

static void
put_data(struct jput *p, json_t *o, const char *key, int64_t msgs, int64_t bytes)
{
    json_t *d = jput_obj(p, o, key);
    jput_int(p, d, "msgs", msgs);
    jput_int(p, d, "bytes", bytes);
}

enum status
statsz_build(struct server *s, struct vopts *o, json_t **out)
{
    if (o->st != ST_OK) {
        return o->st;
    }
    struct account_info *accounts;
    size_t n;
    enum status st = inspect_accounts(s, &accounts, &n);
    if (st != ST_OK) {
        return st;
    }
    int64_t active = 0;
    for (size_t i = 0; i < n; i++) {
        active += accounts[i].conns > 0;
    }
    inspect_free_accounts(accounts, n);
    struct server_totals t = {0};
    inspect_totals(s, &t);
    struct jput p = {0};
    json_t *root = jput_new(&p);
    jput_time(&p, root, "start", server_start_wall(s));
    jput_int(&p, root, "mem", usage_rss());
    jput_int(&p, root, "cores", usage_cores());
    jput_real(&p, root, "cpu", monitor_cpu_percent(server_monitor(s)));
    jput_int(&p, root, "connections", t.connections);
    jput_int(&p, root, "total_connections", t.total_connections);
    jput_int(&p, root, "active_accounts", active);
    jput_int(&p, root, "subscriptions", t.subscriptions);
    put_data(&p, root, "sent", t.out_msgs, t.out_bytes);
    put_data(&p, root, "sent_to_clients", t.out_client_msgs, t.out_client_bytes);
    put_data(&p, root, "received", t.in_msgs, t.in_bytes);
    put_data(&p, root, "received_from_clients", t.in_client_msgs, t.in_client_bytes);
    jput_int(&p, root, "slow_consumers", t.slow_consumers);
    if (t.slow_consumers != 0) {
        varz_put_kinds(&p, root, "slow_consumer_stats", t.slow_consumers);
    }
    jput_int_opt(&p, root, "stale_connections", t.stale_connections);
    if (t.stale_connections != 0) {
        varz_put_kinds(&p, root, "stale_connection_stats", t.stale_connections);
    }
    jput_int_opt(&p, root, "stalled_clients", t.stalled_clients);
    jput_int(&p, root, "active_servers", 1);
    if (server_js(s) != NULL) {
        js_stats_put_varz(&p, root, s);
    }
    jput_int(&p, root, "gomaxprocs", usage_cores());
    return jput_end(&p, root, out);
}
