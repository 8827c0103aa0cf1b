/* SPDX-License-Identifier: Apache-2.0 */
/* Which flow of a level holds most, at constant cost. Private to queue/; guarded by its lock.
 *
 * By entries it is exact: flows of equal depth stand in one group, the groups are sorted, and as
 * depths change by one, a flow only ever moves to a neighbour. A group is allocated for each flow
 * when it comes, so a move needs no memory. By bytes, which change by any amount, flows stand in
 * classes, eight to the octave. */
#ifndef QUEUE_HEAVY_H
#define QUEUE_HEAVY_H

#include <stdint.h>

#include "queue/flow.h"

#define HEAVY_CLASSES 512

/* Guarded by the queue's lock. */
struct heavy_group {
    struct list_node node;
    struct list_node flows; /* by when they came to this depth: depth_node */
    size_t depth;
};

/* Guarded by the queue's lock. */
struct heavy {
    struct list_node groups; /* ascending depth; all flows are in one */
    struct list_node spares; /* owned: groups without flows */
    size_t total;            /* groups in all: more than flows */
    size_t flows;
    uint64_t used[HEAVY_CLASSES / 64]; /* which classes are not empty */
    struct list_node classes[HEAVY_CLASSES];
};

void heavy_init(struct heavy *h);
/* No flow may be in it. */
void heavy_fini(struct heavy *h);

/* A flow with no item yet. ST_NOMEM. */
enum status heavy_add(struct heavy *h, struct apiq_flow *f) MUST_CHECK;
/* After its depth changed by one, or its bytes by any amount. */
void heavy_update(struct heavy *h, struct apiq_flow *f);
/* A flow without items leaves. */
void heavy_drop(struct heavy *h, struct apiq_flow *f);

/* NULL: there is no flow. Among equals, the one that came to its depth first. */
struct apiq_flow *heavy_by_entries(const struct heavy *h);
/* The flow in the highest class of bytes that holds more than the item `keep` (or NULL) alone. */
struct apiq_flow *heavy_by_bytes(const struct heavy *h, const struct apiq_item *keep);

/* The one behind f by entries, downwards; NULL after the last. For listings. */
struct apiq_flow *heavy_after(const struct heavy *h, const struct apiq_flow *f);

#endif
