/* SPDX-License-Identifier: Apache-2.0 */
/* Between ingest_batch.c, ingest_commit.c and ingest_fast.c. Under the stream's lock. */
#ifndef STREAM_INGEST_BATCH_PRIV_H
#define STREAM_INGEST_BATCH_PRIV_H

#include "stream/ingest_batch.h"
#include "stream/ingest_priv.h"

enum { BATCH_ID_MAX = 64 };

/* One message of an atomic batch that waits for the rest. */
struct staged {
    struct list_node node;
    struct msg *msg; /* ref */
};

struct atomic_batch {
    struct list_node node;
    struct list_node msgs; /* owned: staged.node */
    uint64_t last;         /* the highest batch sequence so far */
    size_t bytes;
    int64_t ends; /* wall ns */
    size_t len;
    char id[BATCH_ID_MAX + 1];
};

struct fast_batch {
    struct list_node node;
    uint64_t last;        /* highest batch sequence seen */
    uint64_t stored;      /* highest batch sequence stored */
    uint64_t flow_seq;    /* of the last flow-control message */
    uint64_t stream;      /* last sequence of the stream for it */
    uint64_t pending;     /* given to the log, not committed yet */
    uint32_t every, most; /* acknowledge each so many; at most that, as the client asked */
    bool gap_ok, commit;
    int64_t ends; /* wall ns */
    char *reply;  /* owned or NULL: of the message that ended it, which is answered at the end */
    uint32_t loop;
    size_t len;
    char id[BATCH_ID_MAX + 1];
};

struct batches {
    struct list_node atomic, fast; /* owned */
    size_t n_atomic, n_fast, staged_bytes;
    _Atomic int64_t *open_atomic, *open_fast; /* borrowed: the engine's, which outlives us */
};

/* How long a batch may be silent, in ns. */
int64_t batch_timeout(struct stream *s);

/* Takes a place for one more batch; false: as many are open as may be. `open` counts those of all
 * streams. */
struct batch_room {
    int64_t per_stream, total; /* where the server's configuration does not say */
};
bool batch_enter(struct stream *s, size_t here, _Atomic int64_t *open, struct batch_room room);

/* A client may demand a level of the API; the header is not kept. */
enum js_error batch_check_level(struct pub *p, struct js_fail *f) MUST_CHECK;

/* Of the stream, made where it has none. NULL without memory. */
struct batches *batches_of(struct stream *s);

/* "…,"batch":"id","count":n" for a PubAck. */
void batch_tail(char *out, size_t n, const char *id, uint64_t count);

/* Checks all that is staged and appends it as one. tail and reply: of the last message's answer. */
enum js_error batch_commit(struct stream *s, struct atomic_batch *b, const struct pub *last,
                           bool add_commit, struct js_fail *f) MUST_CHECK;

/* A message whose reply subject is of the fast kind. */
bool fast_batch_takes(struct stream *s, struct pub *p, enum js_error *e, struct js_fail *f);
void fast_batch_free(struct batches *all, struct fast_batch *b);

#endif
