/* SPDX-License-Identifier: Apache-2.0 */
/* Times in requests and records, as Go's encoding/json reads and writes them. Pure. */
#ifndef STREAM_RFC3339_H
#define STREAM_RFC3339_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

/* Go's zero time; what lies before 1678 is it too. */
#define RFC3339_ZERO INT64_MIN

/* Wall ns. ST_SYNTAX: no such time. Beyond what 64 bits hold: the nearest that they do. */
enum status rfc3339_parse(const char *s, size_t n, int64_t *out) MUST_CHECK;

/* Writes at most 40 bytes with the NUL; returns out. */
char *rfc3339_format(int64_t wall_ns, char *out);

#endif
