/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of ingest*.c. All under the stream's lock. */
#ifndef STREAM_INGEST_PRIV_H
#define STREAM_INGEST_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/buf.h"
#include "stream/js_error.h"
#include "stream/mlog.h"
#include "stream/stream_priv.h"

/* One message on its way in. Pointers are borrowed for the call, but for the bufs (owned), which
 * hold what was changed on the way. */
struct pub {
    const char *subject, *hdr, *data, *reply; /* reply: "" none */
    size_t subject_len, hdr_len, data_len;
    uint32_t loop;
    bool inner;    /* from a mirror, a source, a schedule, a marker: not checked as a client's */
    bool in_turn;  /* js_turn_end follows on this thread */
    bool in_batch; /* checks that a batch does for itself are left out */
    uint64_t seq;  /* a mirror's: it gets this one; else 0 */
    int64_t ts;    /* 0: now */
    uint64_t ahead_msgs, ahead_bytes; /* of its batch, not in the log yet */
    uint64_t ahead_subject;           /* of its subject among them */
    const char *fast_id;              /* NULL: of no fast batch */
    uint64_t fast_seq;

    struct msg *base; /* borrowed: the last of the subject in the same batch, or NULL */

    /* What the checks found. */
    const char *msg_id;
    size_t msg_id_len;
    bool rollup_subject, rollup_all;
    int64_t ttl;         /* seconds; < 0: never; 0: none */
    bool is_schedule;    /* has a pattern: due at: */
    int64_t schedule_at; /* wall ns */
    uint64_t dup_seq;    /* of the message it repeats */
    char tail[256];      /* of the PubAck: ,"val":"3" */
    struct buf new_subject, new_hdr, new_data;
};

/* What waits in the store's queue. The first member is the store's. */
struct put {
    struct mlog_put p;
    struct list_node late; /* of stream.late_dups: duplicates only, p unused */
    uint64_t seq;          /* the same; in a batch: how many of its subject so far */
    size_t index;          /* in a batch: its place */
    uint64_t prev;         /* republish: the sequence of the subject's message before */
    uint32_t loop;
    bool ack, rollup_subject, rollup_all;
    char *tail;    /* owned or NULL */
    char *fast_id; /* owned or NULL: of a fast batch, which answers */
    uint64_t fast_seq;
    struct slab *slab; /* what it is a part of; NULL: its own allocation */
    char reply[];
};

void pub_fini(struct pub *p);
/* The header block in b (taken) in place of the one it has. */
void pub_set_hdr(struct pub *p, struct buf *b);

/* JS_OK: it may be appended; p->dup_seq: it is a duplicate and is not. */
enum js_error ingest_check(struct stream *s, struct pub *p, struct js_fail *f) MUST_CHECK;
/* The part of it for Nats-Schedule… */
enum js_error ingest_check_schedule(struct stream *s, struct pub *p, struct js_fail *f) MUST_CHECK;
/* Nats-Incr: the new value becomes the payload. */
enum js_error ingest_count(struct stream *s, struct pub *p, struct js_fail *f) MUST_CHECK;
/* Room under limits that refuse what is new. */
enum js_error ingest_check_room(struct stream *s, const struct pub *p,
                                struct js_fail *f) MUST_CHECK;

/* Makes the put and what it carries. NULL without memory. */
struct put *put_new(struct stream *s, const struct pub *p);
void put_free(struct put *u);
/* Appends puts (by p.op.node), whose pubs these are, as one. On failure they are freed. */
enum status ingest_append(struct stream *s, struct list_node *puts, const struct pub *v,
                          size_t n) MUST_CHECK;
/* Checks and appends one; answers what is to be answered. */
enum js_error ingest_one(struct stream *s, struct pub *p, struct js_fail *f);

void ingest_reply_error(struct stream *s, const struct pub *p, const struct js_fail *f);
/* tail NULL: none. */
void ingest_reply_ack(struct stream *s, uint32_t loop, const char *reply, uint64_t seq,
                      const char *tail);
void ingest_reply_text(struct stream *s, uint32_t loop, const char *reply, const char *text,
                       size_t len);
/* After a commit of one message: limits per subject, roll-ups. */
void ingest_settle(struct stream *s, const struct put *u);

/* A message of a fast batch is committed. */
void ingest_fast_stored(struct stream *s, const struct put *u, uint64_t seq);

/* As Nats-TTL has it: seconds; -1: never. ST_INVAL. */
enum status ttl_parse(const char *v, size_t n, int64_t *out) MUST_CHECK;

#endif
