/* SPDX-License-Identifier: Apache-2.0 */
#include "api/dispatch.h"
#include "api/gate_list.h"
#include "api/group_admin.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_group.h"

/* What is cancelled between two looks at the lock of the queue. */
#define BATCH 256u

static size_t
cancel_queued(struct api *a, const struct apiq_match *match)
{
    size_t total = 0;
    size_t done = 0;
    size_t n;
    (void)apiq_list(a->queue, match, 0, NULL, 0, &total);
    /* NB: those that arrive meanwhile must not keep us here for ever. */
    do {
        struct list_node gone;
        list_init(&gone);
        n = apiq_cancel_match(a->queue, match, BATCH, &gone);
        done += dispatch_fallen(a, &gone, END_OPERATOR);
    } while (n > 0 && done < total);
    return done;
}

/* NB: first the parked, which go to the queues; not the other way round. */
static size_t
cancel(struct api *a, const struct wlm_select *sel)
{
    struct group_pick parked = {sel->match, sel->group, sel->gate};
    struct gate_pick gated = {sel->match, sel->gate};
    size_t n = groups_cancel_match(a->groups, &parked);
    dispatch_pump(a, 0);
    if (sel->group == NULL && sel->gate == NULL) {
        n += cancel_queued(a, &sel->match);
    }
    if (sel->group == NULL && sel->match.levels == 0) {
        n += gates_cancel_match(a->gates, &gated);
    }
    return n;
}

static enum status
answer(struct api *a, const struct api_request *r, const struct wlm_select *sel, struct reply *out)
{
    bool named = sel->match.id != 0 || sel->match.owner != 0 || sel->account != NULL ||
                 sel->group != NULL || sel->gate != NULL || sel->match.levels != 0;
    if (named == sel->all) {
        return wlm_error(r, out, 400,
                         "either id, account, cid, level, group, gate or \"all\": true must be "
                         "given");
    }
    size_t n = sel->nothing ? 0 : cancel(a, sel);
    if (n == 0 && sel->match.id != 0) {
        return wlm_error(r, out, 404, "request not found: it does not wait (any more)");
    }
    json_t *o = wlm_answer(r);
    jobj_int(&o, "cancelled", n);
    return reply_json(out, o);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_select(a, r, out, WLM_KEYS_CANCEL, answer);
}

const struct api_endpoint ep_request_cancel = {
    .name = "request_cancel",
    .subjects = {"$WLM.API.REQUEST.CANCEL"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.sluice.wlm.v1.request_cancel_response",
    .run = run,
    .doc = "Cancels waiting requests by `id`, `account`, `cid`, `level`, `group`, `gate`, or "
           "`\"all\": true`: those of every account and level, other operators' too.",
};
