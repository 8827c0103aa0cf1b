/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, checking and closing the database. Writes are in store_write.c, reads in store_read.c,
 * checkpoints in store_checkpoint.c. */
#include "stream/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/assert.h"
#include "server/base/buf.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/journal.h"
#include "stream/store_priv.h"
#include "stream/store_read.h"

#define APPLICATION_ID "1399612771" /* "Sluc" */
#define OLDEST_VERSION 1            /* without the table of the journal, which it is given */
#define WAL_LIMIT      INT64_C(268435456)
/* A file up to this size is checked wholly at a start. */
#define CHECK_LIMIT INT64_C(33554432)

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS stream(id INTEGER PRIMARY KEY, account TEXT NOT NULL,"
    " name TEXT NOT NULL, record TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS log(id INTEGER PRIMARY KEY, base INTEGER NOT NULL,"
    " record TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS consumer(stream INTEGER, name TEXT, record TEXT NOT NULL,"
    " PRIMARY KEY(stream, name)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS subject(stream INTEGER, id INTEGER, subject TEXT NOT NULL,"
    " PRIMARY KEY(stream, id)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS message(id INTEGER PRIMARY KEY, ts INTEGER, subject INTEGER,"
    " flags INTEGER, hdr BLOB, data BLOB);"
    "CREATE TABLE IF NOT EXISTS chunk(id INTEGER PRIMARY KEY, data BLOB);"
    "CREATE TABLE IF NOT EXISTS garbage(lo INTEGER PRIMARY KEY, hi INTEGER, whole "
    "INTEGER);" STORE_JOURNAL_TABLE
    "CREATE VIEW IF NOT EXISTS messages AS SELECT t.account, t.name AS stream,"
    " (m.id & 4398046511103) + l.base AS seq, m.ts, s.subject, m.hdr, m.data"
    " FROM message m JOIN stream t ON t.id = m.id >> 42 JOIN log l ON l.id = t.id"
    " JOIN subject s ON s.stream = t.id AND s.id = m.subject;";

enum status
store_status(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return ST_OK;
    case SQLITE_NOMEM:
        return ST_NOMEM;
    case SQLITE_FULL:
        return ST_FULL;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ST_INVAL;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return ST_PERM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ST_EXISTS;
    default:
        return ST_IO;
    }
}

int
store_connect(struct store *s, sqlite3 **out)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(s->uri, out, flags, s->vfs);
    if (rc != SQLITE_OK) {
        return rc;
    }
    (void)sqlite3_extended_result_codes(*out, 1);
    (void)sqlite3_busy_timeout(*out, 5000);
    /* Some builds of SQLite overwrite all that is deleted: that would write as much as to append.
     */
    return sqlite3_exec(*out,
                        "PRAGMA cache_size=-8192; PRAGMA wal_autocheckpoint=0;"
                        "PRAGMA secure_delete=OFF;",
                        NULL, NULL, NULL);
}

static enum status
fail(char **err, enum status st, const char *path, const char *why)
{
    struct buf b;
    buf_init(&b);
    buf_printf(&b, "JetStream store %s: %s", path, why);
    *err = buf_detach(&b, NULL);
    return st;
}

static enum status
fail_db(const struct store *s, int rc, char **err)
{
    enum status st = store_status(rc);
    if (st == ST_INVAL) {
        return fail(err, st, s->path != NULL ? s->path : "in memory",
                    "the file is damaged or no store; it is left as it is");
    }
    if (rc == SQLITE_IOERR_SHMSIZE || st == ST_FULL) {
        return fail(err, ST_FULL, s->path != NULL ? s->path : "in memory",
                    "the disk is full; a start needs 1 MiB of it");
    }
    return fail(err, st, s->path != NULL ? s->path : "in memory",
                s->db != NULL ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
}

/* One server only: an advisory lock on a file of its own, gone with the process. */
static enum status
take_lock(struct store *s, char **err)
{
    struct buf b;
    buf_init(&b);
    buf_printf(&b, "%s/sluice.lock", s->opts.dir);
    enum status st = buf_status(&b);
    if (st == ST_OK) {
        s->lock_fd = open(b.data, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
        if (s->lock_fd < 0) {
            st = fail(err, ST_PERM, b.data, strerrordesc_np(errno));
        } else if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
            st = fail(err, ST_EXISTS, s->path, "another server uses it");
        }
    }
    buf_fini(&b);
    return st;
}

static int
pragma_int(sqlite3 *db, const char *sql, int64_t *out)
{
    sqlite3_stmt *q;
    int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_step(q);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    (void)sqlite3_finalize(q);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
check_pages(sqlite3 *db)
{
    sqlite3_stmt *q;
    int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &q, NULL);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_step(q);
    bool ok = rc == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(q, 0), "ok") == 0;
    int end = sqlite3_finalize(q);
    if (rc != SQLITE_ROW) {
        return end != SQLITE_OK ? end : SQLITE_CORRUPT;
    }
    return ok ? SQLITE_OK : SQLITE_CORRUPT;
}

/* The disk, and not the file, is why a write failed. */
static bool
is_no_room(int rc)
{
    return (rc & 0xff) == SQLITE_FULL || rc == SQLITE_IOERR_WRITE || rc == SQLITE_IOERR_FSYNC ||
           rc == SQLITE_IOERR_TRUNCATE;
}

/* What the write-ahead log holds goes into the file first: then its size must be what it says.
 * Where the disk takes no writes it stays in the log, and the server starts with what can be read.
 */
static int
check_file(struct store *s)
{
    struct stat sb;
    int64_t pages = 0;
    int64_t size = 0;
    int moved = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    int rc = is_no_room(moved) ? SQLITE_OK : moved;
    if (rc == SQLITE_OK) {
        rc = pragma_int(s->db, "PRAGMA page_count", &pages);
    }
    if (rc == SQLITE_OK) {
        rc = pragma_int(s->db, "PRAGMA page_size", &size);
    }
    if (rc != SQLITE_OK || stat(s->path, &sb) != 0) {
        return rc;
    }
    s->page_size = size;
    if (moved != SQLITE_OK) {
        log_warn("JetStream store %s: %s: nothing can be written, and the file is not checked for "
                 "missing pages",
                 s->path, sqlite3_errstr(moved));
        s->unsound = true;
    } else if (sb.st_size < pages * size) {
        return SQLITE_CORRUPT;
    } else {
        store_make_wal_room(s);
    }
    return pages * size <= CHECK_LIMIT ? check_pages(s->db) : SQLITE_OK;
}

/* *is_new: nothing is in it yet. */
static enum status
check_version(struct store *s, bool *is_new, char **err)
{
    int64_t app = 0;
    int64_t version = 0;
    int64_t tables = 0;
    int rc = pragma_int(s->db, "PRAGMA application_id", &app);
    if (rc == SQLITE_OK) {
        rc = pragma_int(s->db, "PRAGMA user_version", &version);
    }
    if (rc == SQLITE_OK) {
        rc = pragma_int(s->db, "SELECT count(*) FROM sqlite_schema", &tables);
    }
    if (rc != SQLITE_OK) {
        return fail_db(s, rc, err);
    }
    if (tables > 0 && (app != strtoll(APPLICATION_ID, NULL, 10) || version < OLDEST_VERSION ||
                       version > STORE_VERSION)) {
        return fail(err, ST_INVAL, s->path != NULL ? s->path : "in memory",
                    "not a store of this version; it is left as it is");
    }
    *is_new = tables == 0;
    return ST_OK;
}

/* What is there already is not written again: a full disk does not keep a server from its start. */
static int
set_up(struct store *s, bool is_new)
{
    int rc = SQLITE_OK;
    if (s->path != NULL) {
        rc = sqlite3_exec(s->db,
                          "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                          "PRAGMA journal_size_limit=536870912;",
                          NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK && is_new) {
        rc = sqlite3_exec(
            s->db, "BEGIN IMMEDIATE; PRAGMA application_id=" APPLICATION_ID ";" STORE_SET_VERSION,
            NULL, NULL, NULL);
        if (rc == SQLITE_OK) {
            rc = sqlite3_exec(s->db, schema, NULL, NULL, NULL);
        }
        if (rc == SQLITE_OK) {
            rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
        }
    }
    if (rc == SQLITE_OK && s->path != NULL) {
        rc = check_file(s);
    }
    s->synced = true;
    return rc;
}

/* Numbers of streams go on after the highest that anything of the file still bears. */
static int
find_next_id(struct store *s)
{
    int64_t last = 0;
    int rc = pragma_int(s->db,
                        "SELECT max((SELECT ifnull(max(id), 0) FROM stream),"
                        "(SELECT ifnull(max(id), 0) >> 42 FROM message),"
                        "(SELECT ifnull(max(id), 0) >> 42 FROM chunk),"
                        "(SELECT ifnull(max(hi), 0) >> 42 FROM garbage))",
                        &last);
    s->next_id = (uint64_t)last + 1;
    if (rc == SQLITE_OK) {
        int64_t n = 0;
        rc = pragma_int(s->db, "SELECT count(*) FROM garbage", &n);
        s->garbage = n > 0;
    }
    return rc;
}

static enum status
open_db(struct store *s, char **err)
{
    int rc = store_connect(s, &s->db);
    if (rc != SQLITE_OK) {
        return fail_db(s, rc, err);
    }
    bool is_new = false;
    enum status st = check_version(s, &is_new, err);
    if (st != ST_OK) {
        return st;
    }
    rc = set_up(s, is_new);
    if (rc == SQLITE_OK) {
        rc = find_next_id(s);
    }
    if (rc == SQLITE_OK) {
        rc = store_prepare_writer(s);
    }
    return rc == SQLITE_OK ? store_journal_open(s, err) : fail_db(s, rc, err);
}

static enum status
make_paths(struct store *s)
{
    struct buf b;
    buf_init(&b);
    if (s->opts.dir != NULL) {
        buf_printf(&b, "%s/sluice.db", s->opts.dir);
        s->path = buf_detach(&b, NULL);
    }
    s->uri = mem_strdup(s->path != NULL ? s->path : ":memory:");
    s->vfs = s->opts.vfs != NULL ? mem_strdup(s->opts.vfs) : NULL;
    bool ok = s->uri != NULL && (s->opts.dir == NULL || s->path != NULL) &&
              (s->opts.vfs == NULL || s->vfs != NULL);
    return ok ? ST_OK : ST_NOMEM;
}

static void
init_locks(struct store *s)
{
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_mutex_init(&s->readers_lock, NULL);
    (void)pthread_mutex_init(&s->ckpt_lock, NULL);
    (void)pthread_mutex_init(&s->file_lock, NULL);
    (void)pthread_cond_init(&s->ckpt_cond, NULL);
    (void)pthread_cond_init(&s->free_role, NULL);
    pthread_mutexattr_t again; /* a start reads more for each stream that it reads */
    (void)pthread_mutexattr_init(&again);
    (void)pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_mutex_init(&s->db_lock, &again);
    (void)pthread_mutexattr_destroy(&again);
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->cond, &attr);
    (void)pthread_cond_init(&s->behind_cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

enum status
store_open(struct store **out, const struct store_opts *opts, char **err)
{
    *out = NULL;
    *err = NULL;
    struct store *s = mem_alloc(sizeof(*s));
    if (s == NULL) {
        return ST_NOMEM;
    }
    s->opts = *opts;
    s->opts.wal_limit = opts->wal_limit > 0 ? opts->wal_limit : WAL_LIMIT;
    s->lock_fd = -1;
    list_init(&s->kept);
    list_init(&s->queue);
    init_locks(s);
    enum status st = make_paths(s);
    if (st == ST_OK && s->path != NULL) {
        st = take_lock(s, err);
    }
    if (st == ST_OK) {
        st = open_db(s, err);
    }
    if (st != ST_OK) {
        store_free(s);
        return st;
    }
    s->opts.dir = NULL;
    *out = s;
    return ST_OK;
}

void
store_free(struct store *s)
{
    if (s == NULL) {
        return;
    }
    ASSERT(!s->running);
    store_close_readers(s);
    journal_close(s->journal);
    store_finalize_writer(s);
    (void)sqlite3_close(s->db);
    if (s->lock_fd >= 0) {
        (void)close(s->lock_fd);
    }
    (void)pthread_cond_destroy(&s->cond);
    (void)pthread_cond_destroy(&s->behind_cond);
    (void)pthread_cond_destroy(&s->ckpt_cond);
    (void)pthread_cond_destroy(&s->free_role);
    (void)pthread_mutex_destroy(&s->file_lock);
    (void)pthread_mutex_destroy(&s->ckpt_lock);
    (void)pthread_mutex_destroy(&s->db_lock);
    (void)pthread_mutex_destroy(&s->readers_lock);
    (void)pthread_mutex_destroy(&s->lock);
    mem_free(s->free_ids);
    mem_free(s->vfs);
    mem_free(s->uri);
    mem_free(s->path);
    mem_free(s);
}

uint64_t
store_new_id(struct store *s)
{
    (void)pthread_mutex_lock(&s->lock);
    uint64_t id = 0;
    if (s->n_free > 0) {
        id = s->free_ids[--s->n_free];
    } else if (s->next_id < UINT64_C(1) << 21) {
        id = s->next_id++;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return id;
}

void
store_release_id(struct store *s, uint64_t id)
{
    (void)pthread_mutex_lock(&s->lock);
    if (s->n_free == s->cap_free) {
        size_t cap = s->cap_free == 0 ? 64 : s->cap_free * 2;
        uint64_t *ids = mem_realloc(s->free_ids, cap * sizeof(*ids));
        if (ids != NULL) {
            s->free_ids = ids;
            s->cap_free = cap;
        }
    }
    if (s->n_free < s->cap_free) {
        s->free_ids[s->n_free++] = id;
    }
    (void)pthread_mutex_unlock(&s->lock);
}

uint64_t
store_mark(const struct store *s)
{
    return atomic_load(&s->journaled);
}

bool
store_is_drained(const struct store *s, uint64_t mark)
{
    return atomic_load(&s->drained) >= mark;
}

uint64_t
store_failures(const struct store *s)
{
    return atomic_load(&s->failures);
}

enum status
store_failing(const struct store *s, const char **why)
{
    int rc = s->failing;
    if (why != NULL) {
        *why = sqlite3_errstr(rc);
    }
    enum status st = store_status(rc);
    return rc == SQLITE_OK || st != ST_OK ? st : ST_IO;
}

void
store_stats(struct store *s, struct store_stats *out)
{
    struct stat sb;
    *out = (struct store_stats){.commits = s->commits,
                                .ops = s->ops,
                                .failures = s->failures,
                                .worst_commit_ns = s->worst_commit};
    if (s->path != NULL && stat(s->path, &sb) == 0) {
        out->bytes = (uint64_t)sb.st_size;
    }
}
