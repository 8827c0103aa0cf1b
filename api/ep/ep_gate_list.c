/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_admin.h"
#include "api/wlm.h"

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    return gate_admin_page(a, r, o, "gates", gate_info_json, out);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, answer);
}

const struct api_endpoint ep_gate_list = {
    .name = "gate_list",
    .subjects = {"$WLM.API.GATE.LIST"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.gate_list_response",
    .run = run,
    .doc = "The gates, each as `GATE.INFO` shows it; `offset`, `limit` page.",
};
