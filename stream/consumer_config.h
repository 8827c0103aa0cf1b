/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a consumer: values, defaults, checks, JSON both ways. As stream_config.h. */
#ifndef STREAM_CONSUMER_CONFIG_H
#define STREAM_CONSUMER_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "stream/js.h"
#include "stream/js_error.h"
#include "stream/stream_config.h"

enum deliver_policy {
    DELIVER_ALL,
    DELIVER_LAST,
    DELIVER_NEW,
    DELIVER_BY_START_SEQUENCE,
    DELIVER_BY_START_TIME,
    DELIVER_LAST_PER_SUBJECT
};
enum ack_policy { ACK_NONE, ACK_ALL, ACK_EXPLICIT, ACK_FLOW_CONTROL };
enum replay_policy { REPLAY_INSTANT, REPLAY_ORIGINAL };
enum priority_policy {
    PRIORITY_NONE,
    PRIORITY_OVERFLOW,
    PRIORITY_PINNED_CLIENT,
    PRIORITY_PRIORITIZED
};

struct consumer_config {
    char *durable, *name, *description; /* owned, as all texts here; NULL: absent */
    enum deliver_policy deliver;
    enum ack_policy ack;
    uint64_t opt_start_seq;
    int64_t opt_start_time; /* wall ns */
    int64_t ack_wait;       /* ns, as all times */
    int64_t max_deliver;
    int64_t *backoff; /* owned array */
    size_t n_backoff;
    char *filter_subject;
    char **filter_subjects; /* owned array */
    size_t n_filter_subjects;
    uint64_t rate_limit; /* bits/s */
    char *sample_freq;
    int64_t max_waiting, max_ack_pending;
    int64_t max_batch, max_expires, max_bytes;
    char *deliver_subject, *deliver_group;
    int64_t heartbeat, inactive_threshold;
    int64_t replicas;
    json_t *metadata;       /* owned or NULL */
    int64_t pause_until;    /* wall ns */
    char **priority_groups; /* owned array */
    size_t n_priority_groups;
    int64_t pinned_ttl;
    enum replay_policy replay;
    enum priority_policy priority;
    bool has_start_time, flow_control, headers_only;
    bool mem_storage, direct, sourcing, has_pause_until;
};

void consumer_config_free(struct consumer_config *c); /* NULL is allowed */
enum status consumer_config_copy(const struct consumer_config *c,
                                 struct consumer_config **out) MUST_CHECK;
bool consumer_config_equal(const struct consumer_config *a, const struct consumer_config *b);
enum js_error consumer_config_from_json(const json_t *o, bool strict, struct consumer_config **out,
                                        struct js_fail *f) MUST_CHECK;
json_t *consumer_config_to_json(const struct consumer_config *c);

/* Sets defaults (by the stream's consumer_limits and the account's limits) and checks. */
enum js_error consumer_config_check(struct consumer_config *c, const struct stream_config *stream,
                                    const struct js_caps *caps, const struct js_limits *limits,
                                    bool pedantic, struct js_fail *f) MUST_CHECK;
enum js_error consumer_config_check_update(const struct consumer_config *old,
                                           const struct consumer_config *c,
                                           struct js_fail *f) MUST_CHECK;

#endif
