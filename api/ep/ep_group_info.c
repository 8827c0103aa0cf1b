/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_json.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_group.h"

static enum status
answer(struct api *a, struct api_request *r, struct reply *out)
{
    struct group_info g;
    const char *name = wlm_group_name(r);
    if (groups_find(a->groups, name, &g) != ST_OK) {
        return wlm_group_missing(r, name, out);
    }
    json_t *answer = wlm_answer(r);
    jobj_put(&answer, "group", group_json_info(a, &g, true));
    if (catalog_is_shadowed(a->catalog, name)) {
        jobj_str(&answer, "note",
                 "a group of this name was made over the API too: that of the configuration file "
                 "is in force");
    }
    return reply_json(out, answer);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_bare(a, r, out, answer);
}

const struct api_endpoint ep_group_info = {
    .name = "group_info",
    .subjects = {"$WLM.API.GROUP.INFO.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.group_info_response",
    .run = run,
    .doc = "One workload group: its settings, its counters and its busiest buckets.",
};
