/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/accountz.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/config.h"
#include "server/inspect.h"
#include "server/monitor/jput.h"
#include "server/monitor/monitor.h"
#include "server/monitor/sublistz.h"
#include "server/monitor/text.h"
#include "server/monitor/views.h"
#include "server/monitor/vopts.h"
#include "server/server.h"
#include "stream/js.h"

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const struct account_info *)a)->name, ((const struct account_info *)b)->name);
}

static enum status
sorted_accounts(struct server *s, struct account_info **v, size_t *n)
{
    enum status st = inspect_accounts(s, v, n);
    if (st == ST_OK && *n > 1) {
        qsort(*v, *n, sizeof **v, by_name);
    }
    return st;
}

static const struct account_info *
find(const struct account_info *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(v[i].name, name) == 0) {
            return &v[i];
        }
    }
    return NULL;
}

static enum status
put_detail(struct jput *p, json_t *o, struct server *s, const struct account_info *a)
{
    struct sublist_stats stats;
    enum status st = inspect_sublist(s, a->name, &stats);
    if (st != ST_OK) {
        return st;
    }
    jput_str(p, o, "account_name", a->name);
    jput_time(p, o, "update_time", server_config_load_wall(s));
    jput_bool_opt(p, o, "is_system", a->is_system);
    jput_bool(p, o, "expired", false);
    jput_bool(p, o, "complete", true);
    struct js *js = server_js(s);
    struct account *acc = server_account(s, a->name);
    jput_bool(p, o, "jetstream_enabled",
              js != NULL && acc != NULL && js_account_of(js, acc) != NULL);
    jput_int(p, o, "leafnode_connections", 0);
    jput_int(p, o, "client_connections", a->conns);
    jput_int(p, o, "subscriptions", a->num_subs);
    jput_str(p, o, "name_tag", a->name);
    sublistz_put(p, jput_obj(p, o, "sublist_stats"), &stats);
    return ST_OK;
}

/* Puts the details into o. ST_INVAL through vo: no such account. */
static enum status
detail_by_name(struct server *s, struct vopts *vo, const char *name, struct jput *p, json_t *o)
{
    struct account_info *v;
    size_t n;
    enum status st = inspect_accounts(s, &v, &n);
    if (st != ST_OK) {
        return st;
    }
    const struct account_info *a = find(v, n, name);
    if (a == NULL) {
        st = vopts_fail(vo, ST_INVAL, "Account %s does not exist", name);
    } else {
        st = put_detail(p, o, s, a);
    }
    inspect_free_accounts(v, n);
    return st;
}

static enum status
put_names(struct server *s, struct jput *p, json_t *o)
{
    struct account_info *v;
    size_t n;
    enum status st = sorted_accounts(s, &v, &n);
    if (st != ST_OK) {
        return st;
    }
    /* NB: nats-server always has at least one, so its "omitempty" never shows. */
    json_t *arr = jput_arr(p, o, "accounts");
    for (size_t i = 0; i < n; i++) {
        jput_add_str(p, arr, v[i].name);
    }
    inspect_free_accounts(v, n);
    return ST_OK;
}

enum status
accountz_build(struct server *s, struct vopts *o, json_t **out)
{
    const char *account = vopts_str(o, "account", "string");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct jput p = {0};
    json_t *root = views_begin(&p, s);
    struct config *c = server_config(s);
    jput_str_opt(&p, root, "system_account", c->system_account);
    config_unref(c);
    enum status st = ST_OK;
    if (account[0] == '\0') {
        st = put_names(s, &p, root);
    } else {
        st = detail_by_name(s, o, account, &p, jput_obj(&p, root, "account_detail"));
    }
    if (st != ST_OK) {
        json_decref(root);
        return st;
    }
    return jput_end(&p, root, out);
}

enum status
accountz_build_info(struct server *s, struct vopts *o, json_t **out)
{
    const char *account = vopts_str(o, "account", "string");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct jput p = {0};
    json_t *root = jput_new(&p);
    enum status st = detail_by_name(s, o, account, &p, root);
    if (st != ST_OK) {
        json_decref(root);
        return st;
    }
    return jput_end(&p, root, out);
}

static void
put_data(struct jput *p, json_t *o, const char *key, int64_t msgs, int64_t bytes)
{
    json_t *d = jput_obj(p, o, key);
    jput_int(p, d, "msgs", msgs);
    jput_int(p, d, "bytes", bytes);
    static const char *const links[] = {"gateways", "routes", "leafs"};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        json_t *l = jput_obj(p, d, links[i]);
        jput_int(p, l, "msgs", 0);
        jput_int(p, l, "bytes", 0);
    }
}

static void
put_stat(struct jput *p, json_t *o, const struct account_info *a)
{
    jput_str(p, o, "acc", a->name);
    jput_str(p, o, "name", a->name);
    jput_int(p, o, "conns", a->conns);
    jput_int(p, o, "leafnodes", 0);
    jput_int(p, o, "total_conns", a->conns);
    jput_int(p, o, "num_subscriptions", a->num_subs);
    put_data(p, o, "sent", a->out_msgs, a->out_bytes);
    put_data(p, o, "received", a->in_msgs, a->in_bytes);
    jput_int(p, o, "slow_consumers", a->slow_consumers);
}

static bool
is_listed(const json_t *names, const char *name)
{
    size_t i;
    json_t *item;
    json_array_foreach(names, i, item)
    {
        if (strcmp(json_string_value(item), name) == 0) {
            return true;
        }
    }
    return json_array_size(names) == 0;
}

enum status
accountz_build_statz(struct server *s, struct vopts *o, json_t **out)
{
    const json_t *names = vopts_strings(o, "accounts");
    bool unused = vopts_bool(o, "include_unused");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct account_info *v;
    size_t n;
    enum status st = sorted_accounts(s, &v, &n);
    if (st != ST_OK) {
        return st;
    }
    struct jput p = {0};
    json_t *root = views_begin(&p, s);
    json_t *arr = jput_arr(&p, root, "account_statz");
    for (size_t i = 0; i < n; i++) {
        if ((unused || v[i].conns > 0) && is_listed(names, v[i].name)) {
            put_stat(&p, jput_add_obj(&p, arr), &v[i]);
        }
    }
    inspect_free_accounts(v, n);
    return jput_end(&p, root, out);
}

json_t *
accountz_conns_event(struct server *s, const struct account_info *a)
{
    char id[TEXT_ID_LEN];
    struct jput p = {0};
    json_t *root = jput_new(&p);
    jput_str(&p, root, "type", "io.nats.server.advisory.v1.account_connections");
    jput_str(&p, root, "id", text_new_id(id));
    jput_time(&p, root, "timestamp", clock_wall_ns());
    jput_val(&p, root, "server", monitor_server_info(s));
    put_stat(&p, root, a);
    json_t *out;
    return jput_end(&p, root, &out) == ST_OK ? out : NULL;
}

enum status
accountz_build_conns(struct server *s, struct vopts *o, json_t **out)
{
    const char *name = vopts_str(o, "acc", "string");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct account_info *v;
    size_t n;
    enum status st = inspect_accounts(s, &v, &n);
    if (st != ST_OK) {
        return st;
    }
    const struct account_info *a = find(v, n, name);
    if (a == NULL) {
        st = ST_NOTFOUND;
    } else {
        struct jput p = {0};
        json_t *root = jput_new(&p);
        put_stat(&p, root, a);
        st = jput_end(&p, root, out);
    }
    inspect_free_accounts(v, n);
    return st;
}
