/* SPDX-License-Identifier: Apache-2.0 */
/* When did what is read now arrive? */
#include "server/net/late.h"

#include "server/base/clock.h"
#include "tests/support/cmk.h"

#define KIB 1024u

/* A loop whose last turn ended at second 1, and a connection. */
struct scene {
    struct late t;
    struct late_conn c;
    int64_t now;
};

static struct scene
scene_new(void)
{
    struct scene s = {.now = CLOCK_S};
    s.t.beat_due = s.now + CLOCK_S;
    late_wait(&s.t, s.now);
    return s;
}

/* A turn that waits so long for something to read, and then reads that. */
static void
read_after(struct scene *s, int64_t wait, size_t got, size_t left)
{
    s->now += wait;
    assert_true(late_is_first(&s->t));
    late_turn(&s->t, s->now);
    late_got(&s->t, &s->c, got, late_asks(&s->t, &s->c) ? left : 0);
}

static void
end_turn(struct scene *s, int64_t took)
{
    s->now += took;
    late_wait(&s->t, s->now);
}

/* How old the operation is that ends there. -1: it came just now. */
static int64_t
age_at(struct scene *s, size_t at, size_t len)
{
    late_place(&s->t, at, len);
    return s->t.arrived == 0 ? -1 : s->now - s->t.arrived;
}

static void
assert_near(int64_t age, int64_t want)
{
    assert_true(age >= want - CLOCK_MS && age <= want + CLOCK_MS);
}

/* 100 KiB a second for so many seconds, each in ten reads. */
static void
flow_for(struct scene *s, int seconds)
{
    for (int i = 0; i < seconds * 10 + 2; i++) {
        read_after(s, 100 * CLOCK_MS, 10 * KIB, 0);
        assert_int_equal(age_at(s, 1, 1), -1);
        end_turn(s, 0);
        s->t.beat_due = s->now + CLOCK_S;
    }
}

static void
test_late_a_little_came_evenly_over_the_standstill(void **state)
{
    (void)state;
    struct scene s = scene_new();
    read_after(&s, 4 * CLOCK_S, 100, 0);
    assert_int_equal(age_at(&s, 25, 100), 3 * CLOCK_S);
    assert_int_equal(age_at(&s, 100, 100), 0);
    end_turn(&s, CLOCK_MS);
    read_after(&s, 0, 100, 0);
    assert_int_equal(age_at(&s, 25, 100), -1);
}

static void
test_late_an_ordinary_wait_is_no_standstill(void **state)
{
    (void)state;
    struct scene s = scene_new();
    read_after(&s, 1100 * CLOCK_MS, 100 * KIB, 0);
    assert_int_equal(age_at(&s, 1, 100), -1);
}

static void
test_late_much_came_at_the_rate_that_the_connection_had(void **state)
{
    (void)state;
    struct scene s = scene_new();
    flow_for(&s, 2);
    /* 400 KiB came in 4 s, and 100 KiB are there: the rest is in the buffers of the sender. */
    int64_t began = s.now;
    read_after(&s, 4 * CLOCK_S, 50 * KIB, 50 * KIB);
    assert_near(age_at(&s, 0, 2), 4 * CLOCK_S);
    assert_near(age_at(&s, 2, 2), 3500 * CLOCK_MS);
    end_turn(&s, 10 * CLOCK_MS);
    for (int i = 1; i < 8; i++) {
        read_after(&s, 0, 50 * KIB, 0);
        assert_near(age_at(&s, 2, 2), s.now - began - (i + 1) * 500 * CLOCK_MS);
        end_turn(&s, 10 * CLOCK_MS);
    }
    read_after(&s, 0, 50 * KIB, 0); /* 80 ms are left of what it is behind */
    assert_near(age_at(&s, 2, 2), 0);
    end_turn(&s, 10 * CLOCK_MS);
    read_after(&s, 0, 50 * KIB, 0);
    assert_int_equal(age_at(&s, 1, 2), -1);
}

static void
test_late_what_is_there_tells_the_least_rate(void **state)
{
    (void)state;
    struct scene s = scene_new();
    read_after(&s, 4 * CLOCK_S, 100 * KIB, 300 * KIB);
    assert_near(age_at(&s, 2, 2), 3 * CLOCK_S);
    end_turn(&s, CLOCK_MS);
    read_after(&s, 0, 100 * KIB, 0);
    assert_near(age_at(&s, 2, 2), 2 * CLOCK_S);
}

static void
test_late_short_reads_in_a_row_end_it(void **state)
{
    (void)state;
    struct scene s = scene_new();
    flow_for(&s, 2);
    read_after(&s, 4 * CLOCK_S, 100 * KIB, 0);
    end_turn(&s, CLOCK_MS);
    for (int i = 0; i < 3; i++) {
        read_after(&s, 0, KIB, 0);
        assert_true(age_at(&s, 1, 1) > 2 * CLOCK_S);
        end_turn(&s, CLOCK_MS);
    }
    read_after(&s, 0, KIB, 0);
    assert_int_equal(age_at(&s, 1, 1), -1);
}

static void
test_late_a_little_after_a_pause_is_young(void **state)
{
    (void)state;
    struct scene s = scene_new();
    flow_for(&s, 2);
    read_after(&s, 4 * CLOCK_S, 100 * KIB, 0);
    end_turn(&s, CLOCK_MS);
    read_after(&s, 101 * CLOCK_MS, KIB, 0);
    assert_int_equal(age_at(&s, 1, 1), -1);
}

static void
test_late_it_lasts_no_longer_than_the_standstill_did(void **state)
{
    (void)state;
    struct scene s = scene_new();
    flow_for(&s, 2);
    /* It sends on at 160 KiB a second, as if it had sent at 1,600 before. */
    s.c.rate *= 16;
    read_after(&s, 2 * CLOCK_S, 20 * KIB, 0);
    end_turn(&s, 100 * CLOCK_MS);
    for (int i = 1; i <= 20; i++) {
        read_after(&s, 0, 16 * KIB, 0);
        assert_true(age_at(&s, 1, 1) > CLOCK_S);
        end_turn(&s, 100 * CLOCK_MS);
    }
    read_after(&s, CLOCK_MS, 16 * KIB, 0);
    assert_int_equal(age_at(&s, 1, 1), -1);
}

static void
test_late_after_a_long_sleep_it_lasts_ten_seconds(void **state)
{
    (void)state;
    struct scene s = scene_new();
    flow_for(&s, 2);
    read_after(&s, 3600 * CLOCK_S, 100 * KIB, 0);
    assert_true(late_is_behind(&s.t));
    end_turn(&s, 100 * CLOCK_MS);
    for (int i = 0; i < 99; i++) {
        read_after(&s, 0, 100 * KIB, 0);
        assert_true(age_at(&s, 1, 1) > CLOCK_S);
        s.t.beat_due = s.now + CLOCK_S;
        end_turn(&s, 100 * CLOCK_MS);
    }
    read_after(&s, CLOCK_S, 100 * KIB, 0);
    assert_int_equal(age_at(&s, 1, 1), -1);
    assert_false(late_is_behind(&s.t));
}

/* Another connection is first read when the loop has waited: what it brings came just now. */
static void
test_late_a_loop_that_had_to_wait_has_read_up_everything(void **state)
{
    (void)state;
    struct scene s = scene_new();
    read_after(&s, 4 * CLOCK_S, 100, 0);
    s.c = (struct late_conn){0};
    end_turn(&s, CLOCK_MS);
    read_after(&s, CLOCK_MS / 2, 100, 0);
    assert_true(age_at(&s, 0, 1) > 4 * CLOCK_S);
    s.c = (struct late_conn){0};
    end_turn(&s, CLOCK_MS);
    read_after(&s, 2 * CLOCK_MS, 100, 0);
    assert_int_equal(age_at(&s, 0, 1), -1);
}

static void
test_late_a_long_turn_is_a_standstill_for_what_it_left(void **state)
{
    (void)state;
    struct scene s = scene_new();
    read_after(&s, CLOCK_MS, 100, 0);
    assert_int_equal(age_at(&s, 1, 1), -1);
    end_turn(&s, 400 * CLOCK_MS);
    read_after(&s, 0, 100, 0);
    assert_int_equal(age_at(&s, 25, 100), 300 * CLOCK_MS);
}

/* A turn without reads (answers are written) in which the process is stopped. */
static void
test_late_a_stop_in_a_turn_that_reads_nothing_is_a_standstill(void **state)
{
    (void)state;
    struct scene s = scene_new();
    end_turn(&s, 4 * CLOCK_S);
    read_after(&s, 0, 100, 0);
    assert_int_equal(age_at(&s, 25, 100), 3 * CLOCK_S);
    end_turn(&s, CLOCK_MS);
    assert_int_equal(s.t.count, 1);
}

static void
test_late_what_was_kept_back_is_not_known_to_be_late(void **state)
{
    (void)state;
    struct scene s = scene_new();
    read_after(&s, 4 * CLOCK_S, 100, 0);
    assert_true(age_at(&s, 25, 100) > 0);
    late_none(&s.t);
    assert_int_equal(age_at(&s, 25, 100), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_a_little_came_evenly_over_the_standstill),
        cmocka_unit_test(test_late_an_ordinary_wait_is_no_standstill),
        cmocka_unit_test(test_late_much_came_at_the_rate_that_the_connection_had),
        cmocka_unit_test(test_late_what_is_there_tells_the_least_rate),
        cmocka_unit_test(test_late_short_reads_in_a_row_end_it),
        cmocka_unit_test(test_late_a_little_after_a_pause_is_young),
        cmocka_unit_test(test_late_it_lasts_no_longer_than_the_standstill_did),
        cmocka_unit_test(test_late_after_a_long_sleep_it_lasts_ten_seconds),
        cmocka_unit_test(test_late_a_loop_that_had_to_wait_has_read_up_everything),
        cmocka_unit_test(test_late_a_long_turn_is_a_standstill_for_what_it_left),
        cmocka_unit_test(test_late_a_stop_in_a_turn_that_reads_nothing_is_a_standstill),
        cmocka_unit_test(test_late_what_was_kept_back_is_not_known_to_be_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
