/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads for one apiq: each pulls ONE item, runs it, ends it.
 * `workers` threads named api-0 … serve every level; one more, api-op, serves the operator level
 * only, so that an operator gets in when every other worker is stuck, and answers what expires.
 * None of the lower levels may hold more than workers - 1 of them (or the one there is). */
#ifndef QUEUE_POOL_H
#define QUEUE_POOL_H

#include "queue/apiq.h"

#define POOL_MAX_WORKERS 256u

struct pool;

/* What the pool's user does. All of it is called on worker threads, without any lock held.
 * An item goes through run and then end, or through drop alone. */
struct pool_ops {
    /* Runs the item. worker: 0 … workers - 1, or POOL_MAX_WORKERS for api-op.
     * ST_PENDING: another thread ends it by pool_complete. The handler must then have called
     * pool_defer before that thread could see the item; the worker does not touch it any more.
     * Any other status: it has ended (and is counted as failed unless ST_OK). */
    enum status (*run)(struct apiq_item *it, unsigned worker, void *arg);
    /* It has ended and its slot and order key are free: the item's memory may go. For a pending
     * one, called on the thread of pool_complete. */
    void (*end)(struct apiq_item *it, void *arg);
    /* It will not run. why: ST_EXPIRED, or ST_CANCELLED when the queue was closed. To be answered;
     * its memory may go. */
    void (*drop)(struct apiq_item *it, enum status why, void *arg);
    void *arg; /* borrowed: outlives the pool */
};

/* How many workers a machine should have: its cores, at least 2, at most 16. */
unsigned pool_default_workers(void);

/* Starts the threads. q: borrowed, outlives the pool, made with clock_real; its max_running
 * settings belong to the pool from now on. ops is copied.
 * ST_INVAL: workers is 0 or above POOL_MAX_WORKERS. ST_NOMEM, ST_AGAIN: no memory, no thread
 * (and q is closed then). */
enum status pool_new(struct pool **out, struct apiq *q, unsigned workers,
                     const struct pool_ops *ops) MUST_CHECK;

/* Closes the queue, has the workers drop what is left, and waits for them. What is pending stays
 * so and must be completed before pool_free. Not on a worker thread. Twice is allowed. */
void pool_stop(struct pool *p);

/* Stops it if that was not done, and frees it. NULL is allowed. */
void pool_free(struct pool *p);

/* Takes effect at once, from any thread, also a worker: new ones start; those too many leave when
 * the item they run has ended. ST_INVAL, ST_AGAIN as pool_new (with the number that could be
 * started in force). ST_CLOSED: after pool_stop. */
enum status pool_set_workers(struct pool *p, unsigned workers) MUST_CHECK;
unsigned pool_workers(struct pool *p);

/* See run. */
void pool_defer(struct pool *p, struct apiq_item *it);
/* Ends a pending item, on any thread: frees its order key, calls `end`. Once. */
void pool_complete(struct pool *p, struct apiq_item *it);

/* One worker, copied: the item itself may be gone by now. */
struct pool_worker_info {
    unsigned worker; /* as for run */
    bool busy;       /* the fields from `level` on are about the item it runs */
    uint64_t runs;   /* items run since its start */
    uint64_t failed; /* of them, those that did not end with ST_OK or ST_PENDING */
    int64_t busy_ns; /* time spent in run, without the one that runs now */
    enum apiq_level level;
    uint64_t id, flow, owner, tag;
    int64_t since;  /* clock_real time of its start */
    char label[64]; /* cut */
    char name[64];  /* cut */
};
/* At most max of the workers there are, api-op last. Returns how many were copied. */
size_t pool_view(struct pool *p, struct pool_worker_info *out, size_t max);

#endif
