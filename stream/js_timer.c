/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap under one lock; the thread sleeps until the first is due or an earlier one is set.
 */
#include "stream/js_timer.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "server/base/assert.h"
#include "server/base/mem.h"

/* lock guards all but clock and thread. heap[1] is the earliest. */
struct js_timers {
    struct clock clock;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t thread;
    bool started, stopping;
    int64_t sleeps_until;   /* of the thread; INT64_MIN: it is awake and will look by itself */
    struct js_timer **heap; /* owned array; its timers are their owners' */
    size_t n, cap, reserved;
};

enum status
js_timers_new(struct js_timers **out, const struct clock *clock)
{
    *out = NULL;
    struct js_timers *w = mem_alloc(sizeof(*w));
    if (w == NULL) {
        return ST_NOMEM;
    }
    w->clock = *clock;
    w->sleeps_until = INT64_MIN;
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->cond, &attr);
    (void)pthread_condattr_destroy(&attr);
    *out = w;
    return ST_OK;
}

void
js_timers_free(struct js_timers *w)
{
    if (w == NULL) {
        return;
    }
    ASSERT(!w->started);
    (void)pthread_cond_destroy(&w->cond);
    (void)pthread_mutex_destroy(&w->lock);
    mem_free(w->heap);
    mem_free(w);
}

static void
place(struct js_timers *w, size_t i, struct js_timer *t)
{
    w->heap[i] = t;
    t->index = (uint32_t)i;
}

static void
sift_up(struct js_timers *w, size_t i)
{
    struct js_timer *t = w->heap[i];
    for (; i > 1 && w->heap[i / 2]->at > t->at; i /= 2) {
        place(w, i, w->heap[i / 2]);
    }
    place(w, i, t);
}

static void
sift_down(struct js_timers *w, size_t i)
{
    struct js_timer *t = w->heap[i];
    for (size_t c = i * 2; c <= w->n; c = i * 2) {
        if (c < w->n && w->heap[c + 1]->at < w->heap[c]->at) {
            c++;
        }
        if (w->heap[c]->at >= t->at) {
            break;
        }
        place(w, i, w->heap[c]);
        i = c;
    }
    place(w, i, t);
}

static void
take_out(struct js_timers *w, struct js_timer *t)
{
    size_t i = t->index;
    struct js_timer *last = w->heap[w->n--];
    t->index = 0;
    if (last != t) {
        place(w, i, last);
        sift_up(w, i);
        sift_down(w, last->index);
    }
}

enum status
js_timers_reserve(struct js_timers *w, int n)
{
    enum status st = ST_OK;
    (void)pthread_mutex_lock(&w->lock);
    size_t want = w->reserved + (size_t)n;
    if (n > 0 && want + 1 > w->cap) {
        size_t cap = (want + 1) * 2;
        struct js_timer **heap = mem_realloc(w->heap, cap * sizeof(struct js_timer *));
        st = heap != NULL ? ST_OK : ST_NOMEM;
        if (heap != NULL) {
            w->heap = heap;
            w->cap = cap;
        }
    }
    if (st == ST_OK) {
        w->reserved = want;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return st;
}

static bool
set(struct js_timers *w, struct js_timer *t, int64_t at, bool only_earlier)
{
    (void)pthread_mutex_lock(&w->lock);
    bool is_new = t->index == 0;
    if (is_new) {
        ASSERT(w->n + 1 < w->cap);
        t->at = at;
        place(w, ++w->n, t);
        sift_up(w, w->n);
    } else if (!only_earlier || at < t->at) {
        t->at = at;
        sift_up(w, t->index);
        sift_down(w, t->index);
    }
    bool wake = t->at < w->sleeps_until;
    if (wake) {
        w->sleeps_until = INT64_MIN;
    }
    (void)pthread_mutex_unlock(&w->lock);
    if (wake) {
        (void)pthread_cond_signal(&w->cond);
    }
    return is_new;
}

bool
js_timer_set(struct js_timers *w, struct js_timer *t, int64_t at)
{
    return set(w, t, at, false);
}

bool
js_timer_set_earlier(struct js_timers *w, struct js_timer *t, int64_t at)
{
    return set(w, t, at, true);
}

bool
js_timer_cancel(struct js_timers *w, struct js_timer *t)
{
    (void)pthread_mutex_lock(&w->lock);
    bool armed = t->index != 0;
    if (armed) {
        take_out(w, t);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return armed;
}

/* Runs those whose time is at most `until`, each once: what a callback sets anew for now waits for
 * the next round. Takes and gives the lock. */
static size_t
run_due(struct js_timers *w, int64_t until)
{
    size_t ran = 0;
    while (w->n > 0 && w->heap[1]->at <= until) {
        struct js_timer *t = w->heap[1];
        take_out(w, t);
        (void)pthread_mutex_unlock(&w->lock);
        t->fn(t);
        ran++;
        (void)pthread_mutex_lock(&w->lock);
    }
    return ran;
}

static void *
thread_main(void *arg)
{
    struct js_timers *w = arg;
    (void)pthread_mutex_lock(&w->lock);
    while (!w->stopping) {
        int64_t at = w->n > 0 ? w->heap[1]->at : INT64_MAX;
        if (at <= clock_now(&w->clock)) {
            (void)run_due(w, clock_now(&w->clock));
            continue;
        }
        w->sleeps_until = at;
        if (at == INT64_MAX) {
            (void)pthread_cond_wait(&w->cond, &w->lock);
        } else {
            struct timespec ts = {at / CLOCK_S, at % CLOCK_S};
            (void)pthread_cond_timedwait(&w->cond, &w->lock, &ts);
        }
        w->sleeps_until = INT64_MIN;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

enum status
js_timers_start(struct js_timers *w)
{
    if (pthread_create(&w->thread, NULL, thread_main, w) != 0) {
        return ST_NOMEM;
    }
    (void)pthread_setname_np(w->thread, "js");
    w->started = true;
    return ST_OK;
}

void
js_timers_stop(struct js_timers *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->stopping = true;
    (void)pthread_cond_signal(&w->cond);
    (void)pthread_mutex_unlock(&w->lock);
    if (w->started) {
        (void)pthread_join(w->thread, NULL);
        w->started = false;
    }
    (void)pthread_mutex_lock(&w->lock);
    (void)run_due(w, INT64_MAX);
    (void)pthread_mutex_unlock(&w->lock);
}

size_t
js_timers_run(struct js_timers *w)
{
    (void)pthread_mutex_lock(&w->lock);
    size_t ran = run_due(w, clock_now(&w->clock));
    (void)pthread_mutex_unlock(&w->lock);
    return ran;
}
