/* SPDX-License-Identifier: Apache-2.0 */
#include "api/wlm.h"
#include "api/wlm_group.h"

static json_t *
shown(struct api *a, const struct group_info *g)
{
    (void)a;
    return json_string(g->conf.name);
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

const struct api_endpoint ep_group_names = {
    .name = "group_names",
    .subjects = {"$WLM.API.GROUP.NAMES"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.group_names_response",
    .run = run,
    .doc = "The names of the workload groups, in the order of matching; `offset`, `limit` page.",
};
