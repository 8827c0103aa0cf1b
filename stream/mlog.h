/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of one stream: sequences, an index of all of them in memory (8 bytes each: subject,
 * size), per-subject first, last and count, recent messages in memory, the rest in the store. Every
 * function is called under the stream's lock and returns without waiting for a commit. What was
 * appended can be read at once; it is on disk when the append's `done` says so.
 *
 * A message's place in a stream is its sequence; removed ones leave gaps. */
#ifndef STREAM_MLOG_H
#define STREAM_MLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/list.h"
#include "server/base/status.h"
#include "stream/msg.h"
#include "stream/store.h"

struct mcursor;
struct mfilter;
struct mlog;

struct mlog_opts {
    struct store *store; /* borrowed: outlives the log */
    uint64_t stream;     /* its number in the store */
    bool memory;         /* sizes are counted as for a memory stream */
    uint64_t first_seq;  /* of a new one: 1 or what the configuration says */
    /* A message is no longer in the log: removed, or failed to be written. Under the stream's lock,
     * when all but the subject's own numbers has changed; not called for mlog_purge_to and
     * mlog_reset. NULL: nobody asks. */
    void (*on_remove)(void *ctx, uint64_t seq, const char *subject, uint32_t size);
    void *ctx; /* borrowed: outlives the log; size: as mlog_size */
};
enum status mlog_new(struct mlog **out, const struct mlog_opts *opts) MUST_CHECK;
/* From what the store has. The log keeps its own record there: base, first and last sequence. */
enum status mlog_load(struct mlog **out, const struct mlog_opts *opts) MUST_CHECK;
/* Forgets it in memory; what is in the store stays (STORE_DEL_STREAM deletes). */
void mlog_free(struct mlog *l);
/* Saves index chunks that changed, at most max; false: nothing is left. Lets go of recent messages
 * that nobody has read for a while. The engine does it from a slow timer and
 * when it stops (then also the newest chunk). */
bool mlog_checkpoint(struct mlog *l, size_t max, bool stopping);

struct mlog_state {
    uint64_t msgs, bytes, first_seq, last_seq; /* empty: first_seq = last_seq + 1 */
    int64_t first_ts, last_ts;                 /* wall ns; 0: none */
    uint64_t num_deleted, num_subjects;
};
void mlog_state(struct mlog *l, struct mlog_state *out);
uint64_t mlog_last_seq(const struct mlog *l);
uint64_t mlog_first_seq(const struct mlog *l);
/* The last sequence that is committed: consumers see no later one. */
uint64_t mlog_committed(const struct mlog *l);
/* Not yet committed: what ingest bounds. */
void mlog_backlog(const struct mlog *l, uint64_t *msgs, uint64_t *bytes);
/* What a message of these lengths counts for in "bytes". */
uint64_t mlog_size(bool memory, size_t subject_len, size_t hdr_len, size_t data_len);

/* One message to be appended, embedded first in the caller's own struct (reply subject and so on).
 * op.msg, op.done and op.group are the caller's to fill (msg: its reference goes along); the log
 * fills the rest. In done, call mlog_commit under the lock with the same list before anything else,
 * then free each. */
struct mlog_put {
    struct store_op op;
};
/* Appends in order, with consecutive sequences, all in one transaction. ts: wall ns, 0: now (never
 * before the last message's). After ST_OK they belong to the store; else nothing was appended and
 * they are still the caller's. The list is of op.node. */
enum status mlog_append(struct mlog *l, struct list_node *puts, int64_t ts) MUST_CHECK;
void mlog_commit(struct mlog *l, struct store_op *first, struct list_node *more, enum status st);

/* The next append gets seq at least `next` (mirrors, discarded messages); the gap counts as
 * deleted. */
enum status mlog_skip_to(struct mlog *l, uint64_t next) MUST_CHECK;
/* A message that is not kept takes its sequence, and is the last one by time (wall ns). */
enum status mlog_pass(struct mlog *l, int64_t ts) MUST_CHECK;
/* ST_NOTFOUND: there is none. erase: its bytes are overwritten where they are stored. */
enum status mlog_remove(struct mlog *l, uint64_t seq, bool erase) MUST_CHECK;
/* Drops all below seq (which may be past the end: then the log is empty and first_seq is seq).
 * *n: how many. */
enum status mlog_purge_to(struct mlog *l, uint64_t seq, uint64_t *n) MUST_CHECK;

/* ---- reading: *out with one reference. ST_NOTFOUND: no such message. ---- */
/* A reader's place, for reading ahead; one per consumer, source, batch. NULL where one message is
 * read. */
enum status mcursor_new(struct mcursor **out) MUST_CHECK;
void mcursor_free(struct mcursor *c);
enum status mlog_get(struct mlog *l, uint64_t seq, struct mcursor *c, struct msg **out) MUST_CHECK;
/* The same without the payload: who and how big. False: none. */
bool mlog_peek(struct mlog *l, uint64_t seq, const char **subject, uint32_t *size, unsigned *flags);
/* The first (last) present sequence >= from (<= from) whose subject the filter takes (NULL: all);
 * 0: none. */
uint64_t mlog_next(struct mlog *l, struct mfilter *f, uint64_t from);
uint64_t mlog_prev(struct mlog *l, struct mfilter *f, uint64_t from);
/* The first sequence whose time is >= ts; last_seq + 1: none. */
uint64_t mlog_seq_at(struct mlog *l, int64_t ts);
/* How many present messages from `from` on the filter takes, up to `to` (0: the end). */
uint64_t mlog_count(struct mlog *l, struct mfilter *f, uint64_t from, uint64_t to);

#endif
