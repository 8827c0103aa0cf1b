/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include "server/base/mem.h"
#include "server/inspect.h"
#include "server/net/closed.h"
#include "tests/support/oom.h"

static void
push(struct closed_ring *r, uint64_t cid)
{
    struct conn_info info = {.cid = cid, .name = mem_strdup("name"), .reason = mem_strdup("why")};
    closed_ring_push(r, &info);
}

static void
assert_holds(const struct closed_ring *r, uint64_t first, size_t n)
{
    assert_int_equal(closed_ring_count(r), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(closed_ring_at(r, i)->cid, first + i);
    }
}

static void
test_closed_ring_keeps_the_last_ones_only(void **state)
{
    (void)state;
    struct closed_ring *r;
    assert_int_equal(closed_ring_new(&r, 40), ST_OK);
    for (uint64_t cid = 1; cid <= 100; cid++) {
        push(r, cid);
        assert_holds(r, cid > 40 ? cid - 39 : 1, cid > 40 ? 40 : (size_t)cid);
    }
    closed_ring_free(r);
    assert_int_equal(mem_live(), 0);
}

static void
test_closed_ring_of_no_size_keeps_nothing(void **state)
{
    (void)state;
    struct closed_ring *r;
    assert_int_equal(closed_ring_new(&r, 0), ST_OK);
    push(r, 1);
    assert_holds(r, 0, 0);
    closed_ring_free(r);
    assert_int_equal(mem_live(), 0);
}

static void
test_closed_ring_that_cannot_grow_goes_on_with_what_it_has(void **state)
{
    (void)state;
    struct closed_ring *r;
    assert_int_equal(closed_ring_new(&r, 100), ST_OK);
    struct conn_info info = {.cid = 1};
    mem_fail_at(0);
    closed_ring_push(r, &info);
    assert_holds(r, 0, 0);
    for (uint64_t cid = 1; cid <= 16; cid++) {
        push(r, cid);
    }
    info.cid = 17;
    mem_fail_at(0);
    closed_ring_push(r, &info);
    assert_holds(r, 2, 16);
    push(r, 18);
    assert_holds(r, 3, 16);
    closed_ring_free(r);
    assert_int_equal(mem_live(), 0);
}

static void
test_close_reasons_have_texts(void **state)
{
    (void)state;
    assert_string_equal(close_reason_text(CLOSE_CLIENT), "Client Closed");
    assert_string_equal(close_reason_text(CLOSE_SLOW_DEADLINE), "Slow Consumer (Write Deadline)");
    assert_string_equal(close_reason_text((enum close_reason)1000), "Unknown State");
}

static enum status
make(void *arg)
{
    struct closed_ring **r = arg;
    return closed_ring_new(r, 10);
}

static void
unmake(void *arg)
{
    struct closed_ring **r = arg;
    closed_ring_free(*r);
}

static void
test_closed_ring_survives_the_want_of_memory(void **state)
{
    (void)state;
    struct closed_ring *r;
    oom_sweep(make, unmake, &r);
    closed_ring_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_ring_keeps_the_last_ones_only),
        cmocka_unit_test(test_closed_ring_of_no_size_keeps_nothing),
        cmocka_unit_test(test_closed_ring_that_cannot_grow_goes_on_with_what_it_has),
        cmocka_unit_test(test_close_reasons_have_texts),
        cmocka_unit_test(test_closed_ring_survives_the_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
