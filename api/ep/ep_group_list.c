/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_json.h"
#include "api/wlm.h"
#include "api/wlm_group.h"

static json_t *
shown(struct api *a, const struct group_info *g)
{
    return group_json_info(a, g, false);
}

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    return wlm_group_page(a, r, o, shown, out);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, answer);
}

const struct api_endpoint ep_group_list = {
    .name = "group_list",
    .subjects = {"$WLM.API.GROUP.LIST"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.group_list_response",
    .run = run,
    .doc = "The workload groups with their settings and counters; `offset`, `limit` page.",
};
