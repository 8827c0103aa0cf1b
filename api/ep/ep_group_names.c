/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_json.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_group.h"

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    struct group_info g;
    struct wlm_page page;
    enum status st = wlm_page_parse(r, o, &page, out);
    if (st != ST_OK) {
        return st == ST_INVAL ? ST_OK : st;
    }
    size_t i = 0;
    json_t *list = json_array();
    for (; groups_at(a->groups, i, &g); i++) {
        if (i >= page.offset && i - page.offset < page.limit) {
            jarr_add(&list, json_string(g.conf.name));
        }
    }
    json_t *answer = wlm_answer(r);
    jobj_int(&answer, "total", i);
    jobj_int(&answer, "offset", page.offset);
    jobj_int(&answer, "limit", page.limit);
    jobj_put(&answer, "groups", list);
    return reply_json(out, answer);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, answer);
}

const struct api_endpoint ep_group_names = {
    .name = "group_names",
    .subjects = {"$WLM.API.GROUP.NAMES"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.group_names_response",
    .run = run,
    .doc = "The names of the workload groups, in the order of matching; `offset`, `limit` page.",
};
