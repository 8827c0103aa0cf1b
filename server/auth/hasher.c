/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/hasher.h"

#include <pthread.h>
#include <sodium.h>
#include <string.h>

#include "server/auth/auth.h"
#include "server/base/mem.h"

enum { MAX_WAITING = 10000, MAX_THREADS = 8 };

struct hasher {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t ready;
    struct list_node jobs;
    unsigned n_jobs;
    unsigned n_threads, want_threads;
    pthread_t threads[MAX_THREADS];
    bool stopping;
};

enum status
hasher_job_init(struct hasher_job *job, struct loop *l, uint64_t cid, const char *stored,
                const char *given)
{
    *job = (struct hasher_job){.loop = l, .cid = cid};
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
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->ready, NULL);
    list_init(&h->jobs);
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

static void *
run(void *arg)
{
    struct hasher *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->stopping) {
        struct list_node *node = list_pop_front(&h->jobs);
        if (node == NULL) {
            pthread_cond_wait(&h->ready, &h->lock);
            continue;
        }
        h->n_jobs--;
        pthread_mutex_unlock(&h->lock);
        struct hasher_job *job = LIST_ENTRY(node, struct hasher_job, node);
        job->matches = auth_secret_matches(job->stored, job->given);
        give_back(job);
        pthread_mutex_lock(&h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

enum status
hasher_submit(struct hasher *h, struct hasher_job *job)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&h->lock);
    if (h->stopping || h->n_jobs >= MAX_WAITING) {
        st = ST_FULL;
    } else if (h->n_threads < h->want_threads &&
               pthread_create(&h->threads[h->n_threads], NULL, run, h) == 0) {
        pthread_setname_np(h->threads[h->n_threads], "auth");
        h->n_threads++;
    } else if (h->n_threads == 0) {
        st = ST_LIMIT;
    }
    if (st == ST_OK) {
        list_push_back(&h->jobs, &job->node);
        h->n_jobs++;
        pthread_cond_signal(&h->ready);
    }
    pthread_mutex_unlock(&h->lock);
    return st;
}

void
hasher_stop(struct hasher *h)
{
    pthread_mutex_lock(&h->lock);
    h->stopping = true;
    pthread_cond_broadcast(&h->ready);
    pthread_mutex_unlock(&h->lock);
    for (unsigned i = 0; i < h->n_threads; i++) {
        pthread_join(h->threads[i], NULL);
    }
    h->n_threads = 0;
    struct list_node *node;
    while ((node = list_pop_front(&h->jobs)) != NULL) {
        give_back(LIST_ENTRY(node, struct hasher_job, node));
    }
}

void
hasher_free(struct hasher *h)
{
    if (h == NULL) {
        return;
    }
    pthread_cond_destroy(&h->ready);
    pthread_mutex_destroy(&h->lock);
    mem_free(h);
}
