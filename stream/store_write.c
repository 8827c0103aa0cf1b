/* SPDX-License-Identifier: Apache-2.0 */
/* A transaction, by whoever has the database's role. Happy path: begins, does what the journal
 * holds and each operation, deletes a slice of garbage where that is asked for or has little weight
 * beside many operations, commits; the writer then tells. Failure: the journal is left alone until
 * a transaction of all it has has succeeded, everything is rolled back; messages are reported as
 * failed, other operations wait in `kept` for the next transaction. */
#include <string.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/journal.h"
#include "stream/store_priv.h"

#define SLICE_NS CLOCK_MS /* whoever comes meanwhile waits for the end of it */
enum { SLICE_ROWS = 256, RIDE_OPS = 256, BUSY_MS = 5000 };

static const char *const texts[STMT_COUNT_] = {
    [STORE_APPEND] = ("INSERT OR REPLACE INTO message(id, ts, subject, flags, hdr, data)"
                      " VALUES(?, ?, ?, ?, ?, ?)"),
    [STORE_PUT_SUBJECT] = "INSERT OR REPLACE INTO subject(stream, id, subject) VALUES(?, ?, ?)",
    [STORE_REMOVE] = "DELETE FROM message WHERE id = ?",
    [STORE_DROP_CHUNK] = "DELETE FROM chunk WHERE id = ?",
    [STORE_PUT_CHUNK] = "INSERT OR REPLACE INTO chunk(id, data) VALUES(?, ?)",
    [STORE_PUT_LOG] = "INSERT OR REPLACE INTO log(id, base, record) VALUES(?, ?, ?)",
    [STORE_PUT_STREAM] = ("INSERT OR REPLACE INTO stream(id, account, name, record)"
                          " VALUES(?, ?, ?, ?)"),
    [STORE_DEL_STREAM] = "DELETE FROM stream WHERE id = ?",
    [STORE_PUT_CONSUMER] = "INSERT OR REPLACE INTO consumer(stream, name, record) VALUES(?, ?, ?)",
    [STORE_DEL_CONSUMER] = "DELETE FROM consumer WHERE stream = ? AND name = ?",
    [STMT_BEGIN] = "BEGIN IMMEDIATE",
    [STMT_COMMIT] = "COMMIT",
    [STMT_ROLLBACK] = "ROLLBACK",
    [STMT_DEL_LOG] = "DELETE FROM log WHERE id = ?",
    [STMT_DEL_CONSUMERS] = "DELETE FROM consumer WHERE stream = ?",
    [STMT_DEL_SUBJECTS] = "DELETE FROM subject WHERE stream = ?",
    [STMT_GARBAGE_PUT] = ("INSERT INTO garbage(lo, hi, whole) VALUES(?1, ?2, ?3) ON CONFLICT(lo)"
                          " DO UPDATE SET hi = max(hi, ?2), whole = max(whole, ?3)"),
    [STMT_GARBAGE_GET] = "SELECT lo, hi, whole FROM garbage LIMIT 1",
    [STMT_GARBAGE_CUT] = "UPDATE OR REPLACE garbage SET lo = ?2 WHERE lo = ?1",
    [STMT_GARBAGE_DONE] = "DELETE FROM garbage WHERE lo BETWEEN ? AND ?",
    [STMT_DEL_SLICE] = "DELETE FROM message WHERE id BETWEEN ? AND ?",
    [STMT_DEL_CHUNKS] = "DELETE FROM chunk WHERE id BETWEEN ? AND ?",
    [STMT_FIRST_ROW] = "SELECT min(id) FROM message WHERE id BETWEEN ? AND ?",
    [STMT_PROBE] = STORE_SET_VERSION,
};

int
store_prepare_writer(struct store *s)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < STMT_COUNT_ && rc == SQLITE_OK; i++) {
        if (texts[i] != NULL) {
            rc = sqlite3_prepare_v3(s->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmts[i],
                                    NULL);
        }
    }
    return rc;
}

void
store_finalize_writer(struct store *s)
{
    for (int i = 0; i < STMT_COUNT_; i++) {
        (void)sqlite3_finalize(s->stmts[i]);
        s->stmts[i] = NULL;
    }
}

/* Runs a statement to its end; its bindings stay. */
static int
run(struct store *s, int i)
{
    int rc = sqlite3_step(s->stmts[i]);
    int end = sqlite3_reset(s->stmts[i]);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : end;
}

static int
run_u64(struct store *s, int i, uint64_t a)
{
    (void)sqlite3_bind_int64(s->stmts[i], 1, (sqlite3_int64)a);
    return run(s, i);
}

static int
run_u64_u64(struct store *s, int i, uint64_t a, uint64_t b)
{
    (void)sqlite3_bind_int64(s->stmts[i], 2, (sqlite3_int64)b);
    return run_u64(s, i, a);
}

static int
garbage_add(struct store *s, uint64_t lo, uint64_t hi, bool whole)
{
    (void)sqlite3_bind_int(s->stmts[STMT_GARBAGE_PUT], 3, whole);
    s->garbage = true;
    return run_u64_u64(s, STMT_GARBAGE_PUT, lo, hi);
}

static void
bind_bytes(sqlite3_stmt *q, int at, const char *p, size_t n)
{
    if (n > 0) {
        (void)sqlite3_bind_blob64(q, at, p, n, SQLITE_STATIC);
    } else {
        (void)sqlite3_bind_null(q, at);
    }
}

/* op.name is the header block, op.data the payload, as the journal has them. */
static int
append(struct store *s, const struct journal_entry *e)
{
    sqlite3_stmt *q = s->stmts[STORE_APPEND];
    (void)sqlite3_bind_int64(q, 2, e->ts);
    (void)sqlite3_bind_int64(q, 3, e->op.subject_id);
    (void)sqlite3_bind_int64(q, 4, e->flags);
    bind_bytes(q, 5, e->op.name, e->op.name_len);
    bind_bytes(q, 6, e->op.data, e->op.data_len);
    return run_u64(s, STORE_APPEND, e->op.row);
}

static int
op_append(struct store *s, const struct store_op *op)
{
    const struct msg *m = op->msg;
    struct journal_entry e = {.op = {.subject_id = op->subject_id,
                                     .row = op->row,
                                     .name = msg_hdr(m),
                                     .name_len = m->hdr_len,
                                     .data = msg_data(m),
                                     .data_len = m->data_len},
                              .ts = m->ts,
                              .flags = m->flags};
    return append(s, &e);
}

static int
op_named(struct store *s, const struct store_op *op, bool with_data)
{
    sqlite3_stmt *q = s->stmts[op->kind];
    (void)sqlite3_bind_text64(q, 2, op->name, op->name_len, SQLITE_STATIC, SQLITE_UTF8);
    if (with_data) {
        (void)sqlite3_bind_text64(q, 3, op->data, op->data_len, SQLITE_STATIC, SQLITE_UTF8);
    }
    return run_u64(s, (int)op->kind, op->stream);
}

static int
op_subject(struct store *s, const struct store_op *op)
{
    sqlite3_stmt *q = s->stmts[STORE_PUT_SUBJECT];
    (void)sqlite3_bind_text64(q, 3, op->name, op->name_len, SQLITE_STATIC, SQLITE_UTF8);
    return run_u64_u64(s, STORE_PUT_SUBJECT, op->stream, op->subject_id);
}

static int
op_put_chunk(struct store *s, const struct store_op *op)
{
    (void)sqlite3_bind_blob64(s->stmts[STORE_PUT_CHUNK], 2, op->data, op->data_len, SQLITE_STATIC);
    return run_u64(s, STORE_PUT_CHUNK, op->row);
}

static int
op_put_log(struct store *s, const struct store_op *op)
{
    sqlite3_stmt *q = s->stmts[STORE_PUT_LOG];
    (void)sqlite3_bind_text64(q, 3, op->data, op->data_len, SQLITE_STATIC, SQLITE_UTF8);
    return run_u64_u64(s, STORE_PUT_LOG, op->stream, op->row);
}

static int
op_put_stream(struct store *s, const struct store_op *op)
{
    sqlite3_stmt *q = s->stmts[STORE_PUT_STREAM];
    size_t account = strnlen(op->name, op->name_len);
    size_t skip = account < op->name_len ? account + 1 : account;
    (void)sqlite3_bind_text64(q, 2, op->name, account, SQLITE_STATIC, SQLITE_UTF8);
    (void)sqlite3_bind_text64(q, 3, op->name + skip, op->name_len - skip, SQLITE_STATIC,
                              SQLITE_UTF8);
    (void)sqlite3_bind_text64(q, 4, op->data, op->data_len, SQLITE_STATIC, SQLITE_UTF8);
    return run_u64(s, STORE_PUT_STREAM, op->stream);
}

static int
op_erase(struct store *s, const struct store_op *op)
{
    int rc = sqlite3_exec(s->db, "PRAGMA secure_delete=ON", NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        rc = run_u64(s, STORE_REMOVE, op->row);
    }
    int end = sqlite3_exec(s->db, "PRAGMA secure_delete=OFF", NULL, NULL, NULL);
    return rc != SQLITE_OK ? rc : end;
}

static int
op_del_stream(struct store *s, const struct store_op *op)
{
    static const int all[] = {STORE_DEL_STREAM, STMT_DEL_LOG, STMT_DEL_CONSUMERS,
                              STMT_DEL_SUBJECTS};
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && rc == SQLITE_OK; i++) {
        rc = run_u64(s, all[i], op->stream);
    }
    if (rc == SQLITE_OK) {
        rc = garbage_add(s, STORE_ROW(op->stream, 0), STORE_ROW(op->stream + 1, 0) - 1, true);
    }
    return rc;
}

static int
do_op(struct store *s, const struct store_op *op)
{
    switch (op->kind) {
    case STORE_APPEND:
        return op_append(s, op);
    case STORE_PUT_SUBJECT:
        return op_subject(s, op);
    case STORE_REMOVE:
    case STORE_DROP_CHUNK:
        return run_u64(s, (int)op->kind, op->row);
    case STORE_ERASE:
        return op_erase(s, op);
    case STORE_REMOVE_RANGE:
        return garbage_add(s, op->row, op->row_end, false);
    case STORE_PUT_CHUNK:
        return op_put_chunk(s, op);
    case STORE_PUT_LOG:
        return op_put_log(s, op);
    case STORE_PUT_STREAM:
        return op_put_stream(s, op);
    case STORE_DEL_STREAM:
        return op_del_stream(s, op);
    case STORE_PUT_CONSUMER:
        return op_named(s, op, true);
    case STORE_DEL_CONSUMER:
        return op_named(s, op, false);
    case STORE_SYNC:
    case STORE_KINDS_:
        break;
    }
    return SQLITE_OK;
}

/* Deletes what of one range fits into the time. Sets *done where the range is gone. */
static int
delete_slice(struct store *s, uint64_t *lo, uint64_t hi, int64_t end, bool *done)
{
    int rc = SQLITE_OK;
    *done = false;
    while (rc == SQLITE_OK && !*done && clock_mono_ns() < end) {
        sqlite3_stmt *q = s->stmts[STMT_FIRST_ROW];
        (void)sqlite3_bind_int64(q, 1, (sqlite3_int64)*lo);
        (void)sqlite3_bind_int64(q, 2, (sqlite3_int64)hi);
        rc = sqlite3_step(q);
        *done = rc == SQLITE_ROW && sqlite3_column_type(q, 0) == SQLITE_NULL;
        uint64_t first = rc == SQLITE_ROW && !*done ? (uint64_t)sqlite3_column_int64(q, 0) : *lo;
        int end_rc = sqlite3_reset(q);
        rc = rc == SQLITE_ROW ? SQLITE_OK : end_rc;
        if (rc == SQLITE_OK && !*done) {
            uint64_t last = first + SLICE_ROWS - 1 < hi ? first + SLICE_ROWS - 1 : hi;
            rc = run_u64_u64(s, STMT_DEL_SLICE, first, last);
            *lo = last + 1;
            *done = last == hi;
        }
    }
    return rc;
}

/* One range of the garbage, in the open transaction. *freed: a stream's number that is free then.
 */
static int
collect(struct store *s, int64_t most, uint64_t *freed)
{
    sqlite3_stmt *q = s->stmts[STMT_GARBAGE_GET];
    int rc = sqlite3_step(q);
    if (rc != SQLITE_ROW) {
        s->garbage = false;
        return sqlite3_reset(q);
    }
    uint64_t from = (uint64_t)sqlite3_column_int64(q, 0);
    uint64_t hi = (uint64_t)sqlite3_column_int64(q, 1);
    bool whole = sqlite3_column_int(q, 2) != 0;
    (void)sqlite3_reset(q);
    uint64_t lo = from;
    bool done;
    rc = delete_slice(s, &lo, hi, clock_mono_ns() + most, &done);
    if (rc == SQLITE_OK && done) {
        rc = run_u64_u64(s, STMT_GARBAGE_DONE, from, whole ? hi : from);
        if (rc == SQLITE_OK && whole) {
            rc = run_u64_u64(s, STMT_DEL_CHUNKS, STORE_ROW(hi >> STORE_OFFSET_BITS, 0), hi);
            *freed = hi >> STORE_OFFSET_BITS;
        }
    } else if (rc == SQLITE_OK && lo != from) {
        rc = run_u64_u64(s, STMT_GARBAGE_CUT, from, lo);
    }
    return rc;
}

static int
set_sync(struct store *s, bool on)
{
    if (s->path == NULL || s->synced == on) {
        return SQLITE_OK;
    }
    int rc = sqlite3_exec(s->db, on ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", NULL,
                          NULL, NULL);
    s->synced = rc == SQLITE_OK ? on : s->synced;
    return rc;
}

/* A turn on an I/O thread does not wait for another process that holds the file. */
static int
begin_tx(struct store *s, bool in_turn)
{
    if (in_turn) {
        (void)sqlite3_busy_timeout(s->db, 0);
    }
    int rc = run(s, STMT_BEGIN);
    if (in_turn) {
        (void)sqlite3_busy_timeout(s->db, BUSY_MS);
    }
    return rc;
}

static int
do_entry(void *arg, const struct journal_entry *e)
{
    return e->op.kind == STORE_APPEND ? append(arg, e) : do_op(arg, &e->op);
}

/* One transaction and what it changes beside the operations. */
struct tx {
    const struct list_node *ops;
    bool in_turn, sync;
    bool behind;    /* beside the writer: of the journal its cut alone */
    bool garbage;   /* a slice of it */
    bool moves;     /* the journal's place, to a new turn where it keeps the store's promise: */
    bool new_turn;  /* what came before it cannot be lost without it */
    uint64_t n;     /* operations done */
    uint64_t freed; /* a stream's number that is free then */
};

static void
plan(const struct store *s, struct tx *t)
{
    if (s->journal == NULL || t->behind) {
        return;
    }
    bool needed = !s->opts.durable || !journal_is_at_start(s->journal);
    t->new_turn = !s->opts.durable || s->synced;
    t->moves =
        !s->journal_ok || !journal_is_drained(s->journal) || (needed && !list_is_empty(t->ops));
}

static int
put_place(struct store *s, const struct tx *t)
{
    struct journal_place p =
        t->behind ? journal_cut_place(s->journal) : journal_place(s->journal, t->new_turn);
    return store_journal_put_place(s, &p);
}

/* All between begin and end. */
static int
work(struct store *s, struct tx *t)
{
    /* Writes a page though nothing changes: does the disk take it again? */
    int rc = s->failing != SQLITE_OK ? run(s, STMT_PROBE) : SQLITE_OK;
    if (rc == SQLITE_OK && t->moves) {
        rc = journal_each(s->journal, t->behind, do_entry, s);
    }
    for (const struct list_node *it = t->ops->next; it != t->ops && rc == SQLITE_OK;
         it = it->next) {
        rc = do_op(s, LIST_ENTRY(it, const struct store_op, node));
        t->n++;
    }
    if (rc == SQLITE_OK && s->garbage && (t->garbage || t->n >= RIDE_OPS)) {
        rc = collect(s, SLICE_NS, &t->freed);
    }
    if (rc == SQLITE_OK && t->moves) {
        rc = put_place(s, t);
    }
    return rc == SQLITE_OK ? run(s, STMT_COMMIT) : rc;
}

static void
succeeded(struct store *s)
{
    static struct log_limit lim;
    uint64_t held;
    if (atomic_exchange(&s->failing, SQLITE_OK) != SQLITE_OK && log_limit_pass(&lim, &held)) {
        log_info("JetStream store %s: it takes writes again",
                 s->path != NULL ? s->path : "in memory");
    }
}

int
store_hold_undrained(struct store *s)
{
    int rc = sqlite3_exec(s->db, "PRAGMA cache_spill=OFF", NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        rc = begin_tx(s, false);
    }
    if (rc == SQLITE_OK) {
        rc = journal_each(s->journal, false, do_entry, s);
    }
    s->held = true;
    return rc;
}

static enum status
failed(struct store *s, int rc)
{
    static struct log_limit lim;
    uint64_t held;
    s->journal_ok = false;
    s->unsound = s->unsound || rc == SQLITE_IOERR_FSYNC;
    atomic_fetch_add(&s->failures, 1);
    if (atomic_exchange(&s->failing, rc) != rc && log_limit_pass(&lim, &held)) {
        log_error("JetStream store %s: %s", s->path != NULL ? s->path : "in memory",
                  sqlite3_errstr(rc));
    }
    return store_status(rc) != ST_OK ? store_status(rc) : ST_IO;
}

/* From begin to end; what is held is let go for it, and again where it fails. */
static int
attempt(struct store *s, struct tx *t)
{
    bool held = s->held;
    bool alone = s->path == NULL || held;
    if (alone) {
        (void)pthread_mutex_lock(&s->db_lock);
    }
    if (held && sqlite3_get_autocommit(s->db) == 0) {
        (void)run(s, STMT_ROLLBACK);
    }
    int rc = s->opts.durable ? store_mend(s) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = set_sync(s, t->sync);
    }
    if (rc == SQLITE_OK) {
        plan(s, t);
        rc = begin_tx(s, t->in_turn);
    }
    if (rc == SQLITE_OK) {
        rc = work(s, t);
        if (rc != SQLITE_OK && sqlite3_get_autocommit(s->db) == 0) {
            (void)run(s, STMT_ROLLBACK);
        }
    }
    if (held && rc == SQLITE_OK) {
        s->held = false;
    } else if (held) {
        (void)store_hold_undrained(s);
    }
    if (alone) {
        (void)pthread_mutex_unlock(&s->db_lock);
    }
    return rc;
}

static enum status
transact(struct store *s, struct tx *t)
{
    int rc = attempt(s, t);
    if (rc != SQLITE_OK) {
        bool busy = t->in_turn && (rc & 0xff) == SQLITE_BUSY;
        return busy ? ST_EXISTS : failed(s, rc);
    }
    if (s->failing != SQLITE_OK) {
        succeeded(s);
    }
    if (t->moves && !t->behind) {
        journal_drained(s->journal, t->new_turn);
        s->drained = s->journaled;
        s->journal_ok = s->journal_ok || t->new_turn;
    }
    if (t->freed != 0) {
        store_release_id(s, t->freed);
    }
    store_checkpoint_after(s);
    return ST_OK;
}

void
store_count(struct store *s, int64_t start, uint64_t n)
{
    int64_t took = clock_mono_ns() - start;
    if (took > s->worst_commit) {
        s->worst_commit = took;
    }
    atomic_fetch_add(&s->commits, 1);
    atomic_fetch_add(&s->ops, n);
}

enum status
store_transact(struct store *s, const struct list_node *ops, bool in_turn)
{
    /* What the journal has may come back after a power loss. */
    bool repair = s->journal != NULL && !s->journal_ok;
    struct tx t = {
        .ops = ops, .in_turn = in_turn, .sync = s->opts.durable && (repair || !list_is_empty(ops))};
    return transact(s, &t);
}

enum status
store_transact_behind(struct store *s, bool cut, bool garbage)
{
    struct list_node none;
    list_init(&none);
    struct tx t = {.ops = &none, .behind = true, .moves = cut, .garbage = garbage};
    return transact(s, &t);
}

static void
finish_one(struct store *s, struct store_op *op, struct list_node *more, enum status st)
{
    if (op->kind == STORE_SYNC && op->row != store_failures(s)) {
        st = ST_IO;
    }
    if (op->done != NULL) {
        op->done(op, more, st);
    } else {
        mem_free(op);
    }
}

/* Appends of one group that follow op, as one list. */
static void
gather(struct list_node *ops, const struct store_op *op, struct list_node *more)
{
    list_init(more);
    if (op->kind != STORE_APPEND || op->group == NULL) {
        return;
    }
    struct list_node *it;
    struct list_node *tmp;
    LIST_FOREACH_SAFE(it, tmp, ops)
    {
        const struct store_op *next = LIST_ENTRY(it, const struct store_op, node);
        if (next->kind != STORE_APPEND || next->group != op->group) {
            return;
        }
        list_remove(it);
        list_push_back(more, it);
    }
}

void
store_finish(struct store *s, struct list_node *ops, enum status st)
{
    struct list_node *n;
    struct list_node more;
    struct list_node all;
    list_init(&all);
    list_splice_back(&all, ops);
    while ((n = list_pop_front(&all)) != NULL) {
        struct store_op *op = LIST_ENTRY(n, struct store_op, node);
        if (st != ST_OK && op->kind != STORE_APPEND && op->kind != STORE_SYNC) {
            list_push_back(&s->kept, n);
            continue;
        }
        gather(&all, op, &more);
        finish_one(s, op, &more, st);
    }
}

void
store_let_go(struct store *s)
{
    struct list_node *n;
    while ((n = list_pop_front(&s->kept)) != NULL) {
        struct list_node none;
        list_init(&none);
        finish_one(s, LIST_ENTRY(n, struct store_op, node), &none, ST_IO);
    }
}
