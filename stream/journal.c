/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: a record (head, entries) is encoded behind the undrained ones in memory and written
 * from there, over bytes that the file has already, so that a sync writes no more than that. The
 * checksum is seeded with the salt and covers the place. Failure: the record is taken back from
 * memory; what the file holds of it means nothing once the place has moved on.
 * NB: like SQLite it relies on a write that loses power not to harm the bytes beside it. */
#include "stream/journal.h"

#include <sqlite3.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/hash.h"
#include "server/base/mem.h"
#include "stream/msg.h"
#include "stream/store_priv.h"

#define MAGIC         "SluJrnl1"
#define START         ((size_t)4096)    /* of the records: the head has a block of its own */
#define SIZE          ((size_t)4 << 20) /* of a new one */
#define SIZE_LEAST    ((size_t)1 << 20)
#define SIZE_MOST     ((size_t)64 << 20)
#define UNDRAINED_MAX ((size_t)1 << 20)
/* Of one record. NB: SQLite's file system takes less than 128 KiB at once. */
#define BYTES_MAX ((size_t)96 << 10)
#define PIECE     ((size_t)64 << 10)
enum { OPS_MAX = 512 };

struct head {
    char magic[8];
    uint64_t file, size, check;
};

struct record {
    uint64_t check, turn;
    uint32_t offset, len; /* len: of the entries */
};

/* row_end: of an APPEND its time. name_len and data_len bytes follow. */
struct entry {
    uint32_t kind, subject_id;
    uint64_t stream, row, row_end;
    uint32_t flags, name_len, data_len, unused;
};

#define RECORD_MAX (sizeof(struct record) + OPS_MAX * sizeof(struct entry) + BYTES_MAX)

/* Owned by whoever has the writer's role of the store. */
struct journal {
    sqlite3_file *file; /* owned */
    char *path;         /* owned: the file borrows it */
    size_t size;        /* of the file: what it was made with */
    struct journal_place place;
    struct buf undrained; /* records behind the cut, as they were written */
    struct buf cut;       /* those before, which a transaction takes now */
    struct journal_place cut_end;
};

/* The numbers in the file, which never change; 0: it does not take the kind. Of SYNC nothing is
 * written. */
static const uint32_t kinds[STORE_KINDS_] = {
    [STORE_APPEND] = 1,       [STORE_PUT_SUBJECT] = 2,  [STORE_REMOVE] = 3,
    [STORE_REMOVE_RANGE] = 4, [STORE_DROP_CHUNK] = 5,   [STORE_PUT_LOG] = 6,
    [STORE_PUT_CONSUMER] = 7, [STORE_DEL_CONSUMER] = 8, [STORE_SYNC] = UINT32_MAX,
};

/* ---- the file ---- */

static uint64_t
draw(void)
{
    uint64_t v;
    sqlite3_randomness((int)sizeof(v), &v);
    return v;
}

static uint64_t
head_check(const struct head *h)
{
    return hash_seeded(h, offsetof(struct head, check), h->file);
}

/* ST_INVAL where it is not a whole journal. */
static enum status
read_head(struct journal *j)
{
    struct head h;
    sqlite3_int64 size;
    int rc = j->file->pMethods->xFileSize(j->file, &size);
    if (rc == SQLITE_OK && size < (sqlite3_int64)SIZE_LEAST) {
        return ST_INVAL;
    }
    if (rc == SQLITE_OK) {
        rc = j->file->pMethods->xRead(j->file, &h, (int)sizeof(h), 0);
    }
    if (rc != SQLITE_OK) {
        return store_status(rc);
    }
    bool ours = memcmp(h.magic, MAGIC, sizeof(h.magic)) == 0 && h.check == head_check(&h) &&
                h.size >= SIZE_LEAST && h.size <= SIZE_MOST && h.size <= (uint64_t)size;
    j->place.file = h.file;
    j->size = (size_t)h.size;
    return ours ? ST_OK : ST_INVAL;
}

/* The head goes in last: with it the file is whole. */
static enum status
format(struct journal *j)
{
    struct head h = {.file = draw(), .size = SIZE};
    memcpy(h.magic, MAGIC, sizeof(h.magic));
    h.check = head_check(&h);
    char *zeros = mem_alloc(PIECE);
    int rc = zeros != NULL ? SQLITE_OK : SQLITE_NOMEM;
    for (size_t at = 0; at < SIZE && rc == SQLITE_OK; at += PIECE) {
        rc = j->file->pMethods->xWrite(j->file, zeros, (int)PIECE, (sqlite3_int64)at);
    }
    mem_free(zeros);
    if (rc == SQLITE_OK) {
        rc = j->file->pMethods->xSync(j->file, SQLITE_SYNC_NORMAL);
    }
    if (rc == SQLITE_OK) {
        rc = j->file->pMethods->xWrite(j->file, &h, (int)sizeof(h), 0);
    }
    if (rc == SQLITE_OK) {
        rc = j->file->pMethods->xSync(j->file, SQLITE_SYNC_NORMAL);
    }
    j->place.file = h.file;
    j->size = SIZE;
    return store_status(rc);
}

static enum status
open_file(struct journal *j, const char *vfs_name, bool make)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(vfs_name);
    int there = 0;
    if (vfs == NULL) {
        return ST_INVAL;
    }
    j->file = mem_alloc((size_t)vfs->szOsFile);
    if (j->file == NULL) {
        return ST_NOMEM;
    }
    int rc = vfs->xAccess(vfs, j->path, SQLITE_ACCESS_EXISTS, &there);
    if (rc == SQLITE_OK && !there && !make) {
        return ST_NOTFOUND;
    }
    /* As a log of SQLite: without locks. */
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL | (make ? SQLITE_OPEN_CREATE : 0);
    if (rc == SQLITE_OK) {
        rc = vfs->xOpen(vfs, j->path, j->file, flags, NULL);
    }
    return store_status(rc);
}

enum status
journal_open(struct journal **out, const char *vfs, const char *path, bool make)
{
    *out = NULL;
    struct journal *j = mem_alloc(sizeof(*j));
    if (j == NULL) {
        return ST_NOMEM;
    }
    buf_init(&j->undrained);
    buf_init(&j->cut);
    j->place.offset = START;
    j->path = mem_strdup(path);
    enum status st = j->path != NULL ? open_file(j, vfs, make) : ST_NOMEM;
    if (st == ST_OK) {
        st = read_head(j);
        if (make && st == ST_INVAL) {
            st = format(j);
        }
    }
    if (st != ST_OK) {
        journal_close(j);
        return st;
    }
    journal_renew(j);
    *out = j;
    return ST_OK;
}

void
journal_close(struct journal *j)
{
    if (j == NULL) {
        return;
    }
    if (j->file != NULL && j->file->pMethods != NULL) {
        (void)j->file->pMethods->xClose(j->file);
    }
    buf_fini(&j->undrained);
    buf_fini(&j->cut);
    mem_free(j->file);
    mem_free(j->path);
    mem_free(j);
}

/* ---- records ---- */

static uint64_t
record_check(const struct journal *j, const char *record, size_t len)
{
    size_t skip = sizeof(uint64_t);
    return hash_seeded(record + skip, sizeof(struct record) - skip + len, j->place.salt);
}

/* STORE_KINDS_: none. */
static enum store_kind
kind_of(uint32_t number)
{
    int kind = 0;
    while (kind < STORE_KINDS_ && (number == 0 || kinds[kind] != number)) {
        kind++;
    }
    return (enum store_kind)kind;
}

/* The entry at *p, whose end is `end`; *p moves on. False: there is none. */
static bool
next_entry(const char **p, const char *end, struct journal_entry *out)
{
    struct entry e;
    if ((size_t)(end - *p) < sizeof(e)) {
        return false;
    }
    memcpy(&e, *p, sizeof(e));
    *p += sizeof(e);
    enum store_kind kind = kind_of(e.kind);
    if (kind == STORE_KINDS_ || (uint64_t)(end - *p) < (uint64_t)e.name_len + e.data_len) {
        return false;
    }
    *out = (struct journal_entry){.op = {.kind = kind,
                                         .subject_id = e.subject_id,
                                         .stream = e.stream,
                                         .row = e.row,
                                         .row_end = e.row_end,
                                         .name = *p,
                                         .name_len = e.name_len,
                                         .data = *p + e.name_len,
                                         .data_len = e.data_len},
                                  .ts = (int64_t)e.row_end,
                                  .flags = e.flags};
    *p += e.name_len + e.data_len;
    return true;
}

static bool
entries_are_whole(const char *p, size_t len)
{
    struct journal_entry e;
    const char *end = p + len;
    while (p < end) {
        if (!next_entry(&p, end, &e)) {
            return false;
        }
    }
    return true;
}

/* How long the record is that lies at the place in the file's bytes; 0: none does. */
static size_t
record_at(const struct journal *j, const char *bytes)
{
    struct record r;
    size_t at = (size_t)j->place.offset;
    if (at + sizeof(r) > j->size) {
        return 0;
    }
    memcpy(&r, bytes + at, sizeof(r));
    if (r.turn != j->place.turn || r.offset != at || r.len > j->size - at - sizeof(r) ||
        r.check != record_check(j, bytes + at, r.len) ||
        !entries_are_whole(bytes + at + sizeof(r), r.len)) {
        return 0;
    }
    return sizeof(r) + r.len;
}

enum status
journal_recover(struct journal *j, const struct journal_place *from)
{
    if (from->file != j->place.file || from->offset < START || from->offset > j->size) {
        return ST_INVAL;
    }
    char *bytes = mem_alloc_raw(j->size);
    if (bytes == NULL) {
        return ST_NOMEM;
    }
    int rc = SQLITE_OK;
    for (size_t at = 0; at < j->size && rc == SQLITE_OK; at += PIECE) {
        size_t n = j->size - at < PIECE ? j->size - at : PIECE;
        rc = j->file->pMethods->xRead(j->file, bytes + at, (int)n, (sqlite3_int64)at);
    }
    j->place = *from;
    size_t n;
    while (rc == SQLITE_OK && (n = record_at(j, bytes)) > 0) {
        j->place.offset += n;
    }
    buf_append(&j->undrained, bytes + from->offset, (size_t)(j->place.offset - from->offset));
    mem_free(bytes);
    return rc != SQLITE_OK ? store_status(rc) : buf_status(&j->undrained);
}

void
journal_renew(struct journal *j)
{
    j->place.salt = draw();
    j->place.turn = 0;
}

bool
journal_has_room(const struct journal *j)
{
    return j->undrained.len < UNDRAINED_MAX && j->place.offset + RECORD_MAX <= j->size;
}

bool
journal_takes(const struct list_node *ops)
{
    size_t n = 0;
    size_t bytes = 0;
    for (const struct list_node *it = ops->next; it != ops; it = it->next) {
        const struct store_op *op = LIST_ENTRY(it, const struct store_op, node);
        bytes += op->name_len + op->data_len;
        bytes += op->msg != NULL ? op->msg->hdr_len + op->msg->data_len : 0;
        if (kinds[op->kind] == 0 || ++n > OPS_MAX || bytes > BYTES_MAX) {
            return false;
        }
    }
    return n > 0;
}

/* Where memory was reserved. */
static void
put_entry(struct buf *b, const struct store_op *op)
{
    const struct msg *m = op->kind == STORE_APPEND ? op->msg : NULL;
    struct entry e = {.kind = kinds[op->kind],
                      .subject_id = op->subject_id,
                      .stream = op->stream,
                      .row = op->row,
                      .row_end = m != NULL ? (uint64_t)m->ts : op->row_end,
                      .flags = m != NULL ? m->flags : 0,
                      .name_len = m != NULL ? m->hdr_len : (uint32_t)op->name_len,
                      .data_len = m != NULL ? m->data_len : (uint32_t)op->data_len};
    buf_append(b, &e, sizeof(e));
    buf_append(b, m != NULL ? msg_hdr(m) : op->name, e.name_len);
    buf_append(b, m != NULL ? msg_data(m) : op->data, e.data_len);
}

enum status
journal_write(struct journal *j, const struct list_node *ops, bool sync)
{
    _Static_assert(RECORD_MAX < (size_t)128 << 10, "one write");
    size_t begin = j->undrained.len;
    struct record r = {.turn = j->place.turn, .offset = (uint32_t)j->place.offset};
    if (buf_reserve(&j->undrained, RECORD_MAX) != ST_OK) {
        j->undrained.failed = false;
        return ST_NOMEM;
    }
    buf_append(&j->undrained, &r, sizeof(r));
    for (const struct list_node *it = ops->next; it != ops; it = it->next) {
        const struct store_op *op = LIST_ENTRY(it, const struct store_op, node);
        if (op->kind != STORE_SYNC) {
            put_entry(&j->undrained, op);
        }
    }
    char *bytes = j->undrained.data + begin;
    size_t n = j->undrained.len - begin;
    if (n == sizeof(r)) {
        j->undrained.len = begin;
        return ST_OK;
    }
    r.len = (uint32_t)(n - sizeof(r));
    memcpy(bytes, &r, sizeof(r));
    r.check = record_check(j, bytes, r.len);
    memcpy(bytes, &r, sizeof(r));
    int rc = j->file->pMethods->xWrite(j->file, bytes, (int)n, (sqlite3_int64)j->place.offset);
    enum status st = store_status(rc);
    if (st == ST_OK && sync) {
        st = journal_sync(j);
    }
    if (st != ST_OK) {
        j->undrained.len = begin;
        return st;
    }
    j->place.offset += n;
    return ST_OK;
}

enum status
journal_sync(struct journal *j)
{
    int rc = j->file->pMethods->xSync(j->file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    return store_status(rc);
}

/* ---- into the database ---- */

static int
each(const struct buf *records, int (*fn)(void *arg, const struct journal_entry *e), void *arg)
{
    int rc = 0;
    const char *p = records->data;
    for (size_t at = 0; at < records->len && rc == 0;) {
        struct record r;
        struct journal_entry e;
        memcpy(&r, p + at, sizeof(r));
        const char *entry = p + at + sizeof(r);
        at += sizeof(r) + r.len;
        while (rc == 0 && next_entry(&entry, p + at, &e)) {
            rc = fn(arg, &e);
        }
    }
    return rc;
}

int
journal_each(const struct journal *j, bool cut, int (*fn)(void *arg, const struct journal_entry *e),
             void *arg)
{
    int rc = each(&j->cut, fn, arg);
    return rc == 0 && !cut ? each(&j->undrained, fn, arg) : rc;
}

size_t
journal_undrained(const struct journal *j)
{
    return j->undrained.len + j->cut.len;
}

bool
journal_is_drained(const struct journal *j)
{
    return journal_undrained(j) == 0;
}

bool
journal_is_at_start(const struct journal *j)
{
    return j->place.offset == START;
}

bool
journal_is_long(const struct journal *j)
{
    return j->place.offset > j->size / 2;
}

struct journal_place
journal_place(const struct journal *j, bool new_turn)
{
    struct journal_place p = j->place;
    if (new_turn) {
        p.turn++;
        p.offset = START;
    }
    return p;
}

void
journal_drained(struct journal *j, bool new_turn)
{
    j->place = journal_place(j, new_turn);
    buf_reset(&j->undrained);
    buf_reset(&j->cut);
}

void
journal_cut(struct journal *j)
{
    if (j->cut.len > 0) {
        return;
    }
    struct buf empty = j->cut;
    j->cut = j->undrained;
    j->undrained = empty;
    j->cut_end = j->place;
}

struct journal_place
journal_cut_place(const struct journal *j)
{
    return j->cut_end;
}

void
journal_cut_drained(struct journal *j)
{
    buf_reset(&j->cut);
}
