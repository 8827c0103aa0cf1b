/* SPDX-License-Identifier: Apache-2.0 */
#include "api/ticker.h"

#include <pthread.h>
#include <time.h>

#include "api/advisory.h"
#include "api/dispatch.h"
#include "api/group_admin.h"
#include "api/history.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "queue/apiq_conf.h"
#include "queue/apiq_view.h"
#include "queue/pool.h"
#include "server/base/assert.h"
#include "server/base/log.h"
#include "server/base/mem.h"

/* Owned by the ticker's thread but for `stop`, which `lock` guards. */
struct ticker {
    struct api *a; /* borrowed: frees us */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop;
    int64_t last; /* clock time of the last sample */
    struct ledger_snapshot before;
};

static uint64_t
received(const struct ledger_snapshot *s)
{
    uint64_t n = 0;
    for (int i = 0; i < APIQ_LEVELS; i++) {
        n += s->level[i].received;
    }
    return n;
}

static void
take_sample(struct ticker *t, struct history_sample *out)
{
    struct ledger_snapshot now;
    struct apiq_stats q;
    ledger_read(t->a->ledger, &now);
    apiq_stats(t->a->queue, &q);
    *out = (struct history_sample){
        .wall = clock_wall_ns(),
        .arrivals = received(&now) - received(&t->before),
        .pending = now.pending,
        .workers = t->a->pool == NULL ? 0 : pool_workers(t->a->pool),
    };
    for (int i = 0; i < APIQ_LEVELS; i++) {
        struct apiq_conf c;
        out->depth += q.level[i].depth;
        out->running += now.level[i].running;
        apiq_get_conf(t->a->queue, (enum apiq_level)i, &c);
        out->newest_first = out->newest_first || q.level[i].newest_first;
        out->engaged = out->engaged || (q.level[i].newest_first && c.order == APIQ_ADAPTIVE);
        if (q.level[i].oldest_age_ns > out->oldest_age_ns) {
            out->oldest_age_ns = q.level[i].oldest_age_ns;
        }
        for (int k = 0; k < LEDGER_OUTCOMES; k++) {
            out->ended[k] += now.level[i].ended[k] - t->before.level[i].ended[k];
        }
    }
    t->before = now;
}

static json_t *
seen(const struct history_sample *s)
{
    json_t *o = json_object();
    jobj_int(&o, "depth", s->depth);
    jobj_ms(&o, "oldest_age_ms", s->oldest_age_ns);
    jobj_int(&o, "running", s->running);
    jobj_int(&o, "workers", s->workers);
    jobj_int(&o, "arrivals", s->arrivals);
    for (int k = 0; k < LEDGER_OUTCOMES; k++) {
        jobj_int(&o, ledger_outcome_name((enum ledger_outcome)k), s->ended[k]);
    }
    return o;
}

static void
tell(struct ticker *t, enum history_change change, const struct history_sample *s)
{
    if (change == HISTORY_SAME) {
        return;
    }
    bool begins = change == HISTORY_BEGINS;
    log_warn(
        "API overload %s: %llu waiting, oldest %.3f s, %llu arrived, %llu answered, %llu "
        "evicted, %llu expired, %llu refused in the last second",
        begins ? "begins" : "ends", (unsigned long long)s->depth, (double)s->oldest_age_ns / 1e9,
        (unsigned long long)s->arrivals, (unsigned long long)s->ended[LEDGER_ANSWERED],
        (unsigned long long)s->ended[LEDGER_EVICTED], (unsigned long long)s->ended[LEDGER_EXPIRED],
        (unsigned long long)s->ended[LEDGER_REFUSED]);
    advisory_overload(t->a->advisory, begins, seen(s));
}

void
ticker_tick(struct ticker *t)
{
    int64_t now = clock_now(&t->a->clock);
    /* A timer may be a little early; half a second is never a sample of its own. */
    if (now - t->last < CLOCK_S / 2) {
        return;
    }
    t->last = now;
    struct history_sample s;
    take_sample(t, &s);
    tell(t, history_add(t->a->history, &s), &s);
    advisory_flush(t->a->advisory);
    groups_sweep(t->a->groups);
    dispatch_pump(t->a, 0);
}

static void *
run(void *arg)
{
    struct ticker *t = arg;
    struct timespec at;
    (void)pthread_setname_np(pthread_self(), "api-tick");
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        at.tv_sec++;
        while (!t->stop && pthread_cond_timedwait(&t->stopped, &t->lock, &at) == 0) {
        }
        pthread_mutex_unlock(&t->lock);
        ticker_tick(t);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

enum status
ticker_new(struct ticker **out, struct api *a, bool thread)
{
    struct ticker *t = mem_alloc(sizeof(*t));
    if (t == NULL) {
        return ST_NOMEM;
    }
    pthread_condattr_t attr;
    ASSERT(pthread_condattr_init(&attr) == 0);
    ASSERT(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    ASSERT(pthread_cond_init(&t->stopped, &attr) == 0);
    pthread_condattr_destroy(&attr);
    ASSERT(pthread_mutex_init(&t->lock, NULL) == 0);
    t->a = a;
    t->last = clock_now(&a->clock);
    if (thread) {
        if (pthread_create(&t->thread, NULL, run, t) != 0) {
            ticker_free(t);
            return ST_AGAIN;
        }
        t->has_thread = true;
    }
    *out = t;
    return ST_OK;
}

void
ticker_free(struct ticker *t)
{
    if (t == NULL) {
        return;
    }
    if (t->has_thread) {
        pthread_mutex_lock(&t->lock);
        t->stop = true;
        pthread_cond_signal(&t->stopped);
        pthread_mutex_unlock(&t->lock);
        pthread_join(t->thread, NULL);
    }
    pthread_cond_destroy(&t->stopped);
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}
