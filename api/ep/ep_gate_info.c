/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_admin.h"
#include "api/plane.h"
#include "api/wlm.h"

static enum status
answer(struct api *a, struct api_request *r, struct reply *out)
{
    return gate_admin_show(a, r, out, NULL, 0);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_bare(a, r, out, answer);
}

const struct api_endpoint ep_gate_info = {
    .name = "gate_info",
    .subjects = {"$WLM.API.GATE.INFO.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.gate_info_response",
    .run = run,
    .doc = "The settings of one gate, what waits and runs in it, and its outcome counters.",
};
