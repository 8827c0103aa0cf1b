/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/delay.h"

#include "server/base/assert.h"
#include "server/base/mem.h"

void
delay_fini(struct delay *d)
{
    mem_free(d->heap);
}

static void
swap(struct delay *d, size_t i, size_t j)
{
    struct delay_item t = d->heap[i];
    d->heap[i] = d->heap[j];
    d->heap[j] = t;
}

enum status
delay_push(struct delay *d, int64_t at, uint32_t value)
{
    if (d->n == d->cap) {
        size_t cap = d->cap == 0 ? 1024 : d->cap * 2;
        struct delay_item *heap = mem_realloc(d->heap, cap * sizeof(*heap));
        if (heap == NULL) {
            return ST_NOMEM;
        }
        d->heap = heap;
        d->cap = cap;
    }
    size_t i = d->n++;
    d->heap[i] = (struct delay_item){.at = at, .value = value};
    while (i > 0 && d->heap[(i - 1) / 2].at > d->heap[i].at) {
        swap(d, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
    return ST_OK;
}

int64_t
delay_first(const struct delay *d)
{
    return d->n == 0 ? INT64_MAX : d->heap[0].at;
}

uint32_t
delay_pop(struct delay *d)
{
    ASSERT(d->n > 0);
    uint32_t value = d->heap[0].value;
    size_t i = 0;

    d->heap[0] = d->heap[--d->n];
    for (;;) {
        size_t least = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < d->n; k++) {
            if (d->heap[k].at < d->heap[least].at) {
                least = k;
            }
        }
        if (least == i) {
            return value;
        }
        swap(d, i, least);
        i = least;
    }
}
