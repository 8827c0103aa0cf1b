/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones by their names in the system's database. Immutable once loaded; any thread. */
#ifndef STREAM_TZONE_H
#define STREAM_TZONE_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct tzone;

/* ST_NOTFOUND: no such zone. "UTC", "" and "Local" (the server's own) are always there. */
enum status tzone_load(struct tzone **out, const char *name, size_t len) MUST_CHECK;
void tzone_free(struct tzone *z); /* NULL is allowed */
/* Seconds east of UTC at that time (seconds since 1970). NULL: UTC. */
int32_t tzone_offset(const struct tzone *z, int64_t t);

#endif
