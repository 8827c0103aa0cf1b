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
#include "stream/theap.h"

struct batches;
struct dedupe;
struct schedules;
struct stream_links;
struct stream_sources;
struct transform;

/* lock guards all below it, the consumers too. Above: constant, or as said. cfg is replaced only by
 * who holds stream_admin_lock as well, so that one of the two is enough to read it. */
struct stream {
    _Atomic uint32_t refs;
    uint64_t mark;          /* of the account's last search that found it, under its lock */
    struct js *js;          /* borrowed: outlives it */
    struct js_account *acc; /* borrowed: outlives it */
    char *name;             /* owned */
    uint64_t id;            /* its number in the store */
    int64_t created;        /* wall ns */
    bool memory;
    pthread_mutex_t lock;
    struct stream_config *cfg;       /* owned */
    json_t *cfg_answer;              /* owned, or NULL until one asks: cfg as answers have it */
    struct mlog *log;                /* owned */
    bool deleted;                    /* whoever comes late finds nothing */
    bool is_active;                  /* takes publishes */
    bool restoring;                  /* not whole yet: a start drops it */
    char *ack_head;                  /* owned, constant: a PubAck up to the sequence */
    struct list_node outq;           /* js_out that wait for stream_unlock */
    struct slab *out_slab;           /* open while somebody has the lock, or NULL */
    struct slab *put_slab;           /* open while something waits for its commit, or NULL */
    bool flushing;                   /* a thread is sending outq, in its order */
    struct stream_service *services; /* owned: changed under stream_admin_lock */
    size_t n_services;
    struct js_timer tick;  /* max_age, TTLs, saves: at the earliest that is due */
    struct ntab consumers; /* by name; ref each */
    size_t n_limited;      /* of the consumers, those that count against limits */
    struct list_node consumer_order;
    /* Features; NULL where the stream does not have them. Owned. */
    struct transform *intake;    /* of subjects that come in */
    struct transform *republish; /* to where what was stored goes too */
    char *last_msg_id;           /* Nats-Msg-Id of the last message, or NULL */
    struct list_node late_dups;  /* ingest.c: acks of duplicates of what is not committed yet */
    struct dedupe *dedupe;
    struct theap ttl; /* of messages with a TTL */
    bool has_ttl;     /* ttl has all that the log has */
    struct schedules *schedules;
    struct batches *batches;
    struct stream_sources *sources; /* what it takes from: mirror, sources */
    struct stream_links *links;     /* who takes from it */
};

/* One subject that the host serves for the stream; holds a reference to it meanwhile. */
struct stream_service {
    char *subject; /* owned */
    bool direct;   /* direct gets; else publishes */
    struct js_service *svc;
};

/* Creation, update and deletion of streams happen one after the other. Taken before any other lock
 * of the engine. */
void stream_admin_lock(void);
void stream_admin_unlock(void);

/* A stream with its log, in no table yet, by a configuration that is checked (takes cfg). `load`:
 * from what the store has under id. */
struct stream_make {
    struct js_account *acc;
    struct stream_config *cfg;
    uint64_t id;
    int64_t created;
    bool load;
};
enum status stream_new(struct stream **out, const struct stream_make *m) MUST_CHECK;

void stream_lock(struct stream *s);
/* Unlocks, and then sends what stream_emit has gathered: one thread at a time, so that the order
 * of the lock is the order on the wire. */
void stream_unlock(struct stream *s);
/* Under the lock: sends after it. Takes o; NULL (no memory) is allowed. */
void stream_emit(struct stream *s, struct js_out *o);

/* Pushes the stream's record. Under the lock. */
enum status stream_save(struct stream *s) MUST_CHECK;
/* The tick is due at `at` (monotonic) or earlier. Under the lock. */
void stream_tick_at(struct stream *s, int64_t at);

/* Messages that the store has committed or failed (ingest.c): acknowledges, republishes, tells
 * consumers and links. The done of mlog_put's ops. */
void ingest_done(struct store_op *first, struct list_node *more, enum status st);

#endif
