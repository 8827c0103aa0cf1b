/* SPDX-License-Identifier: Apache-2.0 */
/* What is on disk. The only place that knows SQLite. One store is one database: a file in WAL mode
 * ("sluice.db" in the store folder), or one in memory; the code is the same.
 *
 * Writes are operations, pushed by any thread and done in that order by one writer at a time: the
 * store's thread, or an I/O thread in its place (store_turn_end). It takes all that waits, does it
 * in one transaction, commits (to the disk where the store is durable; else to the operating
 * system, so that a killed process loses nothing), then calls `done` for each with no lock held.
 * Mostly that is a record of a journal (journal.h), which the database takes some 20 ms later,
 * beside the writer. Operations of one push are never split. Where a write fails (disk full, I/O
 * error) its messages are reported as failed, and its other operations are kept and tried again
 * with the next, so that memory and disk agree in the end. Reads: store_read.h; any thread.
 *
 * A message lives in row STORE_ROW(stream, seq - base): base is the stream's, as its record says.
 * Ranges of rows are deleted in slices of 1 ms, with pauses between them while others write. */
#ifndef STREAM_STORE_H
#define STREAM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/list.h"
#include "server/base/status.h"
#include "stream/msg.h"

struct store;

struct store_opts {
    const char *dir;       /* NULL: in memory */
    bool durable;          /* a commit is on disk before done is called */
    int64_t sync_interval; /* ns, where not durable */
    const char *vfs;       /* NULL: the default; tests bring their own */
    int64_t wal_limit;     /* of the log, past which a checkpoint may hold the writer; 0: 256 MiB */
};

/* Opens or makes it. On failure *err (mem_free) is one line for the log, which names the file:
 * ST_EXISTS another server has it, ST_INVAL it is damaged or of another version, ST_PERM, ST_IO. */
enum status store_open(struct store **out, const struct store_opts *opts, char **err) MUST_CHECK;
/* Starts the writer. done: see store_op. Between open and start only reads are allowed. */
enum status store_start(struct store *s) MUST_CHECK;
/* Writes all that was pushed, joins the writer. Pushes after it fail at once (ST_CLOSED). */
void store_stop(struct store *s);
void store_free(struct store *s);

enum store_kind {
    STORE_APPEND,       /* msg with its seq, in `row`; subject_id */
    STORE_PUT_SUBJECT,  /* stream, subject_id, name: the text of that number */
    STORE_REMOVE,       /* the message in `row` */
    STORE_ERASE,        /* the same, and its bytes are overwritten */
    STORE_REMOVE_RANGE, /* rows row … row_end, in slices: the record tells that they are gone */
    STORE_DROP_CHUNK,   /* the saved index chunk `row` is out of date */
    STORE_PUT_CHUNK,    /* data: an index chunk, under the number `row` */
    STORE_PUT_LOG,      /* stream, row (base), data: the log's record */
    STORE_PUT_STREAM,   /* stream, name ("account\0stream"), data: the record */
    STORE_DEL_STREAM,   /* the stream, its consumers and subjects; then its rows, in slices */
    STORE_PUT_CONSUMER, /* stream, name, data */
    STORE_DEL_CONSUMER, /* stream, name */
    STORE_SYNC,         /* nothing: done when all before it is committed */
    STORE_KINDS_
};

/* How soon a push has to be written. */
enum store_when {
    STORE_NOW,     /* the writer is woken */
    STORE_IN_TURN, /* on an I/O thread, which calls store_turn_end soon */
    STORE_LAZILY,  /* nobody waits: with the next that is written, in 20 ms at the latest */
};

/* One operation. Owned by the store from the push to done. */
struct store_op {
    struct list_node node;
    enum store_kind kind;
    enum store_when when; /* of the push: its last operation's counts */
    uint32_t subject_id;
    uint64_t stream; /* the stream's number, as store_new_id gave it */
    uint64_t row, row_end;
    struct msg *msg;  /* ref: APPEND */
    bool last;        /* the store's: of its push */
    const char *name; /* borrowed: with the op */
    size_t name_len;
    const void *data; /* borrowed: with the op */
    size_t data_len;
    /* Called by whoever wrote, after the commit, with no lock held, in the order of the pushes;
     * frees the op. NULL: the store frees it, by mem_free. Appends that follow each other and have
     * the same `group` (not NULL) come as one list: `more` holds those after the first (by node),
     * so that a stream takes its lock once. */
    void (*done)(struct store_op *op, struct list_node *more, enum status st);
    void *group; /* borrowed: whoever pushes sees to its life */
};

void store_push(struct store *s, struct store_op *op);
void store_push_list(struct store *s, struct list_node *ops); /* empty after it */
/* At the end of a turn of an I/O thread that pushed STORE_IN_TURN. Where the writer is idle, not
 * too many operations wait and no sync of the disk is due they are written here and now: without
 * the two thread switches. Else, and always where not may_write, the writer is
 * woken. Calls `done` then. */
void store_turn_end(struct store *s, bool may_write);

/* Where the message of that offset (seq - base) of a stream lives; offsets are below 2^42. */
#define STORE_OFFSET_BITS     42
#define STORE_ROW(id, offset) ((uint64_t)(id) << STORE_OFFSET_BITS | (uint64_t)(offset))

/* A number for a new stream, which no other has; 0: there are 2^21 already. */
uint64_t store_new_id(struct store *s);

/* Transactions that failed so far; STORE_SYNC with it in `row` reports ST_IO if one did since. */
uint64_t store_failures(const struct store *s);
/* ST_OK, or why the last transaction failed (*why, may be NULL: its text, static). Ends by itself
 * within 100 ms of the disk taking writes again. Any thread. */
enum status store_failing(const struct store *s, const char **why) MUST_CHECK;

struct store_stats {
    uint64_t commits, ops, failures, bytes; /* bytes: of the file */
    int64_t worst_commit_ns;
};
void store_stats(struct store *s, struct store_stats *out);

#endif
