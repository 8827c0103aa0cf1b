/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdlib.h>

#include "server/base/mem.h"
#include "stream/unacked.h"

static struct unacked *
add(struct unacked_tab *t, uint64_t seq)
{
    struct unacked *u = NULL;
    assert_int_equal(unacked_add(t, seq, seq, &u), ST_OK);
    return u;
}

struct seen {
    struct unacked_tab *t;
    uint64_t seqs[16];
    size_t n;
};

static void
note(void *arg, struct unacked *u)
{
    struct seen *s = arg;
    s->seqs[s->n++] = u->seq;
    unacked_queue(s->t, u);
}

static void
test_unacked_expire_in_the_order_of_sequences(void **state)
{
    (void)state;
    struct unacked_tab t;
    unacked_init(&t);
    for (uint64_t seq = 1; seq <= 6; seq++) {
        unacked_wait(&t, add(&t, seq), (int64_t)(100 - seq));
    }
    struct seen s = {.t = &t};
    unacked_expire(&t, 96, note, &s);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.seqs[0], 4);
    assert_int_equal(s.seqs[2], 6);
    assert_int_equal(unacked_first_due(&t), 97);
    assert_int_equal(unacked_first_again(&t)->seq, 4);
    assert_int_equal(t.n_redeliver, 3);
    unacked_fini(&t);
}

static void
test_unacked_pending_is_sorted_whatever_the_order_of_deliveries(void **state)
{
    (void)state;
    struct unacked_tab t;
    unacked_init(&t);
    add(&t, 7);
    add(&t, 3);
    add(&t, 5);
    assert_int_equal(unacked_first(&t)->seq, 3);
    unacked_drop(&t, unacked_find(&t, 3));
    assert_int_equal(unacked_first(&t)->seq, 5);
    unacked_kill(&t, unacked_find(&t, 5));
    assert_int_equal(unacked_first(&t)->seq, 7);
    assert_non_null(unacked_find(&t, 5));
    assert_int_equal(t.n_pending, 1);
    unacked_fini(&t);
}

/* Against a plain array. */
static void
test_unacked_many_changes_keep_the_books(void **state)
{
    (void)state;
    enum { N = 500 };
    static int64_t due[N]; /* 0: not there */
    struct unacked_tab t;
    unacked_init(&t);
    unsigned rnd = 7;
    for (int step = 0; step < 20000; step++) {
        rnd = rnd * 1103515245U + 12345U;
        size_t i = (rnd >> 8) % N;
        struct unacked *u = unacked_find(&t, i + 1);
        assert_int_equal(u != NULL, due[i] != 0);
        if (u != NULL && rnd % 3 == 0) {
            unacked_drop(&t, u);
            due[i] = 0;
        } else {
            u = u != NULL ? u : add(&t, i + 1);
            due[i] = 1 + (int64_t)((rnd >> 4) % 1000);
            unacked_wait(&t, u, due[i]);
        }
        if (step % 100 == 0) {
            int64_t first = INT64_MAX;
            size_t n = 0;
            for (size_t j = 0; j < N; j++) {
                first = due[j] != 0 && due[j] < first ? due[j] : first;
                n += due[j] != 0;
            }
            assert_int_equal(unacked_first_due(&t), first);
            assert_int_equal(t.n, n);
        }
    }
    unacked_fini(&t);
}

static void
test_unacked_without_memory_stays_as_it_was(void **state)
{
    (void)state;
    long live = mem_live();
    struct unacked_tab t;
    for (long n = 0;; n++) {
        unacked_init(&t);
        mem_fail_at(n);
        enum status st = ST_OK;
        uint64_t seq = 1;
        for (; seq <= 100 && st == ST_OK; seq++) {
            struct unacked *u;
            st = unacked_add(&t, seq, seq, &u);
        }
        int fired = mem_fail_fired();
        mem_fail_at(-1);
        assert_int_equal(t.n, st == ST_OK ? 100 : seq - 2);
        unacked_fini(&t);
        assert_int_equal(mem_live(), live);
        if (!fired) {
            break;
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unacked_expire_in_the_order_of_sequences),
        cmocka_unit_test(test_unacked_pending_is_sorted_whatever_the_order_of_deliveries),
        cmocka_unit_test(test_unacked_many_changes_keep_the_books),
        cmocka_unit_test(test_unacked_without_memory_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
