/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_admin.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "server/base/log.h"

static enum status
update(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    struct gate_info info;
    size_t evicted = 0;
    char err[GATE_ERR_LEN];
    const char *name = gate_admin_name(r);
    if (!gates_find(a->gates, name, &info)) {
        return wlm_error(r, out, 404, "name: there is no gate \"%.80s\"", name);
    }
    enum status st = gate_conf_parse(&info.conf, o, err, sizeof(err));
    if (st == ST_OK) {
        st = gates_update(a->gates, &info.conf, &evicted, err);
    }
    if (st != ST_OK) {
        return gate_admin_failed(r, out, st, err);
    }
    log_info("Gate \"%s\" changed by connection %llu of account \"%s\"", name,
             (unsigned long long)r->origin.cid, r->origin.account_name);
    return gate_admin_show(a, r, out, "evicted", evicted);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, update);
}

const struct api_endpoint ep_gate_update = {
    .name = "gate_update",
    .subjects = {"$WLM.API.GATE.UPDATE.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.sluice.wlm.v1.gate_update_response",
    .run = run,
    .doc = "Changes settings of a gate, all that are given or none, with requests waiting.",
};
