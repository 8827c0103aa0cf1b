/* SPDX-License-Identifier: Apache-2.0 */
/* The thread api-park: ends what is parked in a workload group when its time is over, and goes on
 * letting in where one round of that had to stop. Sleeps while nothing of it is to be done. */
#ifndef API_PARKER_H
#define API_PARKER_H

#include <stdbool.h>
#include <stdint.h>

#include "server/base/status.h"

struct api;
struct parker;

/* thread false: no thread, parker_run is called by the owner. a: borrowed, outlives it. */
enum status parker_new(struct parker **out, struct api *a, bool thread) MUST_CHECK;
/* Ends and joins the thread. NULL is allowed. */
void parker_free(struct parker *p);

/* There is something to do at that time of the plane's clock (0: now; INT64_MAX: never). */
void parker_at(struct parker *p, int64_t at);

/* Does what is to be done now; returns when there is more. On the parker's thread, or its owner's
 * where it has none. */
int64_t parker_run(struct parker *p);

#endif
