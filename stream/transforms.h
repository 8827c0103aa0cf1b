/* SPDX-License-Identifier: Apache-2.0 */
/* Subject transforms: from a pattern with wildcards to a destination of tokens, $1,
 * {{wildcard(1)}},
 * {{partition(n,1,2)}}, {{split(1,-)}}, {{left(1,3)}} and so on. Immutable once made; any thread.
 * A source "" is ">"; a destination "" means none. */
#ifndef STREAM_TRANSFORMS_H
#define STREAM_TRANSFORMS_H

#include <stdbool.h>
#include <stddef.h>

#include "server/base/buf.h"
#include "server/base/status.h"

struct transform;

#define TRANSFORM_ERR_LEN 256

/* dest "" or NULL gives *out NULL. ST_SYNTAX: err has nats-server's text. ST_NOMEM. */
enum status transform_new(struct transform **out, const char *src, const char *dest,
                          char err[TRANSFORM_ERR_LEN]) MUST_CHECK;
void transform_free(struct transform *t); /* NULL is allowed */

/* Checks a mapping as the configuration of a stream has it: ST_OK or as transform_new. */
enum status transform_check(const char *src, const char *dest,
                            char err[TRANSFORM_ERR_LEN]) MUST_CHECK;

bool transform_matches(const struct transform *t, const char *subject, size_t len);
/* Appends the transformed subject. Only for a subject that matches. */
void transform_apply(const struct transform *t, const char *subject, size_t len, struct buf *out);

#endif
