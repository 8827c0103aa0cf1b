/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "server/auth/account.h"
#include "server/base/mem.h"
#include "server/route/sub.h"
#include "tests/support/conffile.h"
#include "tests/support/oom.h"
#include "tests/support/srv.h"

static bool
serves(struct account *a, const char *subject)
{
    return sublist_has_interest(a->subs, subject, strlen(subject));
}

static void
test_accounts_have_the_services_that_are_theirs(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "accounts { A { users: [ { user: a, password: p } ] } }", 1);
    struct account *a = server_account(v.server, "A");
    struct account *g = server_account(v.server, "$G");
    struct account *sys = server_account(v.server, "$SYS");
    assert_ptr_equal(g, v.server->global);
    assert_ptr_equal(sys, server_system_account(v.server));
    assert_true(sys->is_system);
    assert_false(a->is_system);
    assert_true(serves(a, "$SYS.REQ.USER.INFO"));
    assert_true(serves(g, "$SYS.REQ.USER.INFO"));
    assert_true(serves(sys, "$SYS.REQ.SERVER.PING.VARZ"));
    assert_false(serves(a, "$SYS.REQ.SERVER.PING.VARZ"));
    srv_stop(&v);
}

static void
test_accounts_are_made_once_with_numbers_of_their_own(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "", 1);
    struct account *x = accounts_get(v.server, "X");
    struct account *y = accounts_get(v.server, "Y");
    assert_ptr_equal(accounts_get(v.server, "X"), x);
    assert_true(x->key != 0 && y->key != 0 && x->key != y->key);
    assert_true(x->key != v.server->global->key);
    mem_fail_at(0);
    assert_null(accounts_get(v.server, "Z"));
    mem_fail_at(-1);
    assert_null(server_account(v.server, "Z"));
    srv_stop(&v);
}

static void
test_accounts_applied_again_add_no_second_service(void **state)
{
    (void)state;
    struct srv v;
    struct sublist_counts before;
    struct sublist_counts after;
    srv_start(&v, "", 1);
    sublist_counts(v.server->global->subs, &before);
    assert_int_equal(accounts_apply(v.server, v.server->config), ST_OK);
    sublist_counts(v.server->global->subs, &after);
    assert_int_equal(after.subs, before.subs);
    srv_stop(&v);
}

static enum status
make(void *arg)
{
    struct account **a = arg;
    return account_new(a, "A", 1);
}

static void
unmake(void *arg)
{
    struct account **a = arg;
    account_free(*a);
}

static void
test_account_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    struct account *a;
    oom_sweep(make, unmake, &a);
    account_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accounts_have_the_services_that_are_theirs),
        cmocka_unit_test(test_accounts_are_made_once_with_numbers_of_their_own),
        cmocka_unit_test(test_accounts_applied_again_add_no_second_service),
        cmocka_unit_test(test_account_that_cannot_be_made_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
