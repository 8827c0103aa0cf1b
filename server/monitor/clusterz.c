/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/clusterz.h"

#include "server/base/clock.h"
#include "server/monitor/jput.h"
#include "server/monitor/views.h"
#include "server/monitor/vopts.h"
#include "server/server.h"

enum status
clusterz_build_routez(struct server *s, struct vopts *o, json_t **out)
{
    vopts_bool(o, "subscriptions");
    vopts_bool(o, "subscriptions_detail");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct jput p = {0};
    json_t *root = jput_new(&p);
    jput_str(&p, root, "server_id", server_id(s));
    jput_str(&p, root, "server_name", server_name(s));
    jput_time(&p, root, "now", clock_wall_ns());
    jput_int(&p, root, "num_routes", 0);
    jput_arr(&p, root, "routes");
    return jput_end(&p, root, out);
}

enum status
clusterz_build_gatewayz(struct server *s, struct vopts *o, json_t **out)
{
    vopts_str(o, "name", "string");
    vopts_bool(o, "accounts");
    vopts_str(o, "account_name", "string");
    vopts_bool(o, "subscriptions");
    vopts_bool(o, "subscriptions_detail");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct jput p = {0};
    json_t *root = views_begin(&p, s);
    jput_obj(&p, root, "outbound_gateways");
    jput_obj(&p, root, "inbound_gateways");
    return jput_end(&p, root, out);
}

enum status
clusterz_build_leafz(struct server *s, struct vopts *o, json_t **out)
{
    vopts_bool(o, "subscriptions");
    vopts_str(o, "account", "string");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct jput p = {0};
    json_t *root = views_begin(&p, s);
    jput_int(&p, root, "leafnodes", 0);
    jput_arr(&p, root, "leafs");
    return jput_end(&p, root, out);
}

enum status
clusterz_build_raftz(struct server *s, struct vopts *o, json_t **out)
{
    (void)s;
    vopts_str(o, "account", "string");
    vopts_str(o, "group", "string");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct jput p = {0};
    return jput_end(&p, jput_new(&p), out);
}
