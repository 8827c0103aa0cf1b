/* SPDX-License-Identifier: Apache-2.0 */
/* How many turns an account gets in the queue where others get one. Any thread; a lock is inside.
 */
#ifndef API_WEIGHTS_H
#define API_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct api_weight;
struct weights;

enum status weights_new(struct weights **out) MUST_CHECK;
void weights_free(struct weights *w);

/* Replaces all. Copies. ST_NOMEM: as before. */
enum status weights_set(struct weights *w, const struct api_weight *list, size_t n) MUST_CHECK;

/* 1 for those that are not named. Cheap while none is. */
uint32_t weights_of(struct weights *w, const char *account);

#endif
