/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdatomic.h>
#include <unistd.h>

#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/net/peer.h"
#include "server/net/stall.h"
#include "tests/support/conffile.h"
#include "tests/support/srv.h"

struct pair {
    uint64_t producer, receiver;
};

static struct conn *
find(struct loop *l, uint64_t cid)
{
    struct conn *c = loop_find(l, cid);
    assert_non_null(c);
    return c;
}

/* As after a read that delivered to a receiver with so much waiting. */
static void
stall_at(struct loop *l, const struct pair *p, int64_t pending)
{
    struct conn *c = find(l, p->producer);
    struct peer *to = find(l, p->receiver)->peer;
    atomic_store(&to->pending, pending);
    stall_note(c, to, pending);
    stall_apply(c);
}

static void
at_the_threshold(struct loop *l, void *arg)
{
    stall_at(l, arg, 1024 * 1024 / 4);
    const struct pair *p = arg;
    assert_int_equal(find(l, p->producer)->pause, 0);
    assert_true(list_is_empty(&l->stalled));
}

static void
past_the_threshold_until_it_catches_up(struct loop *l, void *arg)
{
    const struct pair *p = arg;
    struct conn *c = find(l, p->producer);
    stall_at(l, p, 1024 * 1024 / 4 + 1);
    assert_int_equal(c->pause, PAUSE_STALL);
    assert_int_equal(c->stalls, 1);
    stall_check(l); /* neither has the receiver caught up nor is the time over */
    assert_int_equal(c->pause, PAUSE_STALL);
    atomic_store(&find(l, p->receiver)->peer->pending, 0);
    stall_check(l);
    assert_int_equal(c->pause, 0);
    assert_null(c->stall_on);
    assert_true(list_is_empty(&l->stalled));
}

static void
until_its_time_is_over(struct loop *l, void *arg)
{
    const struct pair *p = arg;
    struct conn *c = find(l, p->producer);
    stall_at(l, p, 1024 * 1024);
    assert_int_equal(c->pause, PAUSE_STALL);
    c->stall_until = 0;
    stall_check(l);
    assert_int_equal(c->pause, 0);
}

static void
closed_while_it_waits(struct loop *l, void *arg)
{
    const struct pair *p = arg;
    struct conn *c = find(l, p->producer);
    stall_at(l, p, 1024 * 1024);
    assert_int_equal(c->pause, PAUSE_STALL);
    conn_close(c, CLOSE_CLIENT);
    assert_true(list_is_empty(&l->stalled));
    stall_note(c, find(l, p->receiver)->peer, 1024 * 1024);
    assert_null(c->stall_on);
}

static void
with_pair(const char *conf, void (*fn)(struct loop *l, void *arg), bool ends)
{
    struct srv v;
    struct pair p;
    srv_start(&v, conf, 1);
    int from = srv_login(&v, 0, "");
    p.producer = srv_last_cid(&v);
    int to = srv_login(&v, 0, "");
    p.receiver = srv_last_cid(&v);
    srv_run(&v, 0, fn, &p);
    if (!ends) {
        srv_sync(from); /* it is read again */
    }
    close(from);
    close(to);
    srv_stop(&v);
}

#define CONF "max_pending: 1MB"

static void
test_stall_not_at_a_quarter_of_max_pending(void **state)
{
    (void)state;
    with_pair(CONF, at_the_threshold, false);
}

static void
test_stall_lasts_until_the_receiver_has_caught_up(void **state)
{
    (void)state;
    with_pair(CONF, past_the_threshold_until_it_catches_up, false);
}

static void
test_stall_of_a_stuck_receiver_ends_with_its_time(void **state)
{
    (void)state;
    with_pair(CONF, until_its_time_is_over, false);
}

static void
test_stall_forgets_a_producer_that_goes(void **state)
{
    (void)state;
    with_pair(CONF, closed_while_it_waits, true);
}

static void
not_at_all(struct loop *l, void *arg)
{
    const struct pair *p = arg;
    stall_at(l, p, 1024 * 1024);
    assert_int_equal(find(l, p->producer)->pause, 0);
}

static void
test_stall_can_be_turned_off(void **state)
{
    (void)state;
    with_pair(CONF "\nno_fast_producer_stall: true", not_at_all, false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stall_not_at_a_quarter_of_max_pending),
        cmocka_unit_test(test_stall_lasts_until_the_receiver_has_caught_up),
        cmocka_unit_test(test_stall_of_a_stuck_receiver_ends_with_its_time),
        cmocka_unit_test(test_stall_forgets_a_producer_that_goes),
        cmocka_unit_test(test_stall_can_be_turned_off),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
