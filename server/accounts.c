/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts of the server: made when the configuration first names them, kept to the end. */
#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "server/auth/account.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/priv.h"
#include "server/route/sub.h"

enum status
accounts_init(struct server *s)
{
    pthread_rwlock_init(&s->accounts_lock, NULL);
    s->global = accounts_get(s, "$G");
    return s->global != NULL ? ST_OK : ST_NOMEM;
}

void
accounts_fini(struct server *s)
{
    while (s->accounts != NULL) {
        struct account *a = s->accounts;
        s->accounts = a->next;
        account_free(a);
    }
    pthread_rwlock_destroy(&s->accounts_lock);
}

struct account *
server_account(struct server *s, const char *name)
{
    pthread_rwlock_rdlock(&s->accounts_lock);
    struct account *a = s->accounts;
    while (a != NULL && strcmp(a->name, name) != 0) {
        a = a->next;
    }
    pthread_rwlock_unlock(&s->accounts_lock);
    return a;
}

struct account *
accounts_get(void *server, const char *name)
{
    struct server *s = server;
    struct account *a = server_account(s, name);
    if (a != NULL) {
        return a;
    }
    if (account_new(&a, name, s->n_accounts + 1) != ST_OK) {
        return NULL;
    }
    pthread_rwlock_wrlock(&s->accounts_lock);
    /* At the end, so that lists show them in the order of the configuration. */
    struct account **link = &s->accounts;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = a;
    s->n_accounts++;
    pthread_rwlock_unlock(&s->accounts_lock);
    return a;
}

static enum status
add_service(struct account *a, const struct api_subscription *from)
{
    struct sub *sub;
    struct sub_spec spec = {
        .subject = from->subject, .subject_len = strlen(from->subject), .queue = "", .sid = ""};
    enum status st = sub_new(&sub, &spec, NULL);
    if (st != ST_OK) {
        return st;
    }
    sub->endpoint = from->endpoint;
    st = sublist_insert(a->subs, sub);
    sub_unref(sub);
    return st;
}

static enum status
add_services(struct server *s, struct account *a)
{
    const struct api_subscription *v;
    size_t n = api_subscriptions(s->api, &v);
    for (size_t i = 0; i < n; i++) {
        bool wanted = a->is_system ? !v[i].users_only : !v[i].system_only;
        wanted = wanted && (!v[i].jetstream || s->config->js.enabled);
        enum status st = wanted ? add_service(a, &v[i]) : ST_OK;
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status
activate(struct server *s, struct account *a, bool is_system)
{
    atomic_store(&a->in_use, true);
    if (a->has_services && a->is_system == is_system) {
        return ST_OK;
    }
    /* NB: the system account cannot change at run time, so services are added once. */
    a->is_system = is_system;
    a->has_services = true;
    return add_services(s, a);
}

static enum status
apply_one(struct server *s, const struct config *cfg, const struct config_account *ca)
{
    struct account *a = accounts_get(s, ca->name);
    if (a == NULL) {
        return ST_NOMEM;
    }
    atomic_store(&a->max_conns, ca->max_conns);
    atomic_store(&a->max_subs, ca->max_subs);
    atomic_store(&a->max_payload, ca->max_payload);
    return activate(s, a,
                    cfg->system_account != NULL && strcmp(ca->name, cfg->system_account) == 0);
}

enum status
accounts_apply(struct server *s, const struct config *cfg)
{
    for (struct account *a = s->accounts; a != NULL; a = a->next) {
        atomic_store(&a->in_use, false);
    }
    enum status st = activate(s, s->global, false);
    for (size_t i = 0; i < cfg->n_accounts && st == ST_OK; i++) {
        st = apply_one(s, cfg, cfg->accounts[i]);
    }
    if (st != ST_OK || cfg->system_account == NULL) {
        return st;
    }
    struct account *system = accounts_get(s, cfg->system_account);
    if (system == NULL) {
        return ST_NOMEM;
    }
    /* NB: other threads read it; it is set before there are any and does not change by a reload. */
    if (s->system != system) {
        s->system = system;
    }
    return activate(s, system, true);
}
