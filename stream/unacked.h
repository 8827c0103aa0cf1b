/* SPDX-License-Identifier: Apache-2.0 */
/* What a consumer has delivered and is not done with: messages that wait for an ack, in the order
 * of their sequence and by the time at which they go out anew; those that are to go out anew now;
 * and those that went out max_deliver times in vain, which are only remembered ("dead").
 * Under the stream's lock. */
#ifndef STREAM_UNACKED_H
#define STREAM_UNACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/list.h"
#include "server/base/status.h"

struct unacked {
    uint64_t seq;         /* of the stream */
    uint64_t dseq;        /* of the consumer, at the first delivery */
    int64_t ts;           /* wall ns, from which the wait for the ack counts */
    int64_t due;          /* monotonic ns, where `at` is not 0 */
    uint32_t redelivered; /* how often it went out anew */
    uint32_t at;          /* place in the heap, from 1 */
    bool dead;
    struct list_node node;  /* of pending; dead: in none */
    struct list_node again; /* of redeliver */
    struct unacked *next;   /* of its bucket, or of the spare ones */
};

/* Embedded; unacked_init makes it. */
struct unacked_tab {
    struct unacked **buckets; /* owned */
    size_t n_buckets;         /* a power of two, or 0 */
    size_t n;                 /* all */
    size_t n_pending, n_redeliver, n_redelivered;
    struct list_node pending;   /* by seq */
    struct list_node redeliver; /* in the order in which they go out */
    struct unacked **heap;      /* owned: by due */
    size_t n_heap, cap_heap;
    struct unacked *spare; /* owned */
    size_t n_spare;
};

void unacked_init(struct unacked_tab *t);
void unacked_fini(struct unacked_tab *t);
void unacked_clear(struct unacked_tab *t);

struct unacked *unacked_find(const struct unacked_tab *t, uint64_t seq); /* NULL: none */
/* A new pending one, with no time set. The seq is not in the table. */
enum status unacked_add(struct unacked_tab *t, uint64_t seq, uint64_t dseq,
                        struct unacked **out) MUST_CHECK;
void unacked_drop(struct unacked_tab *t, struct unacked *u);
/* No longer pending, but remembered. */
void unacked_kill(struct unacked_tab *t, struct unacked *u);
/* Goes out anew at `due`; it leaves the redelivery queue. */
void unacked_wait(struct unacked_tab *t, struct unacked *u, int64_t due);
/* Goes out anew as soon as possible, after those that already do. */
void unacked_queue(struct unacked_tab *t, struct unacked *u);
/* Neither: out of the queue and of the heap. */
void unacked_rest(struct unacked_tab *t, struct unacked *u);
void unacked_set_redelivered(struct unacked_tab *t, struct unacked *u, uint32_t n);
/* All whose time has come leave the heap, in the order of their sequence: fn queues or kills each.
 */
void unacked_expire(struct unacked_tab *t, int64_t now, void (*fn)(void *arg, struct unacked *u),
                    void *arg);
/* INT64_MAX: none. */
int64_t unacked_first_due(const struct unacked_tab *t);

static inline struct unacked *
unacked_first(const struct unacked_tab *t)
{
    return list_is_empty(&t->pending) ? NULL : LIST_ENTRY(t->pending.next, struct unacked, node);
}

static inline struct unacked *
unacked_first_again(const struct unacked_tab *t)
{
    return list_is_empty(&t->redeliver) ? NULL
                                        : LIST_ENTRY(t->redeliver.next, struct unacked, again);
}

#endif
