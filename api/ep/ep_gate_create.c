/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_admin.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "server/base/log.h"

static enum status
create(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    struct gate_conf c;
    char err[GATE_ERR_LEN];
    enum status st = gate_conf_init(&c, gate_admin_name(r), err, sizeof(err));
    if (st == ST_OK) {
        st = gate_conf_parse(&c, o, err, sizeof(err));
    }
    if (st == ST_OK) {
        st = gate_conf_check(&c, err, sizeof(err));
    }
    if (st == ST_OK) {
        st = gates_create(a->gates, &c, err);
    }
    if (st != ST_OK) {
        return gate_admin_failed(r, out, st, err);
    }
    log_info("Gate \"%s\" created by connection %llu of account \"%s\"", c.name,
             (unsigned long long)r->origin.cid, r->origin.account_name);
    return gate_admin_show(a, r, out, NULL, 0);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, create);
}

const struct api_endpoint ep_gate_create = {
    .name = "gate_create",
    .subjects = {"$WLM.API.GATE.CREATE.*"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.sluice.wlm.v1.gate_create_response",
    .run = run,
    .doc = "Puts a gate in front of a service; keys as in the block `gates`.",
};
