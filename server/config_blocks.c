/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config_blocks.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/conf/number.h"
#include "server/config.h"
#include "server/config_loader.h"
#include "server/options.h"

#define HOST_LEN 512

enum status
config_block_split(const char *s, char *host, size_t host_size, int64_t *port,
                   const char **port_text)
{
    const char *colon = strrchr(s, ':');
    if (colon == NULL) {
        return ST_INVAL;
    }
    const char *begin = s;
    const char *end = colon;
    if (s[0] == '[') {
        begin = s + 1;
        end = strchr(s, ']');
        if (end == NULL || end + 1 != colon) {
            return ST_INVAL;
        }
    } else if (memchr(s, ':', (size_t)(colon - s)) != NULL) {
        return ST_INVAL;
    }
    size_t n = (size_t)(end - begin);
    if (n >= host_size || memchr(begin, '[', n) != NULL || memchr(begin, ']', n) != NULL) {
        return ST_INVAL;
    }
    memcpy(host, begin, n);
    host[n] = '\0';
    *port_text = colon + 1;
    if (number_parse_int(*port_text, port) != ST_OK || *port < -INT32_MAX || *port > INT32_MAX) {
        return ST_SYNTAX;
    }
    return ST_OK;
}

static void
listen_into(struct config_loader *ld, const struct conf_value *v, const char *key, char **host,
            int64_t *port)
{
    char text[HOST_LEN];
    const char *port_text = NULL;
    int64_t p = 0;
    if (v->type == CONF_INT) {
        if (v->i < -INT32_MAX || v->i > INT32_MAX) {
            config_loader_error(ld, v, "%s: %lld is no port", key, (long long)v->i);
            return;
        }
        text[0] = '\0';
        p = v->i;
    } else if (v->type == CONF_STRING) {
        enum status st = config_block_split(v->str, text, sizeof(text), &p, &port_text);
        if (st == ST_INVAL) {
            config_loader_error(ld, v, "could not parse address string \"%s\"", v->str);
        } else if (st != ST_OK) {
            config_loader_error(ld, v, "could not parse port \"%s\"", port_text);
        }
        if (st != ST_OK) {
            return;
        }
    } else {
        config_loader_error(ld, v, "expected port or host:port, got %s", conf_type_name(v->type));
        return;
    }
    config_loader_copy(ld, host, text);
    *port = p;
}

CONFIG_BLOCK(listen)
{
    (void)o;
    listen_into(ld, v, key, &ld->c->host, &ld->c->port);
}

CONFIG_BLOCK(http)
{
    (void)o;
    listen_into(ld, v, key, &ld->c->http_host, &ld->c->http_port);
}

CONFIG_BLOCK(server_name)
{
    const char *s = config_loader_string(ld, v);
    if (s != NULL && strchr(s, ' ') != NULL) {
        config_loader_error(ld, v, "server name cannot contain spaces");
    } else if (s != NULL) {
        config_loader_value(ld, o, v, key);
    }
}

CONFIG_BLOCK(lame_duck)
{
    const char *s = config_loader_string(ld, v);
    char why[NUMBER_WHY_LEN];
    char text[NUMBER_DURATION_LEN];
    int64_t d = 0;
    (void)key;
    if (s == NULL) {
        return;
    }
    if (number_parse_duration(s, &d, why) != ST_OK) {
        config_loader_error(ld, v, "error parsing %s: %s", o->name, why);
    } else if (d < o->min && o->min > 0) {
        config_loader_error(ld, v, "invalid %s of %s, minimum is %lld seconds", o->name,
                            number_format_duration(d, text), (long long)(o->min / CLOCK_S));
    } else if (d < 0) {
        config_loader_error(ld, v, "invalid %s, needs to be positive", o->name);
    } else {
        *(int64_t *)option_field(o, ld->c) = d;
    }
}

/* Adds a tag in its stored form, unless it is there. */
static void
add_tag(struct config_loader *ld, const char *s)
{
    while (isspace((unsigned char)*s)) {
        s++;
    }
    size_t n = strlen(s);
    while (n > 0 && isspace((unsigned char)s[n - 1])) {
        n--;
    }
    char *tag = arena_strndup(&ld->arena, s, n);
    if (tag == NULL) {
        ld->nomem = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        tag[i] = (char)tolower((unsigned char)tag[i]);
    }
    for (size_t i = 0; i < ld->c->n_tags; i++) {
        if (strcmp(ld->c->tags[i], tag) == 0) {
            return;
        }
    }
    if (n > 0) {
        config_loader_append(ld, &ld->c->tags, &ld->c->n_tags, tag);
    }
}

CONFIG_BLOCK(tags)
{
    (void)o;
    (void)key;
    if (v->type == CONF_STRING) {
        add_tag(ld, v->str);
        return;
    }
    if (v->type != CONF_ARRAY) {
        config_loader_error(ld, v, "error parsing tags: unsupported type %s",
                            conf_type_name(v->type));
        return;
    }
    for (size_t i = 0; i < conf_array_len(v->array); i++) {
        const struct conf_value *tag = conf_array_at(v->array, i);
        if (tag->type != CONF_STRING) {
            config_loader_error(ld, v,
                                "error parsing tags: unsupported type %s where string is expected",
                                conf_type_name(tag->type));
            return;
        }
        add_tag(ld, tag->str);
    }
}

CONFIG_BLOCK(metadata)
{
    struct config *c = ld->c;
    (void)o;
    (void)key;
    if (v->type != CONF_MAP) {
        config_loader_error(ld, v, "error parsing metadata: unsupported type %s",
                            conf_type_name(v->type));
        return;
    }
    size_t n = conf_map_len(v->map);
    struct config_pair *pairs = mem_realloc(c->metadata, (c->n_metadata + n) * sizeof(*pairs));
    if (pairs == NULL) {
        ld->nomem = true;
        return;
    }
    c->metadata = pairs;
    for (size_t i = 0; i < n; i++) {
        const char *s = config_loader_string(ld, conf_map_at(v->map, i));
        struct config_pair pair = {0};
        if (s == NULL) {
            continue;
        }
        config_loader_copy(ld, &pair.key, conf_map_key(v->map, i));
        config_loader_copy(ld, &pair.value, s);
        pairs[c->n_metadata++] = pair;
    }
}

CONFIG_BLOCK(feature_flags)
{
    (void)o;
    (void)key;
    if (v->type != CONF_MAP) {
        config_loader_error(ld, v, "error parsing feature flags: unsupported type %s",
                            conf_type_name(v->type));
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        const struct conf_value *flag = conf_map_at(v->map, i);
        if (flag->type != CONF_BOOL) {
            config_loader_error(ld, flag,
                                "error parsing feature flag \"%s\": expected bool, got %s",
                                conf_map_key(v->map, i), conf_type_name(flag->type));
        }
    }
}

/* trace_verbose and trace_headers turn the trace itself on, or off, too. */
CONFIG_BLOCK(trace)
{
    if (v->type == CONF_BOOL) {
        ld->c->trace = v->b;
    }
    config_loader_value(ld, o, v, key);
}

CONFIG_BLOCK(max_connections)
{
    config_loader_value(ld, o, v, key);
    if (v->type == CONF_INT && v->i == 0) {
        ld->c->max_connections = -1;
    }
}

CONFIG_BLOCK(sub_tokens)
{
    if (v->type == CONF_INT && v->i > o->max) {
        config_loader_error(ld, v, "%s value is too big", key);
    } else if (v->type == CONF_INT && v->i < o->min) {
        config_loader_error(ld, v, "%s value can not be negative", key);
    } else {
        config_loader_value(ld, o, v, key);
    }
}

CONFIG_BLOCK(api)
{
    (void)o;
    if (!config_loader_own(ld, v, CONF_MAP, key)) {
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        config_loader_key(ld, "api", conf_map_at(v->map, i), conf_map_key(v->map, i));
    }
}
