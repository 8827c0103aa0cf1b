/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/pool.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queue/apiq_conf.h"
#include "queue/apiq_view.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"

#define JOBS 400

/* What a job does: id 0 … JOBS - 1; those that wait say so and are let go one by one. */
enum kind { QUICK, WAITS, FAILS, DEFERS, GROWS, SHRINKS };

struct job {
    struct apiq_item item;
    enum kind kind;
    atomic_uint runs, ends, drops;
};

/* Shared by all threads; the semaphores count what has happened. */
struct shop {
    struct apiq *q;   /* owned */
    struct pool *p;   /* owned */
    struct job *jobs; /* owned */
    unsigned made;
    sem_t began, ended, dropped;
    sem_t go;
    struct job *deferred; /* borrowed: of jobs */
};

static void
await(sem_t *sem)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_sec += 60;
    assert_int_equal(sem_timedwait(sem, &ts), 0);
}

static enum status
shop_run(struct apiq_item *it, unsigned worker, void *arg)
{
    struct shop *s = arg;
    struct job *j = LIST_ENTRY(it, struct job, item);
    enum status st = ST_OK;
    assert_true(worker <= POOL_MAX_WORKERS);
    atomic_fetch_add(&j->runs, 1);
    if (j->kind == DEFERS) {
        pool_defer(s->p, it);
        s->deferred = j;
        st = ST_PENDING;
    }
    sem_post(&s->began);
    if (j->kind == WAITS) {
        await(&s->go);
    } else if (j->kind == FAILS) {
        st = ST_IO;
    } else if (j->kind == GROWS) {
        assert_int_equal(pool_set_workers(s->p, 8), ST_OK);
    } else if (j->kind == SHRINKS) {
        assert_int_equal(pool_set_workers(s->p, 1), ST_OK);
    }
    return st;
}

static void
shop_end(struct apiq_item *it, void *arg)
{
    struct shop *s = arg;
    atomic_fetch_add(&LIST_ENTRY(it, struct job, item)->ends, 1);
    sem_post(&s->ended);
}

static void
shop_drop(struct apiq_item *it, enum status why, void *arg)
{
    struct shop *s = arg;
    assert_true(why == ST_EXPIRED || why == ST_CANCELLED);
    atomic_fetch_add(&LIST_ENTRY(it, struct job, item)->drops, 1);
    sem_post(&s->dropped);
}

static void
shop_open(struct shop *s, unsigned workers)
{
    const struct pool_ops ops = {shop_run, shop_end, shop_drop, s};
    *s = (struct shop){0};
    sem_init(&s->began, 0, 0);
    sem_init(&s->ended, 0, 0);
    sem_init(&s->dropped, 0, 0);
    sem_init(&s->go, 0, 0);
    s->jobs = mem_alloc_array(JOBS, sizeof(*s->jobs));
    assert_non_null(s->jobs);
    assert_int_equal(apiq_new(&s->q, &clock_real, 0), ST_OK);
    assert_int_equal(pool_new(&s->p, s->q, workers, &ops), ST_OK);
}

static void
shop_close(struct shop *s)
{
    pool_free(s->p);
    for (unsigned i = 0; i < s->made; i++) {
        const struct job *j = &s->jobs[i];
        assert_int_equal(j->ends + j->drops, 1);
        assert_int_equal(j->ends, j->runs);
    }
    apiq_free(s->q);
    mem_free(s->jobs);
    sem_destroy(&s->began);
    sem_destroy(&s->ended);
    sem_destroy(&s->dropped);
    sem_destroy(&s->go);
}

static struct job *
shop_new(struct shop *s, enum kind kind, enum apiq_level level)
{
    struct job *j = &s->jobs[s->made++];
    apiq_item_init(&j->item);
    j->kind = kind;
    j->item.level = level;
    j->item.id = s->made;
    return j;
}

static void
shop_push(struct shop *s, struct job *j)
{
    struct list_node fallen;
    list_init(&fallen);
    assert_int_equal(apiq_push(s->q, &j->item, &fallen), ST_OK);
    assert_true(list_is_empty(&fallen));
}

static struct job *
shop_add(struct shop *s, enum kind kind, enum apiq_level level)
{
    struct job *j = shop_new(s, kind, level);
    shop_push(s, j);
    return j;
}

static void
test_pool_runs_and_ends_each_item_once(void **state)
{
    (void)state;
    struct shop s;
    shop_open(&s, 4);
    for (int i = 0; i < JOBS; i++) {
        (void)shop_add(&s, QUICK, i % 2 == 0 ? APIQ_NORMAL : APIQ_INFO);
    }
    for (int i = 0; i < JOBS; i++) {
        await(&s.ended);
    }
    shop_close(&s);
}

static void
test_pool_new_survives_each_failed_allocation(void **state)
{
    (void)state;
    struct shop s = {0};
    const struct pool_ops ops = {shop_run, shop_end, shop_drop, &s};
    long before = mem_live();
    for (long n = 0;; n++) {
        assert_int_equal(apiq_new(&s.q, &clock_real, 0), ST_OK);
        mem_fail_at(n);
        enum status st = pool_new(&s.p, s.q, 2, &ops);
        mem_fail_at(-1);
        if (st == ST_OK) {
            pool_free(s.p);
            apiq_free(s.q);
            break;
        }
        assert_int_equal(st, ST_NOMEM);
        apiq_free(s.q);
    }
    assert_int_equal(apiq_new(&s.q, &clock_real, 0), ST_OK);
    assert_int_equal(pool_new(&s.p, s.q, 0, &ops), ST_INVAL);
    assert_int_equal(pool_new(&s.p, s.q, POOL_MAX_WORKERS + 1, &ops), ST_INVAL);
    apiq_free(s.q);
    pool_free(NULL);
    assert_int_equal(mem_live(), before);
    assert_true(pool_default_workers() >= 2 && pool_default_workers() <= 16);
}

static void
test_pool_answers_others_while_slow_ones_hold_their_level(void **state)
{
    (void)state;
    struct shop s;
    shop_open(&s, 16);
    for (int i = 0; i < 20; i++) {
        (void)shop_add(&s, WAITS, APIQ_NORMAL);
    }
    for (int i = 0; i < 15; i++) {
        await(&s.began);
    }
    /* 15 of 16 are held, the other five wait; info and operator requests go through. */
    for (int i = 0; i < 10; i++) {
        struct job *j = shop_add(&s, QUICK, i % 2 == 0 ? APIQ_INFO : APIQ_OPERATOR);
        await(&s.began);
        await(&s.ended);
        assert_int_equal(j->ends, 1);
    }
    for (int i = 0; i < 20; i++) {
        sem_post(&s.go);
    }
    for (int i = 0; i < 20; i++) {
        await(&s.ended);
    }
    shop_close(&s);
}

static void
test_pool_operator_gets_in_when_every_worker_is_stuck(void **state)
{
    (void)state;
    struct shop s;
    shop_open(&s, 2);
    (void)shop_add(&s, WAITS, APIQ_NORMAL);
    (void)shop_add(&s, WAITS, APIQ_INFO);
    await(&s.began);
    await(&s.began);
    for (int i = 0; i < 5; i++) {
        (void)shop_add(&s, QUICK, APIQ_OPERATOR);
        await(&s.ended);
    }
    sem_post(&s.go);
    sem_post(&s.go);
    shop_close(&s);
}

static void
test_pool_tells_expired_ones_while_every_worker_is_stuck(void **state)
{
    (void)state;
    struct shop s;
    shop_open(&s, 2);
    (void)shop_add(&s, WAITS, APIQ_NORMAL);
    (void)shop_add(&s, WAITS, APIQ_INFO);
    await(&s.began);
    await(&s.began);
    struct job *j = shop_new(&s, QUICK, APIQ_NORMAL);
    j->item.deadline_ns = CLOCK_MS;
    shop_push(&s, j);
    await(&s.dropped);
    assert_int_equal(j->drops, 1);
    sem_post(&s.go);
    sem_post(&s.go);
    shop_close(&s);
}

static void
test_pool_failed_run_gives_the_worker_back(void **state)
{
    (void)state;
    struct shop s;
    struct pool_worker_info info[2];
    shop_open(&s, 1);
    for (int i = 0; i < 50; i++) {
        (void)shop_add(&s, FAILS, APIQ_NORMAL);
        await(&s.ended);
    }
    (void)shop_add(&s, QUICK, APIQ_NORMAL);
    await(&s.ended);
    assert_int_equal(pool_view(s.p, info, 2), 2);
    assert_int_equal(info[0].runs, 51);
    assert_int_equal(info[0].failed, 50);
    shop_close(&s);
}

static void
test_pool_pending_frees_the_worker_and_holds_the_key(void **state)
{
    (void)state;
    struct shop s;
    shop_open(&s, 1);
    struct job *first = shop_new(&s, DEFERS, APIQ_NORMAL);
    first->item.order_key = 77;
    shop_push(&s, first);
    await(&s.began);
    struct job *second = shop_new(&s, QUICK, APIQ_NORMAL);
    second->item.order_key = 77;
    shop_push(&s, second);
    (void)shop_add(&s, QUICK, APIQ_NORMAL);
    await(&s.began);
    await(&s.ended);
    assert_int_equal(second->runs, 0);
    assert_int_equal(first->ends, 0);
    pool_complete(s.p, &s.deferred->item);
    assert_int_equal(first->ends, 1);
    await(&s.ended);
    await(&s.ended);
    assert_int_equal(second->ends, 1);
    shop_close(&s);
}

/* The look at what expires, every 50 ms, must not be what finds the next of the key. */
static void
test_pool_completion_wakes_a_sleeping_worker_at_once(void **state)
{
    (void)state;
    struct shop s;
    shop_open(&s, 3);
    struct job *j = shop_new(&s, DEFERS, APIQ_NORMAL);
    j->item.order_key = 5;
    shop_push(&s, j);
    await(&s.began);
    int64_t begin = clock_mono_ns();
    for (int i = 0; i < 200; i++) {
        j = shop_new(&s, DEFERS, APIQ_NORMAL);
        j->item.order_key = 5;
        shop_push(&s, j);
        pool_complete(s.p, &s.deferred->item);
        await(&s.ended);
        await(&s.began);
    }
    /* Found by the look, they would take 10 s. */
    assert_true(clock_mono_ns() - begin < 4 * CLOCK_S);
    pool_complete(s.p, &s.deferred->item);
    shop_close(&s);
}

static void
test_pool_worker_count_changes_while_it_runs(void **state)
{
    (void)state;
    struct shop s;
    struct pool_worker_info info[POOL_MAX_WORKERS + 1];
    shop_open(&s, 2);
    for (int i = 0; i < 6; i++) {
        (void)shop_add(&s, WAITS, APIQ_NORMAL);
    }
    await(&s.began);
    assert_int_equal(pool_set_workers(s.p, 7), ST_OK);
    for (int i = 0; i < 5; i++) {
        await(&s.began);
    }
    assert_int_equal(pool_workers(s.p), 7);
    assert_int_equal(pool_view(s.p, info, POOL_MAX_WORKERS + 1), 8);
    assert_int_equal(info[7].worker, POOL_MAX_WORKERS);
    /* Those too many leave when they have ended what they run. */
    assert_int_equal(pool_set_workers(s.p, 1), ST_OK);
    for (int i = 0; i < 6; i++) {
        sem_post(&s.go);
        await(&s.ended);
    }
    for (int i = 0; i < 100; i++) {
        assert_int_equal(pool_set_workers(s.p, 1 + (unsigned)i % 3), ST_OK);
        (void)shop_add(&s, QUICK, APIQ_INFO);
        await(&s.ended);
    }
    assert_int_equal(pool_set_workers(s.p, 0), ST_INVAL);
    assert_int_equal(pool_set_workers(s.p, POOL_MAX_WORKERS + 1), ST_INVAL);
    shop_close(&s);
}

static void
test_pool_worker_may_change_the_worker_count(void **state)
{
    (void)state;
    struct shop s;
    shop_open(&s, 2);
    for (int i = 0; i < 20; i++) {
        (void)shop_add(&s, i % 2 == 0 ? GROWS : SHRINKS, i % 3 == 0 ? APIQ_OPERATOR : APIQ_NORMAL);
        await(&s.ended);
    }
    shop_close(&s);
}

static void
test_pool_stop_drops_what_waits_and_finishes_what_runs(void **state)
{
    (void)state;
    struct shop s;
    struct list_node fallen;
    shop_open(&s, 2);
    list_init(&fallen);
    struct job *runs = shop_add(&s, WAITS, APIQ_NORMAL);
    await(&s.began);
    for (int i = 0; i < 10; i++) {
        (void)shop_add(&s, QUICK, APIQ_NORMAL);
    }
    sem_post(&s.go);
    pool_stop(s.p);
    pool_stop(s.p);
    assert_int_equal(runs->ends, 1);
    struct job *late = &s.jobs[JOBS - 1];
    late->item.level = APIQ_NORMAL;
    assert_int_equal(apiq_push(s.q, &late->item, &fallen), ST_CLOSED);
    assert_int_equal(pool_set_workers(s.p, 3), ST_CLOSED);
    shop_close(&s);
}

static void
test_pool_view_tells_what_a_worker_runs_and_since_when(void **state)
{
    (void)state;
    struct shop s;
    struct pool_worker_info info[3];
    char label[200];
    shop_open(&s, 2);
    memset(label, 'y', sizeof(label) - 1);
    label[sizeof(label) - 1] = '\0';
    struct job *j = shop_new(&s, WAITS, APIQ_NORMAL);
    j->item.label = label;
    j->item.name = "SHOP";
    j->item.tag = 12;
    int64_t before = clock_mono_ns();
    shop_push(&s, j);
    await(&s.began);
    assert_int_equal(pool_view(s.p, info, 3), 3);
    const struct pool_worker_info *w = info[0].busy ? &info[0] : &info[1];
    assert_true(w->busy);
    assert_int_equal(w->id, 1);
    assert_int_equal(w->tag, 12);
    assert_string_equal(w->name, "SHOP");
    assert_int_equal(strlen(w->label), sizeof(w->label) - 1);
    assert_true(w->since >= before && w->since <= clock_mono_ns());
    assert_int_equal(info[0].busy + info[1].busy + info[2].busy, 1);
    assert_int_equal(pool_view(s.p, info, 1), 1);
    sem_post(&s.go);
    await(&s.ended);
    shop_close(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_runs_and_ends_each_item_once),
        cmocka_unit_test(test_pool_new_survives_each_failed_allocation),
        cmocka_unit_test(test_pool_answers_others_while_slow_ones_hold_their_level),
        cmocka_unit_test(test_pool_operator_gets_in_when_every_worker_is_stuck),
        cmocka_unit_test(test_pool_tells_expired_ones_while_every_worker_is_stuck),
        cmocka_unit_test(test_pool_failed_run_gives_the_worker_back),
        cmocka_unit_test(test_pool_pending_frees_the_worker_and_holds_the_key),
        cmocka_unit_test(test_pool_completion_wakes_a_sleeping_worker_at_once),
        cmocka_unit_test(test_pool_worker_count_changes_while_it_runs),
        cmocka_unit_test(test_pool_worker_may_change_the_worker_count),
        cmocka_unit_test(test_pool_stop_drops_what_waits_and_finishes_what_runs),
        cmocka_unit_test(test_pool_view_tells_what_a_worker_runs_and_since_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
