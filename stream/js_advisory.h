/* SPDX-License-Identifier: Apache-2.0 */
/* Advisories and metrics ($JS.EVENT.…), in nats-server's JSON types. Each makes one message and
 * gives it to stream_emit: under the stream's lock. Nothing is made where nobody listens; without
 * memory they are left out. */
#ifndef STREAM_JS_ADVISORY_H
#define STREAM_JS_ADVISORY_H

#include <jansson.h>
#include <stdint.h>

struct consumer;
struct stream;

void advise_stream_action(struct stream *s, const char *action,
                          uint64_t cid); /* create delete modify */
void advise_consumer_action(struct stream *s, const char *consumer, const char *action,
                            uint64_t cid);
void advise_consumer_pause(struct stream *s, const char *consumer, int64_t until_wall);
void advise_max_deliver(struct stream *s, const char *consumer, uint64_t seq, uint64_t deliveries);
void advise_nak(struct stream *s, const char *consumer, uint64_t seq, uint64_t cseq,
                uint64_t deliveries);
struct advise_term {
    uint64_t seq, cseq, deliveries;
    const char *reason; /* NULL: none */
};
void advise_terminated(struct stream *s, const char *consumer, const struct advise_term *t);
void advise_pinned(struct stream *s, const char *consumer, const char *group, const char *pin_id);
void advise_unpinned(struct stream *s, const char *consumer, const char *group, const char *reason);
struct advise_ack {
    uint64_t seq, cseq, deliveries;
    int64_t delay; /* ns from the delivery to the ack */
};
void advise_ack_metric(struct stream *s, const char *consumer, const struct advise_ack *a);

struct advise_batch {
    const char *id, *reason;
};
void advise_batch_abandoned(struct stream *s, const struct advise_batch *b);
/* begin of a snapshot or restore, and its end */
void advise_snapshot(struct stream *s, const char *what, json_t *client, int64_t start,
                     uint64_t bytes);

#endif
