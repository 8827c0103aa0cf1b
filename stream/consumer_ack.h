/* SPDX-License-Identifier: Apache-2.0 */
/* Acks that reached their consumer. Under the stream's lock. */
#ifndef STREAM_CONSUMER_ACK_H
#define STREAM_CONSUMER_ACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/js_host.h"

struct consumer;

/* The subject of an ack, "$JS.ACK.…": which message of whom. */
struct ack_subject {
    const char *stream, *consumer; /* borrowed: in the subject */
    size_t stream_len, consumer_len;
    uint64_t seq, dseq, deliveries;
};
/* Both forms. False: it is none. */
bool ack_subject_parse(const char *subject, size_t len, struct ack_subject *out);

void consumer_ack(struct consumer *c, const struct js_in *in, const struct ack_subject *s);
/* All up to there, by an answer to flow control. */
void consumer_acked_by_flow(struct consumer *c, uint64_t seq, uint64_t dseq);

#endif
