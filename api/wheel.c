/* SPDX-License-Identifier: Apache-2.0 */
#include "api/wheel.h"

static struct list_node *
slot_of(struct wheel *w, int64_t tick)
{
    return &w->slots[(uint64_t)tick % WHEEL_SLOTS];
}

void
wheel_init(struct wheel *w, int64_t now)
{
    w->tick = now / WHEEL_TICK;
    w->count = 0;
    list_init(&w->at_hand);
    for (unsigned i = 0; i < WHEEL_SLOTS; i++) {
        list_init(&w->slots[i]);
    }
}

static void
enter(struct wheel *w, struct wheel_node *n)
{
    int64_t tick = n->due / WHEEL_TICK + (n->due % WHEEL_TICK > 0 ? 1 : 0);
    /* NB: the slot behind w->tick may be the one at hand, which is not looked at again. */
    int64_t first = w->tick + (list_is_empty(&w->at_hand) ? 1 : 2);
    list_push_back(slot_of(w, tick > first ? tick : first), &n->node);
}

void
wheel_add(struct wheel *w, struct wheel_node *n, int64_t due)
{
    n->due = due;
    enter(w, n);
    w->count++;
}

void
wheel_remove(struct wheel *w, struct wheel_node *n)
{
    if (list_is_linked(&n->node)) {
        list_remove(&n->node);
        w->count--;
    }
}

struct wheel_node *
wheel_pop(struct wheel *w, int64_t now, unsigned *budget)
{
    int64_t last = now / WHEEL_TICK;
    if (last - w->tick > WHEEL_SLOTS && list_is_empty(&w->at_hand)) {
        w->tick = last - WHEEL_SLOTS;
    }
    while (*budget > 0) {
        struct list_node *at = list_pop_front(&w->at_hand);
        if (at != NULL) {
            struct wheel_node *n = LIST_ENTRY(at, struct wheel_node, node);
            --*budget;
            if (n->due <= now) {
                w->count--;
                w->tick += list_is_empty(&w->at_hand) ? 1 : 0;
                return n;
            }
            enter(w, n);
            w->tick += list_is_empty(&w->at_hand) ? 1 : 0;
        } else if (w->count == 0 || w->tick >= last) {
            w->tick = w->tick > last ? w->tick : last;
            return NULL;
        } else {
            list_splice_back(&w->at_hand, slot_of(w, w->tick + 1));
            w->tick += list_is_empty(&w->at_hand) ? 1 : 0;
            --*budget;
        }
    }
    return NULL;
}

int64_t
wheel_next(const struct wheel *w)
{
    if (w->count == 0) {
        return INT64_MAX;
    }
    int64_t tick = w->tick;
    if (list_is_empty(&w->at_hand)) {
        for (unsigned i = 1; i <= WHEEL_SLOTS; i++) {
            if (!list_is_empty(&w->slots[(uint64_t)(w->tick + i) % WHEEL_SLOTS])) {
                tick = w->tick + i;
                break;
            }
        }
    }
    return tick * WHEEL_TICK;
}
