/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config_js.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "server/conf/number.h"
#include "server/config.h"
#include "server/config_blocks.h"
#include "server/config_loader.h"
#include "server/options.h"

/* true, "enabled" and their like; a block is the caller's. *on is set where v is a switch. */
static bool
is_switch(struct config_loader *ld, const struct conf_value *v, bool *on)
{
    if (v->type == CONF_BOOL) {
        *on = v->b;
        return true;
    }
    if (v->type == CONF_STRING) {
        *on = option_has_word("enabled enable", v->str, true);
        if (!*on && !option_has_word("disabled disable", v->str, true)) {
            config_loader_error(
                ld, v, "Expected 'enabled' or 'disabled' for string value, got '%s'", v->str);
        }
        return true;
    }
    if (v->type != CONF_MAP) {
        config_loader_error(ld, v, "Expected map, bool or string to define JetStream, got %s",
                            conf_type_name(v->type));
        return true;
    }
    return false;
}

/* As in nats-server, 0 and less mean the default. */
CONFIG_BLOCK(jetstream_limit)
{
    const char *name = strchr(o->name, '.') + 1;
    const struct option *limit = option_by_key("api", name);
    if (v->type != CONF_INT) {
        config_loader_error(ld, v, "Expected a parseable size for \"%s\", got %s", key,
                            conf_type_name(v->type));
    } else if (v->i <= 0) {
        *(int64_t *)option_field(limit, ld->c) = limit->def;
    } else {
        config_loader_value(ld, limit, v, key);
    }
}

CONFIG_BLOCK(jetstream_store_dir)
{
    const char *s = config_loader_string(ld, v);
    (void)o;
    (void)key;
    if (s != NULL && ld->c->store_dir != NULL) {
        config_loader_error(ld, v, "Duplicate 'store_dir' configuration");
    } else if (s != NULL) {
        config_loader_copy(ld, &ld->c->store_dir, s);
    }
}

CONFIG_BLOCK(jetstream_sync)
{
    if (v->type == CONF_STRING && strcasecmp(v->str, "always") == 0) {
        ld->c->js.sync_interval = 0;
    } else {
        config_loader_value(ld, o, v, key);
    }
}

/* "10G" as a string: nats-server reads such a one without the rules of the language. */
static bool
size_of_text(const char *s, int64_t *out)
{
    static const char suffixes[] = "KMGT";
    char digits[32];
    size_t n = strlen(s);
    const char *suffix = n > 0 ? strchr(suffixes, s[n - 1]) : NULL;
    if (suffix == NULL || n - 1 >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, s, n - 1);
    digits[n - 1] = '\0';
    int64_t factor = INT64_C(1) << (10 * (suffix - suffixes + 1));
    return number_parse_int(digits, out) == ST_OK && !__builtin_mul_overflow(*out, factor, out);
}

CONFIG_BLOCK(jetstream_size)
{
    int64_t *field = option_field(o, ld->c);
    if (v->type == CONF_INT) {
        *field = v->i;
    } else if (v->type != CONF_STRING) {
        config_loader_error(ld, v, "%s must be int64 or string", key);
    } else if (v->str[0] == '\0') {
        *field = 0;
    } else if (!size_of_text(v->str, field)) {
        config_loader_error(ld, v, "%s sizes defined as strings must end in K, M, G, T", key);
    }
}

/* What only servers of a cluster use: it may stand in the file, and does nothing. */
CONFIG_BLOCK(jetstream_idle)
{
    (void)ld;
    (void)o;
    (void)v;
    (void)key;
}

static void
read_block(struct config_loader *ld, const char *block, const struct conf_value *v)
{
    if (!config_loader_is(ld, v, CONF_MAP)) {
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        config_loader_key(ld, block, conf_map_at(v->map, i), conf_map_key(v->map, i));
    }
}

CONFIG_BLOCK(jetstream_limits)
{
    (void)o;
    (void)key;
    read_block(ld, "jetstream_limits", v);
}

CONFIG_BLOCK(jetstream_batch)
{
    (void)o;
    (void)key;
    read_block(ld, "jetstream_batch", v);
}

/* The block switches JetStream on unless it says otherwise. */
CONFIG_BLOCK(jetstream)
{
    bool on = true;
    (void)o;
    (void)key;
    if (is_switch(ld, v, &on)) {
        ld->c->js.enabled = on;
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        const struct conf_value *m = conf_map_at(v->map, i);
        const char *k = conf_map_key(v->map, i);
        if (!option_has_word("enabled enable", k, true)) {
            config_loader_key(ld, "jetstream", m, k);
        } else if (config_loader_is(ld, m, CONF_BOOL)) {
            on = m->b;
        }
    }
    ld->c->js.enabled = on;
}

static const struct {
    const char *words;
    size_t field;
} account_limits[] = {
    {"max_memory max_mem mem memory", offsetof(struct config_js_account, max_memory)},
    {"max_store max_file max_disk store disk", offsetof(struct config_js_account, max_file)},
    {"max_streams streams", offsetof(struct config_js_account, max_streams)},
    {"max_consumers consumers", offsetof(struct config_js_account, max_consumers)},
    {"mem_max_stream_bytes memory_max_stream_bytes",
     offsetof(struct config_js_account, memory_max_stream_bytes)},
    {"disk_max_stream_bytes store_max_stream_bytes",
     offsetof(struct config_js_account, store_max_stream_bytes)},
    {"max_ack_pending", offsetof(struct config_js_account, max_ack_pending)},
};

static void
read_account_limit(struct config_loader *ld, const struct conf_value *v, const char *key,
                   struct config_js_account *a)
{
    for (size_t i = 0; i < sizeof(account_limits) / sizeof(account_limits[0]); i++) {
        if (!option_has_word(account_limits[i].words, key, true)) {
            continue;
        }
        if (v->type != CONF_INT) {
            config_loader_error(ld, v, "Expected a parseable size for \"%s\", got %s", key,
                                conf_type_name(v->type));
        } else {
            *(int64_t *)(void *)((char *)a + account_limits[i].field) = v->i;
        }
        return;
    }
    if (option_has_word("max_bytes_required max_stream_bytes max_bytes", key, true)) {
        if (v->type != CONF_BOOL) {
            config_loader_error(ld, v, "Expected a parseable bool for \"%s\", got %s", key,
                                conf_type_name(v->type));
        } else {
            a->max_bytes_required = v->b;
        }
    } else if (!option_has_word("cluster_traffic", key, true)) {
        config_loader_unknown(ld, v, key, NULL);
    }
}

void
config_js_read_account(struct config_loader *ld, const struct conf_value *v,
                       struct config_js_account *a)
{
    bool on = true;
    if (is_switch(ld, v, &on)) {
        a->enabled = on;
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        read_account_limit(ld, conf_map_at(v->map, i), conf_map_key(v->map, i), a);
    }
    a->enabled = true;
}

bool
config_js_account_equal(const struct config_js_account *a, const struct config_js_account *b)
{
    for (size_t i = 0; i < sizeof(account_limits) / sizeof(account_limits[0]); i++) {
        const char *fa = (const char *)a + account_limits[i].field;
        const char *fb = (const char *)b + account_limits[i].field;
        if (memcmp(fa, fb, sizeof(int64_t)) != 0) {
            return false;
        }
    }
    return a->enabled == b->enabled && a->max_bytes_required == b->max_bytes_required;
}
