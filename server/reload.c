/* SPDX-License-Identifier: Apache-2.0 */
/* Reload: the new file is read and checked whole before anything changes; then accounts, users,
 * INFO and the API plane take it over, and every loop swaps its snapshots between two turns. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "server/advertise.h"
#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/base/buf.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/gather.h"
#include "server/inspect.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/priv.h"
#include "server/proto/info.h"
#include "server/proto/login.h"
#include "server/start.h"

enum status
reload_make_info(struct server *s, const struct config *cfg, bool lame_duck, struct info **out)
{
    struct advertise told;
    pthread_mutex_lock(&s->lock);
    bool auth_required = auth_anonymous(s->auth) == NULL;
    pthread_mutex_unlock(&s->lock);
    struct info_spec spec = {.server_id = s->id,
                             .server_name = s->name,
                             .host = s->host,
                             .xkey = s->xkey,
                             .port = s->port,
                             .headers = !cfg->no_header_support,
                             .auth_required = auth_required,
                             .jetstream = cfg->js.enabled,
                             .domain = cfg->js.domain,
                             .lame_duck = lame_duck,
                             .max_payload = cfg->max_payload};
    if (cfg->client_advertise != NULL) {
        if (advertise_parse(cfg->client_advertise, s->port, &told) != ST_OK) {
            return ST_INVAL;
        }
        spec.host = told.host;
        spec.port = told.port;
    }
    return info_new(out, &spec);
}

struct swap {
    struct loop_msg msg;
    struct config *cfg; /* ref */
    struct auth *auth;  /* ref */
    struct info *info;  /* ref */
    bool announce;      /* send INFO to clients that understand it */
};

static void
announce(struct conn *c)
{
    if (c->got_connect && c->client_proto >= 1) {
        info_send(c, false);
    }
}

static void
on_swap(struct loop *l, struct loop_msg *msg)
{
    struct swap *sw = LIST_ENTRY(msg, struct swap, msg);
    struct list_node *node;
    struct list_node *next;
    bool auth_changed = l->auth != sw->auth;
    config_unref(l->cfg);
    auth_unref(l->auth);
    info_unref(l->info);
    l->cfg = sw->cfg;
    l->auth = sw->auth;
    l->info = sw->info;
    LIST_FOREACH_SAFE(node, next, &l->conns)
    {
        struct conn *c = LIST_ENTRY(node, struct conn, all);
        if (auth_changed) {
            login_reload(c);
        }
        if (sw->announce && !c->closed) {
            announce(c);
        }
    }
    mem_free(sw);
}

static enum status
tell(struct server *s, struct loop *l, bool to_clients)
{
    struct swap *sw = mem_alloc(sizeof *sw);
    if (sw == NULL) {
        return ST_NOMEM;
    }
    sw->msg.run = on_swap;
    sw->cfg = config_ref(s->config);
    sw->auth = auth_ref(s->auth);
    sw->info = info_ref(s->info);
    sw->announce = to_clients;
    loop_post(l, &sw->msg);
    return ST_OK;
}

enum status
reload_tell_loops(struct server *s)
{
    for (uint32_t i = 0; i < s->n_loops; i++) {
        enum status st = tell(s, s->loops[i], true);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static void
log_change(void *arg, const char *line)
{
    (void)arg;
    log_info("%s", line);
}

static int
newest_first(const void *a, const void *b)
{
    const struct conn_info *x = a;
    const struct conn_info *y = b;
    return x->cid < y->cid ? 1 : x->cid > y->cid ? -1 : 0;
}

/* Closes the newest clients (of one account, or of all for NULL) over a limit that was lowered. */
static void
trim(struct server *s, const char *account, int64_t most)
{
    struct inspect_query q = {.state = CONN_STATE_OPEN, .account = account};
    struct conn_info *v;
    size_t n;
    if (inspect_conns(s, &q, &v, &n) != ST_OK) {
        return;
    }
    qsort(v, n, sizeof *v, newest_first);
    for (size_t i = 0; (int64_t)(n - i) > most && i < n; i++) {
        if (account == NULL) {
            server_close_conn(s, v[i].cid, CLOSE_MAX_CONNS, "maximum connections exceeded");
        } else {
            server_close_conn(s, v[i].cid, CLOSE_MAX_ACCOUNT_CONNS,
                              "maximum account active connections exceeded");
        }
    }
    inspect_free_conns(v, n);
}

static void
trim_all(struct server *s)
{
    const struct config *cfg = s->config;
    for (struct account *a = s->accounts; a != NULL; a = a->next) {
        int64_t most = atomic_load(&a->max_conns);
        if (most >= 0 && atomic_load(&a->conns) > most) {
            trim(s, a->name, most);
        }
    }
    int64_t most = cfg->max_connections > 0 ? cfg->max_connections : 0;
    if (cfg->max_connections != 0 && server_count_conns(s, 0) > most) {
        trim(s, NULL, most);
    }
}

static void
ask_nothing(struct loop *l, void *part, void *query)
{
    (void)l;
    (void)part;
    (void)query;
}

static void
take_nothing(void *part, void *arg)
{
    (void)part;
    (void)arg;
}

/* Messages to a loop keep their order: one that answers has swapped its snapshots. Who reads that
 * the configuration was reloaded may rely on it. */
static void
wait_for_loops(struct server *s)
{
    struct gather_spec spec = {.part_size = 1, .ask = ask_nothing, .finish = take_nothing};
    enum status st = gather_run(s, &spec, NULL);
    if (st != ST_OK) {
        log_warn("Reload: not every loop has taken the configuration over yet: %s",
                 status_text(st));
    }
}

/* What can fail here leaves the setting as it was; the others are taken over all the same. */
static void
apply_the_rest(struct server *s, const struct config *now)
{
    char *err = NULL;
    struct api_opts opts = start_api_opts(now);
    struct api_tenants tenants = start_api_tenants(now);
    enum status log = start_log(now, &err);
    enum status api = api_update(s->api, &opts);
    enum status set = api_set_tenants(s->api, &tenants);
    enum status gates = start_gates(s, now);
    if (log != ST_OK) {
        log_error("Reload: the log stays as it was: %s", err != NULL ? err : status_text(log));
    }
    if (api != ST_OK || set != ST_OK || gates != ST_OK) {
        log_error("Reload: the API plane could not take over every setting");
    }
    mem_free(err);
}

/* Takes now. */
static enum status
swap_in(struct server *s, struct config *now, char **err)
{
    struct auth *auth = NULL;
    struct info *info = NULL;
    enum status st = accounts_apply(s, now);
    if (st == ST_OK) {
        st = auth_new(&auth, now, accounts_get, s);
    }
    if (st == ST_OK) {
        st = jetstream_apply(s, now);
    }
    if (st != ST_OK) {
        auth_unref(auth);
        *err = mem_strdup(status_text(st));
        config_unref(now);
        return st;
    }
    pthread_mutex_lock(&s->lock);
    struct config *old = s->config;
    struct auth *old_auth = s->auth;
    s->config = now;
    s->auth = auth;
    pthread_mutex_unlock(&s->lock);
    config_unref(old);
    auth_unref(old_auth);
    if (reload_make_info(s, now, false, &info) == ST_OK) {
        info_unref(s->info);
        s->info = info;
    }
    apply_the_rest(s, now);
    st = reload_tell_loops(s);
    wait_for_loops(s);
    trim_all(s);
    return st;
}

static enum status
check_advertise(const struct config *cfg, char **err)
{
    struct advertise told;
    if (cfg->client_advertise == NULL ||
        advertise_parse(cfg->client_advertise, 0, &told) == ST_OK) {
        return ST_OK;
    }
    struct buf text;
    buf_init(&text);
    buf_printf(&text, "invalid ClientAdvertise value of %s, err=%s", cfg->client_advertise,
               told.why);
    *err = buf_detach(&text, NULL);
    return ST_INVAL;
}

enum status
reload_now(struct server *s, char **err)
{
    struct config *now = NULL;
    if (s->config->config_file == NULL) {
        *err = mem_strdup("can only reload config when a file is provided using -c or --config");
        return ST_INVAL;
    }
    enum status st = config_reload(s->config, &now, err);
    if (st != ST_OK) {
        return st;
    }
    st = check_advertise(now, err);
    if (st == ST_OK) {
        st = config_diff(s->config, now, log_change, NULL, err);
    }
    if (st != ST_OK) {
        config_unref(now);
        return st;
    }
    st = swap_in(s, now, err);
    if (st != ST_OK) {
        return st;
    }
    atomic_store(&s->config_wall, clock_wall_ns());
    log_info("Reloaded server configuration (%s)", s->config->config_digest);
    return ST_OK;
}

static enum status
reload_call(struct server *s, char **err)
{
    log_info("Reloading server configuration on request");
    return reload_now(s, err);
}

enum status
server_reload(struct server *s, char **err)
{
    return server_call(s, reload_call, err);
}
