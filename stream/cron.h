/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of six fields: second, minute, hour, day of the month, month, day of the week; numbers,
 * names, lists, ranges, steps, and * or ?. Pure. */
#ifndef STREAM_CRON_H
#define STREAM_CRON_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct tzone;

/* The first second after `ts` (seconds since 1970) that the pattern takes, at most 5 years on.
 * ST_SYNTAX: no such pattern, or none that comes. */
enum status cron_next(const char *pattern, size_t len, const struct tzone *z, int64_t ts,
                      int64_t *out) MUST_CHECK;

#endif
