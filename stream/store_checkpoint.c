/* SPDX-License-Identifier: Apache-2.0 */
/* The write-ahead log goes back into the file beside the writer, on a thread with a connection of
 * its own. A steady writer would let it grow for ever, since the log starts over only when all of
 * it has been copied: past the limit the writer finishes it itself. Deferred syncs happen here too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "stream/store_priv.h"

#define PASSIVE_FROM ((int64_t)8 << 20)

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
    if (wanted) {
        (void)sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    (void)pthread_mutex_lock(&s->ckpt_lock);
}

static void *
thread_main(void *arg)
{
    struct store *s = arg;
    sqlite3 *db = NULL;
    int64_t next_sync = clock_mono_ns() + s->opts.sync_interval;
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
    s->wal_bytes = (int64_t)pages * s->page_size;
    return SQLITE_OK;
}

enum status
store_checkpointer_start(struct store *s)
{
    (void)sqlite3_wal_hook(s->db, on_wal, s);
    if (pthread_create(&s->checkpointer, NULL, thread_main, s) != 0) {
        return ST_NOMEM;
    }
    (void)pthread_setname_np(s->checkpointer, "store-ckpt");
    s->ckpt_running = true;
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

void
store_checkpoint_after(struct store *s)
{
    if (s->path == NULL) {
        return;
    }
    s->unsynced = true;
    if (s->wal_bytes >= s->opts.wal_limit) {
        (void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
        s->wal_bytes = 0;
    } else if (s->wal_bytes - s->wal_asked >= PASSIVE_FROM || s->wal_bytes < s->wal_asked) {
        s->wal_asked = s->wal_bytes;
        (void)pthread_mutex_lock(&s->ckpt_lock);
        s->ckpt_wanted = true;
        (void)pthread_cond_signal(&s->ckpt_cond);
        (void)pthread_mutex_unlock(&s->ckpt_lock);
    }
}
