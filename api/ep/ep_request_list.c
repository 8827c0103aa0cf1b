/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_list.h"
#include "api/group_admin.h"
#include "api/group_json.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/views.h"
#include "api/wlm.h"
#include "api/wlm_group.h"
#include "queue/apiq_conf.h"
#include "server/base/mem.h"

/* gate: as for views_waiting. */
static json_t *
entry(const struct apiq_item_info *i, const char *gate)
{
    json_t *o = views_waiting(i, gate);
    jobj_bool(&o, "blocked", i->blocked);
    return o;
}

/* A page of what waits in three places, one behind the other. Each function adds to the list what
 * still fits, and to total what is meant in its place. */
struct page {
    json_t *list; /* owned */
    size_t total;
};

static size_t
room(const struct page *p, const struct wlm_select *sel)
{
    return sel->page.limit - (p->list == NULL ? 0 : json_array_size(p->list));
}

static size_t
skip(const struct page *p, const struct wlm_select *sel)
{
    return sel->page.offset > p->total ? sel->page.offset - p->total : 0;
}

/* In the plane's queue. */
static enum status
add_queued(struct api *a, const struct wlm_select *sel, struct page *p)
{
    if (sel->group != NULL || sel->gate != NULL) {
        return ST_OK;
    }
    struct apiq_item_info *v = mem_alloc_array(sel->page.limit, sizeof(*v));
    if (v == NULL) {
        return ST_NOMEM;
    }
    size_t n = apiq_list(a->queue, &sel->match, sel->page.offset, v, sel->page.limit, &p->total);
    for (size_t i = 0; i < n; i++) {
        jarr_add(&p->list, entry(&v[i], NULL));
    }
    mem_free(v);
    return ST_OK;
}

/* Parked by a workload group. */
static enum status
add_parked(struct api *a, const struct wlm_select *sel, struct page *p)
{
    struct group_pick pick = {sel->match, sel->group, sel->gate};
    size_t n = room(p, sel);
    struct group_parked_info *v = mem_alloc_array(n, sizeof(*v));
    if (v == NULL) {
        return ST_NOMEM;
    }
    p->total += groups_list(a->groups, &pick, skip(p, sel), v, &n);
    for (size_t i = 0; i < n; i++) {
        jarr_add(&p->list, group_json_parked(&v[i]));
    }
    mem_free(v);
    return ST_OK;
}

/* In the queues of gates. */
static enum status
add_gated(struct api *a, const struct wlm_select *sel, struct page *p)
{
    struct gate_pick pick = {sel->match, sel->gate};
    size_t n = room(p, sel);
    size_t total = 0;
    if (sel->group != NULL || sel->match.levels != 0) {
        return ST_OK;
    }
    struct gate_waiting_info *v = mem_alloc_array(n, sizeof(*v));
    if (v == NULL) {
        return ST_NOMEM;
    }
    enum status st = gates_list(a->gates, &pick, skip(p, sel), v, &n, &total);
    p->total += total;
    for (size_t i = 0; i < n; i++) {
        jarr_add(&p->list, entry(&v[i].item, v[i].gate));
    }
    mem_free(v);
    return st;
}

static enum status
answer(struct api *a, const struct api_request *r, const struct wlm_select *sel, struct reply *out)
{
    struct page p = {.list = json_array()};
    enum status st = ST_OK;
    if (!sel->nothing &&
        ((st = add_queued(a, sel, &p)) != ST_OK || (st = add_parked(a, sel, &p)) != ST_OK ||
         (st = add_gated(a, sel, &p)) != ST_OK)) {
        json_decref(p.list);
        return st;
    }
    json_t *o = wlm_answer(r);
    wlm_page_put(&o, &sel->page, p.total);
    jobj_put(&o, "requests", p.list);
    return reply_json(out, o);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run_select(a, r, out, WLM_KEYS_LIST, answer);
}

const struct api_endpoint ep_request_list = {
    .name = "request_list",
    .subjects = {"$WLM.API.REQUEST.LIST"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .type = "io.sluice.wlm.v1.request_list_response",
    .run = run,
    .doc = "The requests that wait: `id`, `account`, `cid`, `level`, `group`, `gate` select, "
           "`offset`, `limit` page.",
};
