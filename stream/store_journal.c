/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a store and the place that the database keeps of it. Happy path: at a start the
 * database takes what continues at the kept place, and a new salt; at the stop it has all and the
 * place goes. While there is a place, a server was killed or runs: what the journal holds may be
 * acknowledged and nowhere else, so that without the file there is no start. Where there is none
 * the file means nothing.
 *
 * The place moves in the same transaction that takes what came before it. A commit that cannot be
 * lost any more (deferred: any, so far as the store promises) begins a new turn, so nothing of the
 * journal is written over before that, and what is written later never continues at a place of a
 * database from which the loss of power has taken a commit. */
#include <stdio.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/journal.h"
#include "stream/store_priv.h"

#define FORGET "DELETE FROM journal"

/* The version before has no table for it. */
static int
prepare(struct store *s)
{
    static const char put[] = "INSERT OR REPLACE INTO journal(id, file, salt, turn, place)"
                              " VALUES(1, ?, ?, ?, ?)";
    static const char upgrade[] =
        "BEGIN IMMEDIATE; " STORE_JOURNAL_TABLE STORE_SET_VERSION " COMMIT";
    sqlite3_stmt **q = &s->stmts[STMT_PUT_PLACE];
    int rc = sqlite3_prepare_v3(s->db, put, -1, SQLITE_PREPARE_PERSISTENT, q, NULL);
    if ((rc & 0xff) != SQLITE_ERROR) {
        return rc;
    }
    rc = sqlite3_exec(s->db, upgrade, NULL, NULL, NULL);
    if (rc != SQLITE_OK) {
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        return rc;
    }
    return sqlite3_prepare_v3(s->db, put, -1, SQLITE_PREPARE_PERSISTENT, q, NULL);
}

/* *found: whether there is one. */
static int
read_place(struct store *s, struct journal_place *p, bool *found)
{
    sqlite3_stmt *q;
    int rc = sqlite3_prepare_v2(s->db, "SELECT file, salt, turn, place FROM journal", -1, &q, NULL);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool row = sqlite3_step(q) == SQLITE_ROW;
    *p = (struct journal_place){.file = (uint64_t)sqlite3_column_int64(q, 0),
                                .salt = (uint64_t)sqlite3_column_int64(q, 1),
                                .turn = (uint64_t)sqlite3_column_int64(q, 2),
                                .offset = (uint64_t)sqlite3_column_int64(q, 3)};
    rc = sqlite3_finalize(q);
    *found = rc == SQLITE_OK ? row : *found;
    return rc;
}

int
store_journal_put_place(struct store *s, const struct journal_place *p)
{
    sqlite3_stmt *q = s->stmts[STMT_PUT_PLACE];
    (void)sqlite3_bind_int64(q, 1, (sqlite3_int64)p->file);
    (void)sqlite3_bind_int64(q, 2, (sqlite3_int64)p->salt);
    (void)sqlite3_bind_int64(q, 3, (sqlite3_int64)p->turn);
    (void)sqlite3_bind_int64(q, 4, (sqlite3_int64)p->offset);
    (void)sqlite3_step(q);
    return sqlite3_reset(q);
}

/* ---- start and stop ---- */

static enum status
refuse(const struct store *s, const char *path, enum status st, char **err)
{
    struct buf b;
    buf_init(&b);
    if (path != s->path && (st == ST_NOTFOUND || st == ST_INVAL)) {
        buf_printf(&b,
                   "JetStream store %s: the file is %s; it may hold messages that %s does not have."
                   " Put it back, or give them up: sqlite3 %s '" FORGET "'",
                   path, st == ST_INVAL ? "damaged" : "missing", s->path, s->path);
        st = ST_INVAL;
    } else {
        buf_printf(&b, "JetStream store %s: %s", path, status_text(st));
    }
    *err = buf_detach(&b, NULL);
    return st;
}

/* The place is the database's with the first transaction. Where the disk takes none the journal is
 * not written, and what it has is read from memory. */
static enum status
begin(struct store *s, struct journal *j)
{
    struct list_node none;
    list_init(&none);
    journal_renew(j);
    s->journal = j;
    s->journal_ok = false;
    enum status st = store_transact(s, &none, false);
    if (st == ST_FULL || st == ST_IO) {
        s->retry_at = clock_mono_ns();
        st = journal_is_drained(j) ? ST_OK : store_status(store_hold_undrained(s));
    }
    return st;
}

static enum status
start(struct store *s, const char *path, char **err)
{
    struct journal_place place;
    struct journal *j = NULL;
    const char *of = s->path;
    int rc = prepare(s);
    bool in_use = rc == SQLITE_OK; /* so long as nothing else is known */
    if (rc == SQLITE_OK) {
        rc = read_place(s, &place, &in_use);
    }
    enum status st = store_status(rc);
    if (st == ST_OK) {
        of = path;
        st = journal_open(&j, s->vfs, path, !in_use);
    }
    if (st == ST_OK && in_use) {
        st = journal_recover(j, &place);
    }
    if (st != ST_OK) {
        journal_close(j);
    } else {
        of = s->path;
        st = begin(s, j);
    }
    if (st == ST_OK || in_use || st == ST_NOMEM) {
        return st == ST_OK ? st : refuse(s, of, st, err);
    }
    log_warn("JetStream store %s: %s; the store works without it", path, status_text(st));
    journal_close(s->journal);
    s->journal = NULL;
    return ST_OK;
}

enum status
store_journal_open(struct store *s, char **err)
{
    struct buf b;
    if (s->path == NULL) {
        return ST_OK;
    }
    buf_init(&b);
    buf_printf(&b, "%s/sluice.journal", s->opts.dir);
    enum status st = buf_status(&b);
    if (st == ST_OK) {
        st = start(s, b.data, err);
    }
    buf_fini(&b);
    return st;
}

void
store_journal_retire(struct store *s)
{
    if (s->journal == NULL) {
        return;
    }
    struct list_node none;
    list_init(&none);
    /* NB: where this fails the next start does it. */
    bool all = journal_is_drained(s->journal) || store_transact(s, &none, false) == ST_OK;
    if (all) {
        (void)sqlite3_exec(s->db, FORGET, NULL, NULL, NULL);
    }
    journal_close(s->journal);
    s->journal = NULL;
}

/* ---- writing ---- */

bool
store_journal_takes(const struct store *s, const struct list_node *ops)
{
    return s->journal != NULL && s->journal_ok && journal_has_room(s->journal) &&
           journal_takes(ops);
}

bool
store_journal_write(struct store *s, const struct list_node *ops)
{
    if (!store_journal_takes(s, ops)) {
        return false;
    }
    uint64_t before = journal_place(s->journal, false).offset;
    enum status st = journal_write(s->journal, ops, s->opts.durable);
    if (st != ST_OK) {
        static struct log_limit lim;
        uint64_t held;
        s->journal_ok = false;
        if (log_limit_pass(&lim, &held)) {
            log_error("JetStream store %s: journal: %s", s->path, status_text(st));
        }
        return false;
    }
    if (journal_place(s->journal, false).offset != before) {
        s->journaled++;
        s->unsynced = true;
    }
    return true;
}
