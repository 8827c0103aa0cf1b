/* SPDX-License-Identifier: Apache-2.0 */
/* What parks in a workload group (api/group.h), embedded in the owner's request; and where it goes
 * from there. */
#ifndef API_GROUP_ENTRY_H
#define API_GROUP_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/wheel.h"
#include "queue/apiq.h"
#include "server/base/list.h"
#include "server/base/status.h"

struct group_bucket;
struct group_entry;
struct group_key;
struct group_owner;

/* Where parked requests go when they are let in: a level of a queue. Owned by who owns the queue;
 * must outlive what is parked for it. */
struct group_room {
    struct apiq *queue; /* borrowed: outlives it */
    enum apiq_level level;
    const char *gate;         /* borrowed: outlives it; whose queue it is; NULL: the plane's */
    bool closed;              /* the groups' lock: nothing parks for it any more */
    struct list_node blocked; /* the groups' lock: buckets whose first waits for this room */
    atomic_uint n_blocked;
};
void group_room_init(struct group_room *r, struct apiq *queue, enum apiq_level level,
                     const char *gate);

enum group_why {
    GROUP_DEADLINE,     /* its own deadline passed while it was parked */
    GROUP_CANCEL_AFTER, /* it was parked for longer than the group allows */
    GROUP_DISPLACED,    /* the newest of the fullest bucket, for one of a bucket below its share */
    GROUP_GONE,         /* its owner left */
    GROUP_OPERATOR,     /* cancelled by an operator */
    GROUP_CLOSED,       /* groups_close */
    GROUP_ROOM_GONE,    /* groups_close_room */
};

/* What the owner of parked requests does. Called without any lock. Constant. */
struct group_ops {
    /* Offers it to its room (apiq_offer). ST_OK: it is there, or has ended, and is not touched any
     * more. ST_AGAIN: no room now. It holds a permit (entry->permit) during the call and, with
     * ST_OK, after it. */
    enum status (*offer)(struct group_entry *e);
    /* It ends without having run; it is the owner's, and holds no permit. */
    void (*drop)(struct group_entry *e, enum group_why why);
    /* An owner left while one of its requests was on its way into the room: it is to be cancelled
     * there. */
    void (*chase)(struct group_room *room, uint64_t owner);
    /* Keeps the room of a request that is on its way into it, whatever becomes of the request; and
     * no longer. NULL, both: rooms live as long as the groups. */
    void (*keep)(struct group_room *room);
    void (*unkeep)(struct group_room *room);
};

/* The groups' lock. A place among what a group has parked, by age. */
struct group_age {
    struct list_node node;
    int64_t since; /* when it parked */
    bool in_hand;  /* only holds the place of one that a drain has in hand */
};

/* One request. The caller's until groups_park gives GROUP_PARKED, and after offer or drop. The part
 * above `permit` is set by the caller before groups_park. */
struct group_entry {
    const struct group_ops *ops; /* borrowed: constant */
    struct group_room *room;     /* borrowed: outlives it */
    uint64_t owner;              /* != 0: groups_cancel_owner finds it */
    uint64_t order_key;
    uint64_t id, flow;
    size_t bytes;
    const char *label; /* borrowed: valid as long as the entry; what it is (a subject) */
    const char *name;  /* borrowed: valid as long as the entry; who it is for */
    int64_t due;       /* clock time of its own deadline; 0: none */

    struct group_bucket *permit; /* ref: what it gives back with groups_leave; NULL: nothing */

    /* The groups' lock, from here on. */
    struct group_bucket *bucket; /* borrowed: lives while something is parked in it */
    struct group_key *key;       /* borrowed: counts it; or NULL */
    struct group_owner *own;     /* borrowed: counts it; or NULL */
    struct list_node node;       /* of its bucket; the caller's in a list of displaced ones */
    struct group_age age;
    struct list_node owner_node;
    struct wheel_node due_node;
};

#endif
