/* SPDX-License-Identifier: Apache-2.0 */
#include "api/parker.h"

#include <pthread.h>
#include <time.h>

#include "api/dispatch.h"
#include "api/group.h"
#include "api/plane.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

/* `lock` guards at and stop. */
struct parker {
    struct api *a; /* borrowed: frees us */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t at; /* when there is something to do */
    bool stop;
};

void
parker_at(struct parker *p, int64_t at)
{
    if (at == INT64_MAX) {
        return;
    }
    pthread_mutex_lock(&p->lock);
    if (at < p->at) {
        p->at = at;
        pthread_cond_signal(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
}

int64_t
parker_run(struct parker *p)
{
    int64_t next = groups_tick(p->a->groups);
    dispatch_pump(p->a, DISPATCH_ALL_LEVELS);
    return next;
}

static void
wait(struct parker *p, int64_t until)
{
    struct timespec t = {until / CLOCK_S, until % CLOCK_S};
    if (until == INT64_MAX) {
        (void)pthread_cond_wait(&p->changed, &p->lock);
    } else {
        (void)pthread_cond_timedwait(&p->changed, &p->lock, &t);
    }
}

static void *
run(void *arg)
{
    struct parker *p = arg;
    (void)pthread_setname_np(pthread_self(), "api-park");
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (p->at > clock_now(&p->a->clock)) {
            wait(p, p->at);
            continue;
        }
        p->at = INT64_MAX;
        pthread_mutex_unlock(&p->lock);
        int64_t next = parker_run(p);
        pthread_mutex_lock(&p->lock);
        p->at = next < p->at ? next : p->at;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

enum status
parker_new(struct parker **out, struct api *a, bool thread)
{
    struct parker *p = mem_alloc(sizeof(*p));
    if (p == NULL) {
        return ST_NOMEM;
    }
    pthread_condattr_t attr;
    ASSERT(pthread_condattr_init(&attr) == 0);
    ASSERT(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    ASSERT(pthread_cond_init(&p->changed, &attr) == 0);
    pthread_condattr_destroy(&attr);
    ASSERT(pthread_mutex_init(&p->lock, NULL) == 0);
    p->a = a;
    p->at = INT64_MAX;
    if (thread) {
        if (pthread_create(&p->thread, NULL, run, p) != 0) {
            parker_free(p);
            return ST_AGAIN;
        }
        p->has_thread = true;
    }
    *out = p;
    return ST_OK;
}

void
parker_free(struct parker *p)
{
    if (p == NULL) {
        return;
    }
    if (p->has_thread) {
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_signal(&p->changed);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}
