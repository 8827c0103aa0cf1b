/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of /apiz and of $WLM.API.QUEUE.INFO. Each is a new reference, or NULL without memory. Any
 * thread; none goes through the queue that it describes. */
#ifndef API_VIEWS_H
#define API_VIEWS_H

#include <jansson.h>
#include <stdint.h>

#include "queue/apiq_view.h"

struct api;

/* By level: what waits, its order, its counters. */
json_t *views_levels(struct api *a);
/* The outcome counters: in all and by level; in each, received is the sum of the rest. */
json_t *views_counters(struct api *a);
/* What was lost, by reason, and of the accounts that lost most. */
json_t *views_lost(struct api *a);
/* The heaviest accounts and endpoints by arrivals, worker time and waiting requests. */
json_t *views_who(struct api *a);
/* What each worker runs, for how long, for whom. */
json_t *views_holders(struct api *a);
/* The last minute, second by second. */
json_t *views_history(struct api *a);

/* One that waits; gate: whose queue that is, which has one level; NULL: the plane's. */
json_t *views_waiting(const struct apiq_item_info *i, const char *gate);

/* The wait (ns, rounded up to a power of two of microseconds) that q of all pulled ones did not
 * exceed; 0: nothing was pulled. */
int64_t views_quantile(const struct apiq_level_stats *s, double q);

#endif
