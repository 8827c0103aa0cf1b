/* SPDX-License-Identifier: Apache-2.0 */
#include "api/wlm_group.h"

#include <errno.h>
#include <string.h>

#include "api/dispatch.h"
#include "api/group_json.h"
#include "api/jobj.h"
#include "api/parker.h"
#include "api/plane.h"
#include "api/wlm.h"
#include "server/base/errtext.h"
#include "server/base/log.h"

const char *
wlm_group_name(const struct api_request *r)
{
    const char *dot = strrchr(r->subject, '.');
    return dot == NULL ? "" : dot + 1;
}

enum status
wlm_group_missing(const struct api_request *r, const char *name, struct reply *out)
{
    return wlm_error(r, out, 404, "workload group \"%.64s\" not found", name);
}

static enum status
failed(const struct api_request *r, const char *name, enum status st, struct reply *out)
{
    char text[ERRTEXT_LEN];
    switch ((int)st) {
    case ST_EXISTS:
        return wlm_error(r, out, 409, "workload group \"%.64s\" exists already", name);
    case ST_NOTFOUND:
        return wlm_group_missing(r, name, out);
    case ST_PERM:
        return wlm_error(r, out, 409,
                         "workload group \"%.64s\" is of the configuration file: remove it there",
                         name);
    case ST_FULL:
        return wlm_error(r, out, 400, "there are %u workload groups, no more are possible",
                         GROUPS_MAX);
    case ST_IO:
        return reply_error(out, r->ep->type, 503, ERR_RESOURCES,
                           "nothing was changed: the group could not be stored: %s",
                           errtext(errno, text));
    default:
        return reply_error(out, r->ep->type, 503, ERR_RESOURCES, "nothing was changed: %s",
                           status_text(st));
    }
}

enum status
wlm_group_changed(struct api *a, const struct api_request *r, const char *done, enum status st,
                  const struct catalog_result *result, struct reply *out)
{
    struct group_info g;
    const char *name = wlm_group_name(r);
    if (st != ST_OK) {
        return failed(r, name, st, out);
    }
    /* What may be let in now. */
    dispatch_pump(a, 0);
    parker_at(a->parker, 0);
    log_info("Workload group \"%s\" %s by connection %llu of account \"%s\"", name, done,
             (unsigned long long)r->origin.cid, r->origin.account_name);
    json_t *o = wlm_answer(r);
    if (groups_find(a->groups, name, &g) == ST_OK) {
        jobj_put(&o, "group", group_json_info(a, &g, false));
    }
    jobj_bool(&o, "stored", result->stored);
    if (result->note != NULL) {
        jobj_str(&o, "note", result->note);
    }
    return reply_json(out, o);
}

struct shown {
    json_t *(*show)(struct api *a, const struct group_info *g);
};

static bool
one(struct api *a, const struct wlm_listing *l, size_t i, json_t **out)
{
    const struct shown *shown = l->arg;
    struct group_info g;
    if (!groups_at(a->groups, i, &g)) {
        return false;
    }
    if (out != NULL) {
        *out = shown->show(a, &g);
    }
    return true;
}

enum status
wlm_group_page(struct api *a, const struct api_request *r, const json_t *o,
               json_t *(*show)(struct api *a, const struct group_info *g), struct reply *out)
{
    struct shown shown = {show};
    struct wlm_listing l = {.key = "groups", .one = one, .arg = &shown};
    return wlm_page_answer(a, r, o, &l, out);
}
