/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_list.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_group.h"

static enum status
answer(struct api *a, struct api_request *r, struct reply *out)
{
    struct catalog_result result;
    char gate[GATE_NAME_MAX + 1];
    const char *name = wlm_group_name(r);
    if (!catalog_is_shadowed(a->catalog, name) && gates_naming(a->gates, name, gate)) {
        return wlm_error(r, out, 409, "workload group \"%.64s\" is that of gate \"%s\"", name,
                         gate);
    }
    enum status st = catalog_remove(a->catalog, name, &result);
    return wlm_group_changed(a, r, "deleted", st, &result, out);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_bare(a, r, out, answer);
}

const struct api_endpoint ep_group_delete = {
    .name = "group_delete",
    .subjects = {"$WLM.API.GROUP.DELETE.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.sluice.wlm.v1.group_delete_response",
    .run = run,
    .doc = "Removes a workload group; what it has parked is let in.",
};
