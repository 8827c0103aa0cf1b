/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gates.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/wlm.h"

static enum status
answer(struct api *a, struct api_request *r, struct reply *out)
{
    struct gate_info info;
    json_t *names = json_array();
    for (size_t i = 0; gates_info(a->gates, i, &info); i++) {
        jarr_add(&names, json_string(info.conf.name));
    }
    json_t *o = wlm_answer(r);
    jobj_put(&o, "names", names);
    return reply_json(out, o);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_bare(a, r, out, answer);
}

const struct api_endpoint ep_gate_names = {
    .name = "gate_names",
    .subjects = {"$WLM.API.GATE.NAMES"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.gate_names_response",
    .run = run,
    .doc = "The names of the gates.",
};
