/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of workload groups, on a plane without threads: what is admitted, parked, refused and
 * let in, in which order, and that nothing is lost or counted twice. */
#include <stdio.h>
#include <string.h>

#include "api/plane.h"
#include "tests/support/cmk.h"
#include "tests/support/group_kit.h"

static void
send(const char *data)
{
    group_kit_send(2, 10, "bob", data);
}

static void
test_group_over_the_limit_is_parked_and_let_in_first_come_first_served(void **state)
{
    (void)state;
    group_kit_one(2, 10, "group");
    for (const char *p = "abcdef"; *p != '\0'; p++) {
        send((char[]){*p, '\0'});
    }
    struct group_counts n = group_kit_counts("g");
    assert_int_equal(n.running, 2);
    assert_int_equal(n.queued_current, 4);
    assert_int_equal(books_queued(rig.api), 2);
    assert_int_equal(books_parked(rig.api), 4);
    rig_step_all();
    assert_string_equal(rig.ran, "abcdef");
    n = group_kit_counts("g");
    assert_int_equal(n.running + n.queued_current, 0);
    assert_int_equal(n.total_queued, 4);
    assert_int_equal(n.queue_wait_count, 4);
    assert_int_equal(n.queue_peak, 4);
    assert_int_equal(n.total_throttled, 4);
    assert_int_equal(group_kit_told(0), 6);
}

static void
test_group_without_a_queue_refuses_over_the_limit_with_429(void **state)
{
    (void)state;
    group_kit_one(1, 0, "group");
    send("a");
    send("b");
    assert_int_equal(group_kit_told(429), 1);
    rig_step_all();
    send("c");
    rig_step_all();
    assert_string_equal(rig.ran, "ac");
    struct group_counts n = group_kit_counts("g");
    assert_int_equal(n.total_queue_rejections, 1);
    assert_int_equal(n.total_throttled, 1);
    assert_int_equal(n.total_queued, 0);
}

static void
test_group_full_parking_refuses_the_arrival_with_429(void **state)
{
    (void)state;
    group_kit_one(1, 2, "group");
    for (const char *p = "abcd"; *p != '\0'; p++) {
        send((char[]){*p, '\0'});
    }
    assert_int_equal(group_kit_told(429), 1);
    rig_step_all();
    assert_string_equal(rig.ran, "abc");
    assert_int_equal(group_kit_counts("g").total_queue_rejections, 1);
}

static void
test_group_an_arrival_never_overtakes_one_that_is_parked(void **state)
{
    (void)state;
    group_kit_one(1, 10, "group");
    send("a");
    send("b");
    struct apiq_item *a = group_kit_pull();
    group_kit_done(a);
    /* The slot has been handed over: it is not free for c. */
    send("c");
    assert_int_equal(group_kit_counts("g").running, 1);
    assert_int_equal(group_kit_counts("g").queued_current, 1);
    rig_step_all();
    assert_string_equal(rig.ran, "abc");
}

static void
test_group_bucket_of_each_value_of_the_attribute(void **state)
{
    (void)state;
    static const char *const attributes[] = {"account", "user", "client", "subject", "group"};
    for (int i = 0; i < 5; i++) {
        group_kit_one(1, 100, attributes[i]);
        group_kit_send(2, 1, "bob", "");
        group_kit_send(2, 2, "bob", "");
        group_kit_send(2, 3, "eve", "");
        group_kit_send(3, 4, "bob", "");
        struct group_counts n = group_kit_counts("g");
        unsigned buckets = i == 0 ? 2 : i == 1 || i == 2 ? 3 : i == 3 ? 2 : 1;
        assert_int_equal(n.running, buckets);
        assert_int_equal(n.queued_current, 4 - buckets);
        rig_step_all();
    }
}

static void
test_group_first_match_in_the_order_of_the_configuration(void **state)
{
    (void)state;
    group_kit_set(GROUP_FROM_CONFIG,
                  "{\"one\":{\"match\":{\"user\":\"checkout-*\",\"account\":\"A2\"}},"
                  "\"two\":{\"match\":{\"user\":\"check*\"}},"
                  "\"three\":{\"match\":{\"subject\":\"$JS.API.*\",\"client\":\"x*z\"}},"
                  "\"never\":{\"match\":{\"subject\":\"$JS.API.>\",\"account\":\"NOBODY\"}},"
                  "\"rest\":{}}");
    group_kit_set(GROUP_FROM_API, "{\"later\":{}}");
    group_kit_send(2, 1, "checkout-1", "");
    group_kit_send(3, 1, "checkout-1", "");
    group_kit_send(3, 1, "xyz", "");
    group_kit_send(3, 1, "other", "");
    static const char *const names[] = {"one", "two", "three", "rest"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(group_kit_counts(names[i]).total_admitted, 1);
    }
    assert_int_equal(group_kit_counts("never").total_admitted, 0);
    assert_int_equal(group_kit_counts("later").total_admitted, 0);
}

static void
test_group_monitor_counts_and_lets_run(void **state)
{
    (void)state;
    group_kit_set(GROUP_FROM_CONFIG, "{\"g\":{\"throttling\":{\"limit\":1,\"mode\":\"monitor\"},"
                                     "\"queue\":{\"size\":5}}}");
    send("a");
    send("b");
    send("c");
    struct group_counts n = group_kit_counts("g");
    assert_int_equal(n.total_would_throttle, 2);
    assert_int_equal(n.running, 3);
    assert_int_equal(n.total_throttled + n.queued_current, 0);
    rig_step_all();
    assert_string_equal(rig.ran, "abc");
}

static void
test_group_operator_requests_are_in_no_group(void **state)
{
    (void)state;
    group_kit_one(1, 0, "group");
    for (int i = 0; i < 3; i++) {
        rig_send(&rig_sys_note, 1, 5, "o");
    }
    rig_step_all();
    assert_string_equal(rig.ran, "ooo");
    assert_int_equal(group_kit_counts("g").total_admitted, 0);
}

/* Scenario 24. */
static void
test_group_bucket_below_its_share_displaces_the_newest_of_the_fullest(void **state)
{
    (void)state;
    group_kit_one(1, 4, "user");
    for (const char *p = "abcde"; *p != '\0'; p++) {
        group_kit_send(2, 1, "hog", (char[]){*p, '\0'});
    }
    group_kit_send(2, 1, "hog", "!"); /* full */
    assert_int_equal(group_kit_told(429), 1);
    group_kit_send(2, 2, "eve", "E");
    group_kit_send(2, 2, "eve", "F"); /* below its share of 2: e goes */
    group_kit_send(2, 2, "eve", "G"); /* below: d goes */
    group_kit_send(2, 2, "eve", "?"); /* at its share */
    assert_int_equal(group_kit_told(429), 4);
    struct group_counts n = group_kit_counts("g");
    assert_int_equal(n.queued_current, 4);
    assert_int_equal(n.total_displaced, 2);
    rig_step_all();
    /* Each in order; the two buckets take turns in the queue. */
    char hog[16] = "";
    char eve[16] = "";
    for (const char *p = rig.ran; *p != '\0'; p++) {
        char *to = *p >= 'a' ? hog : eve;
        to[strlen(to)] = *p;
    }
    assert_string_equal(hog, "abc");
    assert_string_equal(eve, "EFG");
}

static void
test_group_more_buckets_than_places_displace_nobody(void **state)
{
    (void)state;
    group_kit_one(1, 2, "user");
    const char *users[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        group_kit_send(2, 1, users[i], "1");
        group_kit_send(2, 1, users[i], "2");
    }
    struct group_counts n = group_kit_counts("g");
    assert_int_equal(n.queued_current, 2);
    assert_int_equal(n.total_displaced, 0);
    assert_int_equal(group_kit_told(429), 1);
}

static void
test_group_bytes_of_the_parking_are_limited_too(void **state)
{
    (void)state;
    group_kit_set(GROUP_FROM_CONFIG, "{\"g\":{\"throttling\":{\"limit\":1,\"attribute\":\"user\"},"
                                     "\"queue\":{\"size\":100,\"max_bytes\":6000}}}");
    char big[601];
    char small[101];
    memset(big, 'x', 600);
    memset(small, 'y', 100);
    big[600] = small[100] = '\0';
    for (int i = 0; i < 10; i++) {
        group_kit_send(2, 1, "hog", big);
    }
    struct group_counts n = group_kit_counts("g");
    assert_true(n.queued_bytes <= 6000 && n.queued_current >= 2);
    uint64_t parked = n.queued_current;
    group_kit_send(2, 2, "eve", small);
    group_kit_send(2, 2, "eve", small);
    n = group_kit_counts("g");
    assert_true(n.queued_bytes <= 6000);
    assert_in_range(n.total_displaced, 0, 1);
    assert_int_equal(n.queued_current, parked + 1 - n.total_displaced);
    /* One that alone is too big never parks. */
    group_kit_set(GROUP_FROM_CONFIG, "{\"g\":{\"throttling\":{\"limit\":1,\"attribute\":\"user\"},"
                                     "\"queue\":{\"size\":100,\"max_bytes\":10}}}");
    uint64_t refused = n.total_queue_rejections;
    group_kit_send(3, 3, "zoe", "1");
    group_kit_send(3, 3, "zoe", "2");
    assert_int_equal(group_kit_counts("g").total_queue_rejections, refused + 1);
}

/* Scenario 14. */
static void
test_group_already_expired_is_refused_once_and_never_parked(void **state)
{
    (void)state;
    group_kit_one(1, 10, "group");
    send("a");
    group_kit_send_hdr(2, 1, "bob", "b", "NATS/1.0\r\nNats-Request-Timeout: 0\r\n\r\n");
    assert_int_equal(group_kit_told(408), 1);
    assert_int_equal(group_kit_counts("g").total_throttled, 0);
}

static void
test_group_own_deadline_ends_a_parked_request_promptly(void **state)
{
    (void)state;
    group_kit_one(1, 10, "group");
    send("a");
    group_kit_send_hdr(2, 1, "bob", "b", "NATS/1.0\r\nNats-Request-Timeout: 100ms\r\n\r\n");
    send("c");
    (void)groups_tick(rig.api->groups);
    assert_int_equal(group_kit_counts("g").queued_current, 2);
    clock_fake_advance(&rig.now, 100 * CLOCK_MS + WHEEL_TICK);
    (void)groups_tick(rig.api->groups);
    books_check(rig.api);
    assert_int_equal(group_kit_told(408), 1);
    assert_int_equal(group_kit_counts("g").queued_current, 1);
    rig_step_all();
    assert_string_equal(rig.ran, "ac");
}

static void
test_group_parked_without_a_deadline_waits_for_ever(void **state)
{
    (void)state;
    group_kit_one(1, 10, "group");
    send("a");
    send("b");
    struct apiq_item *a = group_kit_pull();
    clock_fake_advance(&rig.now, 3600 * CLOCK_S);
    assert_int_equal(groups_tick(rig.api->groups), INT64_MAX);
    group_kit_done(a);
    /* The deadline of the queue begins only now. */
    rig_step_all();
    assert_string_equal(rig.ran, "ab");
}

static void
test_group_cancel_after_of_the_group_and_of_the_plane(void **state)
{
    (void)state;
    group_kit_set(GROUP_FROM_CONFIG,
                  "{\"g\":{\"match\":{\"user\":\"bob\"},\"throttling\":{\"limit\":1},\"queue\":"
                  "{\"size\":9},\"cancel_after\":\"2s\"},"
                  "\"h\":{\"throttling\":{\"limit\":1},\"queue\":{\"size\":9}}}");
    groups_set_cancel_after(rig.api->groups, 5 * CLOCK_S);
    for (int i = 0; i < 3; i++) {
        group_kit_send(2, 1, "bob", "");
        group_kit_send(2, 2, "eve", "");
    }
    struct apiq_item *a = group_kit_pull();
    struct apiq_item *b = group_kit_pull();
    assert_int_equal(groups_tick(rig.api->groups), rig.now.t + 2 * CLOCK_S);
    clock_fake_advance(&rig.now, 2 * CLOCK_S);
    assert_int_equal(groups_tick(rig.api->groups), rig.now.t + 3 * CLOCK_S);
    assert_int_equal(group_kit_counts("g").queued_current, 0);
    assert_int_equal(group_kit_counts("g").total_cancelled, 2);
    assert_int_equal(group_kit_counts("h").queued_current, 2);
    clock_fake_advance(&rig.now, 3 * CLOCK_S);
    assert_int_equal(groups_tick(rig.api->groups), INT64_MAX);
    assert_int_equal(group_kit_counts("h").queued_current, 0);
    assert_int_equal(group_kit_told(408), 4);
    assert_int_equal(books_ended(rig.api, LEDGER_CANCELLED), 4);
    group_kit_done(a);
    group_kit_done(b);
}

/* Scenario 13, and the depth. */
static void
test_group_a_client_that_leaves_cancels_what_it_parked_and_blocks_nobody(void **state)
{
    (void)state;
    group_kit_one(1, 4, "group");
    group_kit_send(2, 1, "bob", "a");
    group_kit_send(2, 7, "bob", "h"); /* at the head */
    group_kit_send(2, 1, "bob", "b");
    group_kit_send(2, 7, "bob", "t"); /* at the tail */
    api_conn_closed(rig.api, 7);
    books_check(rig.api);
    assert_int_equal(group_kit_counts("g").queued_current, 1);
    group_kit_send(2, 1, "bob", "c");
    group_kit_send(2, 1, "bob", "d");
    group_kit_send(2, 1, "bob", "e");
    assert_int_equal(group_kit_counts("g").total_queue_rejections, 0);
    rig_step_all();
    assert_string_equal(rig.ran, "abcde");
    assert_int_equal(books_ended(rig.api, LEDGER_CANCELLED), 2);
}

/* Scenario 25: however a request ends, its permit comes back. */
static enum status
run_fails(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    (void)r;
    (void)out;
    return ST_IO;
}

static void
test_group_permit_comes_back_however_the_request_ends(void **state)
{
    (void)state;
    static const struct api_endpoint fails = {
        .name = "fails", .subjects = {"$JS.API.FAILS"}, .level = APIQ_NORMAL, .run = run_fails};
    group_kit_one(3, 0, "group");
    rig_send(&fails, 2, 1, "");
    rig_step_all();
    assert_int_equal(group_kit_counts("g").running, 0);
    /* Expired in the queue. */
    rig_send_hdr(&rig_note, 2, 1, "_INBOX.r", "x", "NATS/1.0\r\nNats-Request-Timeout: 1ms\r\n\r\n");
    clock_fake_advance(&rig.now, CLOCK_S);
    rig_step_all();
    assert_int_equal(group_kit_counts("g").running, 0);
    /* Its client left while it was in the queue. */
    rig_send(&rig_note, 2, 8, "x");
    api_conn_closed(rig.api, 8);
    assert_int_equal(group_kit_counts("g").running, 0);
    /* Evicted, and refused by the queue. */
    rig_update(rig_limit_2);
    for (int i = 0; i < 3; i++) {
        rig_send(&rig_note, 2, 1, "x");
    }
    assert_int_equal(books_ended(rig.api, LEDGER_EVICTED), 1);
    assert_int_equal(group_kit_counts("g").running, 2);
    rig_update(rig_limit_0);
    rig_send(&rig_note, 2, 1, "x");
    assert_int_equal(group_kit_counts("g").running, 0);
    assert_string_equal(rig.ran, "");
}

/* Scenario 16: what is refused is counted and told, as often as it happened. */
static void
test_group_sum_of_outcomes_is_what_arrived(void **state)
{
    (void)state;
    group_kit_one(8, 500, "group");
    for (int i = 0; i < 3000; i++) {
        send("");
    }
    assert_int_equal(group_kit_told(429), 3000 - 508);
    rig_step_all();
    assert_int_equal(group_kit_told(0), 508);
    struct group_counts n = group_kit_counts("g");
    assert_int_equal(n.total_queue_rejections, 3000 - 508);
    assert_int_equal(books_ended(rig.api, LEDGER_REFUSED), 3000 - 508);
    assert_int_equal(books_ended(rig.api, LEDGER_ANSWERED), 508);
}

static void
test_group_refusal_says_when_to_come_again_by_the_measured_rate(void **state)
{
    (void)state;
    group_kit_one(1, 9, "group");
    for (int i = 0; i < 30; i++) {
        send("");
    }
    (void)group_kit_told(0);
    for (int i = 0; i < 8; i++) {
        struct apiq_item *it = group_kit_pull();
        clock_fake_advance(&rig.now, 200 * CLOCK_MS);
        group_kit_done(it);
        send("");
    }
    send("");
    /* 10 ahead of it, one each 200 ms: about two seconds. */
    int64_t hint = rig_expect_error(429, 10008, "not executed");
    assert_in_range(hint, 1400 * CLOCK_MS, 2600 * CLOCK_MS);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, group_kit_set_up, group_kit_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_group_over_the_limit_is_parked_and_let_in_first_come_first_served),
        TEST(test_group_without_a_queue_refuses_over_the_limit_with_429),
        TEST(test_group_full_parking_refuses_the_arrival_with_429),
        TEST(test_group_an_arrival_never_overtakes_one_that_is_parked),
        TEST(test_group_bucket_of_each_value_of_the_attribute),
        TEST(test_group_first_match_in_the_order_of_the_configuration),
        TEST(test_group_monitor_counts_and_lets_run),
        TEST(test_group_operator_requests_are_in_no_group),
        TEST(test_group_bucket_below_its_share_displaces_the_newest_of_the_fullest),
        TEST(test_group_more_buckets_than_places_displace_nobody),
        TEST(test_group_bytes_of_the_parking_are_limited_too),
        TEST(test_group_already_expired_is_refused_once_and_never_parked),
        TEST(test_group_own_deadline_ends_a_parked_request_promptly),
        TEST(test_group_parked_without_a_deadline_waits_for_ever),
        TEST(test_group_cancel_after_of_the_group_and_of_the_plane),
        TEST(test_group_a_client_that_leaves_cancels_what_it_parked_and_blocks_nobody),
        TEST(test_group_permit_comes_back_however_the_request_ends),
        TEST(test_group_sum_of_outcomes_is_what_arrived),
        TEST(test_group_refusal_says_when_to_come_again_by_the_measured_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
