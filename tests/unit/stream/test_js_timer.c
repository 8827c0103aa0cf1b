/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include "server/base/clock.h"
#include "server/base/list.h"
#include "server/base/mem.h"
#include "stream/js_timer.h"

enum { MANY = 100 };

struct alarm {
    struct js_timer t;
    int id;
};

static int fired[MANY];
static int n_fired;

static void
on_fire(struct js_timer *t)
{
    fired[n_fired++] = LIST_ENTRY(t, struct alarm, t)->id;
}

static struct js_timers *
make(struct clock_fake *f)
{
    struct js_timers *w;
    struct clock c = clock_fake_of(f);
    n_fired = 0;
    assert_int_equal(js_timers_new(&w, &c), ST_OK);
    assert_int_equal(js_timers_reserve(w, MANY), ST_OK);
    return w;
}

static void
test_js_timer_fires_in_the_order_of_time(void **state)
{
    (void)state;
    struct clock_fake f = {0};
    struct js_timers *w = make(&f);
    struct alarm a[MANY] = {0};
    for (int i = 0; i < MANY; i++) {
        a[i].id = i;
        a[i].t.fn = on_fire;
        assert_true(js_timer_set(w, &a[i].t, (i * 37) % MANY));
    }
    assert_int_equal(js_timers_run(w), 1);
    clock_fake_advance(&f, 49);
    assert_int_equal(js_timers_run(w), 49);
    clock_fake_advance(&f, 1000);
    assert_int_equal(js_timers_run(w), 50);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal((fired[i] * 37) % MANY, i);
    }
    js_timers_free(w);
}

static void
test_js_timer_moves_and_cancels(void **state)
{
    (void)state;
    struct clock_fake f = {0};
    struct js_timers *w = make(&f);
    struct alarm a = {.t.fn = on_fire, .id = 1};
    struct alarm b = {.t.fn = on_fire, .id = 2};
    assert_true(js_timer_set(w, &a.t, 10));
    assert_false(js_timer_set(w, &a.t, 30));
    assert_true(js_timer_set(w, &b.t, 20));
    assert_false(js_timer_set_earlier(w, &b.t, 50));
    clock_fake_advance(&f, 20);
    assert_int_equal(js_timers_run(w), 1);
    assert_int_equal(fired[0], 2);
    assert_true(js_timer_cancel(w, &a.t));
    assert_false(js_timer_cancel(w, &a.t));
    clock_fake_advance(&f, 100);
    assert_int_equal(js_timers_run(w), 0);
    js_timers_free(w);
}

static void
test_js_timer_what_is_armed_at_the_stop_fires(void **state)
{
    (void)state;
    struct clock_fake f = {0};
    struct js_timers *w = make(&f);
    struct alarm a = {.t.fn = on_fire, .id = 1};
    (void)js_timer_set(w, &a.t, INT64_MAX);
    js_timers_stop(w);
    assert_int_equal(n_fired, 1);
    js_timers_free(w);
}

static void
test_js_timer_without_memory_nothing_is_made(void **state)
{
    (void)state;
    struct clock_fake f = {0};
    struct clock c = clock_fake_of(&f);
    struct js_timers *w;
    long live = mem_live();
    mem_fail_at(0);
    assert_int_equal(js_timers_new(&w, &c), ST_NOMEM);
    assert_int_equal(mem_live(), live);
    assert_int_equal(js_timers_new(&w, &c), ST_OK);
    mem_fail_at(0);
    assert_int_equal(js_timers_reserve(w, 10), ST_NOMEM);
    assert_int_equal(js_timers_reserve(w, 10), ST_OK);
    mem_fail_at(-1);
    js_timers_free(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_js_timer_fires_in_the_order_of_time),
        cmocka_unit_test(test_js_timer_moves_and_cancels),
        cmocka_unit_test(test_js_timer_what_is_armed_at_the_stop_fires),
        cmocka_unit_test(test_js_timer_without_memory_nothing_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
