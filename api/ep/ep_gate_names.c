/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_admin.h"
#include "api/jobj.h"

static void
show(struct gates *gs, json_t **o)
{
    struct gate_info info;
    json_t *names = json_array();
    for (size_t i = 0; gates_info(gs, i, &info); i++) {
        jarr_add(&names, json_string(info.conf.name));
    }
    jobj_put(o, "names", names);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return gate_admin_list(a, r, out, show);
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
