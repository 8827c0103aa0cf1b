/* SPDX-License-Identifier: Apache-2.0 */
/* What tests ask of a store by itself. */
#ifndef TESTS_SUPPORT_STORE_KIT_H
#define TESTS_SUPPORT_STORE_KIT_H

#include <sched.h>

#include "server/base/mem.h"
#include "stream/store.h"
#include "stream/store_read.h"

/* Until the database has all that the journal holds: the store sees to it by itself. */
static inline void
store_kit_wait_drained(struct store *store)
{
    while (!store_is_drained(store, store_mark(store))) {
        (void)sched_yield();
    }
}

/* Pushes what the journal does not take: it, and what is pushed after it, waits for the database.
 * Of a stream that is not there. */
static inline void
store_kit_push_chunk(struct store *store, enum store_when when)
{
    struct store_op *op = mem_alloc(sizeof(*op));
    op->kind = STORE_PUT_CHUNK;
    op->when = when;
    op->row = STORE_ROW(1 << 20, 0);
    op->data = "";
    store_push(store, op);
}

#endif
