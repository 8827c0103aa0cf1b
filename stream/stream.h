/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as the API sees them. Reference-counted. Functions here take the stream's lock
 * themselves, and change memory and push to the store at once: an endpoint answers after
 * js_when_committed. API workers. Errors: the return value, with its text in f. */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "stream/js.h"
#include "stream/js_error.h"
#include "stream/mlog.h"
#include "stream/stream_config.h"

struct stream;

struct stream *stream_ref(struct stream *s);
void stream_unref(struct stream *s); /* NULL is allowed */

/* With a reference. NULL: no such stream. */
struct stream *stream_find(struct js_account *a, const char *name);
const char *stream_name(const struct stream *s);
/* The stream of the account that takes that subject, with a reference; NULL: none. */
struct stream *stream_by_subject(struct js_account *a, const char *subject);

/* Takes cfg. Same name and same configuration: ST_OK, *created false. cid: who asks, for the
 * advisory. The reference is the caller's. pedantic: defaults are not set but demanded. */
struct stream_request {
    bool pedantic;
    uint64_t cid;
};
enum js_error stream_create(struct js_account *a, struct stream_config *cfg,
                            const struct stream_request *rq, struct stream **out, bool *created,
                            struct js_fail *f) MUST_CHECK;
/* What a configuration is checked for before anybody looks which stream it is of; sets defaults. */
enum js_error stream_check_request(struct js_account *a, struct stream_config *cfg, bool pedantic,
                                   struct js_fail *f) MUST_CHECK;
enum js_error stream_update(struct js_account *a, struct stream_config *cfg,
                            const struct stream_request *rq, struct stream **out,
                            struct js_fail *f) MUST_CHECK;
/* Its consumers end too; their readers are told (409 Consumer Deleted / Stream Deleted). */
enum js_error stream_delete(struct stream *s, uint64_t cid, struct js_fail *f) MUST_CHECK;

struct stream_purge {
    const char *filter; /* NULL or "": all */
    uint64_t seq, keep; /* 0: not given */
};
enum js_error stream_purge(struct stream *s, const struct stream_purge *p, uint64_t *purged,
                           struct js_fail *f) MUST_CHECK;
enum js_error stream_msg_delete(struct stream *s, uint64_t seq, bool no_erase,
                                struct js_fail *f) MUST_CHECK;

/* MSG.GET: seq, or last of a subject (wildcards too), or next of a subject from seq (or
 * start_time). */
struct stream_get {
    uint64_t seq;
    const char *last_by_subj, *next_by_subj; /* NULL: not given */
    int64_t start_time;
    bool has_start_time;
};
enum js_error stream_msg_get(struct stream *s, const struct stream_get *g, struct msg **out,
                             struct js_fail *f) MUST_CHECK;

bool stream_is_memory(struct stream *s);
/* A copy of the configuration in force. ST_NOMEM. */
enum status stream_config_of(struct stream *s, struct stream_config **out) MUST_CHECK;

/* The members of StreamInfo but for "type" and paging: config, created, state, mirror, sources,
 * cluster (absent), ts. New reference or NULL without memory. */
struct stream_info_opts {
    bool deleted_details;
    const char *subjects_filter; /* NULL: none; else "subjects" from `offset` on */
    uint64_t offset, limit;
};
json_t *stream_info_json(struct stream *s, const struct stream_info_opts *o,
                         uint64_t *total_subjects, struct js_fail *f);

/* ---- snapshot and restore (stream_snapshot.c) ----
 * The endpoint answers; the engine then sends the chunks to deliver_subject from its own thread. */
struct stream_snapshot_rq {
    const char *deliver_subject;
    bool no_consumers, check_msgs;
    int64_t chunk_size, window_size;
    uint64_t cid; /* who asks */
};
enum js_error stream_snapshot(struct stream *s, const struct stream_snapshot_rq *rq,
                              json_t **answer, struct js_fail *f) MUST_CHECK;
enum js_error stream_restore(struct js_account *a, struct stream_config *cfg, uint64_t cid,
                             json_t **answer, struct js_fail *f) MUST_CHECK;

/* A start: makes the stream of a record of the store, with its consumers. */
enum status stream_recover(struct js_account *a, uint64_t id, const char *record,
                           size_t len) MUST_CHECK;
/* The engine stops: saves what is to be saved. */
void stream_stop(struct stream *s);

#endif
