/* SPDX-License-Identifier: Apache-2.0 */
/* The question lives until the last loop has answered it, also when the asker has given up: so it
 * is counted by its loops and its asker, and owns the parts and a copy of the query. */
#include "server/gather.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/net/loop.h"
#include "server/priv.h"

#define USUAL_PATIENCE (5 * CLOCK_S)

struct question;

struct ask_msg {
    struct loop_msg msg;
    struct question *q; /* ref */
    void *part;         /* borrowed: of the question */
};

struct question {
    pthread_mutex_t lock; /* guards all below but parts, which are their loops' until answered */
    pthread_cond_t answered;
    uint32_t refs;
    uint32_t open;
    bool taken; /* the asker has taken the parts */
    struct gather_spec spec;
    struct ask_msg *asks; /* owned array */
    uint32_t n;
    char *parts; /* owned */
    char *query; /* owned */
};

static void
question_free(struct question *q)
{
    if (!q->taken && q->spec.drop != NULL) {
        for (uint32_t i = 0; i < q->n; i++) {
            q->spec.drop(q->parts + i * q->spec.part_size);
        }
    }
    pthread_cond_destroy(&q->answered);
    pthread_mutex_destroy(&q->lock);
    mem_free(q->asks);
    mem_free(q->parts);
    mem_free(q->query);
    mem_free(q);
}

static void
let_go(struct question *q)
{
    pthread_mutex_lock(&q->lock);
    uint32_t left = --q->refs;
    pthread_mutex_unlock(&q->lock);
    if (left == 0) {
        question_free(q);
    }
}

static void
on_ask(struct loop *l, struct loop_msg *msg)
{
    struct ask_msg *ask = LIST_ENTRY(msg, struct ask_msg, msg);
    struct question *q = ask->q;
    q->spec.ask(l, ask->part, q->query);
    pthread_mutex_lock(&q->lock);
    q->open--;
    pthread_cond_signal(&q->answered);
    pthread_mutex_unlock(&q->lock);
    let_go(q);
}

static enum status
question_new(struct question **out, const struct gather_spec *spec, uint32_t n)
{
    struct question *q = mem_alloc(sizeof *q);
    if (q == NULL) {
        return ST_NOMEM;
    }
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->answered, &attr);
    pthread_condattr_destroy(&attr);
    q->spec = *spec;
    q->asks = mem_alloc_array(n, sizeof *q->asks);
    q->parts = mem_alloc_array(n, spec->part_size);
    q->query = mem_alloc_raw(spec->query_size);
    if (q->asks == NULL || q->parts == NULL || q->query == NULL) {
        question_free(q);
        return ST_NOMEM;
    }
    if (spec->query_size > 0) {
        memcpy(q->query, spec->query, spec->query_size);
    }
    q->n = n;
    q->open = n;
    q->refs = n + 1;
    *out = q;
    return ST_OK;
}

static bool
wait_all(struct question *q)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t end = until.tv_sec * CLOCK_S + until.tv_nsec +
                  (q->spec.patience > 0 ? q->spec.patience : USUAL_PATIENCE);
    until = (struct timespec){.tv_sec = end / CLOCK_S, .tv_nsec = end % CLOCK_S};
    pthread_mutex_lock(&q->lock);
    int rc = 0;
    while (q->open > 0 && rc == 0) {
        rc = pthread_cond_timedwait(&q->answered, &q->lock, &until);
    }
    bool all = q->open == 0;
    q->taken = all;
    pthread_mutex_unlock(&q->lock);
    return all;
}

enum status
gather_run(struct server *s, const struct gather_spec *spec, void *arg)
{
    struct question *q;
    if (!atomic_load(&s->loops_run)) {
        return ST_CLOSED;
    }
    enum status st = question_new(&q, spec, s->n_loops);
    if (st != ST_OK) {
        return st;
    }
    for (uint32_t i = 0; i < q->n; i++) {
        q->asks[i] = (struct ask_msg){.msg = {.run = on_ask}, .q = q};
        q->asks[i].part = q->parts + i * spec->part_size;
        loop_post(s->loops[i], &q->asks[i].msg);
    }
    st = ST_TIMEOUT;
    if (wait_all(q)) {
        st = ST_OK;
        for (uint32_t i = 0; i < q->n; i++) {
            spec->finish(q->parts + i * spec->part_size, arg);
        }
    }
    let_go(q);
    return st;
}
