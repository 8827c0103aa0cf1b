/* SPDX-License-Identifier: Apache-2.0 */
/* Threads against each other on one queue: nothing lost, nothing twice, nobody left asleep. A test
 * that hangs is ended by the alarm. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "queue/apiq_priv.h"
#include "queue/pool.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/queue_kit.h"
#include "tests/support/slow.h"

#define HANG_SECONDS 300

enum outcome { RUN, EXPIRED, EVICTED, CANCELLED, REFUSED, OUTCOMES };

struct job {
    struct apiq_item item;
    atomic_uint ends; /* must become 1 */
};

/* The counters are written by any thread, the rest before the threads begin. */
struct race {
    struct apiq *q;   /* owned */
    struct job *jobs; /* owned */
    size_t njobs;
    atomic_size_t outcome[OUTCOMES];
    atomic_bool over;
    atomic_size_t key_last[64]; /* the job that ran last, by order key */
    atomic_bool key_busy[64];
    atomic_uint producers;
};

static void
race_open(struct race *r, size_t njobs, unsigned slots)
{
    *r = (struct race){.njobs = njobs};
    assert_int_equal(apiq_new(&r->q, &clock_real, slots), ST_OK);
    r->jobs = mem_alloc_array(njobs, sizeof(*r->jobs));
    assert_non_null(r->jobs);
    alarm(HANG_SECONDS);
}

static void
race_close(struct race *r)
{
    struct apiq_stats st;
    size_t sum = 0;
    alarm(0);
    for (int i = 0; i < OUTCOMES; i++) {
        sum += atomic_load(&r->outcome[i]);
    }
    for (size_t i = 0; i < r->njobs; i++) {
        assert_int_equal(atomic_load(&r->jobs[i].ends), 1);
    }
    assert_int_equal(sum, r->njobs);
    apiq_stats(r->q, &st);
    uint64_t pushed = 0;
    for (int i = 0; i < APIQ_LEVELS; i++) {
        assert_int_equal(st.level[i].depth, 0);
        assert_int_equal(st.level[i].running + st.level[i].pending, 0);
        pushed += st.level[i].pushed;
    }
    assert_int_equal(pushed, r->njobs - atomic_load(&r->outcome[REFUSED]));
    apiq_free(r->q);
    mem_free(r->jobs);
}

static void
finish(struct race *r, struct apiq_item *it, enum outcome how)
{
    struct job *j = LIST_ENTRY(it, struct job, item);
    atomic_fetch_add(&j->ends, 1);
    atomic_fetch_add(&r->outcome[how], 1);
}

static void
finish_all(struct race *r, struct list_node *list, enum outcome how)
{
    struct apiq_item *it;
    while ((it = apiq_fallen_pop(list)) != NULL) {
        finish(r, it, how);
    }
}

static void
push_job(struct race *r, size_t i)
{
    struct list_node fallen;
    struct apiq_item *it = &r->jobs[i].item;
    list_init(&fallen);
    if (apiq_push(r->q, it, &fallen) != ST_OK) {
        finish(r, it, REFUSED);
    }
    finish_all(r, &fallen, EVICTED);
}

static void
start(pthread_t *t, void *(*run)(void *), void *arg)
{
    assert_int_equal(pthread_create(t, NULL, run, arg), 0);
}

static void
spin(unsigned *n)
{
    if (++*n % 64 == 0) {
        sched_yield();
    }
}

/* One slot and no workers, as a gate: whoever pushes or ends something pulls. In each round one
 * side pushes while the other ends what runs; one of them must get the new item, or both wait for
 * ever. So many queues at once, that the two sides meet in one of them most of the time. */
#define GATES 64u

struct gate {
    struct apiq *q; /* owned */
    struct apiq_item items[2];
    atomic_size_t taken; /* the last round whose item was pulled */
};

struct gates {
    size_t rounds;
    struct gate gate[GATES];
};

static void
gate_pull(struct gate *g, size_t round)
{
    struct apiq_item *it;
    if (apiq_pull(g->q, APIQ_LANE_ANY, &it) == ST_OK) {
        assert_ptr_equal(it, &g->items[round % 2]);
        assert_int_equal(atomic_exchange(&g->taken, round), round - 1);
    }
}

static void
gate_wait(struct gate *g, size_t round)
{
    unsigned n = 0;
    while (atomic_load(&g->taken) < round) {
        spin(&n);
    }
}

static void *
gates_push(void *arg)
{
    struct gates *all = arg;
    struct list_node fallen;
    list_init(&fallen);
    for (size_t round = 1; round <= all->rounds; round++) {
        for (unsigned i = 0; i < GATES; i++) {
            struct gate *g = &all->gate[i];
            struct apiq_item *it = &g->items[round % 2];
            gate_wait(g, round - 1);
            apiq_item_init(it);
            it->level = APIQ_NORMAL;
            assert_int_equal(apiq_push(g->q, it, &fallen), ST_OK);
            gate_pull(g, round);
        }
    }
    return NULL;
}

static void
test_last_end_and_next_push_never_miss_each_other(void **state)
{
    (void)state;
    static struct gates all;
    pthread_t pusher;
    all.rounds = 10000000u / GATES / SLOW_FACTOR;
    for (unsigned i = 0; i < GATES; i++) {
        assert_int_equal(apiq_new(&all.gate[i].q, &clock_real, 1), ST_OK);
    }
    alarm(HANG_SECONDS);
    start(&pusher, gates_push, &all);
    for (size_t round = 1; round <= all.rounds; round++) {
        for (unsigned i = 0; i < GATES; i++) {
            struct gate *g = &all.gate[i];
            gate_wait(g, round);
            apiq_done(g->q, &g->items[round % 2]);
            if (round < all.rounds) {
                /* NB: it may not have come yet; then its pusher finds the slot free. */
                gate_pull(g, round + 1);
            }
        }
    }
    pthread_join(pusher, NULL);
    alarm(0);
    for (unsigned i = 0; i < GATES; i++) {
        apiq_free(all.gate[i].q);
    }
}

static void *
sleeper_main(void *arg)
{
    struct race *r = arg;
    struct apiq_item *it;
    enum status st;
    while ((st = apiq_pull_wait(r->q, APIQ_LANE_ANY, &r->over, &it)) != ST_AGAIN) {
        assert_int_equal(st, ST_OK);
        apiq_done_pulling(r->q, it);
        finish(r, it, RUN);
    }
    return NULL;
}

/* Each push finds all workers asleep or just falling asleep. */
static void
test_no_sleeper_misses_a_push(void **state)
{
    (void)state;
    struct race r;
    pthread_t t[3];
    race_open(&r, 200000u / SLOW_FACTOR, 1);
    for (int i = 0; i < 3; i++) {
        start(&t[i], sleeper_main, &r);
    }
    for (size_t i = 0; i < r.njobs; i++) {
        unsigned n = 0;
        r.jobs[i].item.level = APIQ_INFO;
        push_job(&r, i);
        while (i % 3 != 0 && atomic_load(&r.jobs[i].ends) == 0) {
            spin(&n);
        }
    }
    unsigned n = 0;
    while (atomic_load(&r.outcome[RUN]) < r.njobs) {
        spin(&n);
    }
    atomic_store(&r.over, true);
    apiq_wake(r.q);
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    race_close(&r);
}

/* Waits until one sleeps, and nobody is on the way to it. */
static void
await_sleeper(struct apiq *q, enum apiq_lane lane)
{
    unsigned n = 0;
    for (;;) {
        pthread_mutex_lock(&q->lock);
        bool sleeps = q->idle[lane] == 1 && q->woken[lane] == 0;
        pthread_mutex_unlock(&q->lock);
        if (sleeps) {
            return;
        }
        spin(&n);
    }
}

static unsigned
woken(struct apiq *q)
{
    pthread_mutex_lock(&q->lock);
    unsigned n = q->woken[APIQ_LANE_ANY];
    pthread_mutex_unlock(&q->lock);
    return n;
}

/* One slot: the sleeper would find it taken again. */
static void
test_who_pulls_again_wakes_no_other(void **state)
{
    (void)state;
    struct race r;
    pthread_t t;
    struct apiq_item *it;
    race_open(&r, 2, 1);
    for (size_t i = 0; i < r.njobs; i++) {
        r.jobs[i].item.level = APIQ_NORMAL;
    }
    push_job(&r, 0);
    assert_int_equal(apiq_pull(r.q, APIQ_LANE_ANY, &it), ST_OK);
    start(&t, sleeper_main, &r);
    await_sleeper(r.q, APIQ_LANE_ANY);
    push_job(&r, 1);
    await_sleeper(r.q, APIQ_LANE_ANY);
    apiq_done_pulling(r.q, it);
    assert_int_equal(woken(r.q), 0);
    finish(&r, it, RUN);
    /* NB: the sleeper looks by itself now and then, and may have been first. */
    enum status st = apiq_pull(r.q, APIQ_LANE_ANY, &it);
    if (st == ST_OK) {
        apiq_done(r.q, it);
        finish(&r, it, RUN);
    } else {
        assert_int_equal(st, ST_AGAIN);
    }
    unsigned n = 0;
    while (atomic_load(&r.outcome[RUN]) < r.njobs) {
        spin(&n);
    }
    atomic_store(&r.over, true);
    apiq_wake(r.q);
    pthread_join(t, NULL);
    race_close(&r);
}

static void *
operator_main(void *arg)
{
    struct race *r = arg;
    struct apiq_item *it;
    enum status st;
    while ((st = apiq_pull_wait(r->q, APIQ_LANE_OPERATOR, &r->over, &it)) != ST_AGAIN) {
        finish(r, it, st == ST_EXPIRED ? EXPIRED : RUN);
    }
    return NULL;
}

/* It came late and stale, so it is held for 20 ms; nothing happens after that. */
static void
test_what_was_held_is_run_without_another_event(void **state)
{
    (void)state;
    struct race r;
    pthread_t t[2];
    race_open(&r, 1, 0);
    start(&t[0], sleeper_main, &r);
    start(&t[1], operator_main, &r);
    await_sleeper(r.q, APIQ_LANE_ANY);
    await_sleeper(r.q, APIQ_LANE_OPERATOR);
    r.jobs[0].item.level = APIQ_INFO;
    r.jobs[0].item.late_ns = 1500 * CLOCK_MS;
    push_job(&r, 0);
    unsigned n = 0;
    while (atomic_load(&r.jobs[0].ends) == 0) {
        spin(&n);
    }
    assert_int_equal(atomic_load(&r.outcome[RUN]), 1);
    atomic_store(&r.over, true);
    apiq_wake(r.q);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    race_close(&r);
}

/* Limit 1: the last item is evicted, pulled and cancelled at the same time. */
static void *
evict_main(void *arg)
{
    struct race *r = arg;
    for (size_t i = 0; i < r->njobs; i++) {
        r->jobs[i].item.level = APIQ_NORMAL;
        r->jobs[i].item.flow = i % 3;
        push_job(r, i);
        if (i % 5 == 0) {
            enum status st = apiq_cancel(r->q, &r->jobs[i].item);
            if (st == ST_OK) {
                finish(r, &r->jobs[i].item, CANCELLED);
            }
        }
    }
    return NULL;
}

static void
test_evicting_pulling_and_cancelling_the_last_has_one_outcome(void **state)
{
    (void)state;
    struct race r;
    struct apiq_conf conf;
    struct list_node none;
    pthread_t pusher;
    pthread_t t[2];
    list_init(&none);
    race_open(&r, 1000000u / SLOW_FACTOR, 0);
    apiq_conf_default(APIQ_NORMAL, &conf);
    conf.max_entries = 1;
    assert_int_equal(apiq_configure(r.q, APIQ_NORMAL, &conf, &none), ST_OK);
    for (int i = 0; i < 2; i++) {
        start(&t[i], sleeper_main, &r);
    }
    start(&pusher, evict_main, &r);
    pthread_join(pusher, NULL);
    size_t ended;
    unsigned n = 0;
    do {
        spin(&n);
        ended = 0;
        for (int i = 0; i < OUTCOMES; i++) {
            ended += atomic_load(&r.outcome[i]);
        }
    } while (ended < r.njobs);
    atomic_store(&r.over, true);
    apiq_wake(r.q);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    race_close(&r);
}

/* Everything at once, with workers that defer some of what they run. */
static enum status
storm_run(struct apiq_item *it, unsigned worker, void *arg)
{
    struct race *r = arg;
    size_t index = (size_t)(LIST_ENTRY(it, struct job, item) - r->jobs);
    (void)worker;
    if (it->order_key != 0) {
        size_t key = it->order_key - 1;
        assert_false(atomic_exchange(&r->key_busy[key], true));
        assert_true(atomic_exchange(&r->key_last[key], index + 1) <= index);
        atomic_store(&r->key_busy[key], false);
    }
    if (it->bytes % 4 == 0) {
        apiq_defer(r->q, it);
    }
    return index % 9 == 0 ? ST_IO : ST_OK;
}

static void
storm_end(struct apiq_item *it, void *arg)
{
    finish(arg, it, RUN);
}

static void
storm_drop(struct apiq_item *it, enum status why, void *arg)
{
    assert_true(why == ST_EXPIRED);
    finish(arg, it, EXPIRED);
}

#define STORM_PRODUCERS 3u

static void *
storm_producer(void *arg)
{
    struct race *r = arg;
    unsigned me = atomic_fetch_add(&r->producers, 1);
    for (size_t i = me; i < r->njobs; i += STORM_PRODUCERS) {
        struct apiq_item *it = &r->jobs[i].item;
        it->level = (enum apiq_level)(i / 3 % APIQ_LEVELS);
        it->flow = i / 7 % 5;
        it->owner = 1 + i % 4;
        it->bytes = i % 1000;
        /* One producer for each key, so that the order of arrival is that of the index. */
        it->order_key = i % 2 == 0 ? 1 + i % 60 / STORM_PRODUCERS * STORM_PRODUCERS + me : 0;
        it->deadline_ns = i % 50 == 0 ? 20 * CLOCK_US : 0;
        push_job(r, i);
        if (i % 11 == 0 && apiq_cancel(r->q, it) == ST_OK) {
            finish(r, it, CANCELLED);
        }
    }
    return NULL;
}

static void *
storm_operator(void *arg)
{
    struct race *r = arg;
    struct list_node out;
    struct apiq_stats st;
    struct apiq_item_info page[10];
    struct apiq_flow_info top[3];
    unsigned n = 0;
    list_init(&out);
    while (!atomic_load(&r->over)) {
        struct apiq_conf conf;
        enum apiq_level level = (enum apiq_level)(n % APIQ_LEVELS);
        apiq_get_conf(r->q, level, &conf);
        conf.order = (enum apiq_order)(n / 3 % APIQ_ORDERS);
        conf.max_entries = 10 + n * 37 % 200;
        conf.max_bytes = 2000 + n * 991 % 100000;
        conf.adaptive_wait_ns = (int64_t)(n % 5) * CLOCK_US * 10;
        conf.aged_share = n % 4;
        assert_int_equal(apiq_configure(r->q, level, &conf, &out), ST_OK);
        finish_all(r, &out, EVICTED);
        struct apiq_match some = {.flow = 1 + n % 4};
        (void)apiq_list(r->q, &some, n % 5, page, 10, NULL);
        (void)apiq_top_flows(r->q, level, top, 3);
        (void)apiq_cancel_match(r->q, &some, n % 3, &out);
        (void)apiq_cancel_owner(r->q, n % 40, &out);
        finish_all(r, &out, CANCELLED);
        apiq_stats(r->q, &st);
        const struct apiq_level_stats *lv = &st.level[level];
        assert_int_equal(lv->pushed, lv->pulled + lv->evicted + lv->expired + lv->cancelled +
                                         lv->leftover + lv->depth);
        assert_int_equal(lv->pulled, lv->done + lv->running + lv->pending);
        n++;
        sched_yield();
    }
    return NULL;
}

static void
test_storm_ends_every_item_once_and_keeps_every_order(void **state)
{
    (void)state;
    struct race r;
    struct pool *p;
    pthread_t producers[STORM_PRODUCERS];
    pthread_t operator;
    const struct pool_ops ops = {storm_run, storm_end, storm_drop, &r};
    race_open(&r, 600000u / SLOW_FACTOR, 0);
    assert_int_equal(pool_new(&p, r.q, 4, &ops), ST_OK);
    for (unsigned i = 0; i < STORM_PRODUCERS; i++) {
        start(&producers[i], storm_producer, &r);
    }
    start(&operator, storm_operator, &r);
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(pool_set_workers(p, 1 + i * 5 % 7), ST_OK);
        sched_yield();
    }
    for (unsigned i = 0; i < STORM_PRODUCERS; i++) {
        pthread_join(producers[i], NULL);
    }
    size_t ended;
    unsigned n = 0;
    do {
        spin(&n);
        ended = 0;
        for (int i = 0; i < OUTCOMES; i++) {
            ended += atomic_load(&r.outcome[i]);
        }
    } while (ended < r.njobs);
    atomic_store(&r.over, true);
    pthread_join(operator, NULL);
    pool_free(p);
    for (int i = 0; i < OUTCOMES; i++) {
        assert_true(i == REFUSED || atomic_load(&r.outcome[i]) > 0);
    }
    race_close(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_end_and_next_push_never_miss_each_other),
        cmocka_unit_test(test_no_sleeper_misses_a_push),
        cmocka_unit_test(test_who_pulls_again_wakes_no_other),
        cmocka_unit_test(test_what_was_held_is_run_without_another_event),
        cmocka_unit_test(test_evicting_pulling_and_cancelling_the_last_has_one_outcome),
        cmocka_unit_test(test_storm_ends_every_item_once_and_keeps_every_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
