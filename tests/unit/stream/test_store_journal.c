/* SPDX-License-Identifier: Apache-2.0 */
/* The store with its journal: what only the journal has is read, survives a kill, and is taken by
 * the database once and in order. */
#include "tests/unit/stream/log_fixture.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "stream/mlog_priv.h"
#include "stream/store_priv.h"
#include "stream/store_read.h"
#include "tests/support/oom.h"
#include "tests/support/power_vfs.h"
#include "tests/support/store_kit.h"

enum { LAPS = 4, PAYLOAD = 50000, ROUNDS = 200 };

static void
open_store(struct fixture *f, bool durable)
{
    char *err = NULL;
    /* NB: the power's VFS copies whole files. */
    struct store_opts o = {.dir = f->dir,
                           .durable = durable,
                           .sync_interval = INT64_C(3600000000000),
                           .vfs = f->vfs,
                           .wal_limit = f->vfs != NULL ? 1 << 20 : 0};
    if (store_open(&f->store, &o, &err) != ST_OK) {
        fail_msg("%s", err);
    }
    assert_int_equal(store_start(f->store), ST_OK);
}

static void
open_log(struct fixture *f)
{
    struct mlog_opts m = fixture_opts(f);
    assert_int_equal(mlog_load(&f->log, &m), ST_OK);
}

static void
close_all(struct fixture *f)
{
    fixture_wait(f);
    store_stop(f->store);
    mlog_free(f->log);
    store_free(f->store);
}

/* An empty log in a store that is durable or not. */
static void
begin(struct fixture *f, bool durable)
{
    fixture_init(f, false);
    mlog_free(f->log);
    store_stop(f->store);
    store_free(f->store);
    open_store(f, durable);
    struct mlog_opts m = fixture_opts(f);
    assert_int_equal(mlog_new(&f->log, &m), ST_OK);
    assert_int_equal(fixture_append(f, "first", "0"), 1);
    fixture_wait(f);
}

static void
path_in(char *out, size_t size, const char *dir, const char *name)
{
    (void)snprintf(out, size, "%s/%s", dir, name);
}

static sqlite3 *
other_process(const struct fixture *f, const char *sql)
{
    char path[128];
    sqlite3 *db;
    path_in(path, sizeof(path), f->dir, "sluice.db");
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void
release(sqlite3 *db)
{
    if (sqlite3_get_autocommit(db) == 0) {
        assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* From here on the database takes nothing, so that the journal alone has what is appended. */
static sqlite3 *
hold_database(struct fixture *f)
{
    store_kit_wait_drained(f->store);
    return other_process(f, "BEGIN IMMEDIATE");
}

/* n messages in one push, "a" with 1 … n, and waits for their commit. */
static void
append_some(struct fixture *f, int n)
{
    struct list_node puts;
    list_init(&puts);
    for (int i = 1; i <= n; i++) {
        char data[16];
        (void)snprintf(data, sizeof(data), "%d", i);
        struct msg_spec spec = {
            .subject = "a", .subject_len = 1, .data = data, .data_len = strlen(data)};
        struct fixture_put *p = mem_alloc(sizeof(*p));
        assert_int_equal(msg_new(&p->p.op.msg, &spec), ST_OK);
        p->p.op.done = fixture_done;
        p->p.op.group = f;
        list_push_back(&puts, &p->p.op.node);
    }
    (void)pthread_mutex_lock(&f->lock);
    f->waiting += n;
    assert_int_equal(mlog_append(f->log, &puts, 0), ST_OK);
    (void)pthread_mutex_unlock(&f->lock);
    fixture_wait(f);
    assert_int_equal(f->last, ST_OK);
}

static void
copy_file(const char *from_dir, const char *to_dir, const char *name)
{
    static char bytes[65536];
    char path[128];
    ssize_t n;
    path_in(path, sizeof(path), from_dir, name);
    int in = open(path, O_RDONLY);
    path_in(path, sizeof(path), to_dir, name);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(in >= 0 && out >= 0);
    while ((n = read(in, bytes, sizeof(bytes))) > 0) {
        assert_int_equal(write(out, bytes, (size_t)n), n);
    }
    (void)close(in);
    (void)close(out);
}

/* What a kill would leave at this moment, as a fixture of its own whose store is not open. */
static void
take_image(struct fixture *f, struct fixture *image)
{
    *image = *f;
    image->waiting = 0;
    (void)pthread_mutex_init(&image->lock, NULL);
    (void)pthread_cond_init(&image->cond, NULL);
    (void)snprintf(image->dir, sizeof(image->dir), "/tmp/sluice-store-XXXXXX");
    assert_non_null(mkdtemp(image->dir));
    copy_file(f->dir, image->dir, "sluice.db");
    copy_file(f->dir, image->dir, "sluice.db-wal");
    copy_file(f->dir, image->dir, "sluice.journal");
}

static void
open_image(struct fixture *image, bool durable)
{
    open_store(image, durable);
    open_log(image);
}

static void
test_store_commits_small_transactions_while_another_process_holds_the_database(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++) {
        struct fixture f;
        begin(&f, durable != 0);
        sqlite3 *other = hold_database(&f);
        append_some(&f, 3);
        assert_false(store_is_drained(f.store, store_mark(f.store)));
        release(other);
        store_kit_wait_drained(f.store);
        fixture_fini(&f);
    }
}

/* What a kill would leave behind three more messages, which only the journal has. */
static void
take_undrained_image(struct fixture *f, struct fixture *image)
{
    sqlite3 *other = hold_database(f);
    append_some(f, 3);
    take_image(f, image);
    release(other);
}

static void
test_store_a_killed_server_finds_what_only_the_journal_has(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++) {
        struct fixture f;
        struct fixture image;
        begin(&f, durable != 0);
        take_undrained_image(&f, &image);
        open_image(&image, durable != 0);
        assert_int_equal(mlog_last_seq(image.log), 4);
        assert_true(fixture_has(&image, 2, "a", "1") && fixture_has(&image, 4, "a", "3"));
        assert_int_equal(fixture_append(&image, "b", "more"), 5);
        fixture_reopen(&image, false);
        assert_true(fixture_has(&image, 4, "a", "3") && fixture_has(&image, 5, "b", "more"));
        fixture_fini(&image);
        fixture_fini(&f);
    }
}

/* Killed again at once, and after the first start: nothing comes twice, nothing of before. */
static void
test_store_replay_after_two_kills_takes_nothing_twice(void **state)
{
    (void)state;
    struct fixture f;
    struct fixture first;
    struct fixture second;
    begin(&f, true);
    take_undrained_image(&f, &first);
    open_image(&first, true);
    (void)pthread_mutex_lock(&first.lock);
    assert_int_equal(mlog_remove(first.log, 3, false), ST_OK);
    (void)pthread_mutex_unlock(&first.lock);
    assert_int_equal(fixture_append(&first, "b", "more"), 5);
    fixture_wait(&first);
    store_kit_wait_drained(first.store);
    take_image(&first, &second);
    open_image(&second, true);
    assert_true(fixture_has(&second, 2, "a", "1") && fixture_has(&second, 5, "b", "more"));
    assert_false(fixture_has(&second, 3, "a", "2"));
    fixture_fini(&second);
    fixture_fini(&first);
    fixture_fini(&f);
}

static void
test_store_messages_of_the_journal_stay_in_memory_until_the_database_has_them(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, true);
    sqlite3 *other = hold_database(&f);
    append_some(&f, 3);
    (void)pthread_mutex_lock(&f.lock);
    (void)mlog_checkpoint(f.log, 0, false);
    (void)mlog_checkpoint(f.log, 0, false); /* nobody has touched it: it lets go what it can */
    (void)pthread_mutex_unlock(&f.lock);
    assert_true(fixture_has(&f, 2, "a", "1") && fixture_has(&f, 4, "a", "3"));
    release(other);
    store_kit_wait_drained(f.store);
    (void)pthread_mutex_lock(&f.lock);
    (void)mlog_checkpoint(f.log, 0, false);
    (void)pthread_mutex_unlock(&f.lock);
    assert_true(fixture_has(&f, 2, "a", "1") && fixture_has(&f, 4, "a", "3"));
    fixture_fini(&f);
}

/* Under a steady load the journal is never empty: what came before lets go all the same. */
static void
test_store_messages_leave_memory_while_others_are_in_the_journal(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false);
    append_some(&f, 3);
    store_kit_wait_drained(f.store);
    store_hold(f.store);
    append_some(&f, 2);
    (void)pthread_mutex_lock(&f.lock);
    mrecent_trim(f.log, 0);
    assert_true(f.log->recent_n >= 2 && f.log->recent_n < 6);
    (void)pthread_mutex_unlock(&f.lock);
    store_unhold(f.store);
    store_kit_wait_drained(f.store);
    (void)pthread_mutex_lock(&f.lock);
    mrecent_trim(f.log, 0);
    assert_int_equal(f.log->recent_n, 0);
    (void)pthread_mutex_unlock(&f.lock);
    assert_true(fixture_has(&f, 2, "a", "1") && fixture_has(&f, 6, "a", "2"));
    fixture_fini(&f);
}

static void
test_store_orderly_stop_leaves_a_database_that_stands_alone(void **state)
{
    (void)state;
    struct fixture f;
    char path[128];
    begin(&f, true);
    append_some(&f, 3);
    close_all(&f);
    path_in(path, sizeof(path), f.dir, "sluice.journal");
    assert_int_equal(unlink(path), 0);
    open_store(&f, true);
    open_log(&f);
    assert_true(fixture_has(&f, 4, "a", "3"));
    fixture_fini(&f);
}

static void
refuse(struct fixture *image, const char *word)
{
    char path[128];
    char *err = NULL;
    path_in(path, sizeof(path), image->dir, "sluice.journal");
    assert_int_equal(fixture_open_store(image, &err), ST_INVAL);
    assert_non_null(strstr(err, path));
    assert_non_null(strstr(err, word));
    mem_free(err);
}

static void
test_store_of_a_killed_server_without_its_journal_is_refused_by_name(void **state)
{
    (void)state;
    struct fixture f;
    struct fixture image;
    struct stat sb;
    char path[128];
    begin(&f, true);
    take_undrained_image(&f, &image);
    path_in(path, sizeof(path), image.dir, "sluice.journal");
    assert_int_equal(truncate(path, 100000), 0);
    refuse(&image, "damaged");
    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(sb.st_size, 100000);
    assert_int_equal(unlink(path), 0);
    refuse(&image, "missing");
    assert_int_equal(stat(path, &sb), -1);
    copy_file(f.dir, image.dir, "sluice.journal");
    open_image(&image, true);
    assert_int_equal(mlog_last_seq(image.log), 4);
    fixture_fini(&image);
    fixture_fini(&f);
}

static void
test_store_starts_without_its_journal_where_it_is_given_up(void **state)
{
    (void)state;
    struct fixture f;
    struct fixture image;
    char path[128];
    begin(&f, true);
    take_undrained_image(&f, &image);
    path_in(path, sizeof(path), image.dir, "sluice.journal");
    assert_int_equal(unlink(path), 0);
    refuse(&image, "DELETE FROM journal");
    release(other_process(&image, "DELETE FROM journal"));
    open_image(&image, true);
    assert_int_equal(mlog_last_seq(image.log), 1);
    fixture_fini(&image);
    fixture_fini(&f);
}

static void
test_store_works_without_a_journal_where_none_can_be_made(void **state)
{
    (void)state;
    struct fixture f;
    char path[128];
    begin(&f, true);
    close_all(&f);
    path_in(path, sizeof(path), f.dir, "sluice.journal");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    open_store(&f, true);
    open_log(&f);
    append_some(&f, 3);
    assert_int_equal(store_mark(f.store), 0);
    fixture_reopen(&f, false);
    assert_true(fixture_has(&f, 4, "a", "3"));
    assert_int_equal(rmdir(path), 0);
    fixture_fini(&f);
}

/* A deferred store after a loss of power: the database is as it once was, the journal newer. */
static void
test_store_journal_does_not_continue_a_database_that_has_lost_commits(void **state)
{
    (void)state;
    struct fixture f;
    struct fixture image;
    char path[128];
    begin(&f, false);
    store_kit_wait_drained(f.store);
    release(other_process(&f, "PRAGMA wal_checkpoint(TRUNCATE)"));
    append_some(&f, 600); /* too many for the journal */
    take_undrained_image(&f, &image);
    path_in(path, sizeof(path), image.dir, "sluice.db-wal");
    assert_int_equal(truncate(path, 0), 0);
    open_image(&image, false);
    assert_int_equal(mlog_last_seq(image.log), 1);
    assert_true(fixture_has(&image, 1, "first", "0"));
    fixture_fini(&image);
    fixture_fini(&f);
}

static void
test_store_journal_is_used_again_under_load(void **state)
{
    (void)state;
    struct fixture f;
    struct fixture image;
    static char data[PAYLOAD + 1];
    memset(data, 'x', PAYLOAD);
    begin(&f, true);
    uint64_t n = 1;
    for (size_t bytes = 0; bytes < LAPS * (size_t)(2 << 20); bytes += PAYLOAD) {
        (void)snprintf(data, sizeof(data), "%06llu", (unsigned long long)++n);
        data[6] = 'x';
        assert_int_equal(fixture_append(&f, "big", data), n);
        fixture_wait(&f);
    }
    assert_true(store_mark(f.store) > n / 2);
    take_undrained_image(&f, &image);
    open_image(&image, true);
    assert_int_equal(mlog_last_seq(image.log), n + 3);
    for (uint64_t seq = 2; seq <= n; seq++) {
        (void)snprintf(data, sizeof(data), "%06llu", (unsigned long long)seq);
        data[6] = 'x';
        assert_true(fixture_has(&image, seq, "big", data));
    }
    assert_true(fixture_has(&image, n + 3, "a", "3"));
    fixture_fini(&image);
    fixture_fini(&f);
}

static void
test_store_of_the_version_before_is_opened(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, true);
    append_some(&f, 3);
    close_all(&f);
    release(other_process(&f, "DROP TABLE journal; PRAGMA user_version = 1"));
    char path[128];
    path_in(path, sizeof(path), f.dir, "sluice.journal");
    assert_int_equal(unlink(path), 0);
    open_store(&f, true);
    open_log(&f);
    assert_true(fixture_has(&f, 1, "first", "0") && fixture_has(&f, 4, "a", "3"));
    append_some(&f, 3);
    fixture_reopen(&f, false);
    assert_true(fixture_has(&f, 7, "a", "3"));
    fixture_fini(&f);
}

static void
test_store_of_a_later_version_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    char *err;
    begin(&f, true);
    close_all(&f);
    release(other_process(&f, "PRAGMA user_version = 3"));
    assert_int_equal(fixture_open_store(&f, &err), ST_INVAL);
    mem_free(err);
    release(other_process(&f, "PRAGMA user_version = 2"));
    open_store(&f, true);
    open_log(&f);
    fixture_fini(&f);
}

static void
save_index(struct fixture *f)
{
    (void)pthread_mutex_lock(&f->lock);
    (void)mlog_checkpoint(f->log, 1, true);
    (void)pthread_mutex_unlock(&f->lock);
}

/* Where commits are deferred a loss of power may take the last of them, never one from between. */
static void
test_store_deferred_has_a_prefix_after_power_loss(void **state)
{
    (void)state;
    struct fixture f;
    char data[16];
    power_vfs_reset(4);
    begin(&f, false);
    close_all(&f);
    f.vfs = POWER_VFS;
    open_store(&f, false);
    open_log(&f);
    for (int round = 0; round < ROUNDS; round++) {
        power_vfs_cut_after(round % 61);
        for (int i = 0; i < 12; i++) {
            uint64_t seq = mlog_last_seq(f.log) + 1;
            (void)snprintf(data, sizeof(data), "%llu", (unsigned long long)seq);
            assert_int_equal(fixture_append(&f, "n", data), seq);
            if (i % 3 == round % 3) {
                fixture_wait(&f);
            }
            if (i == 5 && round % 2 == 0) {
                save_index(&f); /* which the journal does not take */
            }
        }
        close_all(&f);
        power_vfs_restart();
        open_store(&f, false);
        open_log(&f);
        for (uint64_t seq = 2; seq <= mlog_last_seq(f.log); seq++) {
            const char *subject;
            uint32_t size;
            unsigned flags;
            (void)snprintf(data, sizeof(data), "%llu", (unsigned long long)seq);
            /* NB: what was refused left a gap. */
            assert_true(!mlog_peek(f.log, seq, &subject, &size, &flags) ||
                        fixture_has(&f, seq, "n", data));
        }
    }
    fixture_fini(&f);
}

static enum status
make(void *arg)
{
    struct fixture *f = arg;
    char *err = NULL;
    struct store_opts o = {.dir = f->dir, .durable = true};
    enum status st = store_open(&f->store, &o, &err);
    mem_free(err);
    return st;
}

static void
unmake(void *arg)
{
    struct fixture *f = arg;
    store_stop(f->store);
    store_free(f->store);
}

static void
test_store_open_survives_each_failed_allocation(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, true);
    close_all(&f);
    oom_sweep(make, unmake, &f);
    open_store(&f, true);
    open_log(&f);
    assert_true(fixture_has(&f, 1, "first", "0"));
    fixture_fini(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_store_commits_small_transactions_while_another_process_holds_the_database),
        cmocka_unit_test(test_store_a_killed_server_finds_what_only_the_journal_has),
        cmocka_unit_test(test_store_replay_after_two_kills_takes_nothing_twice),
        cmocka_unit_test(
            test_store_messages_of_the_journal_stay_in_memory_until_the_database_has_them),
        cmocka_unit_test(test_store_messages_leave_memory_while_others_are_in_the_journal),
        cmocka_unit_test(test_store_orderly_stop_leaves_a_database_that_stands_alone),
        cmocka_unit_test(test_store_of_a_killed_server_without_its_journal_is_refused_by_name),
        cmocka_unit_test(test_store_starts_without_its_journal_where_it_is_given_up),
        cmocka_unit_test(test_store_works_without_a_journal_where_none_can_be_made),
        cmocka_unit_test(test_store_journal_does_not_continue_a_database_that_has_lost_commits),
        cmocka_unit_test(test_store_journal_is_used_again_under_load),
        cmocka_unit_test(test_store_of_the_version_before_is_opened),
        cmocka_unit_test(test_store_of_a_later_version_is_refused),
        cmocka_unit_test(test_store_deferred_has_a_prefix_after_power_loss),
        cmocka_unit_test(test_store_open_survives_each_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
