/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/peer.h"

#include <stdatomic.h>
#include <stddef.h>

#include "server/base/mem.h"

enum status
peer_new(struct peer **out, uint32_t loop, uint64_t cid)
{
    struct peer *p = mem_alloc(sizeof *p);
    if (p == NULL) {
        return ST_NOMEM;
    }
    atomic_init(&p->refs, 1);
    p->loop = loop;
    p->cid = cid;
    *out = p;
    return ST_OK;
}

struct peer *
peer_ref(struct peer *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void
peer_unref(struct peer *p)
{
    if (p != NULL && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1) {
        mem_free(p);
    }
}
