/* SPDX-License-Identifier: Apache-2.0 */
/* A request of a gate, and where it is found while it runs. For gate*.c alone. */
#ifndef API_GATE_REQUEST_H
#define API_GATE_REQUEST_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/gate.h"
#include "api/group_entry.h"
#include "queue/item.h"
#include "queue/ktab.h"

struct reply_entry {
    struct ktab_node node;
    struct list_node requests; /* of gate_request.same_reply, oldest first */
};

struct taker_entry {
    struct ktab_node node;
    struct list_node takers;
};

/* A connection that was given a request. */
struct gate_taker {
    struct list_node by_cid, by_request;
    struct gate_request *r; /* borrowed: it owns us */
    uint64_t cid;
};

/* Who asks for what, and is told if it is refused. */
struct gate_asker {
    struct account *account; /* borrowed: accounts live to the end */
    uint32_t loop;
    bool no_responders;          /* its client knows the status 503 */
    const char *subject, *reply; /* of the message, or of the request that was made of it */
};

enum gate_state {
    GATE_WAITING, /* the queue's, or its maker's */
    GATE_RUNNING, /* holds a slot */
    GATE_FREE,    /* holds none (any more), but is perhaps still being delivered */
};

/* One block with subject and reply behind it. Owned by its maker, then by the parking or the queue;
 * from the pull on by refs. refs, open, state, parked, lists: the lock of the gates. */
struct gate_request {
    struct apiq_item item;
    struct group_entry group;                       /* its permit, or its place in the parking */
    alignas(max_align_t) char mail[GATE_MAIL_SIZE]; /* the host's */
    struct gate *gate;                              /* ref */
    struct gate_asker asker;                        /* its texts owned: in this block */
    uint64_t cid;
    bool watch; /* its reply had interest when it arrived: without any it need not run */
    bool was_parked;
    bool parked; /* counted as such */
    enum gate_state state;
    uint32_t refs; /* its slot, its delivery, each copy on its way */
    uint32_t open; /* its delivery, each copy on its way, each connection that got it */
    int64_t began;
    uint64_t reply_hash;
    struct list_node run;        /* gate.running */
    struct list_node same_reply; /* reply_entry.requests */
    struct list_node takers;     /* gate_taker.by_request */
    struct gate_taker first;     /* the usual one; free while cid is 0 */
    char *data;                  /* owned; NULL once delivered */
    size_t size, hdr_len;
    size_t subject_len, reply_len;
};

static inline struct gate_request *
gate_request_of(struct apiq_item *it)
{
    return LIST_ENTRY(it, struct gate_request, item);
}

#endif
