/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/loop.h"
#include "server/route/cache.h"
#include "server/route/sub.h"
#include "tests/support/oom.h"

/* A loop is needed for its cache, its match, its configuration and its counters only. */
static struct loop loop;
static struct config cfg;
static struct account *account;

static int
set_up(void **state)
{
    (void)state;
    loop = (struct loop){.cfg = &cfg};
    cfg.disable_sublist_cache = false;
    return account_new(&account, "A", 1) == ST_OK && route_cache_new(&loop.cache) == ST_OK ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    route_cache_free(loop.cache);
    match_fini(&loop.match);
    account_free(account);
    return mem_live() == 0 ? 0 : -1;
}

static struct sub *
add(struct account *a, const char *subject)
{
    struct sub_spec spec = {subject, strlen(subject), "", 0, "1", 1};
    struct sub *s;
    assert_int_equal(sub_new(&s, &spec, NULL), ST_OK);
    assert_int_equal(sublist_insert(a->subs, s), ST_OK);
    return s;
}

static void
drop(struct account *a, struct sub *s)
{
    assert_true(sublist_remove(a->subs, s));
    sub_unref(s);
}

static uint32_t
receivers(struct account *a, const char *subject)
{
    const struct match *m = route_cache_match(&loop, a, subject, strlen(subject));
    assert_non_null(m);
    return m->n_subs;
}

static int64_t
hits(void)
{
    return atomic_load(&loop.stats.cache_hits);
}

static void
test_cache_hits_from_the_third_use_on(void **state)
{
    (void)state;
    struct sub *s = add(account, "a.b");
    assert_int_equal(receivers(account, "a.b"), 1);
    assert_int_equal(receivers(account, "a.b"), 1);
    assert_int_equal(hits(), 0);
    assert_int_equal(receivers(account, "a.b"), 1);
    assert_int_equal(receivers(account, "a.b"), 1);
    assert_int_equal(hits(), 2);
    assert_int_equal(atomic_load(&loop.stats.matches), 4);
    assert_int_equal(atomic_load(&loop.stats.cached), 1);
    drop(account, s);
}

static void
test_cache_shows_every_change_of_what_matches(void **state)
{
    (void)state;
    static const char *const subjects[] = {"a.b", "a.*", ">", "*.b", "a.>"};
    struct sub *subs[5];
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 5; i++) {
            subs[i] = add(account, subjects[i]);
            assert_int_equal(receivers(account, "a.b"), i + 1);
            assert_int_equal(receivers(account, "a.b"), i + 1);
        }
        for (uint32_t i = 0; i < 5; i++) {
            drop(account, subs[i]);
            assert_int_equal(receivers(account, "a.b"), 4 - i);
        }
    }
}

/* The churn of inboxes is what every client does. */
static void
test_cache_survives_churn_on_other_subjects(void **state)
{
    (void)state;
    struct sub *s = add(account, "orders.new");
    int64_t before;
    for (int i = 0; i < 3; i++) {
        receivers(account, "orders.new");
    }
    before = hits();
    for (int i = 0; i < 200; i++) {
        char inbox[40];
        snprintf(inbox, sizeof inbox, "_INBOX.%d.*", i);
        struct sub *in = add(account, inbox);
        assert_int_equal(receivers(account, "orders.new"), 1);
        drop(account, in);
        assert_int_equal(receivers(account, "orders.new"), 1);
    }
    assert_int_equal(hits() - before, 400);
    drop(account, s);
}

static void
test_cache_keeps_accounts_apart(void **state)
{
    (void)state;
    struct account *other;
    assert_int_equal(account_new(&other, "B", 2), ST_OK);
    struct sub *s = add(account, "a");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(receivers(account, "a"), 1);
        assert_int_equal(receivers(other, "a"), 0);
    }
    drop(account, s);
    route_cache_free(loop.cache);
    assert_int_equal(route_cache_new(&loop.cache), ST_OK);
    account_free(other);
}

static void
test_cache_that_is_turned_off_keeps_nothing(void **state)
{
    (void)state;
    struct sub *s = add(account, "a");
    cfg.disable_sublist_cache = true;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(receivers(account, "a"), 1);
    }
    assert_int_equal(hits(), 0);
    drop(account, s);
}

/* A match that is not whole must never be taken for one. */
static void
test_cache_without_memory_forgets_the_half_made_match(void **state)
{
    (void)state;
    struct sub *s = add(account, "a");
    receivers(account, "a");
    for (long n = 0; n < 6; n++) {
        mem_fail_at(n);
        (void)!route_cache_match(&loop, account, "a", 1);
        mem_fail_at(-1);
        assert_int_equal(receivers(account, "a"), 1);
        /* Outdates the slot, so that the next look-up fills it anew. */
        drop(account, add(account, "a"));
    }
    drop(account, s);
}

static void
test_cache_sweep_lets_go_what_nobody_asks_for_again(void **state)
{
    (void)state;
    struct sub *gone = add(account, "gone");
    struct sub *stays = add(account, "stays");
    for (int i = 0; i < 3; i++) {
        receivers(account, "gone");
        receivers(account, "stays");
    }
    drop(account, gone);
    long live = mem_live();
    for (int i = 0; i < 8192; i++) {
        route_cache_sweep(&loop);
    }
    assert_true(mem_live() < live);
    assert_int_equal(atomic_load(&loop.stats.cached), 1);
    int64_t before = hits();
    assert_int_equal(receivers(account, "stays"), 1);
    assert_int_equal(hits(), before + 1);
    drop(account, stays);
}

static enum status
make(void *arg)
{
    struct route_cache **c = arg;
    return route_cache_new(c);
}

static void
unmake(void *arg)
{
    struct route_cache **c = arg;
    route_cache_free(*c);
}

static void
test_cache_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    struct route_cache *c;
    oom_sweep(make, unmake, &c);
    route_cache_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cache_hits_from_the_third_use_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cache_shows_every_change_of_what_matches, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_cache_survives_churn_on_other_subjects, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_cache_keeps_accounts_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cache_that_is_turned_off_keeps_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_cache_without_memory_forgets_the_half_made_match,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cache_sweep_lets_go_what_nobody_asks_for_again, set_up,
                                        tear_down),
        cmocka_unit_test(test_cache_that_cannot_be_made_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
