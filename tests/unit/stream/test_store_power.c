/* SPDX-License-Identifier: Apache-2.0 */
/* What was acknowledged is there after a loss of power, a full disk, errors of the disk; a damaged
 * file is refused by name and left alone. */
#include "tests/unit/stream/log_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include "server/base/clock.h"
#include "stream/store_priv.h"
#include "tests/support/power_vfs.h"

enum { ROUNDS = 200, MOST = 4000, WIDE = 8000, WIDE_ROUNDS = 20, DEFERRED_ROUNDS = 20 };

/* What each sequence was acknowledged with: the number in its payload; 0: not. Under the fixture's
 * lock. */
static int acked[MOST + 1];
static int failed;
static int sent;
static int width; /* of payloads, about */

struct tracked {
    struct mlog_put p;
    int number;
};

static void
settle_one(struct fixture *f, struct store_op *op, enum status st)
{
    struct tracked *t = LIST_ENTRY(LIST_ENTRY(op, struct mlog_put, op), struct tracked, p);
    f->waiting--;
    if (st == ST_OK) {
        assert_int_equal(acked[op->msg->seq], 0);
        acked[op->msg->seq] = t->number;
    } else {
        failed++;
    }
    fixture_free_op(op);
}

static void
tracked_done(struct store_op *op, struct list_node *more, enum status st)
{
    struct fixture *f = op->group;
    struct list_node *n;
    (void)pthread_mutex_lock(&f->lock);
    mlog_commit(f->log, op, more, st);
    settle_one(f, op, st);
    while ((n = list_pop_front(more)) != NULL) {
        settle_one(f, LIST_ENTRY(n, struct store_op, node), st);
    }
    (void)pthread_cond_signal(&f->cond);
    (void)pthread_mutex_unlock(&f->lock);
}

static void
send_one(struct fixture *f)
{
    char data[WIDE + 64];
    char subject[32];
    int number = ++sent;
    (void)snprintf(subject, sizeof(subject), "s.%d", number % 50);
    (void)snprintf(data, sizeof(data), "%d %0*d", number, width + number % 50, 7);
    struct msg_spec spec = {
        .subject = subject, .subject_len = strlen(subject), .data = data, .data_len = strlen(data)};
    struct tracked *t = mem_alloc(sizeof(*t));
    struct list_node puts;
    t->number = number;
    assert_int_equal(msg_new(&t->p.op.msg, &spec), ST_OK);
    t->p.op.done = tracked_done;
    t->p.op.group = f;
    list_init(&puts);
    list_push_back(&puts, &t->p.op.node);
    (void)pthread_mutex_lock(&f->lock);
    assert_int_equal(mlog_append(f->log, &puts, 0), ST_OK);
    f->waiting++;
    (void)pthread_mutex_unlock(&f->lock);
}

static void
send_some(struct fixture *f, int n)
{
    for (int i = 0; i < n; i++) {
        send_one(f);
        if (i % 7 == 0) {
            fixture_wait(f);
        }
    }
    fixture_wait(f);
}

static void
assert_all_there(struct fixture *f)
{
    for (uint64_t seq = 1; seq <= mlog_last_seq(f->log); seq++) {
        struct msg *m;
        if (acked[seq] == 0) {
            continue;
        }
        assert_int_equal(mlog_get(f->log, seq, NULL, &m), ST_OK);
        assert_int_equal(atoi(msg_data(m)), acked[seq]);
        msg_unref(m);
    }
    for (uint64_t seq = mlog_last_seq(f->log) + 1; seq <= MOST; seq++) {
        assert_int_equal(acked[seq], 0);
    }
}

static void
begin(struct fixture *f, unsigned seed)
{
    memset(acked, 0, sizeof(acked));
    failed = 0;
    sent = 0;
    width = 0;
    power_vfs_reset(seed);
    fixture_init(f, false);
    mlog_free(f->log);
    store_stop(f->store);
    store_free(f->store);
    char *err;
    f->vfs = POWER_VFS;
    assert_int_equal(fixture_open_store(f, &err), ST_OK);
    assert_int_equal(store_start(f->store), ST_OK);
    struct mlog_opts o = fixture_opts(f);
    assert_int_equal(mlog_new(&f->log, &o), ST_OK);
    send_some(f, 1);
}

static void
reload(struct fixture *f)
{
    char *err;
    assert_int_equal(fixture_open_store(f, &err), ST_OK);
    assert_int_equal(store_start(f->store), ST_OK);
    struct mlog_opts o = fixture_opts(f);
    assert_int_equal(mlog_load(&f->log, &o), ST_OK);
}

/* After a cut. */
static void
start_again(struct fixture *f)
{
    store_stop(f->store);
    mlog_free(f->log);
    store_free(f->store);
    power_vfs_restart();
    reload(f);
    assert_all_there(f);
}

static void
lose_power(struct fixture *f)
{
    power_vfs_cut_after(0);
    start_again(f);
}

static void
test_store_keeps_what_was_acknowledged_over_power_loss(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    for (int round = 0; round < ROUNDS; round++) {
        power_vfs_cut_after(round % 37);
        send_some(&f, 15);
        if (round % 5 == 0) {
            while (mlog_checkpoint(f.log, 100, true)) {
            }
        }
        start_again(&f);
    }
    assert_true(failed > ROUNDS);
    fixture_fini(&f);
}

/* What was committed so far: the second begins when the first has done. */
static void
wait_for_deferred_syncs(struct fixture *f)
{
    for (int i = 0; i < 2; i++) {
        f->store->unsynced = true;
        while (f->store->unsynced) {
            (void)sched_yield();
        }
    }
}

static void
test_store_keeps_what_a_deferred_sync_has_reached_over_power_loss(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 11);
    f.sync_interval = CLOCK_MS;
    lose_power(&f);
    for (int round = 0; round < DEFERRED_ROUNDS; round++) {
        send_some(&f, 15);
        wait_for_deferred_syncs(&f);
        lose_power(&f);
    }
    assert_int_equal(failed, 0);
    fixture_fini(&f);
}

static void
test_store_lives_through_a_full_disk(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    send_some(&f, 50);
    power_vfs_disk_full(1);
    send_some(&f, 50);
    assert_int_equal(failed, 50);
    power_vfs_disk_full(0);
    send_some(&f, 50);
    assert_int_equal(failed, 50);
    assert_all_there(&f);
    fixture_reopen(&f, true);
    assert_all_there(&f);
    assert_int_equal(mlog_last_seq(f.log), 151);
    fixture_fini(&f);
}

static void
test_store_starts_on_a_full_disk_with_all_that_was_acknowledged(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    send_some(&f, 300);
    for (int starts = 0; starts < 2; starts++) {
        power_vfs_disk_full(1);
        store_stop(f.store);
        mlog_free(f.log);
        store_free(f.store);
        reload(&f);
        assert_all_there(&f);
    }
    send_some(&f, 5);
    assert_int_equal(failed, 5);
    power_vfs_disk_full(0);
    while (store_failing(f.store, NULL) != ST_OK) {
        (void)sched_yield(); /* it finds out by itself */
    }
    send_some(&f, 5);
    assert_int_equal(failed, 5);
    assert_all_there(&f);
    fixture_reopen(&f, true);
    assert_all_there(&f);
    fixture_fini(&f);
}

static void
test_store_fills_its_log_at_a_start(void **state)
{
    (void)state;
    struct fixture f;
    struct stat sb;
    char path[128];
    fixture_init(&f, false);
    (void)snprintf(path, sizeof(path), "%s/sluice.db-wal", f.dir);
    assert_int_equal(stat(path, &sb), 0);
    assert_true(sb.st_size >= 16 << 20);
    fixture_fini(&f);
}

static void
test_store_lives_through_errors_of_the_disk(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 3);
    power_vfs_errors(10);
    send_some(&f, 500);
    power_vfs_errors(0);
    send_some(&f, 10);
    assert_true(failed > 0 && failed < 500);
    assert_all_there(&f);
    fixture_reopen(&f, false);
    assert_all_there(&f);
    fixture_fini(&f);
}

/* Syncs fail, then none does; then the power goes. What the system let go of must not be what a
 * later commit, synced, stands on. */
static void
test_store_keeps_what_was_acknowledged_after_syncs_that_failed(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 5);
    for (int round = 0; round < ROUNDS; round++) {
        send_some(&f, 3);
        power_vfs_sync_errors(3);
        send_some(&f, round % 9);
        power_vfs_sync_errors(0);
        send_some(&f, 1 + round % 4);
        lose_power(&f);
    }
    assert_true(failed > 0);
    fixture_fini(&f);
}

/* The same, with a log that is copied into the file again and again meanwhile. */
static void
test_store_keeps_what_was_acknowledged_after_copies_that_failed(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 6);
    width = WIDE;
    for (int round = 0; round < WIDE_ROUNDS; round++) {
        power_vfs_sync_errors(4);
        send_some(&f, 140);
        power_vfs_sync_errors(0);
        send_some(&f, 50);
        lose_power(&f);
    }
    assert_true(failed > 0);
    fixture_fini(&f);
}

static void
damage(const struct fixture *f, off_t keep, bool scribble)
{
    char path[128];
    struct stat sb;
    (void)snprintf(path, sizeof(path), "%s/sluice.db", f->dir);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &sb), 0);
    if (scribble) {
        char junk[4096];
        memset(junk, 0x5a, sizeof(junk));
        for (off_t at = keep; at < sb.st_size; at += 16384) {
            assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
        }
    } else {
        assert_int_equal(ftruncate(fd, sb.st_size * keep / 100), 0);
    }
    (void)close(fd);
}

static void
refuse_damaged(off_t keep, bool scribble)
{
    struct fixture f;
    struct stat before;
    struct stat after;
    char path[128];
    char *err;
    fixture_init(&f, false);
    f.vfs = NULL;
    sent = 0;
    width = 0;
    memset(acked, 0, sizeof(acked));
    send_some(&f, 3000);
    store_stop(f.store);
    mlog_free(f.log);
    store_free(f.store);
    damage(&f, keep, scribble);
    (void)snprintf(path, sizeof(path), "%s/sluice.db", f.dir);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(fixture_open_store(&f, &err), ST_INVAL);
    assert_non_null(strstr(err, path));
    mem_free(err);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    fixture_init(&f, false);
    fixture_fini(&f);
}

static void
test_store_a_damaged_file_is_refused_by_name(void **state)
{
    (void)state;
    refuse_damaged(50, false);
    refuse_damaged(0, true);
    refuse_damaged(16384, true);
}

static void
test_store_a_second_server_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct store *other;
    char *err;
    fixture_init(&f, false);
    struct store_opts o = {.dir = f.dir, .durable = true};
    assert_int_equal(store_open(&other, &o, &err), ST_EXISTS);
    assert_non_null(strstr(err, f.dir));
    mem_free(err);
    fixture_fini(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_keeps_what_was_acknowledged_over_power_loss),
        cmocka_unit_test(test_store_keeps_what_a_deferred_sync_has_reached_over_power_loss),
        cmocka_unit_test(test_store_lives_through_a_full_disk),
        cmocka_unit_test(test_store_starts_on_a_full_disk_with_all_that_was_acknowledged),
        cmocka_unit_test(test_store_fills_its_log_at_a_start),
        cmocka_unit_test(test_store_lives_through_errors_of_the_disk),
        cmocka_unit_test(test_store_keeps_what_was_acknowledged_after_syncs_that_failed),
        cmocka_unit_test(test_store_keeps_what_was_acknowledged_after_copies_that_failed),
        cmocka_unit_test(test_store_a_damaged_file_is_refused_by_name),
        cmocka_unit_test(test_store_a_second_server_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
