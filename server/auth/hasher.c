/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/hasher.h"

#include <pthread.h>
#include <sodium.h>
#include <string.h>

#include "queue/apiq.h"
#include "server/auth/auth.h"
#include "server/base/hash.h"
#include "server/base/mem.h"

enum { MAX_THREADS = 8 };

struct hasher {
    struct apiq *q;       /* owned; has its own lock */
    pthread_mutex_t lock; /* guards all below */
    unsigned n_threads, want_threads;
    pthread_t threads[MAX_THREADS];
    bool stopping;
};

enum status
hasher_job_init(struct hasher_job *job, struct loop *l, uint64_t cid, const char *stored,
                const char *given)
{
    *job = (struct hasher_job){.loop = l, .cid = cid};
    apiq_item_init(&job->item);
    job->item.level = APIQ_NORMAL;
    job->item.flow = hash_bytes(stored, strlen(stored));
    job->item.deadline_ns = -1;
    job->stored = mem_strdup(stored);
    job->given = mem_strdup(given);
    if (job->stored == NULL || job->given == NULL) {
        hasher_job_fini(job);
        return ST_NOMEM;
    }
    return ST_OK;
}

void
hasher_job_fini(struct hasher_job *job)
{
    if (job->given != NULL) {
        sodium_memzero(job->given, strlen(job->given));
    }
    mem_free(job->given);
    mem_free(job->stored);
    job->given = NULL;
    job->stored = NULL;
}

enum status
hasher_new(struct hasher **out, unsigned threads)
{
    struct hasher *h = mem_alloc(sizeof *h);
    if (h == NULL) {
        return ST_NOMEM;
    }
    if (apiq_new(&h->q, &clock_real, 0) != ST_OK) {
        mem_free(h);
        return ST_NOMEM;
    }
    pthread_mutex_init(&h->lock, NULL);
    h->want_threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    *out = h;
    return ST_OK;
}

static void
deliver(struct loop *l, struct loop_msg *msg)
{
    struct hasher_job *job = LIST_ENTRY(msg, struct hasher_job, msg);
    job->done(l, job);
}

static void
give_back(struct hasher_job *job)
{
    job->msg.run = deliver;
    loop_post(job->loop, &job->msg);
}

static struct hasher_job *
job_of(struct apiq_item *it)
{
    return LIST_ENTRY(it, struct hasher_job, item);
}

static void *
run(void *arg)
{
    struct hasher *h = arg;
    struct apiq_item *it;
    enum status st;
    pthread_setname_np(pthread_self(), "auth");
    while ((st = apiq_pull_wait(h->q, APIQ_LANE_ANY, NULL, &it)) != ST_CLOSED) {
        struct hasher_job *job = job_of(it);
        if (st == ST_OK) {
            job->matches = auth_secret_matches(job->stored, job->given);
            job->checked = true;
            apiq_done(h->q, it);
        }
        give_back(job);
    }
    return NULL;
}

static enum status
start_thread(struct hasher *h)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&h->lock);
    if (h->stopping) {
        st = ST_CLOSED;
    } else if (h->n_threads < h->want_threads &&
               pthread_create(&h->threads[h->n_threads], NULL, run, h) == 0) {
        h->n_threads++;
    } else if (h->n_threads == 0) {
        st = ST_LIMIT;
    }
    pthread_mutex_unlock(&h->lock);
    return st;
}

enum status
hasher_submit(struct hasher *h, struct hasher_job *job)
{
    struct list_node fallen;
    list_init(&fallen);
    enum status st = start_thread(h);
    if (st == ST_OK) {
        st = apiq_push(h->q, &job->item, &fallen);
    }
    struct apiq_item *it;
    while ((it = apiq_fallen_pop(&fallen)) != NULL) {
        give_back(job_of(it));
    }
    return st;
}

void
hasher_stop(struct hasher *h)
{
    pthread_mutex_lock(&h->lock);
    h->stopping = true;
    pthread_mutex_unlock(&h->lock);
    apiq_close(h->q);
    for (unsigned i = 0; i < h->n_threads; i++) {
        pthread_join(h->threads[i], NULL);
    }
    h->n_threads = 0;
}

void
hasher_free(struct hasher *h)
{
    if (h == NULL) {
        return;
    }
    apiq_free(h->q);
    pthread_mutex_destroy(&h->lock);
    mem_free(h);
}
