/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a NATS header block ("NATS/1.0\r\nName: value\r\n\r\n"). Pure; any thread. */
#ifndef API_HEADER_H
#define API_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

/* The value of the first field of that name (any case), without blanks around it. False: none, or
 * the block is malformed before it. */
bool header_find(const char *hdr, size_t len, const char *name, const char **value,
                 size_t *value_len);

#define HEADER_TIMEOUT     "Nats-Request-Timeout"
#define HEADER_TIMEOUT_MAX INT64_C(86400000000000) /* a day; a longer timeout is cut to it */
#define HEADER_DURATION_MAX                                                                        \
    INT64_C(100000000000000000) /* three years; as much is any longer time */

/* Parses a time: as Go writes durations ("1s", "500ms", "1m30s", "1.5s"; units h m s ms us ns), or
 * a plain whole number, which is milliseconds. *ns may be 0 or negative (a caller's time that has
 * run out); never above HEADER_DURATION_MAX. ST_INVAL: neither. */
enum status header_duration(const char *s, size_t len, int64_t *ns) MUST_CHECK;

/* As header_duration reads it, in the largest unit that leaves it whole: "5s", "1500ms". */
#define HEADER_TIME_LEN 32
const char *header_time_text(int64_t ns, char out[HEADER_TIME_LEN]);

/* How long the sender will wait, by its Nats-Request-Timeout; at most HEADER_TIMEOUT_MAX.
 * ST_NOTFOUND: it does not say. ST_INVAL: it says something that is no time. */
enum status header_timeout(const char *hdr, size_t len, int64_t *ns) MUST_CHECK;

#endif
