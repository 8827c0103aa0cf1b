/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of stream_admin*.c and stream_record.c. Under stream_admin_lock. */
#ifndef STREAM_STREAM_ADMIN_H
#define STREAM_STREAM_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/js_account.h"
#include "stream/js_error.h"
#include "stream/stream_config.h"

struct stream;

/* What a configuration (checked by itself) owes to other streams: origins of a mirror and of
 * sources, cycles. Sets what a mirror inherits. */
enum js_error stream_check_others(struct js_account *a, struct stream_config *c, bool pedantic,
                                  struct js_fail *f) MUST_CHECK;
/* Limits of the account and the server, subjects of others. */
enum js_error stream_check_new(struct js_account *a, const struct stream_config *c,
                               const struct js_limits *limits, struct js_fail *f) MUST_CHECK;
enum js_error stream_check_change(struct stream *s, const struct stream_config *c,
                                  const struct js_limits *limits, struct js_fail *f) MUST_CHECK;

/* Reserves (sign 1) or gives back (-1) max_bytes in the account's and the server's books. */
void stream_reserve(struct stream *s, int64_t max_bytes, int sign);

/* Puts a stream into its account's table and makes it serve, take and be taken from. On failure it
 * is in no table. */
enum status stream_begin(struct js_account *a, struct stream *s) MUST_CHECK;

/* The record goes, with all that the store has of the stream. Under the stream's lock too. */
void stream_forget_record(struct stream *s);
/* All subjects down to max_msgs_per_subject, at a start and after a change of it. Under the
 * stream's lock. */
void stream_trim(struct stream *s);

#endif
