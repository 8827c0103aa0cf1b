/* SPDX-License-Identifier: Apache-2.0 */
/* What Go's encoding/json takes and jansson does not, so that a request is read as Go reads it:
 * bytes that are no UTF-8 and halves of surrogates become U+FFFD; numbers that are no integers of
 * at most 18 digits become texts of a kind of their own, told apart by jtidy_number. Pure. */
#ifndef STREAM_JTIDY_H
#define STREAM_JTIDY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/buf.h"
#include "server/base/status.h"

/* Appends the text that jansson is to read instead. ST_NOTFOUND: it can read the text as it is, or
 * it is no JSON, and nothing was appended. ST_NOMEM. */
enum status jtidy(const char *data, size_t len, struct buf *out) MUST_CHECK;

/* json_loadb, through jtidy. */
json_t *jtidy_load(const char *data, size_t len, size_t flags, json_error_t *err);

/* The text of a number that was written so, or NULL: v is something else. */
const char *jtidy_number(const json_t *v);

/* Whatever number it is. False: it is none, or does not fit. */
bool jtidy_int(const json_t *v, int64_t *out);
bool jtidy_uint(const json_t *v, uint64_t *out);

#endif
