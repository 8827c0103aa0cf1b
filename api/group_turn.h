/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a bucket can let something in, and whose turn it is. Private to group*.c; all functions
 * are called with the groups' lock held. */
#ifndef API_GROUP_TURN_H
#define API_GROUP_TURN_H

#include "api/group_priv.h"

/* A permit is free. */
bool group_may_admit(const struct group_bucket *b);
/* … and something is parked. */
bool group_can_let_in(const struct group_bucket *b);
/* The bucket's state after anything it depends on has changed; it may be gone after it. */
void group_judge(struct groups *gs, struct group_bucket *b);
/* The room's first BLOCKED bucket becomes READY. room NULL: nothing. */
void group_wake(struct groups *gs, struct group_room *room);
/* Into another state; room: of BUCKET_BLOCKED, or of BUCKET_READY that it was woken for. */
void group_turn(struct groups *gs, struct group_bucket *b, enum bucket_state state,
                struct group_room *room);
void group_destroy(struct group *g);
/* A zombie that holds nothing goes. */
void group_reap(struct groups *gs, struct group *g);
void group_drop_bucket(struct groups *gs, struct group_bucket *b);

#endif
