/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduled messages: stored under their own subject, delivered into another one when they are due,
 * once (@at), at intervals (@every) or by a pattern of cron's. Under the stream's lock. */
#ifndef STREAM_SCHEDULES_H
#define STREAM_SCHEDULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct msg;
struct pub;
struct schedules;
struct stream;

/* When a pattern is due after `ts` (both wall ns). *repeats: again after that. ST_SYNTAX: no such
 * pattern; ST_NOTFOUND: no such time zone. zone NULL: UTC; @at and @every have none. */
struct schedule_spec {
    const char *pattern, *zone;
    size_t pattern_len, zone_len;
    int64_t ts, now;
};
enum status schedule_next(const struct schedule_spec *p, int64_t *at, bool *repeats) MUST_CHECK;

enum status schedules_new(struct schedules **out) MUST_CHECK;
void schedules_free(struct schedules *v); /* NULL is allowed */
/* A message has got its sequence: it may be a schedule, replace one, or tell when one is due
 * next. */
void schedules_note(struct stream *s, const struct pub *p, uint64_t seq);
/* The same for one that is there already, at a start. */
enum status schedules_load(struct stream *s, const struct msg *m) MUST_CHECK;
/* Sends what is due; when the next one is (wall ns; INT64_MAX: none). */
int64_t schedules_run(struct stream *s, int64_t now);

#endif
