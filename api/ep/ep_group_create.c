/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_group.h"

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    char err[256];
    struct group_conf conf;
    struct catalog_result result;
    const char *name = wlm_group_name(r);
    if (group_conf_init(&conf, name, err, sizeof(err)) != ST_OK ||
        group_conf_parse(&conf, o, err, sizeof(err)) != ST_OK) {
        return wlm_error(r, out, 400, "%s", err);
    }
    enum status st = catalog_create(a->catalog, &conf, &result);
    return wlm_group_changed(a, r, "made", st, &result, out);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, answer);
}

const struct api_endpoint ep_group_create = {
    .name = "group_create",
    .subjects = {"$WLM.API.GROUP.CREATE.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.sluice.wlm.v1.group_create_response",
    .run = run,
    .doc = "Makes a workload group: `match`, `throttling`, `queue`, `cancel_after`.",
};
