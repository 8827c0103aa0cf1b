/* SPDX-License-Identifier: Apache-2.0 */
/* Who writes, and when: the writer's thread, or the thread that pushed, at the end of its turn. */
#include "tests/unit/stream/log_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>

#include "stream/store_priv.h"
#include "tests/support/store_kit.h"

enum { MANY = 600, PAYLOAD = 4000, PURGED = 20000 };

/* What the last done saw. Under the fixture's lock. */
static pthread_t written_by;

static void
turn_done(struct store_op *op, struct list_node *more, enum status st)
{
    struct fixture *f = op->group;
    (void)pthread_mutex_lock(&f->lock);
    written_by = pthread_self();
    (void)pthread_mutex_unlock(&f->lock);
    fixture_done(op, more, st);
}

static void
push(struct fixture *f, enum store_when when, const char *data)
{
    struct msg_spec spec = {
        .subject = "s", .subject_len = 1, .data = data, .data_len = strlen(data)};
    struct fixture_put *p = mem_alloc(sizeof(*p));
    struct list_node puts;
    assert_int_equal(msg_new(&p->p.op.msg, &spec), ST_OK);
    p->p.op.done = turn_done;
    p->p.op.group = f;
    p->p.op.when = when;
    list_init(&puts);
    list_push_back(&puts, &p->p.op.node);
    (void)pthread_mutex_lock(&f->lock);
    f->waiting++;
    assert_int_equal(mlog_append(f->log, &puts, 0), ST_OK);
    (void)pthread_mutex_unlock(&f->lock);
}

/* A store with one message in it; durable or not. */
static void
begin(struct fixture *f, bool memory, bool durable, int64_t wal_limit)
{
    char *err;
    fixture_init(f, memory);
    mlog_free(f->log);
    store_stop(f->store);
    store_free(f->store);
    struct store_opts o = {.dir = memory ? NULL : f->dir,
                           .durable = durable,
                           .sync_interval = INT64_C(3600000000000),
                           .wal_limit = wal_limit};
    assert_int_equal(store_open(&f->store, &o, &err), ST_OK);
    assert_int_equal(store_start(f->store), ST_OK);
    struct mlog_opts m = fixture_opts(f);
    assert_int_equal(mlog_new(&f->log, &m), ST_OK);
    push(f, STORE_NOW, "first");
    fixture_wait(f);
}

/* As soon as the writer is idle, which it is not yet when it has told of a commit. */
static void
is_written_here(bool memory)
{
    struct fixture f;
    begin(&f, memory, false, 0);
    bool here = false;
    while (!here) {
        push(&f, STORE_IN_TURN, "a");
        push(&f, STORE_IN_TURN, "b");
        store_turn_end(f.store, true);
        fixture_wait(&f);
        here = pthread_equal(written_by, pthread_self()) != 0;
    }
    uint64_t last = mlog_last_seq(f.log);
    assert_true(fixture_has(&f, last - 1, "s", "a") && fixture_has(&f, last, "s", "b"));
    fixture_fini(&f);
}

static void
test_store_writes_a_turn_on_the_thread_that_ends_it(void **state)
{
    (void)state;
    is_written_here(false);
    is_written_here(true);
}

static void
test_store_leaves_a_turn_that_has_to_be_synced_to_the_writer(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false, true, 0);
    push(&f, STORE_IN_TURN, "a");
    store_turn_end(f.store, true);
    fixture_wait(&f);
    assert_false(pthread_equal(written_by, pthread_self()));
    assert_true(fixture_has(&f, 2, "s", "a"));
    fixture_fini(&f);
}

static void
test_store_leaves_a_turn_to_the_writer_where_it_may_not_write(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false, false, 0);
    push(&f, STORE_IN_TURN, "a");
    store_turn_end(f.store, false);
    fixture_wait(&f);
    assert_false(pthread_equal(written_by, pthread_self()));
    store_turn_end(f.store, true); /* nothing is left */
    fixture_fini(&f);
}

static void
test_store_writer_does_not_wait_for_the_end_of_a_long_turn(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false, false, 0);
    for (int i = 0; i < MANY; i++) {
        push(&f, STORE_IN_TURN, "x");
    }
    /* The first that are too many for a turn have woken it. */
    (void)pthread_mutex_lock(&f.lock);
    while (f.waiting >= MANY) {
        (void)pthread_cond_wait(&f.cond, &f.lock);
    }
    (void)pthread_mutex_unlock(&f.lock);
    store_turn_end(f.store, true);
    fixture_wait(&f);
    assert_int_equal(mlog_last_seq(f.log), MANY + 1);
    fixture_fini(&f);
}

static void
test_store_writes_what_nobody_waits_for_with_the_next(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false, false, 0);
    push(&f, STORE_LAZILY, "a");
    push(&f, STORE_IN_TURN, "b");
    store_turn_end(f.store, true);
    fixture_wait(&f);
    assert_true(fixture_has(&f, 2, "s", "a") && fixture_has(&f, 3, "s", "b"));
    fixture_fini(&f);
}

static void
test_store_writes_what_nobody_waits_for_by_itself(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false, true, 0);
    for (int i = 0; i < 3; i++) {
        push(&f, STORE_LAZILY, "a");
        fixture_wait(&f);
    }
    push(&f, STORE_LAZILY, "last");
    fixture_reopen(&f, false);
    assert_true(fixture_has(&f, 5, "s", "last"));
    fixture_fini(&f);
}

/* A transaction for garbage, or the end of a checkpoint, goes on: nobody waits for it. */
static void
test_store_acknowledges_while_the_database_is_busy(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++) {
        struct fixture f;
        begin(&f, false, durable != 0, 0);
        store_hold(f.store);
        push(&f, durable ? STORE_NOW : STORE_IN_TURN, "a");
        store_turn_end(f.store, true);
        fixture_wait(&f);
        assert_int_equal(f.last, ST_OK);
        store_unhold(f.store);
        fixture_reopen(&f, false);
        assert_true(fixture_has(&f, 2, "s", "a"));
        fixture_fini(&f);
    }
}

/* In the order of the pushes: what the journal takes does not pass what it leaves. */
static void
test_store_keeps_the_order_where_one_has_to_wait_for_the_database(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false, false, 0);
    store_hold(f.store);
    store_kit_push_chunk(f.store, STORE_IN_TURN);
    store_turn_end(f.store, true);
    push(&f, STORE_IN_TURN, "a");
    store_turn_end(f.store, true);
    (void)pthread_mutex_lock(&f.lock);
    assert_int_equal(f.waiting, 1);
    (void)pthread_mutex_unlock(&f.lock);
    store_unhold(f.store);
    fixture_wait(&f);
    assert_int_equal(f.last, ST_OK);
    fixture_fini(&f);
}

/* Another process that has the file for itself: the turn ends at once, the writer waits. */
static void
test_store_turn_does_not_wait_for_another_process(void **state)
{
    (void)state;
    struct fixture f;
    char path[128];
    sqlite3 *other;
    begin(&f, false, false, 0);
    (void)snprintf(path, sizeof(path), "%s/sluice.db", f.dir);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    store_kit_push_chunk(f.store, STORE_IN_TURN);
    push(&f, STORE_IN_TURN, "a");
    store_turn_end(f.store, true);
    (void)pthread_mutex_lock(&f.lock);
    assert_int_equal(f.waiting, 1);
    (void)pthread_mutex_unlock(&f.lock);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(other);
    fixture_wait(&f);
    assert_int_equal(f.last, ST_OK);
    assert_true(fixture_has(&f, 2, "s", "a"));
    fixture_fini(&f);
}

/* The number in its head that grows each time the log starts over. */
static unsigned
generation(const struct fixture *f)
{
    char path[128];
    unsigned char head[16] = {0};
    (void)snprintf(path, sizeof(path), "%s/sluice.db-wal", f->dir);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
    (void)close(fd);
    return (unsigned)head[14] << 8 | head[15];
}

static void
test_store_log_starts_over_under_a_steady_writer(void **state)
{
    (void)state;
    struct fixture f;
    char data[PAYLOAD + 1];
    memset(data, 'x', PAYLOAD);
    data[PAYLOAD] = '\0';
    begin(&f, false, false, 65536);
    unsigned first = generation(&f);
    uint64_t n = 1;
    while (generation(&f) < first + 5) {
        push(&f, n % 2 == 0 ? STORE_IN_TURN : STORE_NOW, data);
        n++;
        store_turn_end(f.store, true);
        fixture_wait(&f);
    }
    assert_int_equal(mlog_last_seq(f.log), n);
    fixture_reopen(&f, false);
    for (uint64_t seq = 2; seq <= n; seq++) {
        assert_true(fixture_has(&f, seq, "s", data));
    }
    fixture_fini(&f);
}

static int64_t
rows_of(const struct fixture *f, const char *table)
{
    char text[128];
    sqlite3 *db;
    sqlite3_stmt *q;
    (void)snprintf(text, sizeof(text), "%s/sluice.db", f->dir);
    assert_int_equal(sqlite3_open_v2(text, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 5000);
    (void)snprintf(text, sizeof(text), "SELECT count(*) FROM %s", table);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(q, 0);
    (void)sqlite3_finalize(q);
    (void)sqlite3_close(db);
    return n;
}

/* One more; then the database has what was pushed so far. */
static void
push_and_drain(struct fixture *f)
{
    push(f, STORE_NOW, "last");
    fixture_wait(f);
    store_kit_wait_drained(f->store);
}

static void
purge(struct fixture *f)
{
    uint64_t n;
    (void)pthread_mutex_lock(&f->lock);
    assert_int_equal(mlog_purge_to(f->log, mlog_last_seq(f->log) + 1, &n), ST_OK);
    (void)pthread_mutex_unlock(&f->lock);
}

/* Turns go on, each with a commit of its own, until the last slice is gone. */
static void
test_store_deletes_what_was_purged_under_a_steady_writer(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false, false, 0);
    for (int i = 0; i < PURGED; i++) {
        push(&f, STORE_NOW, "x");
    }
    fixture_wait(&f);
    purge(&f);
    push_and_drain(&f);
    int64_t after = 1;
    do {
        push(&f, STORE_IN_TURN, "y");
        after++;
        store_turn_end(f.store, true);
        fixture_wait(&f);
    } while (rows_of(&f, "garbage") > 0);
    push_and_drain(&f);
    assert_int_equal(rows_of(&f, "message"), after + 1);
    assert_true(fixture_has(&f, PURGED + 3, "s", "y"));
    fixture_fini(&f);
}

/* A purge alone, in a turn: nobody else will wake the writer. */
static void
test_store_deletes_what_a_turn_purged_without_another_push(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false, false, 0);
    for (int i = 0; i < PURGED; i++) {
        push(&f, STORE_NOW, "x");
    }
    fixture_wait(&f);
    purge(&f);
    store_turn_end(f.store, true);
    while (rows_of(&f, "message") > 0 || rows_of(&f, "garbage") > 0) {
        (void)sched_yield();
    }
    fixture_fini(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_writes_a_turn_on_the_thread_that_ends_it),
        cmocka_unit_test(test_store_leaves_a_turn_that_has_to_be_synced_to_the_writer),
        cmocka_unit_test(test_store_leaves_a_turn_to_the_writer_where_it_may_not_write),
        cmocka_unit_test(test_store_writer_does_not_wait_for_the_end_of_a_long_turn),
        cmocka_unit_test(test_store_writes_what_nobody_waits_for_with_the_next),
        cmocka_unit_test(test_store_writes_what_nobody_waits_for_by_itself),
        cmocka_unit_test(test_store_acknowledges_while_the_database_is_busy),
        cmocka_unit_test(test_store_keeps_the_order_where_one_has_to_wait_for_the_database),
        cmocka_unit_test(test_store_turn_does_not_wait_for_another_process),
        cmocka_unit_test(test_store_log_starts_over_under_a_steady_writer),
        cmocka_unit_test(test_store_deletes_what_was_purged_under_a_steady_writer),
        cmocka_unit_test(test_store_deletes_what_a_turn_purged_without_another_push),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
