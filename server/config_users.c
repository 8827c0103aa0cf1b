/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config_users.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/conf/number.h"
#include "server/config.h"
#include "server/config_loader.h"
#include "server/config_perms.h"
#include "server/options.h"

#define GLOBAL_ACCOUNT "$G"

static void
read_timeout(struct config_loader *ld, const struct option *o, const struct conf_value *v)
{
    char why[NUMBER_WHY_LEN];
    char text[CONF_TEXT_LEN];
    double seconds = v->type == CONF_INT ? (double)v->i : v->f;
    int64_t d = 0;
    if (v->type == CONF_STRING) {
        if (number_parse_duration(v->str, &d, why) != ST_OK) {
            config_loader_error(ld, v, "error parsing authorization config, 'timeout' %s", why);
            return;
        }
        seconds = (double)d / (double)CLOCK_S;
    } else if (v->type != CONF_INT && v->type != CONF_FLOAT) {
        config_loader_error(ld, v, "error parsing authorization config, 'timeout' wrong type");
        return;
    }
    if (seconds > 60) {
        config_loader_warning(ld, v,
                              "invalid use of field \"timeout\": timeout of %s (%f seconds) is "
                              "high, consider keeping it under 60 seconds. possibly caused by "
                              "unquoted duration; use '1m' instead of 1m, for example",
                              conf_value_text(v, text), seconds);
    }
    if (seconds < 0 || seconds > 1e9) {
        config_loader_error(ld, v, "timeout: %g is out of range, allowed is 0 to 1000000000",
                            seconds);
        return;
    }
    int64_t *field = option_field(o, ld->c);
    *field = (int64_t)(seconds * (double)CLOCK_S);
    if (*field == 0) {
        *field = o->def;
    }
}

CONFIG_USERS(auth_timeout)
{
    (void)key;
    read_timeout(ld, o, v);
}

CONFIG_USERS(default_permissions)
{
    (void)o;
    (void)key;
    config_perms_read(ld, v, &ld->c->default_perms);
}

static bool
is_connection_type(const char *s)
{
    return option_has_word("STANDARD WEBSOCKET LEAFNODE LEAFNODE_WS MQTT MQTT_WS IN_PROCESS", s,
                           false);
}

static void
read_connection_type(struct config_loader *ld, const struct conf_value *list,
                     const struct conf_value *v, struct config_user *u)
{
    if (v->type != CONF_STRING) {
        config_loader_error(ld, v,
                            "error parsing allowed connection types: unsupported type in array %s",
                            conf_type_name(v->type));
        return;
    }
    char *upper = arena_strndup(&ld->arena, v->str, strlen(v->str));
    if (upper == NULL) {
        ld->nomem = true;
        return;
    }
    for (char *p = upper; *p != '\0'; p++) {
        *p = (char)toupper((unsigned char)*p);
    }
    if (is_connection_type(upper)) {
        config_loader_append(ld, &u->connection_types, &u->n_connection_types, upper);
    } else {
        config_loader_error(ld, list, "invalid connection types [\"%s\"]", upper);
    }
}

static void
read_connection_types(struct config_loader *ld, const struct conf_value *v, struct config_user *u)
{
    if (v->type == CONF_STRING) {
        read_connection_type(ld, v, v, u);
    } else if (v->type == CONF_ARRAY) {
        for (size_t i = 0; i < conf_array_len(v->array); i++) {
            read_connection_type(ld, v, conf_array_at(v->array, i), u);
        }
    } else {
        config_loader_error(ld, v, "error parsing allowed connection types: unsupported type %s",
                            conf_type_name(v->type));
    }
}

static void
read_user_key(struct config_loader *ld, const struct conf_value *v, const char *key,
              struct config_user *u)
{
    const char *s = NULL;
    if (option_has_word("user username", key, true)) {
        s = config_loader_string(ld, v);
        if (s != NULL) {
            config_loader_copy(ld, &u->username, s);
        }
    } else if (option_has_word("pass password", key, true)) {
        s = config_loader_string(ld, v);
        if (s != NULL) {
            config_loader_copy(ld, &u->password, s);
        }
    } else if (option_has_word("permission permissions authorization", key, true)) {
        config_perms_read(ld, v, &u->perms);
    } else if (option_has_word("allowed_connection_types connection_types clients", key, true)) {
        read_connection_types(ld, v, u);
    } else if (strcasecmp(key, "proxy_required") == 0) {
        if (config_loader_is(ld, v, CONF_BOOL) && v->b) {
            config_loader_unsupported(ld, v, key);
        }
    } else if (strcasecmp(key, "nkey") == 0) {
        config_loader_unsupported(ld, v, key);
    } else {
        config_loader_unknown(ld, v, key, NULL);
    }
}

/* Puts u, which it takes, at the end of the list. */
static bool
add_user(struct config_loader *ld, struct config_user *u)
{
    struct config *c = ld->c;
    struct config_user **users = mem_realloc(c->users, (c->n_users + 1) * sizeof(*users));
    if (users == NULL) {
        config_user_free(u);
        ld->nomem = true;
        return false;
    }
    c->users = users;
    users[c->n_users++] = u;
    return true;
}

static void
read_user(struct config_loader *ld, const struct conf_value *at, const struct conf_value *v,
          const char *account)
{
    char text[CONF_TEXT_LEN];
    if (v->type != CONF_MAP) {
        config_loader_error(ld, v, "Expected user entry to be a map/struct, got %s",
                            conf_value_text(v, text));
        return;
    }
    struct config_user *u = mem_alloc(sizeof(*u));
    if (u == NULL) {
        ld->nomem = true;
        return;
    }
    u->account = account;
    size_t errors = ld->n_errors;
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        read_user_key(ld, conf_map_at(v->map, i), conf_map_key(v->map, i), u);
    }
    if (u->password == NULL) {
        config_loader_copy(ld, &u->password, "");
    }
    if (ld->n_errors == errors && (u->username == NULL || u->username[0] == '\0')) {
        size_t n = conf_map_len(v->map);
        config_loader_error(ld, n > 0 ? conf_map_at(v->map, n - 1) : v,
                            "User entry requires a user");
    }
    if (u->username == NULL) {
        config_user_free(u);
        return;
    }
    if (conf_map_get(ld->names, u->username) != NULL) {
        config_loader_error(ld, at, "Duplicate user \"%s\" detected", u->username);
    }
    static struct conf_value seen = {.type = CONF_BOOL};
    char *name = arena_strndup(&ld->arena, u->username, strlen(u->username));
    if (name == NULL || conf_map_put(&ld->arena, ld->names, name, &seen) != ST_OK) {
        ld->nomem = true;
    }
    add_user(ld, u);
}

/* at: what a message about a name that is there twice points to. */
static void
read_users(struct config_loader *ld, const struct conf_value *v, const char *account,
           const struct conf_value *at)
{
    char text[CONF_TEXT_LEN];
    if (v->type != CONF_ARRAY) {
        config_loader_error(ld, v, "Expected users field to be an array, got %s",
                            conf_value_text(v, text));
        return;
    }
    for (size_t i = 0; i < conf_array_len(v->array); i++) {
        read_user(ld, at, conf_array_at(v->array, i), account);
    }
}

/* Users from `from` on that have no permissions of their own get these. */
static void
apply_defaults(struct config_loader *ld, size_t from, const struct config_perms *perms)
{
    for (size_t i = from; perms != NULL && i < ld->c->n_users; i++) {
        struct config_user *u = ld->c->users[i];
        if (u->perms == NULL && config_perms_clone(&u->perms, perms) != ST_OK) {
            ld->nomem = true;
        }
    }
}

CONFIG_USERS(auth_users)
{
    (void)o;
    (void)key;
    read_users(ld, v, GLOBAL_ACCOUNT, ld->auth_block);
}

static bool
is_given(const char *s)
{
    return s != NULL && s[0] != '\0';
}

CONFIG_USERS(authorization)
{
    struct config *c = ld->c;
    size_t before = c->n_users;
    bool users = before > 0;
    (void)o;
    (void)key;
    if (!config_loader_is(ld, v, CONF_MAP)) {
        return;
    }
    c->auth_block = true;
    ld->auth_block = v;
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        const char *k = conf_map_key(v->map, i);
        users = users || strcasecmp(k, "users") == 0;
        config_loader_key(ld, "authorization", conf_map_at(v->map, i), k);
    }
    apply_defaults(ld, before, c->default_perms);
    bool single = is_given(c->username);
    if ((single || is_given(c->password)) && is_given(c->token)) {
        config_loader_error(ld, v, "Cannot have a user/pass and token");
    } else if (users && single) {
        config_loader_error(ld, v, "Can not have a single user/pass and a users array");
    } else if (users && is_given(c->token)) {
        config_loader_error(ld, v, "Can not have a token and a users array");
    }
}

static void
read_limit(struct config_loader *ld, const struct conf_value *v, const char *key,
           struct config_account *a)
{
    int64_t *limit = option_has_word("max_connections max_conn", key, true)     ? &a->max_conns
                     : option_has_word("max_subscriptions max_subs", key, true) ? &a->max_subs
                     : option_has_word("max_payload max_pay", key, true)        ? &a->max_payload
                     : option_has_word("max_leafnodes max_leafs", key, true)    ? &a->max_leafs
                                                                                : NULL;
    if (limit == NULL) {
        if (!v->used_variable) {
            config_loader_error(ld, v, "Unknown field \"%s\" parsing account limits", key);
        }
    } else if (config_loader_is(ld, v, CONF_INT)) {
        if (v->i < -1 || v->i > INT32_MAX) {
            config_loader_error(ld, v, "%s: %lld is out of range, allowed is -1 to %d", key,
                                (long long)v->i, INT32_MAX);
        } else {
            *limit = v->i;
        }
    }
}

static void
read_limits(struct config_loader *ld, const struct conf_value *v, struct config_account *a)
{
    char text[CONF_TEXT_LEN];
    if (v->type != CONF_MAP) {
        config_loader_error(ld, v, "Expected account limits to be a map/struct, got %s",
                            conf_value_text(v, text));
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        read_limit(ld, conf_map_at(v->map, i), conf_map_key(v->map, i), a);
    }
}

static bool
is_off(const struct conf_value *v)
{
    switch (v->type) {
    case CONF_BOOL:
        return !v->b;
    case CONF_STRING:
        return option_has_word("disabled disable", v->str, true);
    case CONF_ARRAY:
        return conf_array_len(v->array) == 0;
    case CONF_INT:
    case CONF_FLOAT:
    case CONF_DATETIME:
    case CONF_MAP:
        break;
    }
    return false;
}

static void
read_account_key(struct config_loader *ld, const struct conf_value *v, const char *key,
                 struct config_account *a)
{
    if (strcasecmp(key, "users") == 0) {
        if (is_off(v)) {
            return;
        }
        if (is_given(ld->c->username)) {
            config_loader_error(ld, v, "Can not have a single user/pass and accounts");
        } else if (is_given(ld->c->token)) {
            config_loader_error(ld, v, "Can not have a token and accounts");
        }
        read_users(ld, v, a->name, v);
    } else if (strcasecmp(key, "default_permissions") == 0) {
        config_perms_read(ld, v, &a->default_perms);
    } else if (strcasecmp(key, "limits") == 0) {
        read_limits(ld, v, a);
    } else if (strcasecmp(key, "jetstream") == 0) {
        config_js_read_account(ld, v, &a->js);
    } else if (option_has_word("nkey imports exports mappings maps msg_trace trace_dest", key,
                               true)) {
        bool empty_map = v->type == CONF_MAP && conf_map_len(v->map) == 0 &&
                         option_has_word("mappings maps", key, true);
        if (!is_off(v) && !empty_map) {
            config_loader_unsupported(ld, v, key);
        }
    } else {
        config_loader_unknown(ld, v, key, NULL);
    }
}

static struct config_account *
add_account(struct config_loader *ld, const char *name)
{
    struct config *c = ld->c;
    struct config_account *a = mem_alloc(sizeof(*a));
    struct config_account **list =
        a != NULL ? mem_realloc(c->accounts, (c->n_accounts + 1) * sizeof(*list)) : NULL;
    if (list == NULL) {
        mem_free(a);
        ld->nomem = true;
        return NULL;
    }
    c->accounts = list;
    a->max_conns = a->max_subs = a->max_payload = a->max_leafs = -1;
    a->js = (struct config_js_account){false, -1, -1, -1, -1, -1, -1, -1, false};
    config_loader_copy(ld, &a->name, name);
    list[c->n_accounts++] = a;
    return a;
}

static struct config_account *
find_account(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->n_accounts; i++) {
        if (c->accounts[i]->name != NULL && strcmp(c->accounts[i]->name, name) == 0) {
            return c->accounts[i];
        }
    }
    return NULL;
}

static void
read_account_name(struct config_loader *ld, const struct conf_value *v)
{
    const char *name = config_loader_string(ld, v);
    if (name == NULL) {
        return;
    }
    if (strcmp(name, GLOBAL_ACCOUNT) == 0) {
        config_loader_error(ld, v, "\"%s\" is a Reserved Account", name);
    } else if (find_account(ld->c, name) != NULL) {
        config_loader_error(ld, v, "Duplicate Account Entry: %s", name);
    } else {
        add_account(ld, name);
    }
}

static void
read_account(struct config_loader *ld, const struct conf_value *v, const char *name)
{
    if (v->used_variable) {
        return;
    }
    if (v->type != CONF_MAP) {
        config_loader_error(ld, v, "Expected map entries for accounts");
        return;
    }
    if (strcmp(name, GLOBAL_ACCOUNT) == 0) {
        config_loader_error(ld, v, "\"%s\" is a Reserved Account", name);
        return;
    }
    struct config_account *a = add_account(ld, name);
    if (a == NULL || a->name == NULL) {
        return;
    }
    size_t before = ld->c->n_users;
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        read_account_key(ld, conf_map_at(v->map, i), conf_map_key(v->map, i), a);
    }
    apply_defaults(ld, before, a->default_perms);
}

CONFIG_USERS(accounts)
{
    (void)o;
    (void)key;
    if (v->type == CONF_ARRAY) {
        for (size_t i = 0; i < conf_array_len(v->array); i++) {
            read_account_name(ld, conf_array_at(v->array, i));
        }
    } else if (v->type == CONF_MAP) {
        for (size_t i = 0; i < conf_map_len(v->map); i++) {
            read_account(ld, conf_map_at(v->map, i), conf_map_key(v->map, i));
        }
    } else {
        config_loader_error(ld, v, "Expected accounts to be a map or an array, got %s",
                            conf_type_name(v->type));
    }
}

CONFIG_USERS(system_account)
{
    (void)key;
    if (v->type != CONF_STRING) {
        config_loader_error(ld, v, "system account name must be a string");
        return;
    }
    config_loader_copy(ld, option_field(o, ld->c), v->str);
    ld->system_account_set = v->str[0] != '\0';
}

CONFIG_USERS(no_system_account)
{
    (void)o;
    (void)key;
    if (config_loader_is(ld, v, CONF_BOOL)) {
        ld->no_system_account = v->b;
    }
}
