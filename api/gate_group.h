/* SPDX-License-Identifier: Apache-2.0 */
/* The workload group that a gate names, in front of its queue. A request of the gate that the
 * group's match fits takes a permit of its bucket before it is queued and gives it back when it
 * ends, or when its slot is free; over the limit it parks. For gate*.c alone; never under the
 * lock. */
#ifndef API_GATE_GROUP_H
#define API_GATE_GROUP_H

#include "api/gate_priv.h"
#include "api/gate_request.h"

struct api_message;

/* The group of g by its settings, from now on. Requests keep the permits that they have. */
void gate_group_set(struct gate *g, const char *group);

/* ST_NOTFOUND: it names one that is not in force; err says so. */
enum status gate_group_check(struct gates *gs, const char *group, char *err) MUST_CHECK;

/* As groups_enter; GROUP_NONE where the gate names no group. who: filled only where it does. */
void gate_group_ask(struct gate *g, const struct api_message *m, struct group_who *who,
                    struct group_answer *out);
/* After GROUP_PARK, r being counted as parked: as groups_park. With GROUP_PARK r is the parking's,
 * else the caller's. */
void gate_group_park(struct gate_request *r, const struct group_who *who, struct group_answer *out);

/* It has a permit, or needs none, and goes into the queue: there the buckets of the group take
 * turns. */
void gate_group_turn(struct gate_request *r);
/* The permit is free, if r has one. Then gate_settle. */
void gate_group_leave(struct gate_request *r);

/* After permits or room came free: lets in what is parked. Not within a callback of
 * api/group_entry.h. */
void gate_settle(struct gates *gs);

#endif
