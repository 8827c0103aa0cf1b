/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gates.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/wlm.h"

static enum status
answer(struct api *a, struct api_request *r, struct reply *out)
{
    json_t *o = wlm_answer(r);
    jobj_put(&o, "gates", gates_json(a->gates));
    return reply_json(out, o);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_bare(a, r, out, answer);
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
