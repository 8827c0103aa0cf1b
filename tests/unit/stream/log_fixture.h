/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a folder of its own and one log on it, with appends that are waited for. */
#ifndef TESTS_UNIT_STREAM_LOG_FIXTURE_H
#define TESTS_UNIT_STREAM_LOG_FIXTURE_H

#include "tests/support/cmk.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/mem.h"
#include "stream/mlog.h"
#include "stream/mlog_subject.h"

struct fixture {
    char dir[64];
    const char *vfs;
    bool memory;
    int64_t sync_interval; /* ns; 0: each commit is synced */
    struct store *store;
    struct mlog *log;
    uint64_t id;
    pthread_mutex_t lock; /* the stream's */
    pthread_cond_t cond;
    int waiting; /* appends on their way */
    enum status last;
    uint64_t removed;
};

struct fixture_put {
    struct mlog_put p;
    struct fixture *f;
};

static inline void
fixture_free_op(struct store_op *op)
{
    msg_unref(op->msg);
    mem_free(op);
}

static inline void
fixture_done(struct store_op *op, struct list_node *more, enum status st)
{
    struct fixture *f = op->group;
    struct list_node *n;
    (void)pthread_mutex_lock(&f->lock);
    mlog_commit(f->log, op, more, st);
    f->last = st;
    f->waiting--;
    fixture_free_op(op);
    while ((n = list_pop_front(more)) != NULL) {
        f->waiting--;
        fixture_free_op(LIST_ENTRY(n, struct store_op, node));
    }
    (void)pthread_cond_signal(&f->cond);
    (void)pthread_mutex_unlock(&f->lock);
}

static inline void
fixture_removed(void *ctx, uint64_t seq, const char *subject, uint32_t size)
{
    struct fixture *f = ctx;
    (void)seq;
    assert_true(size > 0 && subject[0] != '\0');
    f->removed++;
}

static inline struct mlog_opts
fixture_opts(struct fixture *f)
{
    return (struct mlog_opts){.store = f->store,
                              .stream = f->id,
                              .memory = f->memory,
                              .first_seq = 1,
                              .on_remove = fixture_removed,
                              .ctx = f};
}

static inline enum status
fixture_open_store(struct fixture *f, char **err)
{
    /* NB: the power's VFS copies whole files. */
    struct store_opts o = {.dir = f->memory ? NULL : f->dir,
                           .durable = f->sync_interval == 0,
                           .sync_interval = f->sync_interval,
                           .vfs = f->vfs,
                           .wal_limit = f->vfs != NULL ? 1 << 20 : 0};
    return store_open(&f->store, &o, err);
}

static inline void
fixture_init(struct fixture *f, bool memory)
{
    char *err;
    memset(f, 0, sizeof(*f));
    f->memory = memory;
    (void)pthread_mutex_init(&f->lock, NULL);
    (void)pthread_cond_init(&f->cond, NULL);
    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/sluice-store-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    assert_int_equal(fixture_open_store(f, &err), ST_OK);
    assert_int_equal(store_start(f->store), ST_OK);
    f->id = store_new_id(f->store);
    struct mlog_opts o = fixture_opts(f);
    assert_int_equal(mlog_new(&f->log, &o), ST_OK);
}

static inline void
fixture_wait(struct fixture *f)
{
    (void)pthread_mutex_lock(&f->lock);
    while (f->waiting > 0) {
        (void)pthread_cond_wait(&f->cond, &f->lock);
    }
    (void)pthread_mutex_unlock(&f->lock);
}

/* Appends without waiting. Returns the sequence, 0 where it was refused. */
static inline uint64_t
fixture_append(struct fixture *f, const char *subject, const char *data)
{
    struct msg_spec spec = {
        .subject = subject, .subject_len = strlen(subject), .data = data, .data_len = strlen(data)};
    struct fixture_put *p = mem_alloc(sizeof(*p));
    if (p == NULL || msg_new(&p->p.op.msg, &spec) != ST_OK) {
        mem_free(p);
        return 0;
    }
    p->p.op.done = fixture_done;
    p->p.op.group = f;
    struct list_node puts;
    list_init(&puts);
    list_push_back(&puts, &p->p.op.node);
    (void)pthread_mutex_lock(&f->lock);
    uint64_t seq = 0;
    if (mlog_append(f->log, &puts, 0) == ST_OK) {
        seq = mlog_last_seq(f->log);
        f->waiting++;
    } else {
        fixture_free_op(&p->p.op);
    }
    (void)pthread_mutex_unlock(&f->lock);
    return seq;
}

/* Stops and opens anew. checkpoint: an orderly stop. */
static inline void
fixture_reopen(struct fixture *f, bool checkpoint)
{
    char *err;
    fixture_wait(f);
    while (checkpoint && mlog_checkpoint(f->log, 100, true)) {
    }
    store_stop(f->store);
    mlog_free(f->log);
    store_free(f->store);
    assert_int_equal(fixture_open_store(f, &err), ST_OK);
    assert_int_equal(store_start(f->store), ST_OK);
    struct mlog_opts o = fixture_opts(f);
    assert_int_equal(mlog_load(&f->log, &o), ST_OK);
}

static inline void
fixture_fini(struct fixture *f)
{
    char path[128];
    static const char *const names[] = {"sluice.db", "sluice.db-wal", "sluice.db-shm",
                                        "sluice.journal", "sluice.lock"};
    fixture_wait(f);
    store_stop(f->store);
    mlog_free(f->log);
    store_free(f->store);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", f->dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(f->dir);
}

/* True where that sequence holds just this. */
static inline bool
fixture_has(struct fixture *f, uint64_t seq, const char *subject, const char *data)
{
    struct msg *m;
    (void)pthread_mutex_lock(&f->lock);
    bool ok = mlog_get(f->log, seq, NULL, &m) == ST_OK;
    (void)pthread_mutex_unlock(&f->lock);
    ok = ok && m->seq == seq && strcmp(msg_subject(m), subject) == 0 &&
         m->data_len == strlen(data) && memcmp(msg_data(m), data, m->data_len) == 0;
    msg_unref(m);
    return ok;
}

#endif
