/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_admin.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_page.h"

static bool
one(struct api *a, size_t i, json_t **out)
{
    struct group_info g;
    if (!groups_at(a->groups, i, &g)) {
        return false;
    }
    if (out != NULL) {
        *out = json_string(g.conf.name);
    }
    return true;
}

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    static const struct wlm_listing groups = {.key = "groups", .one = one};
    return wlm_page_answer(a, r, o, &groups, out);
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
