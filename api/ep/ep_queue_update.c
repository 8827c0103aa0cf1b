/* SPDX-License-Identifier: Apache-2.0 */
#include "api/dispatch.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/settings.h"
#include "api/wlm.h"
#include "server/base/log.h"

static enum status
apply(struct api *a, const struct api_request *r, const struct settings_values *v,
      struct reply *out)
{
    struct list_node fallen;
    list_init(&fallen);
    enum status st = settings_apply(a, v, &fallen);
    size_t evicted = dispatch_fallen(a, &fallen, END_EVICTED);
    if (st != ST_OK) {
        return reply_error(out, r->ep->type, 503, ERR_RESOURCES, "nothing was changed: %s",
                           status_text(st));
    }
    log_info("API queue settings changed by connection %llu of account \"%s\"",
             (unsigned long long)r->origin.cid, r->origin.account_name);
    json_t *o = wlm_answer(r);
    jobj_put(&o, "settings", settings_json(v));
    jobj_int(&o, "evicted", evicted);
    return reply_json(out, o);
}

static enum status
update(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    char err[400];
    struct settings_values v;
    settings_get(a->settings, &v);
    if (settings_parse(o, &v, err, sizeof(err)) != ST_OK) {
        return wlm_error(r, out, 400, "%s", err);
    }
    return apply(a, r, &v, out);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, update);
}

const struct api_endpoint ep_queue_update = {
    .name = "queue_update",
    .subjects = {"$WLM.API.QUEUE.UPDATE"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.sluice.wlm.v1.queue_update_response",
    .run = run,
    .doc = "Changes settings of the queue while it runs: all that are given, or none.",
};
