/* SPDX-License-Identifier: Apache-2.0 */
/* The write-ahead log goes back into the file beside the writer, on a thread with a connection of
 * its own. The log starts over only when all of it has been copied, which a steady writer would
 * never let happen: so the last pages, few by then, are copied while the writer is held. A log that
 * starts over often stays small: commits overwrite what is in the page cache and on the disk
 * already, which is cheaper than to let a file grow. Deferred syncs happen here too. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
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

static void
sync_wal(struct store *s)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s-wal", s->path);
    int fd = n > 0 && (size_t)n < sizeof(path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    if (fdatasync(fd) != 0) {
        log_error("JetStream store %s: sync: error %d", s->path, errno);
    }
    (void)close(fd);
}

/* SQLite syncs the file only when it has copied all: what others copied would be waited for then,
 * with the writer held. */
static void
sync_file(sqlite3 *db)
{
    sqlite3_file *f = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f) == SQLITE_OK && f != NULL) {
        (void)f->pMethods->xSync(f, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    }
}

/* True: tells how many pages of the log are not in the file yet. SQLite counts only those that were
 * there when it began. */
static bool
copy(struct store *s, sqlite3 *db, int *left)
{
    int done;
    if (sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, &done) != SQLITE_OK) {
        return false;
    }
    *left = s->wal_pages - done;
    return true;
}

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
checkpoint(struct store *s, sqlite3 *db)
{
    int left = 1;
    bool hold = false;
    int rounds = wal_bytes(s) >= s->over_from ? ROUNDS : 1;
    for (int i = 0; i < rounds && left > 0 && !hold; i++) {
        int64_t begin = clock_mono_ns();
        if (!copy(s, db, &left)) {
            return;
        }
        if (left > 0) {
            sync_file(db);
        }
        hold = rounds > 1 && left > 0 && may_hold(s, left, clock_mono_ns() - begin < QUICK_NS);
    }
    if (hold) {
        store_hold(s);
        if (!copy(s, db, &left)) {
            left = 1;
        }
        store_unhold(s);
    }
    s->wal_restarts = left == 0;
}

/* Takes and gives the lock. */
static void
work(struct store *s, sqlite3 *db, int64_t *next_sync)
{
    bool wanted = s->ckpt_wanted;
    s->ckpt_wanted = false;
    (void)pthread_mutex_unlock(&s->ckpt_lock);
    if (!s->opts.durable && clock_mono_ns() >= *next_sync) {
        *next_sync = clock_mono_ns() + s->opts.sync_interval;
        if (atomic_exchange(&s->unsynced, false)) {
            sync_wal(s);
        }
    }
    if (wanted && db != NULL) {
        checkpoint(s, db);
    }
    (void)pthread_mutex_lock(&s->ckpt_lock);
}

static void *
thread_main(void *arg)
{
    struct store *s = arg;
    sqlite3 *db = NULL;
    int64_t next_sync = clock_mono_ns() + s->opts.sync_interval;
    sync_wal(s);
    if (store_connect(s, &db) != SQLITE_OK) {
        log_error("JetStream store %s: no connection for checkpoints", s->path);
    }
    (void)pthread_mutex_lock(&s->ckpt_lock);
    while (!s->ckpt_stop) {
        work(s, db, &next_sync);
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
    (void)sqlite3_close(db);
    return NULL;
}

static int
on_wal(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    struct store *s = arg;
    s->wal_pages = pages;
    return SQLITE_OK;
}

enum status
store_checkpointer_start(struct store *s)
{
    (void)sqlite3_wal_hook(s->db, on_wal, s);
    int64_t ask = s->opts.durable ? ASK_DURABLE : ASK_DEFERRED;
    int64_t over = s->opts.durable ? 0 : OVER_DEFERRED;
    s->ask_after = s->opts.wal_limit < ask ? s->opts.wal_limit : ask;
    s->over_from = s->opts.wal_limit < over ? s->opts.wal_limit : over;
    s->ckpt_running = pthread_create(&s->checkpointer, NULL, thread_main, s) == 0;
    if (!s->ckpt_running) {
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
}

bool
store_is_quick(struct store *s)
{
    return s->path == NULL || (!s->opts.durable && !s->wal_restarts);
}

void
store_checkpoint_after(struct store *s)
{
    if (s->path == NULL) {
        return;
    }
    s->unsynced = true;
    s->wal_restarts = false;
    int64_t bytes = wal_bytes(s);
    if (bytes < s->wal_asked) {
        s->wal_asked = 0;
    }
    if (bytes - s->wal_asked >= s->ask_after) {
        s->wal_asked = bytes;
        (void)pthread_mutex_lock(&s->ckpt_lock);
        s->ckpt_wanted = true;
        (void)pthread_cond_signal(&s->ckpt_cond);
        (void)pthread_mutex_unlock(&s->ckpt_lock);
    }
}
