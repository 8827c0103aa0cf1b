/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the journal: what comes back after a start, and what must not. */
#include "tests/support/cmk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/mem.h"
#include "stream/journal.h"
#include "stream/msg.h"
#include "tests/support/oom.h"
#include "tests/support/power_vfs.h"

enum { MOST = 200, BIG = 60000 };

static char dir[64];
static char path[96];
static struct journal *j;

/* The numbers of what journal_each told, in their order. */
static uint64_t told[MOST];
static size_t n_told;

static int
set_up(void **state)
{
    (void)state;
    power_vfs_reset(1);
    (void)snprintf(dir, sizeof(dir), "/tmp/sluice-journal-XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/sluice.journal", dir);
    assert_int_equal(journal_open(&j, POWER_VFS, path, true), ST_OK);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    journal_close(j);
    (void)unlink(path);
    return rmdir(dir);
}

/* A record of one removal of that row. */
static enum status
write_row(uint64_t row)
{
    struct store_op op = {.kind = STORE_REMOVE, .row = row};
    struct list_node ops;
    list_init(&ops);
    list_push_back(&ops, &op.node);
    assert_true(journal_has_room(j) && journal_takes(&ops));
    return journal_write(j, &ops, true);
}

static enum status
write_big(uint64_t row)
{
    static char data[BIG];
    struct store_op op = {.kind = STORE_PUT_LOG, .row = row, .data = data, .data_len = BIG};
    struct list_node ops;
    list_init(&ops);
    list_push_back(&ops, &op.node);
    assert_true(journal_takes(&ops));
    return journal_write(j, &ops, false);
}

static int
tell(void *arg, const struct journal_entry *e)
{
    (void)arg;
    assert_true(n_told < MOST);
    told[n_told++] = e->op.row;
    return 0;
}

static enum status
reopen(const struct journal_place *from)
{
    journal_close(j);
    assert_int_equal(journal_open(&j, POWER_VFS, path, false), ST_OK);
    enum status st = journal_recover(j, from);
    n_told = 0;
    assert_int_equal(journal_each(j, false, tell, NULL), 0);
    return st;
}

static void
damage(off_t at, const char *bytes, size_t n)
{
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), n);
    (void)close(fd);
}

static void
test_journal_gives_back_each_operation_as_it_was(void **state)
{
    (void)state;
    struct msg *m;
    struct msg_spec spec = {.subject = "s",
                            .subject_len = 1,
                            .hdr = "NATS/1.0\r\nA: b\r\n\r\n",
                            .hdr_len = 18,
                            .data = "payload",
                            .data_len = 7};
    assert_int_equal(msg_new(&m, &spec), ST_OK);
    m->ts = 1234567;
    struct store_op ops[] = {
        {.kind = STORE_PUT_SUBJECT, .stream = 7, .subject_id = 3, .name = "s", .name_len = 1},
        {.kind = STORE_APPEND, .stream = 7, .subject_id = 3, .row = STORE_ROW(7, 5), .msg = m},
        {.kind = STORE_REMOVE_RANGE, .row = STORE_ROW(7, 1), .row_end = STORE_ROW(7, 4)},
        {.kind = STORE_SYNC},
        {.kind = STORE_PUT_CONSUMER,
         .stream = 7,
         .name = "c",
         .name_len = 1,
         .data = "{}",
         .data_len = 2},
    };
    struct list_node list;
    list_init(&list);
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        list_push_back(&list, &ops[i].node);
    }
    struct journal_place from = journal_place(j, false);
    assert_true(journal_takes(&list));
    assert_int_equal(journal_write(j, &list, true), ST_OK);
    assert_false(journal_is_drained(j));
    assert_int_equal(reopen(&from), ST_OK);
    assert_int_equal(n_told, 4); /* a STORE_SYNC needs no record */
    msg_unref(m);
}

static int
check_append(void *arg, const struct journal_entry *e)
{
    const struct msg *m = arg;
    assert_int_equal(e->op.kind, STORE_APPEND);
    assert_int_equal(e->op.row, STORE_ROW(7, 5));
    assert_int_equal(e->op.subject_id, 3);
    assert_int_equal(e->ts, m->ts);
    assert_int_equal(e->flags, m->flags);
    assert_int_equal(e->op.name_len, m->hdr_len);
    assert_memory_equal(e->op.name, msg_hdr(m), m->hdr_len);
    assert_int_equal(e->op.data_len, m->data_len);
    assert_memory_equal(e->op.data, msg_data(m), m->data_len);
    return 9;
}

static void
test_journal_gives_back_a_message_with_header_time_and_flags(void **state)
{
    (void)state;
    struct msg *m;
    struct msg_spec spec = {.subject = "a.b",
                            .subject_len = 3,
                            .hdr = "NATS/1.0\r\nA: b\r\n\r\n",
                            .hdr_len = 18,
                            .data = "payload",
                            .data_len = 7,
                            .flags = MSG_MARKED};
    assert_int_equal(msg_new(&m, &spec), ST_OK);
    m->ts = INT64_C(1796000000123456789);
    struct store_op op = {
        .kind = STORE_APPEND, .stream = 7, .subject_id = 3, .row = STORE_ROW(7, 5), .msg = m};
    struct list_node list;
    list_init(&list);
    list_push_back(&list, &op.node);
    assert_int_equal(journal_write(j, &list, true), ST_OK);
    assert_int_equal(journal_each(j, false, check_append, m), 9);
    msg_unref(m);
}

static void
test_journal_recovers_what_continues_at_the_place(void **state)
{
    (void)state;
    struct journal_place from = journal_place(j, false);
    assert_int_equal(write_row(1), ST_OK);
    struct journal_place second = journal_place(j, false);
    assert_int_equal(write_row(2), ST_OK);
    assert_int_equal(write_row(3), ST_OK);
    assert_int_equal(reopen(&second), ST_OK);
    assert_int_equal(n_told, 2);
    assert_int_equal(told[0], 2);
    assert_int_equal(reopen(&from), ST_OK);
    assert_int_equal(n_told, 3);
    assert_int_equal(told[2], 3);
}

static void
test_journal_torn_record_ends_it(void **state)
{
    (void)state;
    struct journal_place from = journal_place(j, false);
    assert_int_equal(write_row(1), ST_OK);
    struct journal_place second = journal_place(j, false);
    assert_int_equal(write_row(2), ST_OK);
    assert_int_equal(write_row(3), ST_OK);
    damage((off_t)second.offset + 40, "\x5a", 1);
    assert_int_equal(reopen(&from), ST_OK);
    assert_int_equal(n_told, 1);
    assert_int_equal(journal_place(j, false).offset, second.offset);
}

static void
test_journal_record_of_an_earlier_turn_is_not_taken(void **state)
{
    (void)state;
    struct journal_place first = journal_place(j, false);
    for (uint64_t row = 1; row <= 3; row++) {
        assert_int_equal(write_row(row), ST_OK);
    }
    journal_drained(j, true);
    struct journal_place from = journal_place(j, false);
    assert_int_equal(from.turn, first.turn + 1);
    assert_int_equal(from.offset, first.offset);
    assert_int_equal(reopen(&from), ST_OK);
    assert_int_equal(n_told, 0);
    /* Written over the first of the three; the two behind it are whole. */
    assert_int_equal(write_row(10), ST_OK);
    assert_int_equal(reopen(&from), ST_OK);
    assert_int_equal(n_told, 1);
    assert_int_equal(told[0], 10);
    /* A database that knows of the first turn only has nothing here. */
    assert_int_equal(reopen(&first), ST_OK);
    assert_int_equal(n_told, 0);
}

static void
test_journal_record_of_an_earlier_start_is_not_taken(void **state)
{
    (void)state;
    assert_int_equal(write_row(1), ST_OK);
    assert_int_equal(write_row(2), ST_OK);
    journal_drained(j, true);
    journal_renew(j);
    struct journal_place from = journal_place(j, false);
    assert_int_equal(reopen(&from), ST_OK);
    assert_int_equal(n_told, 0);
    assert_int_equal(write_row(3), ST_OK);
    assert_int_equal(reopen(&from), ST_OK);
    assert_int_equal(n_told, 1);
}

static void
test_journal_drained_goes_on_where_the_turn_is_the_same(void **state)
{
    (void)state;
    assert_true(journal_is_at_start(j));
    assert_int_equal(write_row(1), ST_OK);
    struct journal_place second = journal_place(j, false);
    journal_drained(j, false);
    assert_true(journal_is_drained(j) && !journal_is_at_start(j));
    assert_int_equal(write_row(2), ST_OK);
    assert_int_equal(reopen(&second), ST_OK);
    assert_int_equal(n_told, 1);
    assert_int_equal(told[0], 2);
}

static int
told_of(bool cut)
{
    n_told = 0;
    return journal_each(j, cut, tell, NULL);
}

static void
test_journal_records_beside_a_cut_stay_undrained(void **state)
{
    (void)state;
    struct journal_place from = journal_place(j, false);
    assert_int_equal(write_row(1), ST_OK);
    assert_int_equal(write_row(2), ST_OK);
    journal_cut(j);
    struct journal_place behind = journal_place(j, false);
    assert_int_equal(write_row(3), ST_OK);
    journal_cut(j); /* the first cut was not taken yet */
    assert_int_equal(told_of(true), 0);
    assert_int_equal(n_told, 2);
    assert_int_equal(told_of(false), 0);
    assert_int_equal(n_told, 3);
    assert_memory_equal(&behind, &(struct journal_place[]){journal_cut_place(j)}, sizeof(behind));
    journal_cut_drained(j);
    assert_false(journal_is_drained(j));
    assert_int_equal(told_of(false), 0);
    assert_int_equal(n_told, 1);
    assert_int_equal(told[0], 3);
    journal_cut(j);
    journal_cut_drained(j);
    assert_true(journal_is_drained(j));
    assert_int_equal(reopen(&behind), ST_OK);
    assert_int_equal(n_told, 1);
    assert_int_equal(reopen(&from), ST_OK);
    assert_int_equal(n_told, 3);
}

/* All at once, a cut that failed with the rest: a new turn. */
static void
test_journal_is_drained_of_a_cut_too(void **state)
{
    (void)state;
    assert_int_equal(write_row(1), ST_OK);
    journal_cut(j);
    assert_int_equal(write_row(2), ST_OK);
    journal_drained(j, true);
    assert_true(journal_is_drained(j) && journal_is_at_start(j));
    assert_int_equal(told_of(false), 0);
    assert_int_equal(n_told, 0);
}

static void
test_journal_is_full_at_its_end_and_where_too_much_is_undrained(void **state)
{
    (void)state;
    uint64_t n = 0;
    while (journal_has_room(j)) {
        assert_int_equal(write_big(n++), ST_OK);
    }
    assert_true(n > 15 && n < 25);
    journal_drained(j, false);
    while (journal_has_room(j)) {
        assert_int_equal(write_big(n++), ST_OK);
        journal_drained(j, false);
    }
    assert_true(n > 60 && n < 80);
    struct journal_place end = journal_place(j, false);
    assert_int_equal(reopen(&end), ST_OK);
    assert_int_equal(n_told, 0);
    assert_false(journal_has_room(j));
    journal_drained(j, true);
    assert_true(journal_has_room(j) && journal_is_at_start(j));
}

static void
test_journal_leaves_many_and_large_and_rare_operations_to_the_database(void **state)
{
    (void)state;
    static char data[BIG];
    enum { MANY = 513 };
    struct store_op many[MANY];
    struct list_node ops;
    list_init(&ops);
    assert_false(journal_takes(&ops));
    for (size_t i = 0; i < MANY; i++) {
        many[i] = (struct store_op){.kind = STORE_REMOVE};
        assert_int_equal(journal_takes(&ops), i > 0);
        list_push_back(&ops, &many[i].node);
    }
    assert_false(journal_takes(&ops));
    list_init(&ops);
    for (size_t i = 0; i < 2; i++) {
        many[i] = (struct store_op){.kind = STORE_PUT_LOG, .data = data, .data_len = BIG};
        list_push_back(&ops, &many[i].node);
        assert_int_equal(journal_takes(&ops), i == 0);
    }
    static const enum store_kind rare[] = {STORE_PUT_CHUNK, STORE_PUT_STREAM, STORE_DEL_STREAM};
    for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++) {
        list_init(&ops);
        many[0] = (struct store_op){.kind = rare[i]};
        list_push_back(&ops, &many[0].node);
        assert_false(journal_takes(&ops));
    }
}

static void
test_journal_write_that_fails_leaves_nothing_undrained(void **state)
{
    (void)state;
    struct journal_place from = journal_place(j, false);
    assert_int_equal(write_row(1), ST_OK);
    struct journal_place second = journal_place(j, false);
    power_vfs_disk_full(1);
    assert_int_equal(write_row(2), ST_FULL);
    power_vfs_disk_full(0);
    power_vfs_errors(1);
    assert_int_equal(write_row(2), ST_IO);
    power_vfs_errors(0);
    assert_int_equal(journal_place(j, false).offset, second.offset);
    mem_fail_at(0);
    struct store_op op = {.kind = STORE_REMOVE, .row = 2};
    struct list_node ops;
    list_init(&ops);
    list_push_back(&ops, &op.node);
    assert_int_equal(journal_write(j, &ops, true), ST_OK); /* the memory is there already */
    mem_fail_at(-1);
    assert_int_equal(reopen(&from), ST_OK);
    assert_int_equal(n_told, 2);
}

static void
test_journal_without_memory_refuses_a_record(void **state)
{
    (void)state;
    struct store_op op = {.kind = STORE_REMOVE, .row = 2};
    struct list_node ops;
    list_init(&ops);
    list_push_back(&ops, &op.node);
    mem_fail_at(0);
    assert_int_equal(journal_write(j, &ops, true), ST_NOMEM);
    assert_true(journal_is_drained(j) && journal_is_at_start(j));
    assert_int_equal(journal_write(j, &ops, true), ST_OK);
}

static void
test_journal_that_is_damaged_or_not_there_is_told_and_left_alone(void **state)
{
    (void)state;
    struct stat before;
    struct stat after;
    struct journal *other;
    struct journal_place place = journal_place(j, false);
    place.file++;
    assert_int_equal(reopen(&place), ST_INVAL);
    journal_close(j);
    j = NULL;
    assert_int_equal(stat(path, &before), 0);
    damage(9, "\x5a\x5a", 2);
    assert_int_equal(journal_open(&other, POWER_VFS, path, false), ST_INVAL);
    assert_int_equal(truncate(path, before.st_size / 2), 0);
    assert_int_equal(journal_open(&other, POWER_VFS, path, false), ST_INVAL);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size / 2);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(journal_open(&other, POWER_VFS, path, false), ST_NOTFOUND);
    assert_int_equal(stat(path, &after), -1);
    assert_int_equal(journal_open(&j, POWER_VFS, path, true), ST_OK);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
}

static void
test_journal_keeps_what_was_synced_over_power_loss(void **state)
{
    (void)state;
    struct journal_place from = journal_place(j, false);
    for (uint64_t row = 1; row <= 5; row++) {
        assert_int_equal(write_row(row), ST_OK);
    }
    assert_int_equal(write_big(6), ST_OK); /* not synced */
    journal_close(j);
    j = NULL;
    power_vfs_restart();
    assert_int_equal(journal_open(&j, POWER_VFS, path, false), ST_OK);
    assert_int_equal(reopen(&from), ST_OK);
    assert_true(n_told == 5 || n_told == 6);
    for (size_t i = 0; i < n_told; i++) {
        assert_int_equal(told[i], i + 1);
    }
}

static enum status
make(void *arg)
{
    return journal_open(arg, NULL, path, true);
}

static void
unmake(void *arg)
{
    journal_close(*(struct journal **)arg);
}

static void
test_journal_open_survives_each_failed_allocation(void **state)
{
    (void)state;
    struct journal *other;
    oom_sweep(make, unmake, &other);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_journal_gives_back_each_operation_as_it_was, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_journal_gives_back_a_message_with_header_time_and_flags, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_journal_recovers_what_continues_at_the_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_journal_torn_record_ends_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_journal_record_of_an_earlier_turn_is_not_taken, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_journal_record_of_an_earlier_start_is_not_taken,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_journal_drained_goes_on_where_the_turn_is_the_same,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_journal_records_beside_a_cut_stay_undrained, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_journal_is_drained_of_a_cut_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_journal_is_full_at_its_end_and_where_too_much_is_undrained, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_journal_leaves_many_and_large_and_rare_operations_to_the_database, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(test_journal_write_that_fails_leaves_nothing_undrained,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_journal_without_memory_refuses_a_record, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_journal_that_is_damaged_or_not_there_is_told_and_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_journal_keeps_what_was_synced_over_power_loss, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_journal_open_survives_each_failed_allocation, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
