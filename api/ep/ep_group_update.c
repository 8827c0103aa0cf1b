/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_group.h"

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    char err[256];
    struct group_info g;
    struct catalog_result result;
    const char *name = wlm_group_name(r);
    if (groups_find(a->groups, name, &g) != ST_OK) {
        return wlm_group_missing(r, name, out);
    }
    if (group_conf_parse(&g.conf, o, err, sizeof(err)) != ST_OK) {
        return wlm_error(r, out, 400, "%s", err);
    }
    enum status st = catalog_update(a->catalog, &g.conf, &result);
    return wlm_group_changed(a, r, "changed", st, &result, out);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, answer);
}

const struct api_endpoint ep_group_update = {
    .name = "group_update",
    .subjects = {"$WLM.API.GROUP.UPDATE.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.sluice.wlm.v1.group_update_response",
    .run = run,
    .doc = "Changes a workload group while its requests run and wait: the blocks that are given, "
           "as a whole.",
};
