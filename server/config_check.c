/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/base/failure.h"
#include "server/base/hash.h"
#include "server/base/mem.h"
#include "server/conf/number.h"
#include "server/conf/path.h"
#include "server/config.h"
#include "server/config_loader.h"
#include "server/options.h"

#define GLOBAL_ACCOUNT "$G"
#define SYSTEM_ACCOUNT "$SYS"

static enum status
set_string(char **field, const char *s)
{
    char *copy = mem_strdup(s);
    if (copy == NULL) {
        return ST_NOMEM;
    }
    mem_free(*field);
    *field = copy;
    return ST_OK;
}

enum status
config_check_defaults(struct config *c)
{
    for (size_t i = 0; i < options_count; i++) {
        enum status st = option_set_default(&options[i], c);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

/* What was set to nothing is as if it was not set. */
static enum status
fill_row(const struct option *o, struct config *c)
{
    void *field = option_field(o, c);
    if (o->type == OPT_STRING) {
        char **s = field;
        if (*s != NULL && (*s)[0] == '\0') {
            mem_free(*s);
            *s = NULL;
            return (o->bits & OPTION_ZERO_DEFAULT) != 0 ? option_set_default(o, c) : ST_OK;
        }
    } else if ((o->bits & OPTION_ZERO_DEFAULT) != 0 && *(int64_t *)field == 0) {
        *(int64_t *)field = o->def;
    }
    return ST_OK;
}

static enum status
fill_base_path(struct config *c)
{
    struct arena a;
    arena_init(&a);
    char *clean = path_join(&a, "/", c->http_base_path != NULL ? c->http_base_path : "");
    enum status st = clean != NULL ? set_string(&c->http_base_path, clean) : ST_NOMEM;
    arena_fini(&a);
    return st;
}

static enum status
fill(struct config *c)
{
    for (size_t i = 0; i < options_count; i++) {
        enum status st = fill_row(&options[i], c);
        if (st != ST_OK) {
            return st;
        }
    }
    if (c->http_host == NULL || c->http_host[0] == '\0') {
        enum status st = set_string(&c->http_host, c->host);
        if (st != ST_OK) {
            return st;
        }
    }
    if (c->max_subscriptions == 0) {
        c->max_subscriptions = -1;
    }
    if (c->api.info_queue_limit == 0) {
        c->api.info_queue_limit = c->api.request_queue_limit;
    }
    return fill_base_path(c);
}

static bool
has_account(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->n_accounts; i++) {
        if (strcmp(c->accounts[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum status
check_system_account(struct config *c, const struct config_loader *ld, char **err)
{
    if (ld->system_account_set) {
        if (!has_account(c, c->system_account) && strcmp(c->system_account, GLOBAL_ACCOUNT) != 0) {
            return failure(err, ST_INVAL, "error resolving system account: account missing");
        }
        return ST_OK;
    }
    /* JetStream is a service of the system account. */
    if (ld->no_system_account && !c->js.enabled && !has_account(c, SYSTEM_ACCOUNT)) {
        mem_free(c->system_account);
        c->system_account = NULL;
        return ST_OK;
    }
    return set_string(&c->system_account, SYSTEM_ACCOUNT);
}

static enum status
check_no_auth_user(const struct config *c, char **err)
{
    if (c->no_auth_user == NULL) {
        return ST_OK;
    }
    if (c->n_users == 0) {
        return failure(err, ST_INVAL,
                       "no_auth_user: \"%s\" present, but users/nkeys are not defined",
                       c->no_auth_user);
    }
    for (size_t i = 0; i < c->n_users; i++) {
        if (strcmp(c->users[i]->username, c->no_auth_user) == 0) {
            return ST_OK;
        }
    }
    return failure(err, ST_INVAL,
                   "no_auth_user: \"%s\" not present as user or nkey in authorization block or "
                   "account configuration",
                   c->no_auth_user);
}

/* Where the file names no account but the system's, to give it a user, everybody else is let in
 * without one: through a user whose name and password nobody knows. */
static enum status
open_global_account(struct config *c, const struct config_loader *ld)
{
    bool only_system = c->n_accounts == 1 && c->system_account != NULL &&
                       strcmp(c->accounts[0]->name, c->system_account) == 0;
    if (!only_system || c->no_auth_user != NULL || c->auth_block ||
        (!ld->system_account_set && strcmp(c->accounts[0]->name, SYSTEM_ACCOUNT) != 0)) {
        return ST_OK;
    }
    char name[32];
    static const char seed[] = "no-auth-user";
    /* The hash's secret is drawn once, so that a reload finds the same user. */
    snprintf(name, sizeof(name), "nats-%016llx",
             (unsigned long long)hash_bytes(seed, sizeof(seed)));
    struct config_user *u = mem_alloc(sizeof(*u));
    struct config_user **users =
        u != NULL ? mem_realloc(c->users, (c->n_users + 1) * sizeof(*users)) : NULL;
    if (users == NULL) {
        mem_free(u);
        return ST_NOMEM;
    }
    c->users = users;
    users[c->n_users++] = u;
    u->account = GLOBAL_ACCOUNT;
    u->username = mem_strdup(name);
    u->password = mem_strdup(name + sizeof("nats-"));
    if (u->username == NULL || u->password == NULL) {
        return ST_NOMEM;
    }
    return set_string(&c->no_auth_user, name);
}

static enum status
check_limits(const struct config *c, char **err)
{
    char a[NUMBER_DURATION_LEN];
    char b[NUMBER_DURATION_LEN];
    if (c->lame_duck_grace_period >= c->lame_duck_duration) {
        return failure(
            err, ST_INVAL,
            "lame duck grace period (%s) should be strictly lower than lame duck duration "
            "(%s)",
            number_format_duration(c->lame_duck_grace_period, a),
            number_format_duration(c->lame_duck_duration, b));
    }
    if (c->js.domain != NULL && strpbrk(c->js.domain, ".*> \t") != NULL) {
        return failure(err, ST_INVAL, "invalid domain name: may not contain ., * or >");
    }
    if (c->max_payload > c->max_pending) {
        return failure(err, ST_INVAL, "max_payload (%lld) cannot be higher than max_pending (%lld)",
                       (long long)c->max_payload, (long long)c->max_pending);
    }
    if (c->server_name != NULL && strchr(c->server_name, ' ') != NULL) {
        return failure(err, ST_INVAL, "server name cannot contain spaces");
    }
    return ST_OK;
}

enum status
config_check_finish(struct config *c, const struct config_loader *ld, char **err)
{
    enum status st = fill(c);
    if (st == ST_OK) {
        st = check_limits(c, err);
    }
    if (st == ST_OK) {
        st = check_no_auth_user(c, err);
    }
    if (st == ST_OK) {
        st = check_system_account(c, ld, err);
    }
    if (st == ST_OK) {
        st = open_global_account(c, ld);
    }
    c->auth_required = c->n_users > 0 || c->username != NULL || c->token != NULL;
    return st;
}

enum status
config_check_port(int64_t port, char err[CONFIG_PORT_ERR_LEN])
{
    if (port >= -1 && port <= UINT16_MAX) {
        return ST_OK;
    }
    (void)snprintf(err, CONFIG_PORT_ERR_LEN, "listen tcp: address %" PRId64 ": invalid port", port);
    return ST_INVAL;
}
