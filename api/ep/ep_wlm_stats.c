/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/group_json.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_group.h"

#define ALL "$WLM.API.STATS"

static enum status
answer(struct api *a, struct api_request *r, struct reply *out)
{
    struct group_info g;
    json_t *answer;
    if (strcmp(r->subject, ALL) == 0) {
        answer = wlm_answer(r);
        jobj_put(&answer, "totals", group_json_totals(a));
        jobj_put(&answer, "groups", group_json_all(a));
    } else if (groups_find(a->groups, wlm_group_name(r), &g) == ST_OK) {
        answer = wlm_answer(r);
        jobj_put(&answer, "group", group_json_info(a, &g, true));
    } else {
        return wlm_group_missing(r, wlm_group_name(r), out);
    }
    return reply_json(out, answer);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_bare(a, r, out, answer);
}

const struct api_endpoint ep_wlm_stats = {
    .name = "wlm_stats",
    .subjects = {ALL, "$WLM.API.STATS.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.wlm_stats_response",
    .run = run,
    .doc = "The counters of all workload groups, or of one and its busiest buckets.",
};
