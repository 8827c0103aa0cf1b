/* SPDX-License-Identifier: Apache-2.0 */
/* One I/O thread: a libevent base that owns its connections. The only door in from another thread
 * is loop_post. A turn: ready events, then mailbox, then everything written out (flush), then the
 * connections that closed are freed. */
#ifndef SERVER_NET_LOOP_H
#define SERVER_NET_LOOP_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/base/list.h"
#include "server/base/status.h"
#include "server/net/late.h"
#include "server/net/loop_stats.h"
#include "server/net/outbuf.h"
#include "server/route/sublist.h"

struct auth;
struct closed_ring;
struct config;
struct conn;
struct info;
struct loop;
struct route_cache;
struct server;

/* Where a read ends at most; what is left of an operation is copied in front of it. It stays in the
 * core's cache: 512 KiB took a quarter more CPU for a message of 1 KiB. */
enum { LOOP_READ_SIZE = 128 * 1024, LOOP_CARRY_SIZE = 64 * 1024 };

/* Something to be done on the loop's thread. run owns the message from then on. */
struct loop_msg {
    struct list_node node;
    void (*run)(struct loop *loop, struct loop_msg *msg);
    size_t bytes; /* what it holds, for the bound of the mailbox; 0 for commands */
};

/* Owner: its thread, but for the mailbox (its lock) and stats. Open to net/, proto/ and route/. */
struct loop {
    uint32_t index;
    struct server *server; /* borrowed: outlives its loops */
    struct event_base *base;
    pthread_t thread;
    struct list_node conns;
    struct list_node dirty;     /* connections with something to flush */
    struct list_node stalled;   /* producers that wait for a slow receiver */
    struct list_node graveyard; /* closed, freed at the end of the turn */
    struct list_node lingering; /* what closed connections still have to be sent (linger.h) */
    struct event stall_timer;
    struct late late;
    struct conn **by_id; /* owned: chained table by connection id */
    size_t n_by_id;
    struct outpool pool;
    char *rbuf;                 /* owned: LOOP_CARRY_SIZE + LOOP_READ_SIZE */
    struct match match;         /* of the message at hand, when it is not cached */
    struct route_cache *cache;  /* owned */
    struct closed_ring *closed; /* owned */
    struct list_node *out;      /* owned array: per target loop, deliveries of this turn */
    size_t *out_bytes;          /* owned array, likewise */
    struct config *cfg;         /* ref: the snapshot in force here */
    struct auth *auth;          /* ref */
    struct info *info;          /* ref */
    uint64_t rng;
    struct loop_stats stats;
    bool stopping;
    bool js_turn;         /* JetStream got something in this turn: js_turn_end is due */
    pthread_mutex_t lock; /* guards inbox */
    struct list_node inbox;
    _Atomic int64_t inbox_bytes;
    int wake_fd;
    struct event wake_ev;
};

/* What a loop starts with; takes the three references. */
struct loop_spec {
    uint32_t index;
    uint32_t n_loops;
    struct server *server;
    struct config *cfg;
    struct auth *auth;
    struct info *info;
};
enum status loop_new(struct loop **out, const struct loop_spec *spec) MUST_CHECK;
enum status loop_start(struct loop *l) MUST_CHECK;
/* Closes its connections, runs what is in the mailbox, writes what waits for at most a moment
 * (linger.h), ends the thread and waits for it. */
void loop_stop(struct loop *l);
/* Runs what other loops posted while they stopped. False: nothing was there. After loop_stop. */
bool loop_drain(struct loop *l);
void loop_free(struct loop *l);

/* JetStream got something in this turn, whose end sees to it, and to what is posted to this loop by
 * its own thread until then. */
void loop_js_turn(struct loop *l);

/* Any thread. Takes msg. Wakes the loop only if its mailbox was empty. */
void loop_post(struct loop *l, struct loop_msg *msg);
/* The same for a whole list; list is empty after it. */
void loop_post_list(struct loop *l, struct list_node *list, size_t bytes);

/* NULL: no such connection here (any more). */
struct conn *loop_find(struct loop *l, uint64_t cid);
void loop_add(struct loop *l, struct conn *c);
void loop_remove(struct loop *l, struct conn *c);
uint64_t loop_random(struct loop *l);

static inline bool
loop_is_own(const struct loop *l)
{
    return pthread_equal(l->thread, pthread_self()) != 0;
}
#define ASSERT_OWNER(l) ASSERT(loop_is_own(l))

#endif
