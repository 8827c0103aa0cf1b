/* SPDX-License-Identifier: Apache-2.0 */
/* How many turns an account gets in the queue where others get one. Any thread; a lock is inside.
 */
#ifndef API_WEIGHTS_H
#define API_WEIGHTS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

#define WEIGHT_MAX  1000
#define WEIGHTS_MAX 4096u /* accounts that have one */

struct api_weight;
struct weights;

enum status weights_new(struct weights **out) MUST_CHECK;
void weights_free(struct weights *w);

/* Replaces all. Copies. ST_NOMEM: as before. */
enum status weights_set(struct weights *w, const struct api_weight *list, size_t n) MUST_CHECK;
/* Changes those that are named, each once; a weight of 1 is as none. ST_NOMEM; ST_FULL: more than
 * WEIGHTS_MAX; as before. */
enum status weights_update(struct weights *w, const struct api_weight *list, size_t n) MUST_CHECK;
/* {"account": weight, …}. New reference, or NULL without memory. */
json_t *weights_json(struct weights *w);

/* 1 for those that are not named. Cheap while none is. */
uint32_t weights_of(struct weights *w, const char *account);

#endif
