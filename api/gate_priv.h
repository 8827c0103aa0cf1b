/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of gates, for gate*.c alone. */
#ifndef API_GATE_PRIV_H
#define API_GATE_PRIV_H

#include <pthread.h>

#include "api/gate.h"
#include "api/gates.h"
#include "api/group.h"
#include "api/host.h"
#include "queue/apiq.h"
#include "queue/item.h"
#include "queue/ktab.h"

/* conf, counts, gone, running: the lock of home. The queue has its own. The rest is constant. */
struct gate {
    _Atomic uint32_t refs;
    struct gates *home;       /* borrowed: outlives all use but the last unref */
    struct apiq *q;           /* owned */
    struct group_room room;   /* the groups': the way into q from the parking */
    struct group_link link;   /* the groups': conf.group */
    atomic_bool has_group;    /* conf.group names one */
    struct gate_watch *watch; /* borrowed: home's */
    char name[GATE_NAME_MAX + 1];
    struct gate_conf conf;
    void *handle; /* the host's */
    bool from_config;
    atomic_bool passes; /* it is removed: what is left in the queue is passed on, not refused */
    bool gone;          /* it is removed, and waits for no reply any more (home's lock) */
    struct gate_counts counts;
    struct list_node running; /* of gate_request.run, those that began first in front */
};

/* Guarded by `lock`, but for host, clock and plane (constant). */
struct gates {
    const struct api_host *host; /* borrowed: outlives the plane */
    struct clock clock;
    struct gates_plane plane;
    pthread_mutex_t lock;
    pthread_cond_t turn; /* a change has ended */
    bool changing;       /* somebody makes, changes or removes gates */
    struct gate **v;     /* owned, ref each; only whoever is `changing` writes */
    size_t n, cap;
    _Atomic size_t count;       /* n, for a look without the lock */
    struct gate_watch *watches; /* owned list */
    struct ktab by_reply;       /* reply_entry: running requests by account and reply */
    struct ktab by_cid;         /* taker_entry: who got them */
    bool closed;

    bool has_thread, stop, resting;
    pthread_t thread;
    pthread_cond_t wake; /* CLOCK_MONOTONIC */
};

struct gate_asker;
struct gate_request;

/* gate.c */
enum status gate_new(struct gate **out, struct gates *gs, const struct gate_conf *c) MUST_CHECK;
/* Pulls until there is nothing to pull: runs, refuses, passes on. As all that ends requests it
 * gives permits back; gate_settle is to follow. */
void gate_pump(struct gate *g);
/* Ends requests that did not run, all in the same way; the list is empty after it. */
size_t gate_fallen(struct gate *g, struct list_node *fallen, enum ledger_end e);
/* Ends one that waits, or has just been pulled and holds no slot. drain: how long the backlog takes
 * that stood in its way; 0: the queue's. */
void gate_end_unrun(struct gate_request *r, enum ledger_end e, int64_t drain);
/* The gate is removed: delivered as without one. */
void gate_pass_on(struct gate_request *r);
/* Its thread has something to look for. Under the lock. */
void gates_stir(struct gates *gs);
/* Gate i, with a reference; NULL: there are not so many. */
struct gate *gates_at(struct gates *gs, size_t i);
/* Ends those whose time for a reply is over. */
void gate_time_out(struct gate *g);
/* The gate is removed: what runs is on its own from now on. */
void gate_let_run(struct gate *g);

/* gate_refuse.c: says so on the reply subject, where that end is told. */
void gate_tell(struct gate *g, const struct gate_asker *to, enum ledger_end e, int64_t drain);

#endif
