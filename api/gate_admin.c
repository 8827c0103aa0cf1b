/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_admin.h"

#include <string.h>

#include "api/jobj.h"
#include "api/plane.h"
#include "api/wlm.h"

const char *
gate_admin_name(const struct api_request *r)
{
    return strrchr(r->subject, '.') + 1;
}

enum status
gate_admin_failed(const struct api_request *r, struct reply *out, enum status st, const char *err)
{
    bool busy = st == ST_NOMEM || st == ST_CLOSED || st == ST_LIMIT;
    if (busy) {
        return reply_error(out, r->ep->type, 503, ERR_RESOURCES, "nothing was changed: %s", err);
    }
    return wlm_error(r, out, st == ST_NOTFOUND && strncmp(err, "name", 4) == 0 ? 404 : 400, "%s",
                     err);
}

enum status
gate_admin_show(struct api *a, const struct api_request *r, struct reply *out, const char *key,
                size_t count)
{
    struct gate_info info;
    const char *name = gate_admin_name(r);
    if (!gates_find(a->gates, name, &info)) {
        return wlm_error(r, out, 404, "name: there is no gate \"%.80s\"", name);
    }
    json_t *o = wlm_answer(r);
    jobj_put(&o, "gate", gate_info_json(&info));
    if (key != NULL) {
        jobj_int(&o, key, count);
    }
    return reply_json(out, o);
}

struct shown {
    json_t *(*show)(const struct gate_info *g);
};

static bool
one(struct api *a, const struct wlm_listing *l, size_t i, json_t **out)
{
    const struct shown *shown = l->arg;
    struct gate_info g;
    if (out == NULL) {
        return i < gates_count(a->gates);
    }
    if (!gates_info(a->gates, i, &g)) {
        return false;
    }
    *out = shown->show(&g);
    return true;
}

enum status
gate_admin_page(struct api *a, const struct api_request *r, const json_t *o, const char *key,
                json_t *(*show)(const struct gate_info *g), struct reply *out)
{
    struct shown shown = {show};
    struct wlm_listing l = {.key = key, .one = one, .arg = &shown};
    return wlm_page_answer(a, r, o, &l, out);
}
