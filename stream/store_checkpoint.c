/* SPDX-License-Identifier: Apache-2.0 */
/* The write-ahead log goes back into the file beside the writer, on a thread with a connection of
 * its own. The log starts over only when all of it has been copied, which a steady writer would
 * never let happen: so the last pages, few by then, are copied while the writer is held. A log that
 * starts over often stays small: commits overwrite what is in the page cache and on the disk
 * already, which is cheaper than to let a file grow. Deferred syncs happen here too. */
#include <time.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/journal.h"
#include "stream/store_priv.h"

/* Each so many bytes of the log are copied. To let it start over makes the writer wait for a sync:
 * where its commits do so anyway the log may well be short, else it happens seldom. */
#define ASK_DURABLE   ((int64_t)16 << 20)
#define ASK_DEFERRED  ((int64_t)32 << 20)
#define OVER_DEFERRED ((int64_t)128 << 20)
#define QUICK_NS      (5 * CLOCK_MS)
/* NB: SQLite cuts a write of 128 KiB or more. */
#define ZEROS ((int64_t)64 << 10)
enum { ROUNDS = 8, FEW_PAGES = 64, MORE_PAGES = 1024 };

void
store_make_wal_room(struct store *s)
{
    sqlite3_file *f = NULL;
    char *zeros = mem_alloc(ZEROS);
    int rc = zeros != NULL ? sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &f)
                           : SQLITE_NOMEM;
    int64_t room = s->opts.wal_limit < ASK_DURABLE ? s->opts.wal_limit : ASK_DURABLE;
    for (int64_t at = 0; at < room && rc == SQLITE_OK && f != NULL; at += ZEROS) {
        rc = f->pMethods->xWrite(f, zeros, ZEROS, at);
    }
    mem_free(zeros);
    s->unsynced = true;
}

/* Of the file: under file_lock. */
static void
note_failed_sync(struct store *s, bool of_file)
{
    s->unsound = true;
    s->file_unsound = s->file_unsound || of_file;
}

/* which: SQLITE_FCNTL_FILE_POINTER or SQLITE_FCNTL_JOURNAL_POINTER, of a connection that has them
 * open. */
static int
sync_part(sqlite3 *db, int which)
{
    sqlite3_file *f = NULL;
    int rc = sqlite3_file_control(db, "main", which, &f);
    return rc == SQLITE_OK ? f->pMethods->xSync(f, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY) : rc;
}

static void
sync_wal(struct store *s)
{
    int rc = sync_part(s->ckpt_db, SQLITE_FCNTL_JOURNAL_POINTER);
    if (rc != SQLITE_OK) {
        note_failed_sync(s, false);
        log_error("JetStream store %s: sync: %s", s->path, sqlite3_errstr(rc));
    }
}

/* SQLite syncs the file only when it has copied all: what others copied would be waited for then,
 * with the writer held. */
static int
sync_file(sqlite3 *db)
{
    return sync_part(db, SQLITE_FCNTL_FILE_POINTER);
}

/* It holds something where the disk is full. */
static void
sync_journal(struct store *s)
{
    enum status st = s->journal != NULL ? journal_sync(s->journal) : ST_OK;
    if (st != ST_OK) {
        note_failed_sync(s, false);
        log_error("JetStream store %s: sync of the journal: %s", s->path, status_text(st));
    }
}

/* True: tells how many pages of the log are not in the file yet. SQLite counts only those that were
 * there when it began. last: with the writer held, so no sync of ours. */
static bool
copy(struct store *s, int *left, bool last)
{
    sqlite3 *db = s->ckpt_db;
    int done = 0;
    (void)pthread_mutex_lock(&s->file_lock);
    int rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, &done);
    *left = rc == SQLITE_OK ? s->wal_pages - done : 1;
    if (rc == SQLITE_OK && *left > 0 && !last) {
        rc = sync_file(db);
    }
    if ((rc & 0xff) == SQLITE_IOERR) {
        note_failed_sync(s, true);
    }
    (void)pthread_mutex_unlock(&s->file_lock);
    return rc == SQLITE_OK;
}

/* ---- after a sync that failed ---- */

/* Each page of the file that the log has is written once more, as the system shows it. */
static int
rewrite_pages(struct store *s)
{
    enum { LOG_HEAD = 32, PAGE_HEAD = 24 };
    sqlite3_file *file = NULL;
    sqlite3_file *wal = NULL;
    sqlite3_int64 size = 0;
    int page_size = (int)s->page_size;
    char *page = mem_alloc_raw((size_t)page_size);
    int rc = page != NULL ? sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, &file)
                          : SQLITE_NOMEM;
    if (rc == SQLITE_OK) {
        rc = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    }
    if (rc == SQLITE_OK) {
        rc = file->pMethods->xFileSize(file, &size);
    }
    for (int i = 0; i < s->wal_pages && rc == SQLITE_OK; i++) {
        unsigned char number[4];
        sqlite3_int64 at = LOG_HEAD + (sqlite3_int64)i * (PAGE_HEAD + page_size);
        rc = wal->pMethods->xRead(wal, number, (int)sizeof(number), at);
        at = ((sqlite3_int64)number[0] << 24 | number[1] << 16 | number[2] << 8 | number[3]) - 1;
        at *= page_size;
        if (rc != SQLITE_OK || at < 0 || at + page_size > size) {
            continue;
        }
        rc = file->pMethods->xRead(file, page, page_size, at);
        if (rc == SQLITE_OK) {
            rc = file->pMethods->xWrite(file, page, page_size, at);
        }
    }
    mem_free(page);
    return rc == SQLITE_OK ? sync_file(s->db) : rc;
}

/* The system may have let go of what a failed sync was to write, and the next sync says nothing of
 * it: a commit behind a hole in the log would be lost with the power, whatever its own sync says.
 * So the log goes into the file, from which a start needs no log. NB: until then the log has all
 * that is in doubt, for it starts over only when all of it is in the file. */
int
store_mend(struct store *s)
{
    if (!s->unsound) {
        return SQLITE_OK;
    }
    int all = 0;
    int done = 0;
    (void)pthread_mutex_lock(&s->file_lock);
    int rc = s->file_unsound ? rewrite_pages(s) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        s->file_unsound = false;
        rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_RESTART, &all, &done);
    }
    if (rc == SQLITE_OK && all != done) {
        rc = SQLITE_BUSY;
    }
    if (rc == SQLITE_OK) {
        s->unsound = false;
        s->wal_restarts = true;
    }
    (void)pthread_mutex_unlock(&s->file_lock);
    return rc;
}

/* On the checkpointer's thread; tried again with the next checkpoint, sync or commit. */
static void
mend(struct store *s)
{
    store_hold(s);
    if (store_mend(s) != SQLITE_OK) {
        log_error("JetStream store %s: not all is on the disk since a sync failed", s->path);
    }
    store_unhold(s);
}

/* ---- checkpoints ---- */

static int64_t
wal_bytes(const struct store *s)
{
    return s->wal_pages * s->page_size;
}

static bool
may_hold(const struct store *s, int left, bool quick)
{
    int64_t bytes = wal_bytes(s);
    int few = bytes >= s->opts.wal_limit ? MORE_PAGES : FEW_PAGES;
    return bytes >= 2 * s->opts.wal_limit || (quick && left <= few);
}

/* Holds the writer for a few pages where the disk has just shown that it is quick; for more where
 * the log is past the limit; in any case where it is far past it.
 * NB: a reader of another process may keep it from ever being done; then the log grows. */
static void
checkpoint(struct store *s)
{
    int left = 1;
    bool hold = false;
    if (s->unsound) {
        mend(s);
        return;
    }
    int rounds = wal_bytes(s) >= s->over_from ? ROUNDS : 1;
    for (int i = 0; i < rounds && left > 0 && !hold; i++) {
        int64_t begin = clock_mono_ns();
        if (!copy(s, &left, false)) {
            return;
        }
        hold = rounds > 1 && left > 0 && may_hold(s, left, clock_mono_ns() - begin < QUICK_NS);
    }
    if (hold) {
        store_hold(s);
        if (!copy(s, &left, true)) {
            left = 1;
        }
        store_unhold(s);
    }
    s->wal_restarts = left == 0;
}

/* Takes and gives the lock. */
static void
work(struct store *s, int64_t *next_sync)
{
    bool wanted = s->ckpt_wanted;
    s->ckpt_wanted = false;
    (void)pthread_mutex_unlock(&s->ckpt_lock);
    if (!s->opts.durable && clock_mono_ns() >= *next_sync) {
        *next_sync = clock_mono_ns() + s->opts.sync_interval;
        if (atomic_exchange(&s->unsynced, false) || s->unsound) {
            store_drain(s);
            sync_wal(s);
            sync_journal(s);
        }
        if (s->unsound) {
            mend(s);
        }
    }
    if (wanted) {
        checkpoint(s);
    }
    (void)pthread_mutex_lock(&s->ckpt_lock);
}

static void *
thread_main(void *arg)
{
    struct store *s = arg;
    int64_t next_sync = clock_mono_ns() + s->opts.sync_interval;
    sync_wal(s);
    (void)pthread_mutex_lock(&s->ckpt_lock);
    while (!s->ckpt_stop) {
        work(s, &next_sync);
        if (s->ckpt_wanted || s->ckpt_stop) {
            continue;
        }
        if (s->opts.durable) {
            (void)pthread_cond_wait(&s->ckpt_cond, &s->ckpt_lock);
        } else {
            struct timespec ts;
            (void)clock_gettime(CLOCK_REALTIME, &ts);
            int64_t at = ts.tv_sec * CLOCK_S + ts.tv_nsec + s->opts.sync_interval;
            ts = (struct timespec){at / CLOCK_S, at % CLOCK_S};
            (void)pthread_cond_timedwait(&s->ckpt_cond, &s->ckpt_lock, &ts);
        }
    }
    (void)pthread_mutex_unlock(&s->ckpt_lock);
    return NULL;
}

static int
on_wal(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    struct store *s = arg;
    s->wal_pages = pages;
    s->wal_restarts = false;
    return SQLITE_OK;
}

static void
disconnect(struct store *s)
{
    (void)sqlite3_close(s->ckpt_db);
    s->ckpt_db = NULL;
}

/* With its files open, which takes a read. */
static enum status
connect_to_files(struct store *s)
{
    int rc = store_connect(s, &s->ckpt_db);
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(s->ckpt_db, "PRAGMA schema_version", NULL, NULL, NULL);
    }
    if (rc != SQLITE_OK) {
        log_error("JetStream store %s: no connection for checkpoints: %s", s->path,
                  sqlite3_errstr(rc));
        disconnect(s);
    }
    return store_status(rc);
}

enum status
store_checkpointer_start(struct store *s)
{
    enum status st = connect_to_files(s);
    if (st != ST_OK) {
        return st;
    }
    (void)sqlite3_wal_hook(s->db, on_wal, s);
    int64_t ask = s->opts.durable ? ASK_DURABLE : ASK_DEFERRED;
    int64_t over = s->opts.durable ? 0 : OVER_DEFERRED;
    s->ask_after = s->opts.wal_limit < ask ? s->opts.wal_limit : ask;
    s->over_from = s->opts.wal_limit < over ? s->opts.wal_limit : over;
    s->ckpt_running = pthread_create(&s->checkpointer, NULL, thread_main, s) == 0;
    if (!s->ckpt_running) {
        disconnect(s);
        return ST_NOMEM;
    }
    (void)pthread_setname_np(s->checkpointer, "store-ckpt");
    return ST_OK;
}

void
store_checkpointer_stop(struct store *s)
{
    if (!s->ckpt_running) {
        return;
    }
    (void)pthread_mutex_lock(&s->ckpt_lock);
    s->ckpt_stop = true;
    (void)pthread_cond_signal(&s->ckpt_cond);
    (void)pthread_mutex_unlock(&s->ckpt_lock);
    (void)pthread_join(s->checkpointer, NULL);
    s->ckpt_running = false;
    disconnect(s);
}

bool
store_is_quick(const struct store *s)
{
    return s->path == NULL || (!s->opts.durable && !s->wal_restarts && !s->held);
}

void
store_checkpoint_after(struct store *s)
{
    if (s->path == NULL) {
        return;
    }
    s->unsynced = true;
    int64_t bytes = wal_bytes(s);
    if (bytes < s->wal_asked) {
        s->wal_asked = 0;
    }
    if (s->ckpt_running && bytes - s->wal_asked >= s->ask_after) {
        s->wal_asked = bytes;
        (void)pthread_mutex_lock(&s->ckpt_lock);
        s->ckpt_wanted = true;
        (void)pthread_cond_signal(&s->ckpt_cond);
        (void)pthread_mutex_unlock(&s->ckpt_lock);
    }
}
