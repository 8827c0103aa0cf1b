/* SPDX-License-Identifier: Apache-2.0 */
/* What a reload may change and how the log names it (config_diff of server/config.h). */
#include <string.h>

#include "api/gate_conf.h"
#include "server/base/buf.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/conf/number.h"
#include "server/config.h"
#include "server/config_groups.h"
#include "server/options.h"

static bool
same_string(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool
same_tags(const struct config *a, const struct config *b)
{
    for (size_t i = 0; a->n_tags == b->n_tags && i < a->n_tags; i++) {
        if (strcmp(a->tags[i], b->tags[i]) != 0) {
            return false;
        }
    }
    return a->n_tags == b->n_tags;
}

static const char *
value_of(const struct config *c, const char *key)
{
    for (size_t i = 0; i < c->n_metadata; i++) {
        if (strcmp(c->metadata[i].key, key) == 0) {
            return c->metadata[i].value;
        }
    }
    return NULL;
}

static bool
same_metadata(const struct config *a, const struct config *b)
{
    for (size_t i = 0; a->n_metadata == b->n_metadata && i < a->n_metadata; i++) {
        const char *other = value_of(b, a->metadata[i].key);
        if (other == NULL || strcmp(a->metadata[i].value, other) != 0) {
            return false;
        }
    }
    return a->n_metadata == b->n_metadata;
}

static bool
same_users(const struct config *a, const struct config *b)
{
    for (size_t i = 0; a->n_users == b->n_users && i < a->n_users; i++) {
        if (!config_user_equal(a->users[i], b->users[i])) {
            return false;
        }
    }
    return a->n_users == b->n_users;
}

static bool
same_accounts(const struct config *a, const struct config *b)
{
    for (size_t i = 0; a->n_accounts == b->n_accounts && i < a->n_accounts; i++) {
        if (!config_account_equal(a->accounts[i], b->accounts[i])) {
            return false;
        }
    }
    return a->n_accounts == b->n_accounts;
}

static bool
same_gates(const struct config *a, const struct config *b)
{
    for (size_t i = 0; a->n_gates == b->n_gates && i < a->n_gates; i++) {
        if (!gate_conf_equal(a->gates[i].conf, b->gates[i].conf)) {
            return false;
        }
    }
    return a->n_gates == b->n_gates;
}

/* Options that are more than one field. */
static const struct {
    const char *name;
    bool (*same)(const struct config *a, const struct config *b);
} blocks[] = {
    {"server_tags", same_tags},
    {"server_metadata", same_metadata},
    {"authorization.users", same_users},
    {"accounts", same_accounts},
    {"gates", same_gates},
    {"workload_groups", config_groups_equal},
    {"api.account_weights", config_groups_equal_weights},
};

static bool
same_block(const struct option *o, const struct config *a, const struct config *b)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        if (strcmp(blocks[i].name, o->name) == 0) {
            return blocks[i].same(a, b);
        }
    }
    return true;
}

static bool
same(const struct option *o, const struct config *a, const struct config *b)
{
    const void *fa = option_field_const(o, a);
    const void *fb = option_field_const(o, b);
    switch (o->type) {
    case OPT_INT:
    case OPT_DURATION:
        return *(const int64_t *)fa == *(const int64_t *)fb;
    case OPT_BOOL:
        return *(const bool *)fa == *(const bool *)fb;
    case OPT_STRING:
        return same_string(*(char *const *)fa, *(char *const *)fb);
    case OPT_FLOAT:
        return memcmp(fa, fb, sizeof(double)) == 0;
    case OPT_ENUM:
        return *(const unsigned *)fa == *(const unsigned *)fb;
    case OPT_BLOCK:
        return same_block(o, a, b);
    case OPT_UNSUPPORTED:
    case OPT_FLAG:
        break;
    }
    return true;
}

static void
put_value(struct buf *b, const struct option *o, const struct config *c)
{
    const void *f = option_field_const(o, c);
    char text[NUMBER_FLOAT_LEN];
    const char *s;
    switch (o->type) {
    case OPT_INT:
        buf_printf(b, "%lld", (long long)*(const int64_t *)f);
        break;
    case OPT_DURATION:
        buf_puts(b, number_format_duration(*(const int64_t *)f, text));
        break;
    case OPT_BOOL:
        buf_puts(b, *(const bool *)f ? "true" : "false");
        break;
    case OPT_STRING:
        s = *(char *const *)f;
        buf_puts(b, s != NULL ? s : "");
        break;
    case OPT_FLOAT:
        buf_puts(b, number_format_float(*(const double *)f, text));
        break;
    case OPT_ENUM:
        buf_puts(b, o->values[*(const unsigned *)f]);
        break;
    case OPT_BLOCK:
    case OPT_UNSUPPORTED:
    case OPT_FLAG:
        break;
    }
}

/* The limits of JetStream change as one. */
static bool
is_js_limit(const struct option *o)
{
    return o->reload_name != NULL && strcmp(o->reload_name, "JetStream limits") == 0;
}

/* What JetStream may use can only grow, and only where the file says how much. */
static bool
is_js_size(const struct option *o)
{
    return o->field == offsetof(struct config, js.max_memory) ||
           o->field == offsetof(struct config, js.max_file);
}

static const char *
js_size_refusal(const struct option *o, const struct config *old, const struct config *now)
{
    int64_t a = *(const int64_t *)option_field_const(o, old);
    int64_t b = *(const int64_t *)option_field_const(o, now);
    if (!old->js.enabled || a == b || (a != -1 && b != -1 && b > a)) {
        return NULL;
    }
    if (a == -1) {
        return "config reload not supported for jetstream dynamic max memory and store";
    }
    return b == -1 ? "config reload not supported for jetstream max memory and max store"
                   : "config reload not supported for decreasing jetstream max memory and store";
}

static const char *
name_of(const struct option *o)
{
    return o->reload_name != NULL ? o->reload_name : o->name;
}

/* no_auth_user may go together with its user. */
static bool
lost_no_auth_user(const struct option *o, const struct config *old, const struct config *now)
{
    if (o->field != offsetof(struct config, no_auth_user) || old->no_auth_user == NULL ||
        now->no_auth_user != NULL) {
        return false;
    }
    for (size_t i = 0; i < now->n_users; i++) {
        if (strcmp(now->users[i]->username, old->no_auth_user) == 0) {
            return false;
        }
    }
    return true;
}

static bool
may_change(const struct option *o, const struct config *old, const struct config *now)
{
    /* A port that may be any one stays the one that it is. */
    bool any_port = o->field == offsetof(struct config, port) && now->port == -1;
    if (is_js_size(o)) {
        return js_size_refusal(o, old, now) == NULL;
    }
    return (o->bits & OPTION_RELOADABLE) != 0 || any_port || lost_no_auth_user(o, old, now);
}

static enum status
refuse(const struct option *o, const struct config *old, const struct config *now, char **err)
{
    struct buf b;
    if (is_js_size(o)) {
        *err = mem_strdup(js_size_refusal(o, old, now));
        return *err != NULL ? ST_UNSUPPORTED : ST_NOMEM;
    }
    buf_init(&b);
    buf_printf(&b, "config reload not supported for %s: old=", name_of(o));
    put_value(&b, o, old);
    buf_puts(&b, ", new=");
    put_value(&b, o, now);
    *err = buf_detach(&b, NULL);
    return *err != NULL ? ST_UNSUPPORTED : ST_NOMEM;
}

static void
put_line(struct buf *b, const struct option *o, const struct config *now)
{
    if (o->field == offsetof(struct config, no_fast_producer_stall)) {
        buf_printf(b, "Reloaded: fast producers will %sbe stalled",
                   now->no_fast_producer_stall ? "not " : "");
        return;
    }
    bool advertise = o->field == offsetof(struct config, client_advertise);
    buf_printf(b, "%s: %s", advertise ? "Reload" : "Reloaded", name_of(o));
    if (o->type == OPT_BLOCK || (o->bits & OPTION_SECRET) != 0 || is_js_limit(o)) {
        return;
    }
    buf_puts(b, " = ");
    if (o->field == offsetof(struct config, auth_timeout)) {
        char text[NUMBER_FLOAT_LEN];
        buf_puts(b, number_format_float((double)now->auth_timeout / (double)CLOCK_S, text));
    } else if (is_js_size(o)) {
        char text[NUMBER_SIZE_LEN];
        buf_puts(b, number_format_size(*(const int64_t *)option_field_const(o, now), text));
    } else {
        put_value(b, o, now);
    }
}

/* An account whose streams are there keeps them: to stop them takes a restart. */
static enum status
check_accounts(const struct config *old, const struct config *now, char **err)
{
    for (size_t i = 0; i < old->n_accounts && old->js.enabled; i++) {
        const struct config_account *a = old->accounts[i];
        for (size_t k = 0; k < now->n_accounts; k++) {
            const struct config_account *b = now->accounts[k];
            if (strcmp(a->name, b->name) != 0 || !a->js.enabled || b->js.enabled) {
                continue;
            }
            struct buf text;
            buf_init(&text);
            buf_printf(&text,
                       "config reload not supported for JetStream of account \"%s\": old=true, "
                       "new=false",
                       a->name);
            *err = buf_detach(&text, NULL);
            return *err != NULL ? ST_UNSUPPORTED : ST_NOMEM;
        }
    }
    return ST_OK;
}

enum status
config_diff(const struct config *old, const struct config *now,
            void (*changed)(void *arg, const char *line), void *arg, char **err)
{
    *err = NULL;
    for (size_t i = 0; i < options_count; i++) {
        const struct option *o = &options[i];
        if (!same(o, old, now) && !may_change(o, old, now)) {
            return refuse(o, old, now, err);
        }
    }
    enum status st = check_accounts(old, now, err);
    if (st != ST_OK) {
        return st;
    }
    struct buf line;
    bool said_js = false;
    buf_init(&line);
    for (size_t i = 0; i < options_count; i++) {
        const struct option *o = &options[i];
        bool js = is_js_limit(o);
        if (same(o, old, now) || (o->bits & OPTION_RELOADABLE) == 0 || (js && said_js)) {
            continue;
        }
        said_js |= js;
        buf_reset(&line);
        put_line(&line, o, now);
        if (line.failed) {
            break;
        }
        changed(arg, line.data);
    }
    st = buf_status(&line);
    buf_fini(&line);
    return st;
}
