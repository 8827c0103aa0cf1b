/* SPDX-License-Identifier: Apache-2.0 */
/* Workload groups as an operator sees them: parts of the answers of $WLM.API, of /wlmz and /apiz.
 * Each is a new reference, or NULL without memory. Any thread. */
#ifndef API_GROUP_JSON_H
#define API_GROUP_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "api/group_admin.h"

struct api;

/* Buckets that are shown of a group. */
#define GROUP_JSON_BUCKETS 20u

/* The counters of one, with its limits. */
json_t *group_json_stats(const struct group_counts *n, const struct group_conf *conf);
/* "name", "source", "config", and "stats"; with_buckets: and "buckets", the busiest. */
json_t *group_json_info(struct api *a, const struct group_info *g, bool with_buckets);
/* Every group: "name", "source" and the counters; without those of the buckets. */
json_t *group_json_all(struct api *a);
/* Both of them. */
json_t *group_json_brief(struct api *a);
/* Over all groups, with what the backstop found. */
json_t *group_json_totals(struct api *a);
/* A list of what is parked: for $WLM.API.REQUEST.LIST. */
json_t *group_json_parked(const struct group_parked_info *p);

#endif
