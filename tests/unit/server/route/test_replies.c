/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <string.h>

#include "server/auth/perms.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/route/replies.h"
#include "tests/support/oom.h"

static struct reply_perms *
make_replies(int64_t max, int64_t expires)
{
    struct perms p = {.responses = true, .responses_max = max, .responses_expires = expires};
    struct reply_perms *r;
    assert_int_equal(replies_new(&r, &p), ST_OK);
    return r;
}

static void
note(struct reply_perms *r, const char *reply, int64_t now)
{
    replies_note(r, reply, strlen(reply), now);
}

static bool
allow(struct reply_perms *r, const char *reply, int64_t now)
{
    return replies_allow(r, reply, strlen(reply), now);
}

static void
test_replies_are_allowed_so_many_times(void **state)
{
    (void)state;
    struct reply_perms *r = make_replies(2, 0);
    assert_false(allow(r, "a", 0));
    note(r, "a", 0);
    note(r, "b", 0);
    assert_true(allow(r, "a", 0));
    assert_true(allow(r, "a", 1));
    assert_false(allow(r, "a", 2));
    assert_true(allow(r, "b", 1000 * CLOCK_S));
    replies_free(r);
    assert_int_equal(mem_live(), 0);
}

static void
test_replies_end_with_their_time(void **state)
{
    (void)state;
    struct reply_perms *r = make_replies(-1, 2 * CLOCK_S);
    note(r, "a", 0);
    for (int i = 0; i < 100; i++) {
        assert_true(allow(r, "a", CLOCK_S));
    }
    assert_true(allow(r, "a", 2 * CLOCK_S));
    assert_false(allow(r, "a", 2 * CLOCK_S + 1));
    assert_false(allow(r, "a", 0)); /* it was forgotten */
    replies_free(r);
    assert_int_equal(mem_live(), 0);
}

static void
test_replies_noted_again_begin_anew(void **state)
{
    (void)state;
    struct reply_perms *r = make_replies(1, 2 * CLOCK_S);
    note(r, "a", 0);
    assert_true(allow(r, "a", 0));
    note(r, "a", CLOCK_S);
    assert_true(allow(r, "a", 3 * CLOCK_S));
    assert_false(allow(r, "a", 3 * CLOCK_S));
    replies_free(r);
}

static void
test_replies_past_their_number_forget_the_oldest(void **state)
{
    (void)state;
    enum { KEPT = 4096 };
    char name[16];
    struct reply_perms *r = make_replies(0, 0);
    for (int i = 0; i <= KEPT; i++) {
        snprintf(name, sizeof name, "r.%d", i);
        note(r, name, i);
    }
    assert_false(allow(r, "r.0", KEPT));
    assert_true(allow(r, "r.1", KEPT));
    assert_true(allow(r, name, KEPT));
    replies_free(r);
    assert_int_equal(mem_live(), 0);
}

static void
test_replies_without_memory_are_not_allowed(void **state)
{
    (void)state;
    struct reply_perms *r = make_replies(0, 0);
    mem_fail_at(0);
    note(r, "a", 0);
    assert_false(allow(r, "a", 0));
    replies_free(r);
}

static enum status
make(void *arg)
{
    struct perms p = {.responses = true};
    struct reply_perms **r = arg;
    return replies_new(r, &p);
}

static void
unmake(void *arg)
{
    struct reply_perms **r = arg;
    replies_free(*r);
}

static void
test_replies_that_cannot_be_made_leave_nothing(void **state)
{
    (void)state;
    struct reply_perms *r;
    oom_sweep(make, unmake, &r);
    replies_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies_are_allowed_so_many_times),
        cmocka_unit_test(test_replies_end_with_their_time),
        cmocka_unit_test(test_replies_noted_again_begin_anew),
        cmocka_unit_test(test_replies_past_their_number_forget_the_oldest),
        cmocka_unit_test(test_replies_without_memory_are_not_allowed),
        cmocka_unit_test(test_replies_that_cannot_be_made_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
