/* SPDX-License-Identifier: Apache-2.0 */
/* Readers are connections of their own, kept in a small pool; in memory there is the writer's only,
 * under its lock; so too while the journal is held. */
#include "stream/store_read.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/slab.h"
#include "stream/store_priv.h"

#define COLUMNS "SELECT id, ts, subject, flags, hdr, data FROM message WHERE id BETWEEN ? AND ?"

static void
reader_close(const struct store *s, struct store_reader *r)
{
    (void)sqlite3_finalize(r->up);
    (void)sqlite3_finalize(r->down);
    (void)sqlite3_finalize(r->heads);
    if (r->db != s->db) {
        (void)sqlite3_close(r->db);
    }
    *r = (struct store_reader){0};
}

static int
reader_prepare(struct store_reader *r)
{
    static const char heads[] = "SELECT id, ts, subject, flags, length(hdr), length(data)"
                                " FROM message WHERE id BETWEEN ? AND ? ORDER BY id";
    unsigned keep = SQLITE_PREPARE_PERSISTENT;
    int rc = sqlite3_prepare_v3(r->db, COLUMNS " ORDER BY id", -1, keep, &r->up, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v3(r->db, COLUMNS " ORDER BY id DESC", -1, keep, &r->down, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v3(r->db, heads, -1, keep, &r->heads, NULL);
    }
    return rc;
}

/* Of the writer's connection its lock is held from here to reader_give. */
static enum status
reader_take(struct store *s, struct store_reader *r)
{
    bool held = s->held;
    bool alone = s->path == NULL || held;
    bool found = false;
    if (alone) {
        (void)pthread_mutex_lock(&s->db_lock);
    }
    if (!held) {
        (void)pthread_mutex_lock(&s->readers_lock);
        found = s->n_readers > 0;
        if (found) {
            *r = s->readers[--s->n_readers];
        }
        (void)pthread_mutex_unlock(&s->readers_lock);
    }
    if (found) {
        return ST_OK;
    }
    *r = (struct store_reader){.db = alone ? s->db : NULL};
    int rc = alone ? SQLITE_OK : store_connect(s, &r->db);
    if (rc == SQLITE_OK) {
        rc = reader_prepare(r);
    }
    if (rc != SQLITE_OK) {
        reader_close(s, r);
        if (alone) {
            (void)pthread_mutex_unlock(&s->db_lock);
        }
    }
    return store_status(rc);
}

static void
reader_give(struct store *s, struct store_reader *r)
{
    bool kept = false;
    bool alone = r->db == s->db;
    if (s->path == NULL || !alone) {
        (void)pthread_mutex_lock(&s->readers_lock);
        kept = s->n_readers < STORE_READERS;
        if (kept) {
            s->readers[s->n_readers++] = *r;
        }
        (void)pthread_mutex_unlock(&s->readers_lock);
    }
    if (!kept) {
        reader_close(s, r);
    }
    if (alone) {
        (void)pthread_mutex_unlock(&s->db_lock);
    }
}

void
store_close_readers(struct store *s)
{
    while (s->n_readers > 0) {
        reader_close(s, &s->readers[--s->n_readers]);
    }
}

static enum status
report(const struct store *s, int rc)
{
    if (rc != SQLITE_DONE && rc != SQLITE_ROW && rc != SQLITE_OK) {
        static struct log_limit lim;
        uint64_t held;
        if (log_limit_pass(&lim, &held)) {
            log_error("JetStream store %s: read: %s", s->path != NULL ? s->path : "in memory",
                      sqlite3_errstr(rc));
        }
    }
    return store_status(rc);
}

/* ST_OK with *out NULL: its subject is unknown, so it is no message of this stream. */
static enum status
row_to_msg(sqlite3_stmt *q, const struct store_range *r, struct slab **slab, struct msg **out)
{
    uint64_t row = (uint64_t)sqlite3_column_int64(q, 0);
    struct msg_spec spec = {.flags = (unsigned)sqlite3_column_int64(q, 3),
                            .slab = r->n > 1 ? slab : NULL};
    *out = NULL;
    spec.subject = r->subject(r->ctx, (uint32_t)sqlite3_column_int64(q, 2), &spec.subject_len);
    if (spec.subject == NULL) {
        return ST_OK;
    }
    spec.hdr = sqlite3_column_blob(q, 4);
    spec.hdr_len = (size_t)sqlite3_column_bytes(q, 4);
    spec.data = sqlite3_column_blob(q, 5);
    spec.data_len = (size_t)sqlite3_column_bytes(q, 5);
    enum status st = msg_new(out, &spec);
    if (st == ST_OK) {
        (*out)->seq = (row & (STORE_ROW(1, 0) - 1)) + r->base;
        (*out)->ts = sqlite3_column_int64(q, 1);
    }
    return st;
}

static enum status
read_rows(const struct store *s, sqlite3_stmt *q, const struct store_range *r, struct msg **out,
          size_t *n)
{
    size_t bytes = 0;
    int rc = SQLITE_OK;
    enum status st = ST_OK;
    struct slab *slab = NULL;
    while (*n < r->n && (bytes < r->max_bytes || *n == 0) && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        st = row_to_msg(q, r, &slab, &out[*n]);
        if (st != ST_OK) {
            break;
        }
        if (out[*n] != NULL) {
            bytes += out[*n]->hdr_len + out[*n]->data_len;
            (*n)++;
        }
    }
    slab_close(&slab);
    return st != ST_OK ? st : report(s, rc);
}

enum status
store_read(struct store *s, const struct store_range *r, struct msg **out, size_t *n)
{
    struct store_reader reader;
    *n = 0;
    enum status st = reader_take(s, &reader);
    if (st != ST_OK) {
        return st;
    }
    sqlite3_stmt *q = r->desc ? reader.down : reader.up;
    (void)sqlite3_bind_int64(q, 1, (sqlite3_int64)r->lo);
    (void)sqlite3_bind_int64(q, 2, (sqlite3_int64)r->hi);
    st = read_rows(s, q, r, out, n);
    (void)sqlite3_reset(q);
    reader_give(s, &reader);
    if (st != ST_OK) {
        while (*n > 0) {
            msg_unref(out[--*n]);
        }
    }
    return st;
}

enum status
store_scan(struct store *s, uint64_t lo, uint64_t hi,
           bool (*fn)(void *arg, const struct store_head *h), void *arg)
{
    struct store_reader r;
    enum status st = reader_take(s, &r);
    if (st != ST_OK) {
        return st;
    }
    sqlite3_stmt *q = r.heads;
    (void)sqlite3_bind_int64(q, 1, (sqlite3_int64)lo);
    (void)sqlite3_bind_int64(q, 2, (sqlite3_int64)hi);
    int rc;
    bool more = true;
    while (more && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        struct store_head h = {.row = (uint64_t)sqlite3_column_int64(q, 0),
                               .ts = sqlite3_column_int64(q, 1),
                               .subject_id = (uint32_t)sqlite3_column_int64(q, 2),
                               .flags = (uint32_t)sqlite3_column_int64(q, 3),
                               .hdr_len = (uint32_t)sqlite3_column_int64(q, 4)};
        h.size = h.hdr_len + (uint32_t)sqlite3_column_int64(q, 5);
        more = fn(arg, &h);
    }
    st = more ? report(s, rc) : ST_OK;
    (void)sqlite3_reset(q);
    reader_give(s, &r);
    return st;
}

/* Rows of (stream, id, name, data), for a start: prepared anew each time. */
static enum status
records(struct store *s, const char *sql, const uint64_t bind[2], store_record_fn *fn, void *arg)
{
    struct store_reader r;
    sqlite3_stmt *q = NULL;
    enum status st = reader_take(s, &r);
    if (st != ST_OK) {
        return st;
    }
    int rc = sqlite3_prepare_v2(r.db, sql, -1, &q, NULL);
    for (int i = 0; rc == SQLITE_OK && i < 2 && i < sqlite3_bind_parameter_count(q); i++) {
        rc = sqlite3_bind_int64(q, i + 1, (sqlite3_int64)bind[i]);
    }
    bool more = rc == SQLITE_OK;
    while (more && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        struct store_record rec = {.stream = (uint64_t)sqlite3_column_int64(q, 0),
                                   .id = (uint64_t)sqlite3_column_int64(q, 1)};
        rec.name = sqlite3_column_blob(q, 2);
        rec.name_len = (size_t)sqlite3_column_bytes(q, 2);
        rec.data = sqlite3_column_blob(q, 3);
        rec.data_len = (size_t)sqlite3_column_bytes(q, 3);
        more = fn(arg, &rec);
    }
    st = rc == SQLITE_ROW ? ST_OK : report(s, rc);
    (void)sqlite3_finalize(q);
    reader_give(s, &r);
    return st;
}

enum status
store_streams(struct store *s, store_record_fn *fn, void *arg)
{
    return records(s, "SELECT id, 0, account || char(0) || name, record FROM stream ORDER BY id",
                   NULL, fn, arg);
}

enum status
store_log(struct store *s, uint64_t stream, store_record_fn *fn, void *arg)
{
    const uint64_t bind[2] = {stream};
    return records(s, "SELECT id, base, NULL, record FROM log WHERE id = ?", bind, fn, arg);
}

enum status
store_consumers(struct store *s, uint64_t stream, store_record_fn *fn, void *arg)
{
    const uint64_t bind[2] = {stream};
    return records(s, "SELECT stream, 0, name, record FROM consumer WHERE stream = ?", bind, fn,
                   arg);
}

enum status
store_subjects(struct store *s, uint64_t stream, store_record_fn *fn, void *arg)
{
    const uint64_t bind[2] = {stream};
    return records(s, "SELECT stream, id, subject, NULL FROM subject WHERE stream = ?", bind, fn,
                   arg);
}

enum status
store_chunks(struct store *s, uint64_t lo, uint64_t hi, store_record_fn *fn, void *arg)
{
    const uint64_t bind[2] = {lo, hi};
    return records(s,
                   "SELECT id >> 42, id, NULL, data FROM chunk WHERE id BETWEEN ? AND ?"
                   " ORDER BY id",
                   bind, fn, arg);
}
