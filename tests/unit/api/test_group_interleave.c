/* SPDX-License-Identifier: Apache-2.0 */
/* What other threads may do between two holds of the groups' lock, done there on purpose: a drain
 * has a parked request in hand and offers it without the lock, and in the offer the test does what
 * another thread could do just then. Each request has one outcome, no permit is lost, no wake-up
 * either. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/group.h"
#include "api/group_admin.h"
#include "tests/support/cmk.h"

#define OWNER 7u

struct parked {
    struct group_entry e;
    unsigned offered, dropped, queued;
    enum group_why why;
};

static struct groups *gs;
static struct clock_fake now;
static struct apiq *queue;
static struct group_room room;
static struct apiq_item filler;
static unsigned chased, kept;
/* Done in the next offer, once; what the offer comes to. */
static void (*meanwhile)(struct parked *p);
static enum status outcome;

static struct parked *
parked_of(struct group_entry *e)
{
    return LIST_ENTRY(e, struct parked, e);
}

static enum status
offer(struct group_entry *e)
{
    struct parked *p = parked_of(e);
    void (*f)(struct parked * p) = meanwhile;
    enum status st = outcome;
    p->offered++;
    assert_non_null(e->permit);
    assert_true(kept > 0);
    meanwhile = NULL;
    outcome = ST_OK;
    if (f != NULL) {
        f(p);
    }
    p->queued += st == ST_OK ? 1 : 0;
    return st;
}

static void
drop(struct group_entry *e, enum group_why why)
{
    struct parked *p = parked_of(e);
    p->dropped++;
    p->why = why;
    assert_null(e->permit);
}

/* The queue's part: it cancels what it has of that owner, whose permit comes back. */
static struct parked *of_owner;
static void
chase(struct group_room *r, uint64_t owner)
{
    assert_ptr_equal(r, &room);
    assert_int_equal(owner, OWNER);
    chased++;
    if (of_owner != NULL) {
        groups_leave(gs, of_owner->e.permit);
    }
}

static void
keep(struct group_room *r)
{
    assert_ptr_equal(r, &room);
    kept++;
}

static void
unkeep(struct group_room *r)
{
    assert_ptr_equal(r, &room);
    kept--;
}

static const struct group_ops ops = {
    .offer = offer, .drop = drop, .chase = chase, .keep = keep, .unkeep = unkeep};

static const struct group_who who = {
    .account = "A", .account_key = 2, .user = "u", .client = "", .subject = "$JS.API.X"};

static void
set(int64_t limit, int64_t size)
{
    struct group_conf c;
    char err[128];
    assert_int_equal(group_conf_init(&c, "g", err, sizeof(err)), ST_OK);
    c.limit = limit;
    c.size = size;
    assert_int_equal(groups_set(gs, GROUP_FROM_CONFIG, &c, 1), ST_OK);
}

static struct group_counts
counts(void)
{
    struct group_info i;
    assert_int_equal(groups_find(gs, "g", &i), ST_OK);
    const struct group_counts *n = &i.counts;
    assert_int_equal(n->total_admitted, n->total_released + n->running);
    assert_int_equal(n->total_queued, n->queue_wait_count + n->total_cancelled +
                                          n->total_displaced + n->queued_current);
    return *n;
}

static int
set_up(void **state)
{
    (void)state;
    struct clock c = clock_fake_of(&now);
    now.t = 1000 * CLOCK_S;
    chased = kept = 0;
    meanwhile = NULL;
    of_owner = NULL;
    outcome = ST_OK;
    assert_int_equal(groups_new(&gs, &c), ST_OK);
    assert_int_equal(apiq_new(&queue, &c, 0), ST_OK);
    group_room_init(&room, queue, APIQ_NORMAL, NULL);
    set(1, 10);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    struct groups_totals t;
    groups_sweep(gs);
    groups_totals(gs, &t);
    assert_int_equal(t.swept_admitted + t.swept_cancelled, 0);
    assert_int_equal(t.parked + t.running, 0);
    assert_int_equal(kept, 0);
    groups_close(gs);
    groups_free(gs);
    apiq_free(queue);
    return 0;
}

static struct group_bucket *
admitted(void)
{
    struct group_answer ans;
    groups_enter(gs, &who, &ans);
    assert_int_equal(ans.verdict, GROUP_ADMITTED);
    return ans.permit;
}

static void
park(struct parked *p, uint64_t owner)
{
    struct group_answer ans;
    struct list_node displaced;
    list_init(&displaced);
    *p = (struct parked){
        .e = {.ops = &ops, .room = &room, .owner = owner, .bytes = 1, .label = "", .name = ""}};
    groups_park(gs, &p->e, &who, &displaced, &ans);
    assert_int_equal(ans.verdict, GROUP_PARK);
}

static void
drain(void)
{
    while (groups_drain(gs, 10)) {
    }
}

/* What api-park does with what is due. */
static void
tick(void)
{
    while (groups_tick(gs) <= now.t) {
    }
}

static void
expect_ran(const struct parked *p)
{
    assert_int_equal(p->queued, 1);
    assert_int_equal(p->dropped, 0);
}

static void
expect_dropped(const struct parked *p, enum group_why why)
{
    assert_int_equal(p->queued, 0);
    assert_int_equal(p->dropped, 1);
    assert_int_equal(p->why, why);
}

/* Ends what ran. */
static void
leave(const struct parked *p)
{
    groups_leave(gs, p->e.permit);
    drain();
    (void)counts();
}

/* ---- scenario 3: cancelled while it is being dispatched ----------------------------------------
 */

static void
owner_leaves(struct parked *p)
{
    (void)p;
    assert_int_equal(groups_cancel_owner(gs, OWNER), 0);
}

static void
test_group_owner_that_leaves_while_its_request_goes_into_the_queue_is_chased_there(void **state)
{
    (void)state;
    struct parked a;
    struct parked next;
    struct group_bucket *permit = admitted();
    park(&a, OWNER);
    park(&next, 9);
    meanwhile = owner_leaves;
    of_owner = &a;
    groups_leave(gs, permit);
    drain();
    expect_ran(&a); /* it is in the queue, which cancels it: the chase */
    assert_int_equal(chased, 1);
    expect_ran(&next);
    assert_int_equal(counts().running, 1);
    leave(&next);
}

static void
test_group_owner_that_leaves_while_the_queue_has_no_room_gets_its_request_ended(void **state)
{
    (void)state;
    struct parked a;
    struct parked next;
    struct group_bucket *permit = admitted();
    park(&a, OWNER);
    park(&next, 9);
    meanwhile = owner_leaves;
    outcome = ST_AGAIN;
    groups_leave(gs, permit);
    drain();
    expect_dropped(&a, GROUP_GONE);
    assert_int_equal(chased, 0);
    expect_ran(&next);
    leave(&next);
}

static void
operator_cancels(struct parked *p)
{
    (void)p;
    assert_int_equal(groups_cancel_match(gs, &(struct group_pick){.group = "g"}), 1);
}

static void
test_group_operator_who_cancels_while_one_is_dispatched_gets_the_others(void **state)
{
    (void)state;
    struct parked a;
    struct parked next;
    struct group_bucket *permit = admitted();
    park(&a, 1);
    park(&next, 1);
    meanwhile = operator_cancels;
    groups_leave(gs, permit);
    drain();
    expect_ran(&a);
    expect_dropped(&next, GROUP_OPERATOR);
    leave(&a);
}

static void
all_closes(struct parked *p)
{
    (void)p;
    groups_close(gs);
}

static void
room_closes(struct parked *p)
{
    (void)p;
    groups_close_room(gs, &room);
}

static void
test_group_closing_while_one_is_dispatched_ends_it_once(void **state)
{
    static const struct {
        void (*close)(struct parked *p);
        enum group_why why;
    } ways[] = {{all_closes, GROUP_CLOSED}, {room_closes, GROUP_ROOM_GONE}};
    for (int i = 0; i < 4; i++) {
        struct parked a;
        struct parked next;
        bool enters = i % 2 == 0;
        tear_down(state);
        set_up(state);
        struct group_bucket *permit = admitted();
        park(&a, 1);
        park(&next, 1);
        meanwhile = ways[i / 2].close;
        outcome = enters ? ST_OK : ST_AGAIN;
        groups_leave(gs, permit);
        drain();
        expect_dropped(&next, ways[i / 2].why);
        if (enters) {
            expect_ran(&a);
            leave(&a);
        } else {
            expect_dropped(&a, ways[i / 2].why);
        }
    }
}

static void
group_goes(struct parked *p)
{
    (void)p;
    assert_int_equal(groups_set(gs, GROUP_FROM_CONFIG, NULL, 0), ST_OK);
}

static void
test_group_deleted_while_one_is_dispatched_lets_all_in(void **state)
{
    (void)state;
    struct parked p[3];
    struct group_bucket *permit = admitted();
    for (int i = 0; i < 3; i++) {
        park(&p[i], 1);
    }
    meanwhile = group_goes;
    groups_leave(gs, permit);
    drain();
    for (int i = 0; i < 3; i++) {
        expect_ran(&p[i]);
        groups_leave(gs, p[i].e.permit);
    }
    assert_false(groups_any(gs));
}

/* ---- scenario 4: the permit comes as the waiter's time is over ---------------------------------
 */

static void
park_until(struct parked *p, int64_t due)
{
    struct group_answer ans;
    struct list_node displaced;
    list_init(&displaced);
    *p = (struct parked){.e = {.ops = &ops,
                               .room = &room,
                               .owner = OWNER,
                               .bytes = 1,
                               .label = "",
                               .name = "",
                               .due = now.t + due}};
    groups_park(gs, &p->e, &who, &displaced, &ans);
    assert_int_equal(ans.verdict, GROUP_PARK);
}

static void
test_group_permit_freed_for_one_whose_time_ends_before_the_drain_goes_to_the_next(void **state)
{
    (void)state;
    struct parked late;
    struct parked next;
    for (int i = 0; i < 2; i++) {
        struct group_bucket *permit = admitted();
        park_until(&late, CLOCK_S);
        park(&next, 9);
        groups_leave(gs, permit); /* it is the head's turn */
        if (i == 0) {
            clock_fake_advance(&now, 2 * CLOCK_S);
            tick();
        } else {
            assert_int_equal(groups_cancel_owner(gs, OWNER), 1);
        }
        expect_dropped(&late, i == 0 ? GROUP_DEADLINE : GROUP_GONE);
        drain();
        expect_ran(&next);
        assert_int_equal(counts().running, 1);
        leave(&next);
    }
}

static void
test_group_one_whose_time_ended_before_the_permit_came_takes_none(void **state)
{
    (void)state;
    struct parked late;
    struct parked next;
    struct group_bucket *permit = admitted();
    park_until(&late, CLOCK_S);
    park(&next, 9);
    clock_fake_advance(&now, 2 * CLOCK_S);
    tick();
    groups_leave(gs, permit);
    drain();
    expect_dropped(&late, GROUP_DEADLINE);
    assert_int_equal(late.offered, 0);
    expect_ran(&next);
    leave(&next);
}

static void
time_ends(struct parked *p)
{
    (void)p;
    clock_fake_advance(&now, 2 * CLOCK_S);
    tick();
}

static void
test_group_one_whose_time_ends_while_it_is_dispatched_has_one_outcome(void **state)
{
    (void)state;
    struct parked late;
    struct parked next;
    struct group_bucket *permit = admitted();
    park_until(&late, CLOCK_S);
    park(&next, 9);
    meanwhile = time_ends;
    groups_leave(gs, permit);
    drain();
    expect_ran(&late); /* the queue's now, which gives it out as expired */
    assert_int_equal(next.offered, 0);
    leave(&late);
    expect_ran(&next);
    leave(&next);
    /* And back from a full queue: ended by the next tick. */
    permit = admitted();
    park_until(&late, CLOCK_S);
    meanwhile = time_ends;
    outcome = ST_AGAIN;
    groups_leave(gs, permit);
    drain();
    clock_fake_advance(&now, WHEEL_TICK);
    tick();
    expect_dropped(&late, GROUP_DEADLINE);
    assert_int_equal(counts().running, 0);
}

static int64_t looked_at; /* when groups_tick wants to be called again, while one is in hand */
static void
nothing_is_due_yet(struct parked *p)
{
    (void)p;
    looked_at = groups_tick(gs);
}

static void
test_group_time_of_one_in_hand_is_not_forgotten(void **state)
{
    (void)state;
    struct parked p;
    for (int i = 0; i < 2; i++) {
        groups_set_cancel_after(gs, i == 0 ? 0 : CLOCK_S);
        struct group_bucket *permit = admitted();
        if (i == 0) {
            park_until(&p, CLOCK_S);
        } else {
            park(&p, 1);
        }
        int64_t due = now.t + CLOCK_S;
        meanwhile = nothing_is_due_yet;
        outcome = ST_AGAIN;
        groups_leave(gs, permit);
        drain();
        assert_in_range(looked_at, 1, due);
        clock_fake_advance(&now, looked_at - now.t + WHEEL_TICK);
        tick();
        expect_dropped(&p, i == 0 ? GROUP_DEADLINE : GROUP_CANCEL_AFTER);
    }
}

/* ---- scenario 7: two drains, one request -------------------------------------------------------
 */

static void
another_drains(struct parked *p)
{
    (void)p;
    while (groups_drain(gs, 10)) {
    }
}

static void
test_group_two_drains_never_dispatch_one_request_twice(void **state)
{
    (void)state;
    struct parked p[4];
    struct group_bucket *permit = admitted();
    for (int i = 0; i < 4; i++) {
        park(&p[i], 1);
    }
    set(3, 10);
    meanwhile = another_drains;
    drain();
    assert_int_equal(counts().running, 3);
    groups_leave(gs, permit);
    meanwhile = another_drains;
    drain();
    meanwhile = another_drains;
    leave(&p[0]);
    for (int i = 0; i < 4; i++) {
        expect_ran(&p[i]);
        assert_int_equal(p[i].offered, 1);
    }
    for (int i = 1; i < 4; i++) {
        leave(&p[i]);
    }
}

static struct group_bucket *other_permit;
static void
another_ends(struct parked *p)
{
    (void)p;
    groups_leave(gs, other_permit);
    while (groups_drain(gs, 10)) {
    }
}

static void
test_group_permit_that_comes_back_while_one_is_dispatched_is_not_forgotten(void **state)
{
    (void)state;
    struct parked a;
    struct parked b;
    set(2, 10);
    struct group_bucket *permit = admitted();
    other_permit = admitted();
    park(&a, 1);
    park(&b, 1);
    meanwhile = another_ends;
    groups_leave(gs, permit);
    drain();
    expect_ran(&a);
    expect_ran(&b);
    leave(&a);
    leave(&b);
}

/* ---- scenarios 9, 12, 15 ------------------------------------------------------------------------
 */

static void
one_arrives(struct parked *p)
{
    struct group_answer ans;
    (void)p;
    groups_enter(gs, &who, &ans);
    assert_int_equal(ans.verdict, GROUP_PARK);
}

static void
test_group_arrival_does_not_overtake_one_that_is_being_dispatched(void **state)
{
    (void)state;
    struct parked a;
    set(2, 10);
    struct group_bucket *permit = admitted();
    struct group_bucket *second = admitted();
    park(&a, 1);
    /* Two permits are free, one of them for the one in hand: the arrival parks behind it. */
    groups_leave(gs, permit);
    groups_leave(gs, second);
    meanwhile = one_arrives;
    drain();
    expect_ran(&a);
    leave(&a);
}

/* In the queue's level that was full something goes, after the offer and before the bucket is put
 * aside. */
static void
something_leaves(struct parked *p)
{
    struct apiq_item *it;
    (void)p;
    assert_int_equal(apiq_pull(queue, APIQ_LANE_ANY, &it), ST_OK);
    apiq_done(queue, it);
}

static void
test_group_room_that_comes_between_offer_and_block_is_seen(void **state)
{
    (void)state;
    struct parked a;
    struct list_node fallen;
    list_init(&fallen);
    apiq_item_init(&filler);
    filler.level = APIQ_NORMAL;
    assert_int_equal(apiq_push(queue, &filler, &fallen), ST_OK);
    struct group_bucket *permit = admitted();
    park(&a, 1);
    meanwhile = something_leaves;
    outcome = ST_AGAIN;
    groups_leave(gs, permit);
    drain();
    assert_int_equal(a.offered, 2);
    expect_ran(&a);
    leave(&a);
}

static void
parking_shrinks(struct parked *p)
{
    (void)p;
    set(1, 1);
}

static void
test_group_one_that_comes_back_takes_its_old_place_and_no_other(void **state)
{
    (void)state;
    struct parked a;
    struct parked b;
    struct group_answer ans;
    struct group_bucket *permit = admitted();
    park(&a, 1);
    park(&b, 1);
    meanwhile = parking_shrinks;
    outcome = ST_AGAIN;
    groups_leave(gs, permit);
    (void)groups_drain(gs, 10);
    struct group_counts n = counts();
    assert_int_equal(n.queued_current, 2);
    assert_int_equal(n.queue_peak, 2);
    assert_int_equal(n.running, 0);
    /* The parking is over its size: nobody else gets in, in front of them or behind. */
    struct parked c = {
        .e = {.ops = &ops, .room = &room, .owner = 3, .bytes = 1, .label = "", .name = ""}};
    struct list_node displaced;
    list_init(&displaced);
    groups_park(gs, &c.e, &who, &displaced, &ans);
    assert_int_equal(ans.verdict, GROUP_FULL);
    groups_room(gs, &room);
    drain();
    expect_ran(&a);
    assert_int_equal(b.offered, 0);
    leave(&a);
    expect_ran(&b);
    leave(&b);
}

/* ---- no phantom refusals ------------------------------------------------------------------------
 */

#define HOLDERS 4
#define TURNS   20000

static void *
hold_and_leave(void *arg)
{
    unsigned refused = 0;
    for (int i = 0; i < TURNS; i++) {
        struct group_answer ans;
        groups_enter(gs, &who, &ans);
        if (ans.verdict == GROUP_ADMITTED) {
            groups_leave(gs, ans.permit);
        } else {
            refused++;
        }
    }
    *(unsigned *)arg = refused;
    return NULL;
}

static void
test_group_nobody_is_refused_while_a_permit_is_free(void **state)
{
    (void)state;
    pthread_t t[HOLDERS];
    unsigned refused[HOLDERS];
    set(HOLDERS, 0);
    for (int i = 0; i < HOLDERS; i++) {
        assert_int_equal(pthread_create(&t[i], NULL, hold_and_leave, &refused[i]), 0);
    }
    for (int i = 0; i < HOLDERS; i++) {
        (void)pthread_join(t[i], NULL);
        assert_int_equal(refused[i], 0);
    }
    struct group_counts n = counts();
    assert_int_equal(n.total_admitted, HOLDERS * TURNS);
    assert_int_equal(n.total_throttled, 0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_group_owner_that_leaves_while_its_request_goes_into_the_queue_is_chased_there),
        TEST(test_group_owner_that_leaves_while_the_queue_has_no_room_gets_its_request_ended),
        TEST(test_group_operator_who_cancels_while_one_is_dispatched_gets_the_others),
        TEST(test_group_closing_while_one_is_dispatched_ends_it_once),
        TEST(test_group_deleted_while_one_is_dispatched_lets_all_in),
        TEST(test_group_permit_freed_for_one_whose_time_ends_before_the_drain_goes_to_the_next),
        TEST(test_group_one_whose_time_ended_before_the_permit_came_takes_none),
        TEST(test_group_one_whose_time_ends_while_it_is_dispatched_has_one_outcome),
        TEST(test_group_time_of_one_in_hand_is_not_forgotten),
        TEST(test_group_two_drains_never_dispatch_one_request_twice),
        TEST(test_group_permit_that_comes_back_while_one_is_dispatched_is_not_forgotten),
        TEST(test_group_arrival_does_not_overtake_one_that_is_being_dispatched),
        TEST(test_group_room_that_comes_between_offer_and_block_is_seen),
        TEST(test_group_one_that_comes_back_takes_its_old_place_and_no_other),
        TEST(test_group_nobody_is_refused_while_a_permit_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
