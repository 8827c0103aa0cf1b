/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route/subset.h"

#include <string.h>

#include "server/base/assert.h"
#include "server/base/mem.h"
#include "server/route/sub.h"

static enum status
put(struct subset *set, struct sub *s)
{
    if (set->cap == 0 && set->n == 1) {
        struct sub **v = mem_alloc_array(4, sizeof *v);
        if (v == NULL) {
            return ST_NOMEM;
        }
        v[0] = set->u.one;
        set->u.v = v;
        set->cap = 4;
    } else if (set->cap > 0 && set->n == set->cap) {
        struct sub **v = mem_realloc(set->u.v, sizeof *v * set->cap * 2);
        if (v == NULL) {
            return ST_NOMEM;
        }
        set->u.v = v;
        set->cap *= 2;
    }
    s->set = set;
    s->index = set->n;
    set->n++;
    subset_members(set)[s->index] = sub_ref(s);
    return ST_OK;
}

static struct subset *
find_group(struct subset *root, const struct sub *s)
{
    for (struct subset *g = root->groups; g != NULL; g = g->next) {
        const struct sub *member = subset_members(g)[0];
        if (member->queue_len == s->queue_len &&
            memcmp(sub_queue(member), sub_queue(s), s->queue_len) == 0) {
            return g;
        }
    }
    return NULL;
}

enum status
subset_add(struct subset *set, struct sub *s)
{
    if (s->queue_len == 0) {
        return put(set, s);
    }
    struct subset *g = find_group(set, s);
    if (g != NULL) {
        return put(g, s);
    }
    g = mem_alloc(sizeof *g);
    if (g == NULL) {
        return ST_NOMEM;
    }
    enum status st = put(g, s);
    if (st != ST_OK) {
        mem_free(g);
        return st;
    }
    g->root = set;
    g->next = set->groups;
    set->groups = g;
    return ST_OK;
}

static void
drop_group(struct subset *root, struct subset *g)
{
    struct subset **link = &root->groups;
    while (*link != g) {
        link = &(*link)->next;
    }
    *link = g->next;
    subset_fini(g);
    mem_free(g);
}

void
subset_remove(struct subset *root, struct sub *s)
{
    struct subset *set = s->set;
    struct sub **v = subset_members(set);
    ASSERT(s->index < set->n && v[s->index] == s);
    set->n--;
    v[s->index] = v[set->n];
    v[s->index]->index = s->index;
    s->set = NULL;
    if (set != root && set->n == 0) {
        drop_group(root, set);
    } else if (set->n == 0 && set->cap > 0) {
        mem_free(set->u.v);
        set->u.v = NULL;
        set->cap = 0;
    }
    sub_unref(s);
}

bool
subset_is_empty(const struct subset *set)
{
    return set->n == 0 && set->groups == NULL;
}

void
subset_fini(struct subset *set)
{
    struct sub **v = subset_members(set);
    for (uint32_t i = 0; i < set->n; i++) {
        v[i]->set = NULL;
        sub_unref(v[i]);
    }
    if (set->cap > 0) {
        mem_free(set->u.v);
    }
    set->n = 0;
    set->cap = 0;
    while (set->groups != NULL) {
        struct subset *g = set->groups;
        set->groups = g->next;
        subset_fini(g);
        mem_free(g);
    }
}
