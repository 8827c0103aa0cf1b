/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"
#include "api/plane.h"
#include "api/settings.h"
#include "api/views.h"
#include "api/wlm.h"
#include "queue/pool.h"

static enum status
answer(struct api *a, struct api_request *r, struct reply *out)
{
    struct settings_values v;
    settings_get(a->settings, &v);
    json_t *o = wlm_answer(r);
    jobj_int(&o, "workers", a->pool == NULL ? 0 : pool_workers(a->pool));
    jobj_put(&o, "settings", settings_json(&v));
    jobj_put(&o, "levels", views_levels(a));
    jobj_put(&o, "counters", views_counters(a));
    return reply_json(out, o);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_bare(a, r, out, answer);
}

const struct api_endpoint ep_queue_info = {
    .name = "queue_info",
    .subjects = {"$WLM.API.QUEUE.INFO"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.queue_info_response",
    .run = run,
    .doc = "The settings of the queue, what waits in its levels, and the outcome counters.",
};
