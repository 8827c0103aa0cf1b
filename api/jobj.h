/* SPDX-License-Identifier: Apache-2.0 */
/* Building JSON with one check at the end: a member that cannot be added (no memory) turns the
 * whole into NULL, and adding to NULL does nothing. Of a text that is not UTF-8, what is not ASCII
 * becomes
 * '?', byte by byte. */
#ifndef API_JOBJ_H
#define API_JOBJ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Takes v. */
void jobj_put(json_t **o, const char *key, json_t *v);
void jobj_int(json_t **o, const char *key, uint64_t v);
void jobj_bool(json_t **o, const char *key, bool v);
/* Rounded to a thousandth. */
void jobj_real(json_t **o, const char *key, double v);
void jobj_str(json_t **o, const char *key, const char *v);
/* A time in ns as milliseconds, rounded to a microsecond. */
void jobj_ms(json_t **o, const char *key, int64_t ns);
/* A wall time as RFC 3339; 0: the member is left out. */
void jobj_time(json_t **o, const char *key, int64_t wall_ns);
/* Takes v: to the end of an array. */
void jarr_add(json_t **a, json_t *v);

#endif
