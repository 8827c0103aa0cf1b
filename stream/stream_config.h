/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a stream: values, defaults, checks, JSON both ways. A config is owned by
 * one, immutable once its stream has it (an update replaces it). Pure; any thread. */
#ifndef STREAM_STREAM_CONFIG_H
#define STREAM_STREAM_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "stream/js.h"
#include "stream/js_error.h"

enum stream_retention { RETENTION_LIMITS, RETENTION_INTEREST, RETENTION_WORKQUEUE };
enum stream_discard { DISCARD_OLD, DISCARD_NEW };
enum stream_storage { STORAGE_FILE, STORAGE_MEMORY };
enum stream_compression { COMPRESSION_NONE, COMPRESSION_S2 };
enum stream_persist { PERSIST_DEFAULT, PERSIST_ASYNC };

struct subject_transform {
    char *src, *dest; /* owned */
};

/* Of a mirror or a source. */
struct stream_source {
    char *name; /* owned, as all texts here; NULL: absent */
    uint64_t opt_start_seq;
    int64_t opt_start_time; /* wall ns */
    bool has_start_time;
    char *filter_subject;
    struct subject_transform *transforms; /* owned array */
    size_t n_transforms;
    bool external;
    char *api_prefix, *deliver_prefix; /* of external */
    json_t *consumer;                  /* owned: "consumer", kept as it came; or NULL */
};

struct stream_config {
    char *name, *description; /* owned, as all texts here; NULL: absent */
    char **subjects;          /* owned array */
    size_t n_subjects;
    enum stream_retention retention;
    int64_t max_consumers, max_msgs, max_bytes, max_age, max_msgs_per, max_msg_size;
    enum stream_discard discard;
    enum stream_storage storage;
    int64_t replicas;
    bool no_ack;
    int64_t duplicates;            /* ns */
    json_t *placement;             /* owned or NULL */
    struct stream_source *mirror;  /* owned or NULL */
    struct stream_source *sources; /* owned array */
    size_t n_sources;
    enum stream_compression compression;
    uint64_t first_seq;
    struct subject_transform *transform; /* owned or NULL */
    struct subject_transform *republish; /* owned or NULL */
    bool republish_headers_only;
    bool allow_direct, mirror_direct, discard_new_per;
    bool sealed, deny_delete, deny_purge, allow_rollup;
    int64_t limit_inactive_threshold, limit_max_ack_pending; /* consumer_limits */
    bool allow_msg_ttl;
    int64_t subject_delete_marker_ttl;
    bool allow_msg_counter, allow_atomic, allow_msg_schedules, allow_batched;
    enum stream_persist persist;
    json_t *metadata; /* owned or NULL: an object of strings */
};

void stream_config_free(struct stream_config *c); /* NULL is allowed */
enum status stream_config_copy(const struct stream_config *c,
                               struct stream_config **out) MUST_CHECK;
bool stream_config_equal(const struct stream_config *a, const struct stream_config *b);

/* From the JSON object of a request or record. strict: an unknown field is JS_ERR_INVALID_JSON.
 * Wrong types are JS_ERR_INVALID_JSON with Go's text. Fields that have no place here are ignored.
 */
enum js_error stream_config_from_json(const json_t *o, bool strict, struct stream_config **out,
                                      struct js_fail *f) MUST_CHECK;
/* As nats-server writes it. New reference or NULL. */
json_t *stream_config_to_json(const struct stream_config *c);

/* Sets defaults (pedantic: demands them) and checks all that can be checked without other streams.
 */
enum js_error stream_config_check(struct stream_config *c, const struct js_caps *caps,
                                  const struct js_limits *limits, bool pedantic,
                                  struct js_fail *f) MUST_CHECK;
/* Whether an update from `old` to `c` (checked) is allowed. A sealed one gets what goes with that.
 */
enum js_error stream_config_check_update(const struct stream_config *old, struct stream_config *c,
                                         struct js_fail *f) MUST_CHECK;

/* metadata: nats-server's "_nats.req.level" as the features in use demand; without "_nats.ver" and
 * "_nats.level", which only answers have. */
enum status stream_config_stamp(struct stream_config *c) MUST_CHECK;
/* The object as an answer has it: with those two. ST_NOMEM. */
enum status js_metadata_for_answer(json_t *config) MUST_CHECK;

/* A name of a stream or consumer that may be. */
bool js_name_is_valid(const char *name, size_t len);

static inline bool
stream_config_is_memory(const struct stream_config *c)
{
    return c->storage == STORAGE_MEMORY;
}

#endif
