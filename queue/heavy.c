/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/heavy.h"

#include "server/base/assert.h"
#include "server/base/mem.h"

#define KEPT_SPARES 64u
#define NO_CLASS    HEAVY_CLASSES

static struct heavy_group *
group_at(struct list_node *n)
{
    return LIST_ENTRY(n, struct heavy_group, node);
}

static struct apiq_flow *
flow_at(struct list_node *n)
{
    return LIST_ENTRY(n, struct apiq_flow, depth_node);
}

void
heavy_init(struct heavy *h)
{
    *h = (struct heavy){0};
    list_init(&h->groups);
    list_init(&h->spares);
    for (unsigned i = 0; i < HEAVY_CLASSES; i++) {
        list_init(&h->classes[i]);
    }
}

void
heavy_fini(struct heavy *h)
{
    ASSERT(h->flows == 0);
    struct list_node *n;
    while ((n = list_pop_front(&h->spares)) != NULL) {
        mem_free(group_at(n));
    }
}

static unsigned
class_of(size_t bytes)
{
    uint64_t v = bytes;
    if (v < 8) {
        return (unsigned)v;
    }
    unsigned octave = 63u - (unsigned)__builtin_clzll(v);
    return (octave - 2u) * 8u + (unsigned)((v >> (octave - 3u)) & 7u);
}

static void
leave_class(struct heavy *h, struct apiq_flow *f)
{
    unsigned c = f->bytes_class;
    if (c == NO_CLASS) {
        return;
    }
    list_remove(&f->bytes_node);
    if (list_is_empty(&h->classes[c])) {
        h->used[c / 64] &= ~(UINT64_C(1) << (c % 64));
    }
    f->bytes_class = NO_CLASS;
}

static void
enter_class(struct heavy *h, struct apiq_flow *f, unsigned c)
{
    list_push_back(&h->classes[c], &f->bytes_node);
    h->used[c / 64] |= UINT64_C(1) << (c % 64);
    f->bytes_class = c;
}

static void
leave_group(struct heavy *h, struct apiq_flow *f)
{
    struct heavy_group *g = f->group;
    list_remove(&f->depth_node);
    f->group = NULL;
    if (list_is_empty(&g->flows)) {
        list_remove(&g->node);
        list_push_front(&h->spares, &g->node);
    }
}

/* The group of that depth, which stands right behind `before` or is made there. */
static struct heavy_group *
group_behind(struct heavy *h, struct list_node *before, size_t depth)
{
    if (before->next != &h->groups && group_at(before->next)->depth == depth) {
        return group_at(before->next);
    }
    struct list_node *n = list_pop_front(&h->spares);
    ASSERT(n != NULL);
    struct heavy_group *g = group_at(n);
    g->depth = depth;
    list_init(&g->flows);
    list_insert_after(before, &g->node);
    return g;
}

enum status
heavy_add(struct heavy *h, struct apiq_flow *f)
{
    /* One for each flow, and one more for the flow that moves. */
    while (h->total < h->flows + 2) {
        struct heavy_group *g = mem_alloc(sizeof(*g));
        if (g == NULL) {
            return ST_NOMEM;
        }
        list_push_back(&h->spares, &g->node);
        h->total++;
    }
    f->bytes_class = NO_CLASS;
    h->flows++;
    return ST_OK;
}

void
heavy_drop(struct heavy *h, struct apiq_flow *f)
{
    ASSERT(f->group == NULL);
    h->flows--;
    if (h->total > h->flows + KEPT_SPARES) {
        mem_free(group_at(list_pop_back(&h->spares)));
        h->total--;
    }
}

static void
update_group(struct heavy *h, struct apiq_flow *f)
{
    struct heavy_group *from = f->group;
    struct list_node *before = &h->groups;
    if (from != NULL) {
        if (from->depth == f->depth) {
            return;
        }
        before = f->depth > from->depth ? &from->node : from->node.prev;
        if (before != &h->groups && before != &from->node && group_at(before)->depth == f->depth) {
            before = before->prev;
        }
    }
    struct heavy_group *to = group_behind(h, before, f->depth);
    if (from != NULL) {
        leave_group(h, f);
    }
    list_push_back(&to->flows, &f->depth_node);
    f->group = to;
}

void
heavy_update(struct heavy *h, struct apiq_flow *f)
{
    if (f->depth == 0) {
        if (f->group != NULL) {
            leave_group(h, f);
        }
        leave_class(h, f);
        return;
    }
    update_group(h, f);
    unsigned c = class_of(f->bytes);
    if (c != f->bytes_class) {
        leave_class(h, f);
        enter_class(h, f, c);
    }
}

struct apiq_flow *
heavy_by_entries(const struct heavy *h)
{
    if (list_is_empty(&h->groups)) {
        return NULL;
    }
    return flow_at(group_at(h->groups.prev)->flows.next);
}

/* The first flow of the class that holds more than `keep`, or NULL. */
static struct apiq_flow *
first_without(const struct list_node *class, const struct apiq_item *keep)
{
    for (struct list_node *n = class->next; n != class; n = n->next) {
        struct apiq_flow *f = LIST_ENTRY(n, struct apiq_flow, bytes_node);
        if (f->depth > 1 || flow_oldest(f) != keep) {
            return f;
        }
    }
    return NULL;
}

struct apiq_flow *
heavy_by_bytes(const struct heavy *h, const struct apiq_item *keep)
{
    for (unsigned w = HEAVY_CLASSES / 64; w-- > 0;) {
        for (uint64_t bits = h->used[w]; bits != 0;) {
            unsigned b = 63u - (unsigned)__builtin_clzll(bits);
            struct apiq_flow *f = first_without(&h->classes[w * 64 + b], keep);
            if (f != NULL) {
                return f;
            }
            bits &= ~(UINT64_C(1) << b);
        }
    }
    return NULL;
}

struct apiq_flow *
heavy_after(const struct heavy *h, const struct apiq_flow *f)
{
    if (f->depth_node.next != &f->group->flows) {
        return flow_at(f->depth_node.next);
    }
    const struct list_node *below = f->group->node.prev;
    return below == &h->groups ? NULL : flow_at(group_at((struct list_node *)below)->flows.next);
}
