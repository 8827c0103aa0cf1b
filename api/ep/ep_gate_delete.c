/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_admin.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "server/base/log.h"

static enum status
remove_gate(struct api *a, struct api_request *r, struct reply *out)
{
    size_t passed = 0;
    char err[GATE_ERR_LEN];
    enum status st = gates_delete(a->gates, gate_admin_name(r), &passed, err);
    if (st != ST_OK) {
        return gate_admin_failed(r, out, st, err);
    }
    log_info("Gate \"%s\" deleted by connection %llu of account \"%s\"", gate_admin_name(r),
             (unsigned long long)r->origin.cid, r->origin.account_name);
    json_t *o = wlm_answer(r);
    jobj_bool(&o, "success", true);
    jobj_int(&o, "passed_on", passed);
    return reply_json(out, o);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_bare(a, r, out, remove_gate);
}

const struct api_endpoint ep_gate_delete = {
    .name = "gate_delete",
    .subjects = {"$WLM.API.GATE.DELETE.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.sluice.wlm.v1.gate_delete_response",
    .run = run,
    .doc = "Takes a gate away; what waits in it is delivered at once, oldest first.",
};
