/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_admin.h"
#include "api/group_json.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "api/wlm_group.h"
#include "queue/apiq_conf.h"
#include "server/base/mem.h"

static json_t *
entry(const struct apiq_item_info *i)
{
    json_t *o = json_object();
    jobj_int(&o, "id", i->id);
    jobj_str(&o, "level", apiq_level_name(i->level));
    jobj_str(&o, "account", i->name);
    jobj_str(&o, "subject", i->label);
    if (i->owner != 0) {
        jobj_int(&o, "cid", i->owner);
    }
    jobj_int(&o, "bytes", i->bytes);
    jobj_ms(&o, "age_ms", i->age_ns);
    if (i->left_ns != INT64_MAX) {
        jobj_ms(&o, "left_ms", i->left_ns);
    }
    jobj_bool(&o, "blocked", i->blocked);
    return o;
}

/* Those that a workload group has parked, behind those in the queue. *total: of these; becomes that
 * of both. */
static enum status
add_parked(struct api *a, const struct wlm_select *sel, json_t **list, size_t *total)
{
    size_t n = sel->limit - (*list == NULL ? 0 : json_array_size(*list));
    struct group_parked_info *v = mem_alloc_array(n, sizeof(*v));
    if (v == NULL) {
        return ST_NOMEM;
    }
    size_t offset = sel->offset > *total ? sel->offset - *total : 0;
    *total += groups_list(a->groups, &sel->match, sel->group, offset, v, &n);
    for (size_t i = 0; i < n; i++) {
        jarr_add(list, group_json_parked(&v[i]));
    }
    mem_free(v);
    return ST_OK;
}

static enum status
answer(struct api *a, const struct api_request *r, const struct wlm_select *sel, struct reply *out)
{
    struct apiq_item_info *v = mem_alloc_array(sel->limit, sizeof(*v));
    if (v == NULL) {
        return ST_NOMEM;
    }
    size_t total = 0;
    bool queued = !sel->nothing && sel->group == NULL;
    size_t n = !queued ? 0 : apiq_list(a->queue, &sel->match, sel->offset, v, sel->limit, &total);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        jarr_add(&list, entry(&v[i]));
    }
    mem_free(v);
    if (!sel->nothing && add_parked(a, sel, &list, &total) != ST_OK) {
        json_decref(list);
        return ST_NOMEM;
    }
    json_t *o = wlm_answer(r);
    jobj_int(&o, "total", total);
    jobj_int(&o, "offset", sel->offset);
    jobj_int(&o, "limit", sel->limit);
    jobj_put(&o, "requests", list);
    return reply_json(out, o);
}

static enum status
answer_chosen(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    struct wlm_select sel;
    enum status st = wlm_select(a, r, o, WLM_KEYS_LIST, &sel, out);
    if (st != ST_OK) {
        return st == ST_INVAL ? ST_OK : st;
    }
    return answer(a, r, &sel, out);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, answer_chosen);
}

const struct api_endpoint ep_request_list = {
    .name = "request_list",
    .subjects = {"$WLM.API.REQUEST.LIST"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.request_list_response",
    .run = run,
    .doc = "The requests that wait: `id`, `account`, `cid`, `level`, `group` select, `offset`, "
           "`limit` page.",
};
