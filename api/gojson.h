/* SPDX-License-Identifier: Apache-2.0 */
/* Words for malformed JSON that tools know from nats-server (they are those of Go). Pure. */
#ifndef API_GOJSON_H
#define API_GOJSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/base/status.h"

/* Parses any JSON value (flags: jansson's, besides JSON_DECODE_ANY). ST_SYNTAX: it is malformed;
 * err says how, as Go's encoding/json words it where it is the syntax. ST_NOMEM. */
enum status gojson_load(const char *data, size_t len, size_t flags, json_t **out, char *err,
                        size_t err_size) MUST_CHECK;

/* The words for the same where Go reads a stream of values, with the place. False: nothing is wrong
 * with the syntax. */
bool gojson_decoder_error(const char *data, size_t len, char *err, size_t err_size);

/* "object", "array", "string", "number", "bool": what Go calls a value. */
const char *gojson_type(const json_t *j);

#endif
