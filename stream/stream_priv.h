/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct stream, for the files of stream/ alone. */
#ifndef STREAM_STREAM_PRIV_H
#define STREAM_STREAM_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/base/list.h"
#include "stream/js_account.h"
#include "stream/js_host.h"
#include "stream/js_out.h"
#include "stream/js_priv.h"
#include "stream/js_timer.h"
#include "stream/mlog.h"
#include "stream/mlog_subject.h"
#include "stream/ntab.h"
#include "stream/stream.h"
#include "stream/stream_config.h"

struct batches;
struct dedupe;
struct msg_ttl;
struct schedules;
struct stream_links;
struct stream_mirror;
struct stream_sources;

/* lock guards all below it, the consumers too. Above: constant, or as said. */
struct stream {
    _Atomic uint32_t refs;
    struct list_node node;  /* of the account's order, under the account's lock */
    struct js *js;          /* borrowed: outlives it */
    struct js_account *acc; /* borrowed: outlives it */
    char *name;             /* owned */
    uint64_t id;            /* its number in the store */
    int64_t created;        /* wall ns */
    bool memory;
    pthread_mutex_t lock;
    struct stream_config *cfg;    /* owned */
    struct mlog *log;             /* owned */
    bool deleted;                 /* whoever comes late finds nothing */
    bool record_dirty;            /* stream_save is due */
    struct list_node outq;        /* js_out that wait for stream_unlock */
    bool flushing;                /* a thread is sending outq, in its order */
    struct js_service **services; /* of the host: one per subject, and direct get; each a ref */
    size_t n_services;
    struct js_timer tick;  /* max_age, TTLs, saves: at the earliest that is due */
    struct ntab consumers; /* by name; ref each */
    struct list_node consumer_order;
    /* Features; NULL where the stream does not have them. Owned. */
    struct dedupe *dedupe;
    struct msg_ttl *ttl;
    struct schedules *schedules;
    struct batches *batches;
    struct stream_sources *sources; /* what it takes from: mirror, sources */
    struct stream_links *links;     /* who takes from it */
};

void stream_lock(struct stream *s);
/* Unlocks, and then sends what stream_emit has gathered: one thread at a time, so that the order
 * of the lock is the order on the wire. */
void stream_unlock(struct stream *s);
/* Under the lock: sends after it. Takes o; NULL (no memory) is allowed. */
void stream_emit(struct stream *s, struct js_out *o);

/* Pushes the stream's record (configuration and state). Under the lock. */
enum status stream_save(struct stream *s) MUST_CHECK;
/* The tick is due at `at` (monotonic) or earlier. Under the lock. */
void stream_tick_at(struct stream *s, int64_t at);

/* Messages that the store has committed or failed (ingest.c): acknowledges, republishes, tells
 * consumers and links. The done of mlog_put's ops. */
void ingest_done(struct store_op *first, struct list_node *more, enum status st);

#endif
