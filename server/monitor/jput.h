/* SPDX-License-Identifier: Apache-2.0 */
/* Builds JSON objects field by field; a lack of memory is noted and asked for once, at the end.
 * Every function accepts NULL for the object and then does nothing, so a failed child needs no
 * check. Keys appear in the order of the calls. Owned by one thread.
 *   struct jput p = {0};
 *   json_t *o = jput_new(&p);
 *   jput_str(&p, o, "name", name);
 *   return jput_end(&p, o, out);                                                              */
#ifndef SERVER_MONITOR_JPUT_H
#define SERVER_MONITOR_JPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/base/status.h"

struct jput {
    bool failed;
};

json_t *jput_new(struct jput *p);
/* Gives the root to *out, or frees it: ST_NOMEM if anything failed since p was zeroed. */
enum status jput_end(struct jput *p, json_t *root, json_t **out) MUST_CHECK;

/* The …_opt forms leave out "", 0 and false. NULL counts as "". Bytes that are no UTF-8 become
 * U+FFFD. */
void jput_str(struct jput *p, json_t *o, const char *key, const char *val);
void jput_str_opt(struct jput *p, json_t *o, const char *key, const char *val);
void jput_int(struct jput *p, json_t *o, const char *key, int64_t val);
void jput_int_opt(struct jput *p, json_t *o, const char *key, int64_t val);
void jput_bool(struct jput *p, json_t *o, const char *key, bool val);
void jput_bool_opt(struct jput *p, json_t *o, const char *key, bool val);
/* As Go prints it: 2, not 2.0. */
void jput_real(struct jput *p, json_t *o, const char *key, double val);
/* RFC 3339 with nanoseconds, UTC. */
void jput_time(struct jput *p, json_t *o, const char *key, int64_t wall_ns);
/* Takes val, a new reference; NULL counts as out of memory. */
void jput_val(struct jput *p, json_t *o, const char *key, json_t *val);

/* A new child; borrowed from its parent. */
json_t *jput_obj(struct jput *p, json_t *o, const char *key);
json_t *jput_arr(struct jput *p, json_t *o, const char *key);
json_t *jput_add_obj(struct jput *p, json_t *arr);
void jput_add_str(struct jput *p, json_t *arr, const char *val);

#endif
