/* SPDX-License-Identifier: Apache-2.0 */
/* Workload groups while the queue is full, while settings change, and en masse; on a plane without
 * threads. */
#include <stdio.h>
#include <string.h>

#include "api/plane.h"
#include "tests/support/cmk.h"
#include "tests/support/group_kit.h"
#include "tests/support/slow.h"

static void
send(const char *data)
{
    group_kit_send(2, 10, "bob", data);
}

static void
test_group_let_in_needs_room_in_the_queue_and_evicts_nothing(void **state)
{
    (void)state;
    group_kit_set(GROUP_FROM_CONFIG,
                  "{\"g\":{\"match\":{\"user\":\"bob\"},\"throttling\":{\"limit\":1},\"queue\":{"
                  "\"size\":50}}}");
    send("a");
    for (int i = 0; i < 20; i++) {
        send("p");
    }
    struct apiq_item *a = group_kit_pull();
    rig_update(rig_limit_2);
    group_kit_send(2, 2, "free", "1");
    group_kit_send(2, 2, "free", "2");
    /* One completion, and the queue is full: nothing is let in, nothing falls out. */
    group_kit_done(a);
    assert_int_equal(group_kit_counts("g").queued_current, 20);
    assert_int_equal(group_kit_counts("g").running, 0);
    /* Something leaves the queue: exactly one is let in. */
    struct apiq_item *one = group_kit_pull();
    assert_int_equal(group_kit_counts("g").queued_current, 19);
    assert_int_equal(group_kit_counts("g").running, 1);
    group_kit_done(one);
    assert_int_equal(group_kit_counts("g").queued_current, 19);
    rig_step_all();
    assert_int_equal(books_ended(rig.api, LEDGER_EVICTED), 0);
    assert_string_equal(rig.ran, "a12pppppppppppppppppppp");
}

/* After a standstill: what waited in the group does not count as read up only now. */
static void
test_group_what_was_parked_is_not_late_when_it_is_let_in(void **state)
{
    (void)state;
    clock_fake_advance(&rig.now, 100 * CLOCK_S);
    group_kit_one(1, 50, "user");
    send("a");
    struct apiq_item *a = group_kit_pull();
    struct api_message m = fakehost_request(2, 10, rig_note.subjects[0], "_INBOX.r", "late");
    m.origin.user = "bob";
    m.origin.client = "bob";
    m.now = rig.now.t - 1500 * CLOCK_MS;
    api_receive(rig.api, &rig_note, &m);
    assert_int_equal(group_kit_counts("g").queued_current, 1);
    group_kit_done(a);
    struct apiq_item *late = group_kit_pull();
    assert_int_equal(late->late_ns, 0);
    assert_int_equal(late->pulled_ns - late->pushed_ns, 0);
    group_kit_done(late);
    rig_step_all();
    assert_string_equal(rig.ran, "alate");
}

static void
test_group_room_that_comes_at_once_is_used_at_once(void **state)
{
    (void)state;
    group_kit_one(2, 50, "user");
    const char *users[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 48; i++) {
        group_kit_send(2, 1, users[i % 4], "");
    }
    assert_int_equal(group_kit_counts("g").running, 8);
    rig_update(rig_limit_2);
    assert_int_equal(group_kit_counts("g").running, 2);
    assert_int_equal(group_kit_counts("g").queued_current, 40);
    struct api_opts opts = fakehost_opts(0);
    assert_int_equal(api_update(rig.api, &opts), ST_OK);
    assert_int_equal(group_kit_counts("g").running, 8);
}

/* Scenario 8: create and delete of one stream by one connection keep their order also where the
 * first is parked and the second belongs to no group, or to another. */
static void
test_group_requests_of_one_order_key_stay_in_order_across_groups(void **state)
{
    (void)state;
    static const struct api_endpoint create = {.name = "create",
                                               .subjects = {"$JS.API.CREATE.S"},
                                               .level = APIQ_NORMAL,
                                               .order_token = 4,
                                               .run = rig_run_note};
    static const struct api_endpoint delete = {.name = "delete",
                                               .subjects = {"$JS.API.DELETE.S"},
                                               .level = APIQ_NORMAL,
                                               .order_token = 4,
                                               .run = rig_run_note};
    group_kit_set(GROUP_FROM_CONFIG, "{\"g\":{\"match\":{\"subject\":\"$JS.API.CREATE.>\"},"
                                     "\"throttling\":{\"limit\":1},\"queue\":{\"size\":9}}}");
    rig_send(&create, 2, 1, "a");
    rig_send(&create, 2, 2, "b");
    rig_send(&delete, 2, 2, "c");
    rig_send(&delete, 2, 3, "d");
    assert_int_equal(group_kit_counts("g").queued_current, 2);
    rig_update(rig_lifo);
    rig_step_all();
    assert_non_null(strchr(rig.ran, 'b'));
    assert_true(strchr(rig.ran, 'b') < strchr(rig.ran, 'c'));
    assert_int_equal(strlen(rig.ran), 4);
}

/* Scenario 2. */
static void
test_group_changes_take_effect_with_requests_parked(void **state)
{
    (void)state;
    group_kit_one(1, 8, "group");
    for (const char *p = "abcdefgh"; *p != '\0'; p++) {
        send((char[]){*p, '\0'});
    }
    assert_int_equal(group_kit_counts("g").queued_current, 7);
    group_kit_one(1, 3, "group"); /* smaller than what is parked: nothing is lost, none comes */
    assert_int_equal(group_kit_counts("g").queued_current, 7);
    send("!");
    assert_int_equal(group_kit_told(429), 1);
    group_kit_one(4, 3, "group"); /* growth is used at once */
    assert_int_equal(group_kit_counts("g").running, 4);
    assert_int_equal(group_kit_counts("g").queued_current, 4);
    group_kit_one(2, 0, "group"); /* parking switched off: what is parked stays */
    assert_int_equal(group_kit_counts("g").queued_current, 4);
    struct apiq_item *a = group_kit_pull();
    struct apiq_item *b = group_kit_pull();
    group_kit_done(a);
    group_kit_done(b); /* 2 run, as many as the limit now allows */
    assert_int_equal(group_kit_counts("g").running, 2);
    assert_int_equal(group_kit_counts("g").queued_current, 4);
    group_kit_set(GROUP_FROM_CONFIG, "{}"); /* deleted: all are let in */
    assert_int_equal(books_parked(rig.api), 0);
    rig_step_all();
    assert_string_equal(rig.ran, "abcdefgh");
    assert_false(groups_any(rig.api->groups));
}

static void
test_group_deleted_with_a_full_queue_drains_as_room_comes(void **state)
{
    (void)state;
    group_kit_one(1, 100, "group");
    for (int i = 0; i < 50; i++) {
        send("x");
    }
    rig_update(rig_limit_2);
    group_kit_set(GROUP_FROM_CONFIG, "{}");
    assert_int_equal(books_queued(rig.api), 2);
    assert_int_equal(books_parked(rig.api), 48);
    rig_step_all();
    assert_int_equal(strlen(rig.ran), 50);
    assert_int_equal(books_ended(rig.api, LEDGER_EVICTED), 0);
    assert_false(groups_any(rig.api->groups));
}

static void
test_group_enforced_becomes_monitor_and_lets_all_in(void **state)
{
    (void)state;
    group_kit_one(1, 100, "user");
    for (int i = 0; i < 10; i++) {
        send("x");
    }
    group_kit_set(GROUP_FROM_CONFIG,
                  "{\"g\":{\"throttling\":{\"limit\":1,\"attribute\":\"user\",\"mode\":\"monitor\"}"
                  ",\"queue\":{\"size\":100}}}");
    assert_int_equal(group_kit_counts("g").queued_current, 0);
    assert_int_equal(group_kit_counts("g").running, 10);
}

/* Scenario 10, 13: the stack does not grow, the places come back. */
static void
test_group_mass_cancel_of_ten_thousand_parked(void **state)
{
    (void)state;
    group_kit_one(1, 20000, "group");
    group_kit_send(2, 1, "bob", "a");
    for (int i = 0; i < 5000; i++) {
        group_kit_send(2, 100, "bob", "");
        group_kit_send(2, 1000 + (uint64_t)i, "bob", "");
    }
    group_kit_send(2, 1, "bob", "z");
    int64_t start = clock_mono_ns();
    api_conn_closed(rig.api, 100);
    for (int i = 0; i < 5000; i++) {
        api_conn_closed(rig.api, 1000 + (uint64_t)i);
    }
    assert_true(clock_mono_ns() - start < (SLOW_FACTOR > 1 ? 2 * CLOCK_S : 100 * CLOCK_MS));
    assert_int_equal(group_kit_counts("g").queued_current, 1);
    assert_int_equal(group_kit_counts("g").total_cancelled, 10000);
    rig_step_all();
    assert_string_equal(rig.ran, "az");
}

/* Scenario 10, 11: each run ends and lets the next in; deep chains do not recurse, and one round is
 * bounded. */
static void
test_group_mass_completion_lets_in_round_by_round(void **state)
{
    (void)state;
    group_kit_one(1, 5000, "group");
    for (int i = 0; i < 3000; i++) {
        send("");
    }
    group_kit_one(5000, 5000, "group");
    /* The first round was bounded; who goes on is the parker, or here the next step. */
    uint64_t left = group_kit_counts("g").queued_current;
    assert_true(left > 0 && left < 3000);
    rig_step_all();
    assert_int_equal(books_ended(rig.api, LEDGER_ANSWERED), 3000);
}

/* Scenario 19. */
static void
test_group_idle_buckets_go_and_those_with_waiters_stay(void **state)
{
    (void)state;
    group_kit_one(1, 10, "user");
    group_kit_send(2, 1, "kept", "k");
    group_kit_send(2, 1, "kept", "l");
    struct apiq_item *k = group_kit_pull();
    for (int i = 0; i < 500; i++) {
        char user[16];
        (void)snprintf(user, sizeof(user), "u%d", i);
        group_kit_send(2, 2, user, "");
        rig_step_all();
    }
    struct group_info info;
    assert_int_equal(groups_find(rig.api->groups, "g", &info), ST_OK);
    assert_int_equal(info.buckets, 1);
    static struct group_bucket_info b[1000];
    size_t n = groups_buckets(rig.api->groups, "g", b, 1000);
    assert_in_range(n, 2, 100);
    assert_string_equal(b[0].name, "kept");
    assert_string_equal(b[0].account, "A2");
    assert_int_equal(b[0].counts.queued_current, 1);
    group_kit_done(k);
    rig_step_all();
    assert_string_equal(rig.ran, "kl");
}

static void
test_group_close_ends_what_is_parked_and_says_so(void **state)
{
    (void)state;
    group_kit_one(1, 10, "group");
    send("a");
    send("b");
    send("c");
    api_close(rig.api);
    books_check(rig.api);
    assert_int_equal(group_kit_told(503), 3);
    struct groups_totals t;
    groups_totals(rig.api->groups, &t);
    assert_int_equal(t.parked + t.running, 0);
    assert_int_equal(books_ended(rig.api, LEDGER_CANCELLED), 3);
}

static void
test_group_backstop_finds_nothing_in_normal_running(void **state)
{
    (void)state;
    group_kit_one(2, 100, "user");
    for (int i = 0; i < 200; i++) {
        group_kit_send(2, 1 + (uint64_t)i % 3, i % 2 == 0 ? "a" : "b", "");
        if (i % 3 == 0) {
            (void)dispatch_step(rig.api, APIQ_LANE_ANY);
        }
        if (i % 50 == 0) {
            clock_fake_advance(&rig.now, CLOCK_S);
            groups_sweep(rig.api->groups);
            dispatch_pump(rig.api, 0);
        }
    }
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, group_kit_set_up, group_kit_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_group_let_in_needs_room_in_the_queue_and_evicts_nothing),
        TEST(test_group_what_was_parked_is_not_late_when_it_is_let_in),
        TEST(test_group_room_that_comes_at_once_is_used_at_once),
        TEST(test_group_requests_of_one_order_key_stay_in_order_across_groups),
        TEST(test_group_changes_take_effect_with_requests_parked),
        TEST(test_group_deleted_with_a_full_queue_drains_as_room_comes),
        TEST(test_group_enforced_becomes_monitor_and_lets_all_in),
        TEST(test_group_mass_cancel_of_ten_thousand_parked),
        TEST(test_group_mass_completion_lets_in_round_by_round),
        TEST(test_group_idle_buckets_go_and_those_with_waiters_stay),
        TEST(test_group_close_ends_what_is_parked_and_says_so),
        TEST(test_group_backstop_finds_nothing_in_normal_running),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
