/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"
#include "api/plane.h"
#include "api/weights.h"
#include "api/wlm.h"

static enum status
answer(struct api *a, struct api_request *r, struct reply *out)
{
    json_t *o = wlm_answer(r);
    jobj_put(&o, "account_weights", weights_json(a->weights));
    return reply_json(out, o);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_bare(a, r, out, answer);
}

const struct api_endpoint ep_weight_list = {
    .name = "weight_list",
    .subjects = {"$WLM.API.WEIGHT.LIST"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.weight_list_response",
    .run = run,
    .doc = "The accounts that get more turns in the queue than one.",
};
