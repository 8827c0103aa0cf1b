/* SPDX-License-Identifier: Apache-2.0 */
/* A worker sleeps in apiq_pull_wait, runs what it gets, ends it, and so on until the queue is
 * closed or it is told to leave. A worker that leaves becomes GONE by itself and is joined by
 * whoever needs its place next, so that a worker may reduce the number of workers. */
#include "queue/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "queue/apiq_conf.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

enum place { PLACE_EMPTY, PLACE_WORKING, PLACE_GONE };

/* `lock` guards `now`, place and thread are guarded by the pool's lock. */
struct worker {
    pthread_mutex_t lock;
    struct pool *pool; /* borrowed: joins the thread before it ends */
    unsigned index;
    atomic_bool leave;
    enum place place;
    pthread_t thread;
    struct pool_worker_info now;
};

/* `lock` guards wanted, stopped, and the places of the workers. No other lock is taken under it. */
struct pool {
    pthread_mutex_t lock;
    struct apiq *q; /* borrowed: see pool_new */
    struct pool_ops ops;
    unsigned wanted;
    bool stopped;
    struct worker op;
    struct worker workers[POOL_MAX_WORKERS];
};

unsigned
pool_default_workers(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 2 ? 2 : n > 16 ? 16 : (unsigned)n;
}

static void
note_begin(struct worker *w, const struct apiq_item *it)
{
    pthread_mutex_lock(&w->lock);
    w->now.busy = true;
    w->now.level = it->level;
    w->now.id = it->id;
    w->now.flow = it->flow;
    w->now.owner = it->owner;
    w->now.tag = it->tag;
    w->now.since = clock_mono_ns();
    (void)snprintf(w->now.label, sizeof(w->now.label), "%s", it->label != NULL ? it->label : "");
    (void)snprintf(w->now.name, sizeof(w->now.name), "%s", it->name != NULL ? it->name : "");
    pthread_mutex_unlock(&w->lock);
}

static void
note_end(struct worker *w, enum status st)
{
    pthread_mutex_lock(&w->lock);
    w->now.busy = false;
    w->now.runs++;
    w->now.failed += st != ST_OK && st != ST_PENDING ? 1 : 0;
    w->now.busy_ns += clock_mono_ns() - w->now.since;
    pthread_mutex_unlock(&w->lock);
}

static void
run_item(struct worker *w, struct apiq_item *it)
{
    struct pool *p = w->pool;
    note_begin(w, it);
    enum status st = p->ops.run(it, w->index, p->ops.arg);
    note_end(w, st);
    /* A pending item may be gone by now. */
    if (st != ST_PENDING) {
        apiq_done_pulling(p->q, it);
        p->ops.end(it, p->ops.arg);
    }
}

static void
take_name(const struct worker *w)
{
    char name[16];
    if (w->index == POOL_MAX_WORKERS) {
        (void)snprintf(name, sizeof(name), "api-op");
    } else {
        (void)snprintf(name, sizeof(name), "api-%u", w->index);
    }
    pthread_setname_np(pthread_self(), name);
}

static void *
work(void *arg)
{
    struct worker *w = arg;
    take_name(w);
    struct pool *p = w->pool;
    enum apiq_lane lane = w->index == POOL_MAX_WORKERS ? APIQ_LANE_OPERATOR : APIQ_LANE_ANY;
    for (;;) {
        struct apiq_item *it;
        enum status st = apiq_pull_wait(p->q, lane, &w->leave, &it);
        if (st == ST_OK) {
            run_item(w, it);
        } else if (st == ST_EXPIRED || st == ST_CANCELLED) {
            p->ops.drop(it, st, p->ops.arg);
        } else if (st == ST_CLOSED) {
            break;
        } else {
            /* Told to leave; but that may have been taken back meanwhile. */
            pthread_mutex_lock(&p->lock);
            bool leave = atomic_load(&w->leave);
            w->place = leave ? PLACE_GONE : w->place;
            pthread_mutex_unlock(&p->lock);
            if (leave) {
                break;
            }
        }
    }
    return NULL;
}

/* Signals are for the main thread. */
static enum status
start_thread(struct worker *w)
{
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        return ST_AGAIN;
    }
    w->place = PLACE_WORKING;
    return ST_OK;
}

static void
worker_init(struct worker *w, struct pool *p, unsigned index)
{
    pthread_mutex_init(&w->lock, NULL);
    w->pool = p;
    w->index = index;
    w->now.worker = index;
}

/* Fills the worker's place, whatever was in it. With the pool's lock held. */
static enum status
worker_start(struct worker *w)
{
    atomic_store(&w->leave, false);
    if (w->place == PLACE_GONE) {
        /* It has no more to do than to return. */
        pthread_join(w->thread, NULL);
        w->place = PLACE_EMPTY;
    }
    return w->place == PLACE_EMPTY ? start_thread(w) : ST_OK;
}

/* After pool_stop has seen to it that no worker is started any more. */
static void
worker_join(struct worker *w)
{
    pthread_mutex_lock(&w->pool->lock);
    bool started = w->place != PLACE_EMPTY;
    pthread_mutex_unlock(&w->pool->lock);
    if (started) {
        pthread_join(w->thread, NULL);
        w->place = PLACE_EMPTY;
    }
}

/* No lower level may take the last worker from the others. Until what was set is what is wanted:
 * somebody else may change that at the same time. */
static void
share_out(struct pool *p)
{
    unsigned n;
    do {
        n = pool_workers(p);
        apiq_set_max_running(p->q, APIQ_NORMAL, n > 1 ? n - 1 : 1);
        apiq_set_max_running(p->q, APIQ_INFO, n > 1 ? n - 1 : 1);
    } while (n != pool_workers(p));
    apiq_wake(p->q);
}

/* With the pool's lock held. */
static enum status
resize(struct pool *p, unsigned n)
{
    enum status st = p->stopped ? ST_CLOSED : ST_OK;
    for (unsigned i = 0; i < n && st == ST_OK; i++) {
        st = worker_start(&p->workers[i]);
        if (st == ST_OK && i >= p->wanted) {
            p->wanted = i + 1;
        }
    }
    for (unsigned i = n; i < p->wanted; i++) {
        atomic_store(&p->workers[i].leave, true);
    }
    p->wanted = n < p->wanted ? n : p->wanted;
    return st;
}

enum status
pool_new(struct pool **out, struct apiq *q, unsigned workers, const struct pool_ops *ops)
{
    if (workers == 0 || workers > POOL_MAX_WORKERS) {
        return ST_INVAL;
    }
    struct pool *p = mem_alloc(sizeof(*p));
    if (p == NULL) {
        return ST_NOMEM;
    }
    pthread_mutex_init(&p->lock, NULL);
    p->q = q;
    p->ops = *ops;
    worker_init(&p->op, p, POOL_MAX_WORKERS);
    for (unsigned i = 0; i < POOL_MAX_WORKERS; i++) {
        worker_init(&p->workers[i], p, i);
    }
    pthread_mutex_lock(&p->lock);
    enum status st = worker_start(&p->op);
    if (st == ST_OK) {
        st = resize(p, workers);
    }
    pthread_mutex_unlock(&p->lock);
    if (st != ST_OK) {
        pool_free(p);
        return st;
    }
    share_out(p);
    *out = p;
    return ST_OK;
}

void
pool_stop(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    bool again = p->stopped;
    p->stopped = true;
    pthread_mutex_unlock(&p->lock);
    if (again) {
        return;
    }
    apiq_close(p->q);
    worker_join(&p->op);
    for (unsigned i = 0; i < POOL_MAX_WORKERS; i++) {
        worker_join(&p->workers[i]);
    }
}

void
pool_free(struct pool *p)
{
    if (p == NULL) {
        return;
    }
    pool_stop(p);
    pthread_mutex_destroy(&p->op.lock);
    for (unsigned i = 0; i < POOL_MAX_WORKERS; i++) {
        pthread_mutex_destroy(&p->workers[i].lock);
    }
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

enum status
pool_set_workers(struct pool *p, unsigned workers)
{
    if (workers == 0 || workers > POOL_MAX_WORKERS) {
        return ST_INVAL;
    }
    pthread_mutex_lock(&p->lock);
    enum status st = resize(p, workers);
    pthread_mutex_unlock(&p->lock);
    share_out(p);
    return st;
}

unsigned
pool_workers(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    unsigned n = p->wanted;
    pthread_mutex_unlock(&p->lock);
    return n;
}

void
pool_defer(struct pool *p, struct apiq_item *it)
{
    apiq_defer(p->q, it);
}

void
pool_complete(struct pool *p, struct apiq_item *it)
{
    apiq_done(p->q, it);
    p->ops.end(it, p->ops.arg);
}

static void
copy_worker(struct worker *w, struct pool_worker_info *out)
{
    pthread_mutex_lock(&w->lock);
    *out = w->now;
    pthread_mutex_unlock(&w->lock);
}

size_t
pool_view(struct pool *p, struct pool_worker_info *out, size_t max)
{
    unsigned wanted = pool_workers(p);
    size_t n = 0;
    for (unsigned i = 0; i < wanted && n < max; i++) {
        copy_worker(&p->workers[i], &out[n++]);
    }
    if (n < max) {
        copy_worker(&p->op, &out[n++]);
    }
    return n;
}
