/* SPDX-License-Identifier: Apache-2.0 */
#include "api/wlm_page.h"

#include <string.h>

#include "api/jobj.h"
#include "api/wlm.h"

void
wlm_page_init(struct wlm_page *p)
{
    *p = (struct wlm_page){.limit = WLM_LIMIT_DEFAULT};
}

enum status
wlm_page_take(struct wlm_page *p, const char *key, const json_t *value)
{
    int64_t v;
    if (strcmp(key, "offset") == 0 && wlm_take_int(value, 0, INT64_MAX, &v)) {
        p->offset = (size_t)v;
        return ST_OK;
    }
    if (strcmp(key, "limit") == 0 && wlm_take_int(value, 1, WLM_LIMIT_MAX, &v)) {
        p->limit = (size_t)v;
        return ST_OK;
    }
    return wlm_page_allowed(key) == NULL ? ST_NOTFOUND : ST_INVAL;
}

const char *
wlm_page_allowed(const char *key)
{
    return strcmp(key, "offset") == 0  ? "a whole number from 0"
           : strcmp(key, "limit") == 0 ? "a whole number from 1 to 1000"
                                       : NULL;
}

void
wlm_page_put(json_t **answer, const struct wlm_page *p, size_t total)
{
    jobj_int(answer, "total", total);
    jobj_int(answer, "offset", p->offset);
    jobj_int(answer, "limit", p->limit);
}

/* ST_INVAL: out says what is wrong. */
static enum status
parse(const struct api_request *r, const json_t *o, struct wlm_page *page, struct reply *out)
{
    const char *key;
    json_t *v;
    wlm_page_init(page);
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        enum status st = wlm_page_take(page, key, v);
        if (st != ST_OK) {
            st = wlm_bad_member(r, out, key, wlm_page_allowed(key));
            return st == ST_OK ? ST_INVAL : st;
        }
    }
    return ST_OK;
}

enum status
wlm_page_answer(struct api *a, const struct api_request *r, const json_t *o,
                const struct wlm_listing *l, struct reply *out)
{
    struct wlm_page page;
    enum status st = parse(r, o, &page, out);
    if (st != ST_OK) {
        return st == ST_INVAL ? ST_OK : st;
    }
    json_t *list = json_array();
    json_t *item = NULL;
    size_t i = 0;
    bool is_there = true;
    while (is_there) {
        bool shown = i >= page.offset && i - page.offset < page.limit;
        is_there = l->one(a, l, i, shown ? &item : NULL);
        if (is_there && shown) {
            jarr_add(&list, item);
        }
        i += is_there ? 1 : 0;
    }
    json_t *answer = wlm_answer(r);
    wlm_page_put(&answer, &page, i);
    jobj_put(&answer, l->key, list);
    return reply_json(out, answer);
}
