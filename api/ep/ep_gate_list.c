/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_admin.h"
#include "api/jobj.h"

static void
show(struct gates *gs, json_t **o)
{
    jobj_put(o, "gates", gates_json(gs));
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return gate_admin_list(a, r, out, show);
}

const struct api_endpoint ep_gate_list = {
    .name = "gate_list",
    .subjects = {"$WLM.API.GATE.LIST"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.gate_list_response",
    .run = run,
    .doc = "All gates, each as `GATE.INFO` shows it.",
};
