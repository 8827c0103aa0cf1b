/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/jsz.h"

#include "server/monitor/jput.h"
#include "server/monitor/views.h"
#include "server/monitor/vopts.h"
#include "server/server.h"

/* Checks the types of all options; returns leader_only. */
static bool
read_options(struct vopts *o)
{
    vopts_str(o, "account", "string");
    static const char *const flags[] = {"accounts",          "streams", "consumer",
                                        "direct_consumer",   "config",  "raft",
                                        "stream_leader_only"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        vopts_bool(o, flags[i]);
    }
    vopts_int(o, "offset", "int");
    vopts_int(o, "limit", "int");
    return vopts_bool(o, "leader_only");
}

enum status
jsz_build(struct server *s, struct vopts *o, json_t **out)
{
    bool leader_only = read_options(o);
    if (o->st != ST_OK) {
        return o->st;
    }
    if (leader_only) {
        return vopts_fail(o, ST_CANCELLED, "filtered response: not leader");
    }
    struct jput p = {0};
    json_t *root = jput_new(&p);
    static const char *const usage[] = {"memory",           "storage",  "reserved_memory",
                                        "reserved_storage", "accounts", "ha_assets"};
    for (size_t i = 0; i < sizeof usage / sizeof usage[0]; i++) {
        jput_int(&p, root, usage[i], 0);
    }
    json_t *api = jput_obj(&p, root, "api");
    jput_int(&p, api, "level", 0);
    jput_int(&p, api, "total", 0);
    jput_int(&p, api, "errors", 0);
    json_t *head = views_begin(&p, s);
    p.failed |= root == NULL || head == NULL || json_object_update(root, head) != 0;
    json_decref(head);
    jput_bool(&p, root, "disabled", true);
    json_t *config = jput_obj(&p, root, "config");
    jput_int(&p, config, "max_memory", 0);
    jput_int(&p, config, "max_storage", 0);
    static const char *const totals[] = {"streams", "consumers", "messages", "bytes", "total"};
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        jput_int(&p, root, totals[i], 0);
    }
    return jput_end(&p, root, out);
}

enum status
jsz_build_account(struct server *s, struct vopts *o, json_t **out)
{
    (void)s;
    *out = NULL;
    read_options(o);
    return vopts_fail(o, ST_INVAL, "jetstream not enabled");
}
