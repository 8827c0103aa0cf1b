/* SPDX-License-Identifier: Apache-2.0 */
/* The block gates { NAME { … } }: each member by api/gate_conf.h, each error with its place. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/gate_conf.h"
#include "api/group_conf.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/config_blocks.h"
#include "server/config_loader.h"

enum { KEY_LEN = 64, PLACE_LEN = 4096 };

static void
read_member(struct config_loader *ld, struct gate_conf *g, const char *key,
            const struct conf_value *v)
{
    char lower[KEY_LEN];
    char err[GATE_ERR_LEN];
    size_t n = 0;
    for (; key[n] != '\0' && n + 1 < sizeof lower; n++) {
        lower[n] = (char)tolower((unsigned char)key[n]);
    }
    lower[n] = '\0';
    struct gate_value gv = {.type = GATE_VALUE_OTHER, .s = ""};
    if (v->type == CONF_STRING) {
        gv = (struct gate_value){.type = GATE_VALUE_STRING, .s = v->str};
    } else if (v->type == CONF_INT) {
        gv = (struct gate_value){.type = GATE_VALUE_INT, .s = "", .i = v->i};
    }
    enum status st = gate_conf_put(g, lower, &gv, err, sizeof err);
    if (st != ST_OK && (st != ST_NOTFOUND || !v->used_variable)) {
        config_loader_error(ld, v, "gate \"%s\": %s", g->name, err);
    }
}

/* Keeps it in the snapshot. */
static void
add(struct config_loader *ld, const struct gate_conf *g, const struct conf_value *v)
{
    struct config *c = ld->c;
    char place[PLACE_LEN];
    for (size_t i = 0; i < c->n_gates; i++) {
        if (gate_conf_overlaps(c->gates[i].conf, g)) {
            config_loader_error(
                ld, v, "gate \"%s\": subject: \"%s\" overlaps \"%s\" of gate \"%s\"", g->name,
                g->subject, c->gates[i].conf->subject, c->gates[i].conf->name);
            return;
        }
    }
    struct config_gate *v2 = mem_realloc(c->gates, (c->n_gates + 1) * sizeof *v2);
    if (v2 == NULL) {
        ld->nomem = true;
        return;
    }
    c->gates = v2;
    (void)snprintf(place, sizeof place, "%s:%d:%d: ", v->file, v->line, v->pos);
    struct config_gate one = {.conf = mem_alloc(sizeof *g), .place = mem_strdup(place)};
    if (one.conf == NULL || one.place == NULL) {
        mem_free(one.conf);
        mem_free(one.place);
        ld->nomem = true;
        return;
    }
    *one.conf = *g;
    v2[c->n_gates++] = one;
}

static void
read_gate(struct config_loader *ld, const char *name, const struct conf_value *v)
{
    struct gate_conf g;
    char err[GATE_ERR_LEN];
    size_t errors = ld->n_errors;
    if (v->repeated) {
        config_loader_error(ld, v, "gate \"%s\" is there twice", name);
    }
    if (gate_conf_init(&g, name, err, sizeof err) != ST_OK) {
        config_loader_error(ld, v, "%s", err);
        return;
    }
    (void)snprintf(err, sizeof err, "gate \"%s\"", name);
    if (!config_loader_own(ld, v, CONF_MAP, err)) {
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        read_member(ld, &g, conf_map_key(v->map, i), conf_map_at(v->map, i));
    }
    if (ld->n_errors == errors && gate_conf_check(&g, err, sizeof err) != ST_OK) {
        config_loader_error(ld, v, "gate \"%s\": %s", name, err);
    }
    if (ld->n_errors == errors) {
        add(ld, &g, v);
    }
}

CONFIG_BLOCK(gates)
{
    (void)o;
    if (v->repeated || ld->c->n_gates > 0) {
        config_loader_error(ld, v, "the block \"%s\" is there twice", key);
        return;
    }
    if (!config_loader_own(ld, v, CONF_MAP, key)) {
        return;
    }
    if (conf_map_len(v->map) > GATES_MAX) {
        config_loader_error(ld, v, "%zu gates are more than %u", conf_map_len(v->map), GATES_MAX);
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        read_gate(ld, conf_map_key(v->map, i), conf_map_at(v->map, i));
    }
}

static bool
has_account(const struct config *c, const char *name)
{
    if (strcmp(name, "$G") == 0 ||
        (c->system_account != NULL && strcmp(name, c->system_account) == 0)) {
        return true;
    }
    for (size_t i = 0; i < c->n_accounts; i++) {
        if (strcmp(c->accounts[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* NB: groups made over the API are not known here, and may be gone at the next start. */
static bool
has_group(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->api.n_groups; i++) {
        if (strcmp(c->api.groups[i].name, name) == 0) {
            return true;
        }
    }
    return *name == '\0';
}

void
config_block_gates_end(struct config_loader *ld)
{
    for (size_t i = 0; i < ld->c->n_gates; i++) {
        const struct config_gate *g = &ld->c->gates[i];
        if (!has_account(ld->c, g->conf->account)) {
            config_loader_error(ld, NULL, "%sgate \"%s\": account: there is no account \"%s\"",
                                g->place, g->conf->name, g->conf->account);
        }
        if (!has_group(ld->c, g->conf->group)) {
            config_loader_error(
                ld, NULL, "%sgate \"%s\": group: there is no workload group \"%s\" in this file",
                g->place, g->conf->name, g->conf->group);
        }
    }
}
