/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/stream/log_fixture.h"

static struct mlog_state
state_of(struct fixture *f)
{
    struct mlog_state st;
    mlog_state(f->log, &st);
    return st;
}

static void
append_many(struct fixture *f, int n)
{
    char subject[32];
    char data[32];
    for (int i = 0; i < n; i++) {
        (void)snprintf(subject, sizeof(subject), "s.%d", i % 7);
        (void)snprintf(data, sizeof(data), "m%d", i + 1);
        assert_int_not_equal(fixture_append(f, subject, data), 0);
    }
    fixture_wait(f);
}

static bool
has(struct fixture *f, int seq)
{
    char subject[32];
    char data[32];
    (void)snprintf(subject, sizeof(subject), "s.%d", (seq - 1) % 7);
    (void)snprintf(data, sizeof(data), "m%d", seq);
    return fixture_has(f, (uint64_t)seq, subject, data);
}

static void
test_mlog_keeps_what_was_appended_over_a_restart(void **state)
{
    struct fixture f;
    for (int round = 0; round < 2; round++) {
        fixture_init(&f, false);
        append_many(&f, 40000);
        struct mlog_state before = state_of(&f);
        fixture_reopen(&f, round == 0);
        struct mlog_state after = state_of(&f);
        assert_memory_equal(&before, &after, sizeof(before));
        assert_true(has(&f, 1) && has(&f, 20000) && has(&f, 40000));
        assert_int_equal(fixture_append(&f, "s.x", "next"), 40001);
        fixture_fini(&f);
    }
    (void)state;
}

static void
test_mlog_a_removed_message_stays_removed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, false);
    append_many(&f, 20000);
    assert_false(mlog_checkpoint(f.log, 100, true));
    assert_int_equal(mlog_remove(f.log, 5, false), ST_OK);
    assert_int_equal(mlog_remove(f.log, 5, false), ST_NOTFOUND);
    assert_int_equal(mlog_remove(f.log, 20000, false), ST_OK);
    assert_int_equal(f.removed, 2);
    struct mlog_state before = state_of(&f);
    assert_int_equal(before.msgs, 19998);
    assert_int_equal(before.num_deleted, 2);
    fixture_reopen(&f, false);
    struct mlog_state after = state_of(&f);
    assert_int_equal(after.msgs, 19998);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.last_seq, 20000);
    assert_int_equal(fixture_append(&f, "s.x", "next"), 20001);
    struct msg *m;
    assert_int_equal(mlog_get(f.log, 5, NULL, &m), ST_NOTFOUND);
    fixture_fini(&f);
}

static void
test_mlog_a_purge_is_at_once_and_lasts(void **state)
{
    (void)state;
    struct fixture f;
    uint64_t n;
    fixture_init(&f, false);
    append_many(&f, 30000);
    assert_false(mlog_checkpoint(f.log, 100, true));
    assert_int_equal(mlog_purge_to(f.log, 20001, &n), ST_OK);
    assert_int_equal(n, 20000);
    assert_int_equal(state_of(&f).msgs, 10000);
    fixture_reopen(&f, true);
    assert_int_equal(state_of(&f).first_seq, 20001);
    assert_int_equal(state_of(&f).msgs, 10000);
    assert_true(has(&f, 20001));
    assert_int_equal(mlog_purge_to(f.log, 1000000, &n), ST_OK);
    assert_int_equal(n, 10000);
    assert_int_equal(state_of(&f).first_seq, 1000000);
    assert_int_equal(fixture_append(&f, "a", "x"), 1000000);
    fixture_reopen(&f, true);
    assert_int_equal(state_of(&f).msgs, 1);
    assert_true(fixture_has(&f, 1000000, "a", "x"));
    fixture_fini(&f);
}

static void
test_mlog_subjects_know_first_last_and_count(void **state)
{
    (void)state;
    struct fixture f;
    struct mlog_subject s;
    fixture_init(&f, true);
    append_many(&f, 21);
    assert_true(mlog_subject(f.log, "s.3", 3, &s));
    assert_int_equal(s.first, 4);
    assert_int_equal(s.last, 18);
    assert_int_equal(s.msgs, 3);
    assert_int_equal(mlog_remove(f.log, 4, false), ST_OK);
    assert_true(mlog_subject(f.log, "s.3", 3, &s));
    assert_int_equal(s.first, 11);
    assert_int_equal(mlog_remove(f.log, 18, false), ST_OK);
    assert_true(mlog_subject(f.log, "s.3", 3, &s));
    assert_int_equal(s.last, 11);
    assert_int_equal(mlog_remove(f.log, 11, false), ST_OK);
    assert_false(mlog_subject(f.log, "s.3", 3, &s));
    assert_int_equal(state_of(&f).num_subjects, 6);
    fixture_fini(&f);
}

static void
test_mlog_filters_find_and_count(void **state)
{
    (void)state;
    struct fixture f;
    struct mfilter *one;
    struct mfilter *wild;
    const char *const lit[] = {"s.2"};
    const char *const any[] = {"s.1", "s.*"};
    fixture_init(&f, false);
    append_many(&f, 70);
    assert_int_not_equal(fixture_append(&f, "other", "o"), 0);
    fixture_wait(&f);
    assert_int_equal(mfilter_new(&one, lit, 1), ST_OK);
    assert_int_equal(mfilter_new(&wild, any, 2), ST_OK);
    assert_int_equal(mlog_next(f.log, one, 1), 3);
    assert_int_equal(mlog_next(f.log, one, 4), 10);
    assert_int_equal(mlog_prev(f.log, one, 71), 66);
    assert_int_equal(mlog_next(f.log, one, 67), 0);
    assert_int_equal(mlog_next(f.log, wild, 71), 0);
    assert_int_equal(mlog_next(f.log, NULL, 71), 71);
    assert_int_equal(mlog_count(f.log, one, 1, 0), 10);
    assert_int_equal(mlog_count(f.log, one, 4, 0), 9);
    assert_int_equal(mlog_count(f.log, wild, 0, 0), 70);
    assert_int_equal(mlog_count(f.log, NULL, 70, 0), 2);
    mfilter_free(one);
    mfilter_free(wild);
    fixture_fini(&f);
}

static void
test_mlog_a_cursor_reads_on_from_the_store(void **state)
{
    (void)state;
    struct fixture f;
    struct mcursor *c;
    fixture_init(&f, false);
    append_many(&f, 3000);
    fixture_reopen(&f, true);
    assert_int_equal(mcursor_new(&c), ST_OK);
    for (uint64_t seq = 1; seq <= 3000; seq++) {
        struct msg *m;
        assert_int_equal(mlog_get(f.log, seq, c, &m), ST_OK);
        assert_int_equal(m->seq, seq);
        msg_unref(m);
    }
    mcursor_free(c);
    fixture_fini(&f);
}

static void
test_mlog_times_lead_to_sequences(void **state)
{
    (void)state;
    struct fixture f;
    struct msg *m;
    fixture_init(&f, false);
    append_many(&f, 500);
    fixture_reopen(&f, true);
    assert_int_equal(mlog_get(f.log, 250, NULL, &m), ST_OK);
    uint64_t at = mlog_seq_at(f.log, m->ts);
    struct msg *found;
    assert_int_equal(mlog_get(f.log, at, NULL, &found), ST_OK);
    assert_int_equal(found->ts, m->ts);
    msg_unref(m);
    msg_unref(found);
    assert_int_equal(mlog_seq_at(f.log, 0), 1);
    assert_int_equal(mlog_seq_at(f.log, INT64_MAX), 501);
    fixture_fini(&f);
}

static void
test_mlog_a_gap_counts_as_deleted(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, false);
    append_many(&f, 3);
    assert_int_equal(mlog_skip_to(f.log, 100000), ST_OK);
    assert_int_equal(fixture_append(&f, "a", "x"), 100000);
    fixture_reopen(&f, true);
    assert_int_equal(state_of(&f).msgs, 4);
    assert_int_equal(state_of(&f).num_deleted, 99996);
    assert_int_equal(mlog_next(f.log, NULL, 4), 100000);
    fixture_fini(&f);
}

static void
test_mlog_a_subject_that_came_back_is_one(void **state)
{
    (void)state;
    struct fixture f;
    struct mlog_subject s;
    fixture_init(&f, false);
    assert_int_equal(fixture_append(&f, "a", "1"), 1);
    assert_int_equal(fixture_append(&f, "b", "2"), 2);
    fixture_wait(&f);
    assert_int_equal(mlog_remove(f.log, 1, false), ST_OK);
    assert_int_equal(mlog_remove(f.log, 2, false), ST_OK);
    assert_int_equal(fixture_append(&f, "a", "3"), 3);
    assert_int_equal(fixture_append(&f, "b", "4"), 4);
    fixture_reopen(&f, false);
    assert_true(mlog_subject(f.log, "a", 1, &s));
    assert_int_equal(s.first, 3);
    assert_true(fixture_has(&f, 3, "a", "3"));
    assert_true(fixture_has(&f, 4, "b", "4"));
    assert_int_equal(state_of(&f).num_subjects, 2);
    assert_int_equal(fixture_append(&f, "a", "5"), 5);
    fixture_reopen(&f, true);
    assert_true(mlog_subject(f.log, "a", 1, &s));
    assert_int_equal(s.msgs, 2);
    fixture_fini(&f);
}

static void
test_mlog_without_memory_an_append_changes_nothing(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, false);
    append_many(&f, 14);
    struct mlog_state before = state_of(&f);
    int refused = 0;
    for (long n = 0; n < 200; n++) {
        fixture_wait(&f);
        mem_fail_at(n);
        uint64_t seq = fixture_append(&f, "brand.new", "x");
        mem_fail_at(-1);
        if (seq != 0) {
            break;
        }
        struct mlog_state after = state_of(&f);
        assert_memory_equal(&before, &after, sizeof(before));
        refused++;
    }
    assert_true(refused > 2);
    assert_int_equal(state_of(&f).msgs, 15);
    fixture_fini(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlog_keeps_what_was_appended_over_a_restart),
        cmocka_unit_test(test_mlog_a_removed_message_stays_removed),
        cmocka_unit_test(test_mlog_a_purge_is_at_once_and_lasts),
        cmocka_unit_test(test_mlog_subjects_know_first_last_and_count),
        cmocka_unit_test(test_mlog_filters_find_and_count),
        cmocka_unit_test(test_mlog_a_cursor_reads_on_from_the_store),
        cmocka_unit_test(test_mlog_times_lead_to_sequences),
        cmocka_unit_test(test_mlog_a_gap_counts_as_deleted),
        cmocka_unit_test(test_mlog_a_subject_that_came_back_is_one),
        cmocka_unit_test(test_mlog_without_memory_an_append_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
