/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as clients send it and Go reads it, which is not quite JSON: bytes that are no UTF-8 and
 * halves of surrogate pairs stand for U+FFFD, NUL may be part of a text, and numbers of any size
 * pass where nobody reads them. Pure, any thread. */
#ifndef SERVER_PROTO_WIREJSON_H
#define SERVER_PROTO_WIREJSON_H

#include <jansson.h>
#include <stddef.h>

/* Any JSON value. New reference; NULL: it is none, or no memory, and err (NULL allowed) says what.
 * A number that fits no integer comes as a real of no meaning. */
json_t *wirejson_load(const char *text, size_t n, json_error_t *err);

#endif
