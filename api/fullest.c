/* SPDX-License-Identifier: Apache-2.0 */
#include "api/fullest.h"

#include <stddef.h>

#include "server/base/assert.h"

/* So many of the uppermost class are compared: as many as fit into it by value where it is exact.
 */
#define COMPARED 16u

static unsigned
class_of(uint64_t v)
{
    if (v < 16) {
        return (unsigned)v;
    }
    unsigned octave = 63u - (unsigned)__builtin_clzll(v);
    unsigned c = (octave - 3u) * 16u + (unsigned)((v >> (octave - 4u)) & 15u);
    ASSERT(c < FULLEST_CLASSES);
    return c;
}

static struct fullest_node *
node_of(struct list_node *n)
{
    return LIST_ENTRY(n, struct fullest_node, node);
}

void
fullest_init(struct fullest *f)
{
    *f = (struct fullest){0};
    for (unsigned i = 0; i < FULLEST_CLASSES; i++) {
        list_init(&f->classes[i]);
    }
}

void
fullest_set(struct fullest *f, struct fullest_node *n, uint64_t value)
{
    unsigned from = class_of(n->value);
    unsigned to = class_of(value);
    bool was_in = n->value > 0;
    n->value = value;
    if (was_in && value > 0 && from == to) {
        return;
    }
    if (was_in) {
        list_remove(&n->node);
        if (list_is_empty(&f->classes[from])) {
            f->used[from / 64] &= ~(UINT64_C(1) << (from % 64));
        }
    }
    if (value > 0) {
        list_push_back(&f->classes[to], &n->node);
        f->used[to / 64] |= UINT64_C(1) << (to % 64);
    }
}

/* The uppermost class below `end` that is not empty; FULLEST_CLASSES: none. */
static unsigned
class_below(const struct fullest *f, unsigned end)
{
    while (end > 0) {
        unsigned word = (end - 1) / 64;
        unsigned bits = end - word * 64;
        uint64_t used = f->used[word];
        if (bits < 64) {
            used &= (UINT64_C(1) << bits) - 1;
        }
        if (used != 0) {
            return word * 64 + 63u - (unsigned)__builtin_clzll(used);
        }
        end = word * 64;
    }
    return FULLEST_CLASSES;
}

struct fullest_node *
fullest_top(const struct fullest *f)
{
    unsigned c = class_below(f, FULLEST_CLASSES);
    if (c == FULLEST_CLASSES) {
        return NULL;
    }
    struct fullest_node *best = node_of(f->classes[c].next);
    struct list_node *at = f->classes[c].next;
    for (unsigned i = 0; i < COMPARED && at != &f->classes[c]; i++, at = at->next) {
        if (node_of(at)->value > best->value) {
            best = node_of(at);
        }
    }
    return best;
}

struct fullest_node *
fullest_first(const struct fullest *f)
{
    unsigned c = class_below(f, FULLEST_CLASSES);
    return c == FULLEST_CLASSES ? NULL : node_of(f->classes[c].next);
}

struct fullest_node *
fullest_after(const struct fullest *f, const struct fullest_node *n)
{
    unsigned c = class_of(n->value);
    if (n->node.next != &f->classes[c]) {
        return node_of(n->node.next);
    }
    c = class_below(f, c);
    return c == FULLEST_CLASSES ? NULL : node_of(f->classes[c].next);
}
