/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"

#include <stdio.h>
#include <string.h>

#include "api/advisory.h"
#include "api/catalog.h"
#include "api/dispatch.h"
#include "api/endpoints.h"
#include "api/gates.h"
#include "api/group_admin.h"
#include "api/history.h"
#include "api/jobj.h"
#include "api/ledger.h"
#include "api/parker.h"
#include "api/plane.h"
#include "api/reply.h"
#include "api/settings.h"
#include "api/ticker.h"
#include "api/weights.h"
#include "queue/apiq.h"
#include "server/base/mem.h"

/* subject with "{id}" replaced. NULL without memory. */
static char *
expand(const char *subject, const char *id)
{
    const char *at = strstr(subject, "{id}");
    if (at == NULL) {
        return mem_strdup(subject);
    }
    size_t n = strlen(subject) + strlen(id) + 1;
    char *out = mem_alloc(n);
    if (out != NULL) {
        (void)snprintf(out, n, "%.*s%s%s", (int)(at - subject), subject, id, at + 4);
    }
    return out;
}

static void
free_subs(struct api *a)
{
    for (size_t i = 0; i < a->n_subs; i++) {
        mem_free((char *)(uintptr_t)a->subs[i].subject);
    }
    mem_free(a->subs);
}

static enum status
make_subs(struct api *a)
{
    size_t n;
    const struct api_endpoint *const *all = endpoints_all(&n);
    const char *id = a->host->server_id(a->host->ctx);
    a->subs = mem_alloc_array(n * API_EP_SUBJECTS, sizeof(*a->subs));
    if (a->subs == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < API_EP_SUBJECTS && all[i]->subjects[k] != NULL; k++) {
            char *subject = expand(all[i]->subjects[k], id);
            if (subject == NULL) {
                free_subs(a);
                return ST_NOMEM;
            }
            a->subs[a->n_subs++] = (struct api_subscription){
                .subject = subject,
                .endpoint = all[i],
                .jetstream = (all[i]->flags & API_EP_JS) != 0,
                .system_only = (all[i]->flags & API_EP_SYSTEM) != 0,
                .users_only = (all[i]->flags & API_EP_USERS) != 0,
            };
        }
    }
    return ST_OK;
}

static enum status
make_server_json(struct api *a)
{
    struct reply text;
    reply_init(&text);
    json_t *o = json_object();
    jobj_str(&o, "name", a->host->server_name(a->host->ctx));
    jobj_str(&o, "id", a->host->server_id(a->host->ctx));
    enum status st = reply_json(&text, o);
    if (st == ST_OK) {
        /* A name too long for a refusal is left out of it. */
        (void)snprintf(a->server, sizeof(a->server), "%s",
                       text.body.len < sizeof(a->server) ? text.body.data : "{}");
    }
    reply_fini(&text);
    return st;
}

static enum status
start(struct api *a, const struct api_opts *opts)
{
    bool threads = opts->workers > 0;
    enum status st = parker_new(&a->parker, a, threads);
    if (st == ST_OK && threads) {
        struct pool_ops ops = dispatch_pool_ops(a);
        st = pool_new(&a->pool, a->queue, (unsigned)opts->workers, &ops);
    }
    if (st == ST_OK) {
        st = ticker_new(&a->ticker, a, threads);
    }
    if (st != ST_OK) {
        pool_free(a->pool);
        parker_free(a->parker);
        a->parker = NULL;
        a->pool = NULL;
    }
    return st;
}

static enum status
configure(struct api *a, const struct api_opts *opts)
{
    struct settings_values v;
    struct list_node fallen;
    list_init(&fallen);
    settings_of_opts(opts, &v);
    enum status st = settings_apply(a, &v, &fallen);
    (void)dispatch_fallen(a, &fallen, END_EVICTED);
    return st;
}

static void
free_tenants(struct api *a)
{
    weights_free(a->weights);
    catalog_free(a->catalog);
    groups_free(a->groups);
}

/* What keeps the accounts from each other's share. */
static enum status
make_tenants(struct api *a, const struct clock *clock)
{
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        group_room_init(&a->rooms[i], a->queue, (enum apiq_level)i, NULL);
    }
    enum status st = groups_new(&a->groups, clock);
    if (st != ST_OK) {
        return st;
    }
    st = catalog_new(&a->catalog, a->groups);
    if (st != ST_OK) {
        goto err_after_groups;
    }
    st = weights_new(&a->weights);
    if (st != ST_OK) {
        goto err_after_catalog;
    }
    return ST_OK;

err_after_catalog:
    catalog_free(a->catalog);
err_after_groups:
    groups_free(a->groups);
    return st;
}

static void
wake_parker(void *arg, int64_t at)
{
    const struct api *a = arg;
    parker_at(a->parker, at);
}

static enum status
make_gates(struct api *a, const struct clock *clock, bool thread)
{
    struct gates_plane plane = {
        .groups = a->groups, .last_id = &a->last_id, .wake = wake_parker, .arg = a};
    return gates_new(&a->gates, a->host, clock, &plane, thread);
}

enum status
api_new(struct api **out, const struct api_host *host, const struct api_opts *opts,
        const struct clock *clock)
{
    struct api *a = mem_alloc(sizeof(*a));
    if (a == NULL) {
        return ST_NOMEM;
    }
    a->host = host;
    a->clock = *clock;
    a->started = clock_now(clock);
    enum status st = make_server_json(a);
    if (st != ST_OK) {
        goto err_after_alloc;
    }
    if ((st = make_subs(a)) != ST_OK) {
        goto err_after_alloc;
    }
    if ((st = ledger_new(&a->ledger, clock)) != ST_OK) {
        goto err_after_subs;
    }
    if ((st = settings_new(&a->settings, opts)) != ST_OK) {
        goto err_after_ledger;
    }
    if ((st = advisory_new(&a->advisory, host, clock)) != ST_OK) {
        goto err_after_settings;
    }
    if ((st = history_new(&a->history)) != ST_OK) {
        goto err_after_advisory;
    }
    if ((st = apiq_new(&a->queue, clock, 0)) != ST_OK) {
        goto err_after_history;
    }
    if ((st = make_tenants(a, clock)) != ST_OK) {
        goto err_after_queue;
    }
    if ((st = make_gates(a, clock, opts->workers > 0)) != ST_OK) {
        goto err_after_tenants;
    }
    if ((st = configure(a, opts)) != ST_OK || (st = start(a, opts)) != ST_OK) {
        goto err_after_gates;
    }
    *out = a;
    return ST_OK;

err_after_gates:
    gates_free(a->gates);
err_after_tenants:
    free_tenants(a);
err_after_queue:
    apiq_free(a->queue);
err_after_history:
    history_free(a->history);
err_after_advisory:
    advisory_free(a->advisory);
err_after_settings:
    settings_free(a->settings);
err_after_ledger:
    ledger_free(a->ledger);
err_after_subs:
    free_subs(a);
err_after_alloc:
    mem_free(a);
    return st;
}

void
api_close(struct api *a)
{
    if (atomic_exchange(&a->closed, true)) {
        return;
    }
    gates_close(a->gates);
    groups_close(a->groups);
    if (a->pool != NULL) {
        pool_stop(a->pool);
    } else {
        apiq_close(a->queue);
        while (dispatch_step(a, APIQ_LANE_ANY)) {
        }
    }
    ledger_wait_idle(a->ledger);
    ticker_free(a->ticker);
    a->ticker = NULL;
    advisory_flush(a->advisory);
}

void
api_free(struct api *a)
{
    if (a == NULL) {
        return;
    }
    api_close(a);
    pool_free(a->pool);
    parker_free(a->parker);
    gates_free(a->gates);
    free_tenants(a);
    apiq_free(a->queue);
    history_free(a->history);
    advisory_free(a->advisory);
    settings_free(a->settings);
    ledger_free(a->ledger);
    free_subs(a);
    mem_free(a);
}

enum status
api_update(struct api *a, const struct api_opts *opts)
{
    return configure(a, opts);
}

enum status
api_set_tenants(struct api *a, const struct api_tenants *t)
{
    enum status st = weights_set(a->weights, t->weights, t->n_weights);
    if (st == ST_OK) {
        st = catalog_configure(a->catalog, t->groups, t->n_groups);
    }
    if (st == ST_OK) {
        groups_set_cancel_after(a->groups, t->cancel_after);
        st = catalog_open(a->catalog, t->store_dir);
    }
    dispatch_pump(a, 0);
    parker_at(a->parker, 0);
    return st;
}

size_t
api_subscriptions(const struct api *a, const struct api_subscription **out)
{
    *out = a->subs;
    return a->n_subs;
}

void
api_receive(struct api *a, const struct api_endpoint *ep, const struct api_message *m)
{
    dispatch_receive(a, ep, m);
}

void
api_conn_closed(struct api *a, uint64_t cid)
{
    struct list_node gone;
    list_init(&gone);
    /* NB: first the parked, which go to the queue; not the other way round. */
    (void)groups_cancel_owner(a->groups, cid);
    if (apiq_cancel_owner(a->queue, cid, &gone) > 0) {
        (void)dispatch_fallen(a, &gone, END_DISCONNECT);
    } else {
        dispatch_pump(a, 0);
    }
    gates_conn_closed(a->gates, cid);
}

struct gates *
api_gates(struct api *a)
{
    return a->gates;
}
