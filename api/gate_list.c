/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_list.h"

#include <string.h>

#include "api/gate_group.h"
#include "api/gate_priv.h"
#include "server/base/mem.h"

/* What is cancelled between two looks at the lock of a queue. */
#define BATCH 256u

/* In the queue of a gate flows are what takes turns there; all is of the gate's account. */
static bool
is_meant(const struct gate *g, const struct gate_pick *pick)
{
    return (pick->gate == NULL || strcmp(pick->gate, g->name) == 0) &&
           (pick->match.flow == 0 || pick->match.flow == g->watch->account_key);
}

static struct apiq_match
match_of(const struct gate_pick *pick)
{
    struct apiq_match m = pick->match;
    m.levels = 0;
    m.flow = 0;
    return m;
}

enum status
gates_list(struct gates *gs, const struct gate_pick *pick, size_t offset,
           struct gate_waiting_info *out, size_t *max, size_t *total)
{
    const struct apiq_match match = match_of(pick);
    struct gate *g;
    size_t room = *max;
    struct apiq_item_info *v = mem_alloc_array(room, sizeof(*v));
    *max = 0;
    *total = 0;
    if (v == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; (g = gates_at(gs, i)) != NULL; i++) {
        size_t here = 0;
        size_t skip = offset > *total ? offset - *total : 0;
        size_t n = is_meant(g, pick) ? apiq_list(g->q, &match, skip, v, room - *max, &here) : 0;
        for (size_t k = 0; k < n; k++, ++*max) {
            out[*max].item = v[k];
            memcpy(out[*max].gate, g->name, sizeof(g->name));
        }
        *total += here;
        gate_unref(g);
    }
    mem_free(v);
    return ST_OK;
}

static size_t
cancel_one(struct gate *g, const struct apiq_match *match)
{
    size_t total = 0;
    size_t done = 0;
    size_t n;
    (void)apiq_list(g->q, match, 0, NULL, 0, &total);
    /* NB: those that arrive meanwhile must not keep us here for ever. */
    do {
        struct list_node gone;
        list_init(&gone);
        n = apiq_cancel_match(g->q, match, BATCH, &gone);
        done += gate_fallen(g, &gone, END_OPERATOR);
    } while (n > 0 && done < total);
    return done;
}

size_t
gates_cancel_match(struct gates *gs, const struct gate_pick *pick)
{
    const struct apiq_match match = match_of(pick);
    struct gate *g;
    size_t n = 0;
    for (size_t i = 0; (g = gates_at(gs, i)) != NULL; i++) {
        n += is_meant(g, pick) ? cancel_one(g, &match) : 0;
        gate_unref(g);
    }
    gate_settle(gs);
    return n;
}

bool
gates_naming(struct gates *gs, const char *group, char name[GATE_NAME_MAX + 1])
{
    pthread_mutex_lock(&gs->lock);
    size_t i = 0;
    while (i < gs->n && strcmp(gs->v[i]->conf.group, group) != 0) {
        i++;
    }
    bool found = i < gs->n;
    if (found) {
        memcpy(name, gs->v[i]->conf.name, GATE_NAME_MAX + 1);
    }
    pthread_mutex_unlock(&gs->lock);
    return found;
}
