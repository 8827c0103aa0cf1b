/* SPDX-License-Identifier: Apache-2.0 */
/* Workload groups: how many requests of a kind may run at once, and where those over the limit
 * wait. A request asks on arrival (groups_enter); it gets a permit, or parks (groups_park), or is
 * refused. Its permit is given back once, however it ends (groups_leave). Who has given something
 * back, or made room in the queue (groups_room), lets the parked in afterwards (groups_drain).
 *
 * Nothing is called back under the lock, and a drain is a loop: neither mass cancelling nor mass
 * completion recurses or holds the lock for long. Any thread may call anything.
 *
 * Order. First come first served in a bucket; buckets take turns. An arrival never overtakes one
 * that is parked in its bucket. One whose order key (queue/item.h) has an earlier one parked parks
 * behind it in the same bucket, whatever matches it. */
#ifndef API_GROUP_H
#define API_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/group_conf.h"
#include "api/group_entry.h"
#include "server/base/clock.h"
#include "server/base/status.h"

struct groups;

/* Names the one group that an arrival is judged by. Guarded by the groups' lock; zeroed it names
 * none. A name that is not there (now) is as none. */
struct group_link {
    char name[GROUP_NAME_MAX + 1];
    uint64_t generation; /* of the groups, when it was looked up */
    struct group *group; /* borrowed: as long as that is the generation; or NULL */
};
void groups_link(struct groups *gs, struct group_link *link, const char *name);

/* What an arrival is judged by. Borrowed for the call. */
struct group_who {
    const char *account;
    uint64_t account_key;
    const char *user, *client, *subject;
    uint64_t order_key;
    struct group_link *link; /* only that group, if it matches; NULL: the first that matches */
};

enum group_verdict {
    GROUP_NONE,     /* no group, or of groups_park, its room is closed: it goes its way */
    GROUP_ADMITTED, /* it has a permit */
    GROUP_PARK,     /* to be parked: groups_park. Of groups_park: it is parked */
    GROUP_OFF,      /* over the limit, and the group parks nothing */
    GROUP_FULL,     /* over the limit, and the parking is full */
    GROUP_NOMEM,
};

struct group_answer {
    enum group_verdict verdict;
    struct group_bucket *permit; /* GROUP_ADMITTED: a ref, for groups_leave */
    int64_t drain_ns; /* refused: until its turn would come, at the recent rate; 0: not known */
    int64_t due;      /* parked: groups_tick has something to do by then; INT64_MAX: never */
};

enum status groups_new(struct groups **out, const struct clock *clock) MUST_CHECK;
/* Nothing may be parked or hold a permit. */
void groups_free(struct groups *gs);

/* False: there is no group at all, and groups_enter would say GROUP_NONE. Cheap. */
bool groups_any(const struct groups *gs);

void groups_enter(struct groups *gs, const struct group_who *who, struct group_answer *out);
/* After GROUP_PARK, with a request made: decides anew. displaced: a list that the caller has
 * initialised; drop what is in it (groups_drop, GROUP_DISPLACED). */
void groups_park(struct groups *gs, struct group_entry *e, const struct group_who *who,
                 struct list_node *displaced, struct group_answer *out);
/* Which bucket it is of: a number that no other has, as long as the permit is held. */
uint64_t groups_bucket_id(const struct group_bucket *permit);
/* The permit is free. Then groups_drain. */
void groups_leave(struct groups *gs, struct group_bucket *permit);

/* Something left the room: one bucket that waits for it may try. Then groups_drain. */
void groups_room(struct groups *gs, struct group_room *room);
/* Lets at most max in; true: there is more to do. */
bool groups_drain(struct groups *gs, unsigned max);

/* Ends what is due, at most some; returns when it is to be called again (INT64_MAX: not before one
 * parks with a due time). */
int64_t groups_tick(struct groups *gs);

/* All that this owner has parked ends as GROUP_GONE, in bounded steps. Returns how many. */
size_t groups_cancel_owner(struct groups *gs, uint64_t owner);

/* Parks nothing for that room any more; all that is parked for it ends as GROUP_ROOM_GONE (what a
 * drain has in hand, when the drain is over). */
void groups_close_room(struct groups *gs, struct group_room *room);

/* Parks nothing any more and ends all that is parked as GROUP_CLOSED; from then on every arrival is
 * GROUP_NONE. */
void groups_close(struct groups *gs);

/* Calls drop for each of the list, which is empty after it. Returns how many. */
size_t groups_drop(struct list_node *list, enum group_why why);

#endif
