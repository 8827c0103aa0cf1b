/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a log, for stream/mlog*.c alone. Guarded by the stream's lock.
 *
 * Inside, a message is named by its offset = seq - base. Base changes only while the log is empty
 * (a purge to a far sequence), so rows of the store and places in the index never clash. */
#ifndef STREAM_MLOG_PRIV_H
#define STREAM_MLOG_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/mlog.h"
#include "stream/mlog_order.h"
#include "stream/mlog_subject.h"
#include "stream/ntab.h"
#include "stream/store_read.h"

enum { CHUNK_BITS = 14, CHUNK_SIZE = 1 << CHUNK_BITS };

#define ENTRY_HDR    0x80000000U /* has a header block */
#define ENTRY_MARKED 0x40000000U /* MSG_MARKED */
#define ENTRY_SIZE   0x3fffffffU /* of header block and payload */

/* subject 0: no message there. */
struct mentry {
    uint32_t subject, size;
};

struct mchunk {
    uint32_t live, cap;
    bool saved;             /* the store has it just so */
    struct mentry *entries; /* owned: the first cap of CHUNK_SIZE, the others are empty */
};

/* gen: which use of this number it is; never 0 while used. */
struct msubject {
    uint32_t id, gen, len;
    bool first_stale, last_stale; /* first (last) is a bound, to be searched from */
    uint64_t first, last, msgs;   /* offsets */
    char text[];
};

struct mlog {
    struct mlog_opts opts;
    uint64_t base, first, next; /* offsets: of the first message (next: none), of the next append */
    uint64_t committed;         /* offset behind the last committed one */
    uint64_t msgs, bytes, n_subjects;
    int64_t last_ts;
    uint64_t first_ts_of; /* offset that first_ts belongs to, + 1; 0: unknown */
    int64_t first_ts;
    uint64_t backlog_msgs, backlog_bytes;

    struct mchunk **chunks; /* owned: of chunk number dir_first … dir_first + n_chunks - 1 */
    uint64_t dir_first;
    size_t n_chunks, cap_chunks;

    struct msubject **subjects; /* owned: by number, [0] unused */
    uint32_t n_ids, cap_ids;    /* numbers given out so far + 1 */
    uint32_t *free_ids;         /* owned */
    uint32_t n_free, cap_free, last_gen;
    struct ntab by_name;
    struct morder order;

    struct msg **recent; /* owned ring, ref each, by sequence; those that the store does not read
                            back yet, from the offset undrained on, are all here */
    size_t recent_at, recent_n, recent_cap;
    size_t recent_bytes;
    uint64_t undrained, mark; /* mark: the store's, at some commit */
    uint64_t marked;          /* the offset behind that commit */
    bool touched;             /* since the last checkpoint */
};

/* ---- index (mlog_index.c) ---- */
/* NULL: no message. */
struct mentry *mindex_at(const struct mlog *l, uint64_t off);
/* Room for an entry at each offset of [from, from + n), which then may be put. ST_NOMEM. */
enum status mindex_reserve(struct mlog *l, uint64_t from, uint64_t n) MUST_CHECK;
/* Tells the store that the saved chunk of that offset will be out of date: before a change. */
enum status mindex_outdate(struct mlog *l, uint64_t off) MUST_CHECK;
/* Where there is room. */
void mindex_put(struct mlog *l, uint64_t off, struct mentry e);
void mindex_clear(struct mlog *l, uint64_t off);
/* Forgets all chunks that lie wholly below. */
void mindex_cut(struct mlog *l, uint64_t below);
/* The first (last) offset with a message in [from, end) ([begin, from]); end (UINT64_MAX): none. */
uint64_t mindex_next(const struct mlog *l, uint64_t from, uint64_t end);
uint64_t mindex_prev(const struct mlog *l, uint64_t from, uint64_t begin);
struct mchunk *mindex_chunk(const struct mlog *l, uint64_t number);
/* How many there are in [from, end). */
uint64_t mindex_count(const struct mlog *l, uint64_t from, uint64_t end);
void mindex_fini(struct mlog *l);

/* ---- subjects (mlog_subject.c) ---- */
/* Finds or makes; *is_new where it was made. ST_NOMEM. */
enum status msubject_intern(struct mlog *l, const char *text, size_t len, struct msubject **out,
                            bool *is_new) MUST_CHECK;
/* With this number: a start. The store may have a text twice, under the number that it had once
 * and the one that it has: msubjects_loaded, after the messages, keeps those that have some. */
enum status msubject_load(struct mlog *l, uint32_t id, const char *text, size_t len) MUST_CHECK;
enum status msubjects_loaded(struct mlog *l) MUST_CHECK;
/* Its number is free for another. */
void msubject_release(struct mlog *l, struct msubject *s);
void msubject_add(struct mlog *l, struct msubject *s, uint64_t off);
void msubject_remove(struct mlog *l, struct msubject *s, uint64_t off);
/* Settle what is stale. */
void msubject_settle(struct mlog *l, struct msubject *s);
/* Calls fn for the subjects that have messages and that the filter takes, as morder_each does. */
bool msubject_each(struct mlog *l, const struct mfilter *f, size_t most,
                   bool (*fn)(void *arg, struct msubject *s), void *arg);
bool mfilter_takes_id(struct mfilter *f, const struct mlog *l, uint32_t id);
/* NULL, or it takes each subject. */
bool mfilter_is_all(const struct mfilter *f);
/* The one literal subject of a filter, or NULL. */
const char *mfilter_literal(const struct mfilter *f, size_t *len);
void msubjects_fini(struct mlog *l);

/* ---- the rest ---- */
/* What a message of that entry counts for. */
uint64_t mlog_entry_bytes(const struct mlog *l, const struct mentry *e);
/* Pushes the log's record with what is in ops (which is empty after it). Without memory ST_NOMEM
 * and nothing is pushed. */
enum status mlog_push_record(struct mlog *l, struct list_node *ops) MUST_CHECK;
/* A zeroed operation with room behind it; NULL without memory. The store frees it. */
struct store_op *mlog_op(const struct mlog *l, enum store_kind kind, uint64_t row, size_t extra);
/* The time of a message that is there; 0 where the store cannot say. */
int64_t mlog_ts_of(struct mlog *l, uint64_t off);
/* In the recent ones: borrowed; NULL: not there. */
struct msg *mrecent_find(const struct mlog *l, uint64_t seq);
enum status mrecent_reserve(struct mlog *l, size_t n) MUST_CHECK;
void mrecent_push(struct mlog *l, struct msg *m);
/* Lets those go that the store reads back until at most max_bytes are held. */
void mrecent_trim(struct mlog *l, size_t max_bytes);

#endif
