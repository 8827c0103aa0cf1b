/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config_groups.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/group_conf.h"
#include "api/weights.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/config_loader.h"
#include "server/options.h"

enum { ERR_LEN = 256, KEY_LEN = 64 };

/* Keys are the same in upper and lower case. */
static const char *
lower(const char *key, char out[KEY_LEN])
{
    size_t i = 0;
    for (; key[i] != '\0' && i + 1 < KEY_LEN; i++) {
        out[i] = (char)tolower((unsigned char)key[i]);
    }
    out[i] = '\0';
    return out;
}

static void
read_member(struct config_loader *ld, struct group_conf *c, const char *block,
            const struct conf_value *v, const char *key)
{
    char err[ERR_LEN];
    char name[KEY_LEN];
    struct group_value g = {.type = GROUP_VALUE_OTHER};
    if (v->type == CONF_STRING) {
        g = (struct group_value){GROUP_VALUE_STRING, v->str, 0};
    } else if (v->type == CONF_INT) {
        g = (struct group_value){GROUP_VALUE_INT, NULL, v->i};
    }
    enum status st = group_conf_put(c, block, lower(key, name), &g, err, sizeof(err));
    if (st == ST_INVAL || (st == ST_NOTFOUND && !v->used_variable)) {
        config_loader_error(ld, v, "workload group \"%s\": %s", c->name, err);
    }
}

static void
read_block(struct config_loader *ld, struct group_conf *c, const char *block,
           const struct conf_value *v)
{
    char what[ERR_LEN];
    (void)snprintf(what, sizeof(what), "workload group \"%s\": %s", c->name, block);
    if (!config_loader_own(ld, v, CONF_MAP, what)) {
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        read_member(ld, c, block, conf_map_at(v->map, i), conf_map_key(v->map, i));
    }
}

static void
read_group(struct config_loader *ld, const struct conf_value *v, const char *key)
{
    char err[ERR_LEN];
    char name[KEY_LEN];
    struct group_conf *c = &ld->c->api.groups[ld->c->api.n_groups];
    size_t errors = ld->n_errors;
    if (group_conf_init(c, key, err, sizeof(err)) != ST_OK) {
        config_loader_error(ld, v, "%s", err);
        return;
    }
    (void)snprintf(err, sizeof(err), "workload group \"%s\"", c->name);
    if (!config_loader_own(ld, v, CONF_MAP, err)) {
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        const struct conf_value *member = conf_map_at(v->map, i);
        const char *k = lower(conf_map_key(v->map, i), name);
        if (group_conf_is_block(k)) {
            read_block(ld, c, k, member);
            if (strcmp(k, "throttling") == 0 && c->limit == 0 && ld->n_errors == errors) {
                config_loader_error(ld, member, "workload group \"%s\": %s", c->name,
                                    "throttling.limit is missing");
            }
        } else {
            read_member(ld, c, NULL, member, conf_map_key(v->map, i));
        }
    }
    if (ld->n_errors == errors && group_conf_check(c, err, sizeof(err)) != ST_OK) {
        config_loader_error(ld, v, "workload group \"%s\": %s", c->name, err);
    }
    ld->c->api.n_groups++;
}

CONFIG_GROUPS(block)
{
    struct config *c = ld->c;
    (void)o;
    if (v->repeated) {
        config_loader_error(ld, v, "the block \"%s\" is there twice", key);
        return;
    }
    if (!config_loader_own(ld, v, CONF_MAP, key)) {
        return;
    }
    size_t n = conf_map_len(v->map);
    if (n > GROUPS_MAX) {
        config_loader_error(ld, v, "%zu workload groups are more than %u", n, GROUPS_MAX);
        return;
    }
    mem_free(c->api.groups);
    c->api.n_groups = 0;
    c->api.groups = mem_alloc_array(n, sizeof(*c->api.groups));
    if (c->api.groups == NULL) {
        ld->nomem = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct conf_value *g = conf_map_at(v->map, i);
        if (conf_map_is_repeated(v->map, i)) {
            config_loader_error(ld, g, "two workload groups of the name \"%s\"",
                                conf_map_key(v->map, i));
        } else {
            read_group(ld, g, conf_map_key(v->map, i));
        }
    }
}

static void
free_weights(struct config *c)
{
    for (size_t i = 0; i < c->api.n_weights; i++) {
        mem_free((char *)(uintptr_t)c->api.weights[i].account);
    }
    mem_free(c->api.weights);
    c->api.weights = NULL;
    c->api.n_weights = 0;
}

CONFIG_GROUPS(weights)
{
    struct config *c = ld->c;
    (void)o;
    if (!config_loader_own(ld, v, CONF_MAP, key)) {
        return;
    }
    size_t n = conf_map_len(v->map);
    if (n > WEIGHTS_MAX) {
        config_loader_error(ld, v, "%s: %zu accounts are more than %u", key, n, WEIGHTS_MAX);
        return;
    }
    free_weights(c);
    c->api.weights = mem_alloc_array(n, sizeof(*c->api.weights));
    for (size_t i = 0; c->api.weights != NULL && i < n; i++) {
        const struct conf_value *w = conf_map_at(v->map, i);
        if (w->type != CONF_INT || w->i < 1 || w->i > WEIGHT_MAX) {
            config_loader_error(ld, w,
                                "%s: the weight of \"%s\" must be a whole number from 1 to %d", key,
                                conf_map_key(v->map, i), WEIGHT_MAX);
            continue;
        }
        char *account = mem_strdup(conf_map_key(v->map, i));
        ld->nomem = ld->nomem || account == NULL;
        if (account != NULL) {
            c->api.weights[c->api.n_weights++] = (struct api_weight){account, w->i};
        }
    }
    ld->nomem = ld->nomem || c->api.weights == NULL;
}

void
config_groups_free(struct config *c)
{
    mem_free(c->api.groups);
    free_weights(c);
}

bool
config_groups_equal(const struct config *a, const struct config *b)
{
    bool same = a->api.n_groups == b->api.n_groups;
    for (size_t i = 0; same && i < a->api.n_groups; i++) {
        same = group_conf_equal(&a->api.groups[i], &b->api.groups[i]);
    }
    return same;
}

bool
config_groups_equal_weights(const struct config *a, const struct config *b)
{
    bool same = a->api.n_weights == b->api.n_weights;
    for (size_t i = 0; same && i < a->api.n_weights; i++) {
        same = a->api.weights[i].weight == b->api.weights[i].weight &&
               strcmp(a->api.weights[i].account, b->api.weights[i].account) == 0;
    }
    return same;
}
