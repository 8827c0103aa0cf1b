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

static bool
take(const json_t *j, json_int_t min, json_int_t max, size_t *out)
{
    json_int_t v = json_integer_value(j);
    if (!json_is_integer(j) || v < min || v > max) {
        return false;
    }
    *out = (size_t)v;
    return true;
}

struct page {
    size_t offset, limit;
};

/* ST_INVAL: out says what is wrong. */
static enum status
parse_page(const struct api_request *r, const json_t *o, struct page *page, struct reply *out)
{
    const char *key;
    json_t *v;
    *page = (struct page){.limit = WLM_LIMIT_DEFAULT};
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        bool offset = strcmp(key, "offset") == 0;
        bool known = offset || strcmp(key, "limit") == 0;
        if (known && (offset ? take(v, 0, INT64_MAX, &page->offset)
                             : take(v, 1, WLM_LIMIT_MAX, &page->limit))) {
            continue;
        }
        enum status st = known ? wlm_error(r, out, 400, "invalid value for %s: must be %s", key,
                                           offset ? WLM_OFFSET_ALLOWED : WLM_LIMIT_ALLOWED)
                               : wlm_error(r, out, 400, "unknown key: %.64s", key);
        return st == ST_OK ? ST_INVAL : st;
    }
    return ST_OK;
}

enum status
wlm_group_page(struct api *a, const struct api_request *r, const json_t *o,
               json_t *(*one)(struct api *a, const struct group_info *g), struct reply *out)
{
    struct group_info g;
    struct page page;
    enum status st = parse_page(r, o, &page, out);
    if (st != ST_OK) {
        return st == ST_INVAL ? ST_OK : st;
    }
    size_t i = 0;
    json_t *list = json_array();
    for (; groups_at(a->groups, i, &g); i++) {
        if (i >= page.offset && i - page.offset < page.limit) {
            jarr_add(&list, one(a, &g));
        }
    }
    json_t *answer = wlm_answer(r);
    jobj_int(&answer, "total", i);
    jobj_int(&answer, "offset", page.offset);
    jobj_int(&answer, "limit", page.limit);
    jobj_put(&answer, "groups", list);
    return reply_json(out, answer);
}
