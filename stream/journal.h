/* SPDX-License-Identifier: Apache-2.0 */
/* The journal beside the database: a small transaction is one record at the end of what a file of
 * fixed size holds, one write and where asked one sync, in place of the pages that the database
 * would write for it. What it holds and the database does not yet is "undrained", and in memory
 * too: the store applies it in a transaction of its own, beside which records go on (journal_cut,
 * journal_each, journal_cut_drained), or with others (journal_each, journal_drained).
 *
 * A record's place is a turn and an offset in the file. The offset grows from record to record; a
 * new turn begins at the start of the file. No place is used twice with one salt, so that a record
 * that is left of an earlier turn, or of an earlier start, is never taken for a new one.
 *
 * Goes through SQLite's file system layer, as the database does. One thread at a time, but
 * journal_sync, which any thread may call beside the others, and what is read of a cut. */
#ifndef STREAM_JOURNAL_H
#define STREAM_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/list.h"
#include "server/base/status.h"
#include "stream/store.h"

struct journal;

/* Where the next record goes. file: the number that the file itself bears. */
struct journal_place {
    uint64_t file, salt, turn, offset;
};

/* One operation of a record. Of an APPEND op.name is the header block, op.data the payload. */
struct journal_entry {
    struct store_op op;
    int64_t ts;
    uint32_t flags;
};

/* vfs: NULL is the default. make: the file is made, or made anew, where it is none of ours.
 * ST_NOTFOUND: it is not there (not make); ST_INVAL: it is damaged, which journal_recover would
 * say too; ST_NOMEM, ST_FULL, ST_PERM, ST_IO. Nothing is undrained. */
enum status journal_open(struct journal **out, const char *vfs, const char *path,
                         bool make) MUST_CHECK;
void journal_close(struct journal *j); /* NULL is allowed */

/* After a start: the records that continue at that place are undrained now; the first that is torn
 * or of another place ends them. ST_INVAL: it is not the file that the place is of. */
enum status journal_recover(struct journal *j, const struct journal_place *from) MUST_CHECK;
/* A new salt; what is undrained stays. Before the first write. */
void journal_renew(struct journal *j);

/* There is room for one more, and not so much undrained that the database should take it first. */
bool journal_has_room(const struct journal *j);
/* All of these are of the kinds that it takes, and few. */
bool journal_takes(const struct list_node *ops);
/* One record of these, which journal_takes and which there is room for; none where nothing is to be
 * written (STORE_SYNC). On failure nothing is undrained that was not before, but the file may hold
 * the record all the same: write no other before a new turn. */
enum status journal_write(struct journal *j, const struct list_node *ops, bool sync) MUST_CHECK;
enum status journal_sync(struct journal *j) MUST_CHECK;

/* The undrained operations, in their order, up to the first for which fn does not return 0; what
 * it returned. cut: those of the cut alone, beside which others may write. */
int journal_each(const struct journal *j, bool cut,
                 int (*fn)(void *arg, const struct journal_entry *e), void *arg);
bool journal_is_drained(const struct journal *j);
size_t journal_undrained(const struct journal *j); /* bytes */
/* Nothing was written in this turn yet. */
bool journal_is_at_start(const struct journal *j);
/* Little room is left in this turn: where all can be drained at once a new one may well begin. */
bool journal_is_long(const struct journal *j);
/* The place to be kept with what the database takes now; new_turn: as it will be then. */
struct journal_place journal_place(const struct journal *j, bool new_turn);
/* The database has it all, and the place. */
void journal_drained(struct journal *j, bool new_turn);

/* What is undrained so far becomes the cut. Where there is one that no transaction took, it stays
 * as it is. */
void journal_cut(struct journal *j);
struct journal_place journal_cut_place(const struct journal *j); /* behind the cut */
/* The database has the cut, and its place. */
void journal_cut_drained(struct journal *j);

#endif
