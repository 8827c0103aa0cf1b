/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the store, for stream/store*.c and journal.c alone. */
#ifndef STREAM_STORE_PRIV_H
#define STREAM_STORE_PRIV_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/base/list.h"
#include "stream/journal.h"
#include "stream/store.h"

enum { STORE_READERS = 8, STORE_VERSION = 2 };

#define STORE_SET_VERSION "PRAGMA user_version=2;"
#define STORE_JOURNAL_TABLE                                                                        \
    "CREATE TABLE IF NOT EXISTS journal(id INTEGER PRIMARY KEY, file INTEGER, salt INTEGER,"       \
    " turn INTEGER, place INTEGER);"

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
    STMT_PROBE,
    STMT_PUT_PLACE,
    STMT_COUNT_
};

/* A connection that reads. Owned by the thread that took it. */
struct store_reader {
    sqlite3 *db;      /* owned; in memory: the writer's */
    sqlite3_stmt *up; /* owned, as all below */
    sqlite3_stmt *down;
    sqlite3_stmt *heads;
};

/* lock guards what is below it up to next_id. readers_lock: readers. In memory, and while
 * `held`, db_lock is held by whoever writes for a transaction, and by a reader. file_lock: copies
 * of the log and syncs of the file.
 *
 * Two roles, each one thread's at a time. The writer's (`writing`): takes what was pushed, writes
 * it and tells. The database's (`in_db`): a transaction, or a checkpoint that is to end. The writer
 * needs the second one too, and waits for it, where the journal does not take what it has.
 * W: whoever has the writer's role, or, while nobody has it, the lock. D: the same of the database.
 */
struct store {
    struct store_opts opts;
    char *path; /* owned: the file's, or NULL */
    char *uri;  /* owned: what connections open */
    char *vfs;  /* owned or NULL */
    int lock_fd;

    sqlite3 *db;                      /* owned; D */
    sqlite3_stmt *stmts[STMT_COUNT_]; /* owned; D */
    struct list_node kept;            /* operations of a failed transaction, to be tried again; W */
    struct journal *journal;          /* owned; NULL: there is none. W, its cut: D */
    _Atomic bool journal_ok;          /* may be written: no failure since it was in order */
    _Atomic bool garbage;             /* there is some */
    bool synced;                      /* commits sync now; D */
    /* Since a start on a disk that takes nothing: what the journal has is in an open transaction,
     * where reads find it. */
    _Atomic bool held;

    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t thread;
    struct list_node queue;
    size_t queued, queued_bytes;
    bool running, stopping;
    bool writing, in_db; /* the roles */
    int want_db;         /* threads that wait for it; who works behind lets them */
    pthread_cond_t free_role;
    bool urgent;      /* the writer shall take what waits as soon as it can */
    bool timed;       /* the writer will look by itself soon */
    int64_t lazy_at;  /* by when it shall write what nobody waits for; 0: there is none */
    int64_t retry_at; /* and what is kept, or failed behind */
    pthread_t behind; /* the thread of store_behind.c */
    pthread_cond_t behind_cond;
    bool behind_running;
    int64_t behind_until; /* it waits until then, or (INT64_MAX) to be told; 0: it does not */
    int64_t drain_at;     /* when the database shall have what the journal has; 0: it has */
    int64_t garbage_at;   /* not before then a transaction for garbage */
    bool busy;            /* something was written since the last of these */
    uint64_t *free_ids;   /* owned array */
    size_t n_free, cap_free;
    _Atomic uint64_t next_id;

    pthread_mutex_t readers_lock;
    struct store_reader readers[STORE_READERS]; /* owned */
    size_t n_readers;
    pthread_mutex_t db_lock;

    pthread_t checkpointer;
    sqlite3 *ckpt_db;  /* owned, the checkpointer's; NULL: it does not run */
    bool ckpt_running; /* of who starts and stops */
    pthread_mutex_t ckpt_lock;
    bool ckpt_wanted, ckpt_stop; /* under ckpt_lock */
    pthread_cond_t ckpt_cond;
    pthread_mutex_t file_lock;
    _Atomic bool unsound;      /* a sync has failed, see store_mend */
    bool file_unsound;         /* of the file itself; under file_lock */
    _Atomic bool unsynced;     /* deferred: commits that no sync has followed */
    _Atomic bool wal_restarts; /* the next commit begins the log anew */
    _Atomic int wal_pages;     /* in the log */
    int64_t wal_asked;         /* bytes that it had when the checkpointer was last asked */
    int64_t ask_after;         /* it is asked after so many more */
    int64_t over_from;         /* a shorter log does not start over */
    int64_t page_size;

    _Atomic int failing; /* what the last transaction failed with, of SQLite; 0: it did not */
    _Atomic uint64_t journaled, drained; /* records so far, and of them in the database */
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
/* One transaction of the database. With both roles: what the journal has, and these. in_turn: on an
 * I/O thread; where it would have to wait for another process ST_EXISTS, and nothing has happened.
 */
enum status store_transact(struct store *s, const struct list_node *ops, bool in_turn) MUST_CHECK;
/* With the database's role alone: the journal's cut, and a slice of garbage. The caller lets go of
 * the cut. */
enum status store_transact_behind(struct store *s, bool cut, bool garbage) MUST_CHECK;
/* One that took so long, from `start` on, has done n operations. */
void store_count(struct store *s, int64_t start, uint64_t n);
/* Tells all (empty after it); where it failed, what is no message is kept. */
void store_finish(struct store *s, struct list_node *ops, enum status st);
/* At the stop: what could not be written is let go, a start finds out. */
void store_let_go(struct store *s);
/* What the journal has goes into a transaction that stays open, for reads. In what store_transact
 * does, or before any reader. */
int store_hold_undrained(struct store *s);
/* store_queue.c: takes the database's role, as soon as it is free, and gives it back. _take and
 * _give: under the lock. */
void store_hold(struct store *s);
void store_unhold(struct store *s);
void store_take_db(struct store *s);
void store_give_db(struct store *s);
/* store_behind.c: the thread that drains the journal and deletes garbage, with the database's role.
 */
enum status store_behind_start(struct store *s) MUST_CHECK;
void store_behind_stop(struct store *s);
/* Under the lock, by the writer: something was written, or may be left to do. */
void store_behind_note(struct store *s);
/* What was acknowledged so far is in the database now, where no failure has to be mended first. */
void store_drain(struct store *s);
/* store_journal.c. Opens the journal, and has the database take what a killed server left in it.
 * On failure *err as in store_open; that it could not be made is no failure. */
enum status store_journal_open(struct store *s, char **err) MUST_CHECK;
/* At the stop: drained, the database stands alone. */
void store_journal_retire(struct store *s);
/* W: it would take these. */
bool store_journal_takes(const struct store *s, const struct list_node *ops);
/* With the writer's role: true where a record holds these now, ST_OK's equal of a transaction. */
bool store_journal_write(struct store *s, const struct list_node *ops);
/* In a transaction: the place after it. */
int store_journal_put_place(struct store *s, const struct journal_place *p);
/* store_checkpoint.c */
enum status store_checkpointer_start(struct store *s) MUST_CHECK;
void store_checkpointer_stop(struct store *s);
/* Fills the empty log with zeros as far as it usually grows, so that commits do not change the size
 * of a file: a sync is cheaper then. Does what it can. */
void store_make_wal_room(struct store *s);
/* With the database's role and no transaction open: where a sync has failed since the last time,
 * all that the log has is brought into the file and synced there, and the log starts over. */
int store_mend(struct store *s) MUST_CHECK;
/* After a commit, with the database's role: wakes the checkpointer where the log has grown. */
void store_checkpoint_after(struct store *s);
/* A small transaction now will not wait for the disk. D. */
bool store_is_quick(const struct store *s);
/* store_read.c */
void store_close_readers(struct store *s);

#endif
