/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the store, for stream/store*.c alone. */
#ifndef STREAM_STORE_PRIV_H
#define STREAM_STORE_PRIV_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/base/list.h"
#include "stream/store.h"

enum { STORE_READERS = 8 };

/* Statements of the writer beyond one per kind of operation. */
enum store_stmt {
    STMT_BEGIN = STORE_KINDS_,
    STMT_COMMIT,
    STMT_ROLLBACK,
    STMT_DEL_LOG,
    STMT_DEL_CONSUMERS,
    STMT_DEL_SUBJECTS,
    STMT_GARBAGE_PUT,
    STMT_GARBAGE_GET,
    STMT_GARBAGE_CUT,
    STMT_GARBAGE_DONE,
    STMT_DEL_SLICE,
    STMT_DEL_CHUNKS,
    STMT_FIRST_ROW,
    STMT_COUNT_
};

/* A connection that reads. Owned by the thread that took it. */
struct store_reader {
    sqlite3 *db;      /* owned; in memory: the writer's */
    sqlite3_stmt *up; /* owned, as all below */
    sqlite3_stmt *down;
    sqlite3_stmt *heads;
};

/* lock guards: queue, kept_retry, stopping, started, free_ids. readers_lock: readers. In memory
 * db_lock is held by the writer for a transaction, and by a reader. The rest is the writer's. */
struct store {
    struct store_opts opts;
    char *path; /* owned: the file's, or NULL */
    char *uri;  /* owned: what connections open */
    char *vfs;  /* owned or NULL */
    int lock_fd;

    sqlite3 *db;                      /* owned: the writer's */
    sqlite3_stmt *stmts[STMT_COUNT_]; /* owned */
    struct list_node kept;            /* operations of a failed transaction, to be tried again */
    bool garbage;                     /* there is some */
    bool synced;                      /* commits sync now */

    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t thread;
    struct list_node queue;
    bool running, stopping;
    uint64_t *free_ids; /* owned array */
    size_t n_free, cap_free;
    _Atomic uint64_t next_id;

    pthread_mutex_t readers_lock;
    struct store_reader readers[STORE_READERS]; /* owned */
    size_t n_readers;
    pthread_mutex_t db_lock;

    pthread_t checkpointer;
    pthread_mutex_t ckpt_lock;
    pthread_cond_t ckpt_cond;
    bool ckpt_wanted, ckpt_stop, ckpt_running;
    _Atomic bool unsynced;        /* deferred: commits that no sync has followed */
    int64_t wal_bytes, wal_asked; /* the writer's */
    int64_t page_size;

    _Atomic uint64_t failures, commits, ops;
    _Atomic int64_t worst_commit;
};

/* store.c */
enum status store_status(int rc);
/* Opens one more connection, set up as all are. */
int store_connect(struct store *s, sqlite3 **out);
/* store_write.c */
int store_prepare_writer(struct store *s);
void store_finalize_writer(struct store *s);
void store_release_id(struct store *s, uint64_t id);
/* store_checkpoint.c */
enum status store_checkpointer_start(struct store *s) MUST_CHECK;
void store_checkpointer_stop(struct store *s);
/* After a commit, on the writer thread: wakes the checkpointer, or does it here past the limit. */
void store_checkpoint_after(struct store *s);
/* store_read.c */
void store_close_readers(struct store *s);

#endif
