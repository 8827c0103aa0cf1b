/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a stream do for each other: services, features, removal, looking up. */
#ifndef STREAM_STREAM_INNER_H
#define STREAM_STREAM_INNER_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "stream/msg.h"
#include "stream/stream.h"

/* Makes and unmakes services so that they are those of the configuration. Under stream_admin_lock,
 * no stream's lock. */
enum status stream_serve(struct stream *s) MUST_CHECK;
void stream_unserve(struct stream *s);

/* Makes transforms, dedupe, TTLs and schedules as the configuration has them, and fills new ones
 * from the log. Under the lock, or before anybody else has the stream. */
enum status stream_features_update(struct stream *s) MUST_CHECK;
void stream_features_fini(struct stream *s);
/* After stream_features_fini: all anew. */
enum status stream_features_reset(struct stream *s) MUST_CHECK;
/* What is due by the clock; returns when it is to be called next (wall ns), INT64_MAX: never. Under
 * the lock. */
int64_t stream_expire(struct stream *s, int64_t now);

/* Removal of one message; all before seq; with their accounting. Under the lock. */
enum status stream_remove(struct stream *s, uint64_t seq) MUST_CHECK;
enum status stream_drop_before(struct stream *s, uint64_t seq, uint64_t *n) MUST_CHECK;
enum status stream_purge_locked(struct stream *s, const struct stream_purge *p,
                                uint64_t *purged) MUST_CHECK;

/* The last message of a subject (no wildcards). ST_NOTFOUND. Under the lock. */
enum status stream_last_of(struct stream *s, const char *subject, size_t len,
                           struct msg **out) MUST_CHECK;

/* The last sequence of a subject, which may have wildcards. ST_NOTFOUND. Under the lock. */
enum status stream_last_seq(struct stream *s, const char *subject, size_t len,
                            uint64_t *out) MUST_CHECK;

/* The same among what is committed. */
enum status stream_last_visible(struct stream *s, const char *subject, uint64_t *out) MUST_CHECK;

/* The first sequence from `from` on of a subject with or without wildcards (NULL: of any).
 * ST_NOTFOUND. */
enum status stream_next_seq(struct stream *s, const char *subject, uint64_t from,
                            uint64_t *out) MUST_CHECK;

#endif
