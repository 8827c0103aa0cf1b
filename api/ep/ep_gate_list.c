/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gates.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_page.h"

static bool
one(struct api *a, size_t i, json_t **out)
{
    struct gate_info info;
    if (out == NULL) {
        return i < gates_count(a->gates);
    }
    if (!gates_info(a->gates, i, &info)) {
        return false;
    }
    *out = gate_info_json(&info);
    return true;
}

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    static const struct wlm_listing gates = {.key = "gates", .one = one};
    return wlm_page_answer(a, r, o, &gates, out);
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
