/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_admin.h"
#include "api/wlm.h"

static json_t *
shown(const struct gate_info *g)
{
    return json_string(g->conf.name);
}

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    return gate_admin_page(a, r, o, "names", shown, out);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, answer);
}

const struct api_endpoint ep_gate_names = {
    .name = "gate_names",
    .subjects = {"$WLM.API.GATE.NAMES"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.gate_names_response",
    .run = run,
    .doc = "The names of the gates, in the order of their making; `offset`, `limit` page.",
};
