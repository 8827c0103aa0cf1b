/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/block.h"

#include <stdatomic.h>

#include "server/base/mem.h"

enum status
block_new(struct block **out, size_t size)
{
    struct block *b = mem_alloc_raw(sizeof *b + size);
    if (b == NULL) {
        return ST_NOMEM;
    }
    atomic_init(&b->refs, 1);
    b->size = size;
    *out = b;
    return ST_OK;
}

struct block *
block_ref(struct block *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void
block_unref(struct block *b)
{
    if (b != NULL && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) {
        mem_free(b);
    }
}
