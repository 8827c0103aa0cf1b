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
    *out = json_string(info.conf.name);
    return true;
}

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    static const struct wlm_listing names = {.key = "names", .one = one};
    return wlm_page_answer(a, r, o, &names, out);
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
