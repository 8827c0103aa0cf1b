/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of a log and filters over them. Under the stream's lock, as mlog.h. */
#ifndef STREAM_MLOG_SUBJECT_H
#define STREAM_MLOG_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct mfilter;
struct mlog;

struct mlog_subject {
    const char *subject; /* borrowed until the next change of the log */
    size_t len;
    uint64_t first, last, msgs;
};
/* False: the log has no message of it. */
bool mlog_subject(struct mlog *l, const char *subject, size_t len, struct mlog_subject *out);
/* Each subject that the filter takes (NULL: all), in no order; fn returns false to stop and must
 * not change the log. */
void mlog_each_subject(struct mlog *l, const struct mfilter *f,
                       bool (*fn)(void *arg, const struct mlog_subject *s), void *arg);

/* A set of subjects with wildcards. It remembers which subjects of one log it takes, so it is used
 * with one log, under that stream's lock. n = 0: takes all. Copies. */
enum status mfilter_new(struct mfilter **out, const char *const *subjects, size_t n) MUST_CHECK;
void mfilter_free(struct mfilter *f); /* NULL is allowed */
/* NULL takes all. */
bool mfilter_takes(const struct mfilter *f, const char *subject, size_t len);

#endif
