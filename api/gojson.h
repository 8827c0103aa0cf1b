/* SPDX-License-Identifier: Apache-2.0 */
/* Words for malformed JSON that tools know from nats-server (they are those of Go). Pure. */
#ifndef API_GOJSON_H
#define API_GOJSON_H

#include <jansson.h>
#include <stddef.h>

/* What is wrong with text that jansson refused, as Go's encoding/json words it; other: the words
 * where Go finds nothing wrong with the syntax. */
void gojson_error(const char *data, size_t len, const char *other, char *out, size_t size);

/* "object", "array", "string", "number", "bool": what Go calls a value. */
const char *gojson_type(const json_t *j);

#endif
