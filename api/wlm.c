/* SPDX-License-Identifier: Apache-2.0 */
#include "api/wlm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/gojson.h"
#include "api/plane.h"
#include "queue/apiq_conf.h"

json_t *
wlm_answer(const struct api_request *r)
{
    return json_pack("{s:s}", "type", r->ep->type);
}

enum status
wlm_error(const struct api_request *r, struct reply *out, int code, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return reply_error(out, r->ep->type, code, ERR_BAD_REQUEST, "%s", text);
}

enum status
wlm_bad_member(const struct api_request *r, struct reply *out, const char *key, const char *allowed)
{
    return allowed == NULL
               ? wlm_error(r, out, 400, "unknown key: %.64s", key)
               : wlm_error(r, out, 400, "invalid value for %s: must be %s", key, allowed);
}

/* The payload as an object; an empty payload is {}. ST_SYNTAX: it is none, and out says so. */
static enum status
parse(const struct api_request *r, struct reply *out, json_t **o)
{
    char text[256] = "a JSON object is expected";
    enum status st = ST_OK;
    *o = NULL;
    if (r->data_len > 0) {
        st = gojson_load(r->data, r->data_len, JSON_REJECT_DUPLICATES, o, text, sizeof(text));
    } else if ((*o = json_object()) == NULL) {
        st = ST_NOMEM;
    }
    if (st == ST_NOMEM || json_is_object(*o)) {
        return st;
    }
    json_decref(*o);
    st = wlm_error(r, out, 400, "invalid JSON: %s", text);
    return st == ST_OK ? ST_SYNTAX : st;
}

enum status
wlm_run(struct api *a, struct api_request *r, struct reply *out, wlm_with_json *fn)
{
    json_t *o;
    enum status st = parse(r, out, &o);
    if (st != ST_OK) {
        return st == ST_SYNTAX ? ST_OK : st;
    }
    st = fn(a, r, o, out);
    json_decref(o);
    return st;
}

enum status
wlm_run_bare(struct api *a, struct api_request *r, struct reply *out, wlm_bare *fn)
{
    json_t *o;
    enum status st = parse(r, out, &o);
    if (st != ST_OK) {
        return st == ST_SYNTAX ? ST_OK : st;
    }
    void *first = json_object_iter(o);
    st = first == NULL ? fn(a, r, out) : wlm_bad_member(r, out, json_object_iter_key(first), NULL);
    json_decref(o);
    return st;
}

bool
wlm_take_int(const json_t *j, int64_t min, int64_t max, int64_t *out)
{
    if (!json_is_integer(j) || json_integer_value(j) < min || json_integer_value(j) > max) {
        return false;
    }
    *out = json_integer_value(j);
    return true;
}

static bool
take_level(const json_t *j, struct wlm_select *sel)
{
    for (int i = 0; json_is_string(j) && i < APIQ_LEVELS; i++) {
        if (strcmp(json_string_value(j), apiq_level_name((enum apiq_level)i)) == 0) {
            sel->match.levels = 1U << i;
            return true;
        }
    }
    return false;
}

static bool
take_account(struct api *a, const json_t *j, struct wlm_select *sel)
{
    sel->account = json_string_value(j);
    if (sel->account == NULL) {
        return false;
    }
    sel->match.flow = ledger_account_key(a->ledger, sel->account);
    if (sel->match.flow == 0) {
        /* It may have sent something to a gate. */
        uint64_t key = 0;
        bool is_there = a->host->account(a->host->ctx, sel->account, &key) != NULL;
        sel->match.flow = is_there ? key : 0;
    }
    sel->nothing = sel->match.flow == 0;
    return true;
}

/* What a member may hold, for who gave something else. */
static const char *
allowed(const char *key)
{
    static const struct {
        const char *key, *text;
    } all[] = {{"id", "a whole number above 0"},
               {"cid", "a whole number above 0"},
               {"account", "a text"},
               {"group", "a text"},
               {"gate", "a text"},
               {"level", "\"operator\", \"normal\" or \"info\""},
               {"all", "true or false"}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i].key, key) == 0) {
            return all[i].text;
        }
    }
    return wlm_page_allowed(key);
}

/* ST_NOTFOUND: no such key here. ST_INVAL: a bad value. */
static enum status
take_member(struct api *a, const char *key, const json_t *j, enum wlm_keys keys,
            struct wlm_select *sel)
{
    int64_t v = 0;
    bool ok;
    if (strcmp(key, "id") == 0) {
        ok = wlm_take_int(j, 1, INT64_MAX, &v);
        sel->match.id = (uint64_t)v;
    } else if (strcmp(key, "cid") == 0) {
        ok = wlm_take_int(j, 1, INT64_MAX, &v);
        sel->match.owner = (uint64_t)v;
    } else if (strcmp(key, "account") == 0) {
        ok = take_account(a, j, sel);
    } else if (strcmp(key, "group") == 0) {
        sel->group = json_string_value(j);
        ok = sel->group != NULL;
    } else if (strcmp(key, "gate") == 0) {
        sel->gate = json_string_value(j);
        ok = sel->gate != NULL;
    } else if (strcmp(key, "level") == 0) {
        ok = take_level(j, sel);
    } else if (keys == WLM_KEYS_CANCEL && strcmp(key, "all") == 0) {
        ok = json_is_boolean(j);
        sel->all = json_is_true(j);
    } else {
        return keys == WLM_KEYS_LIST ? wlm_page_take(&sel->page, key, j) : ST_NOTFOUND;
    }
    return ok ? ST_OK : ST_INVAL;
}

enum status
wlm_run_select(struct api *a, struct api_request *r, struct reply *out, enum wlm_keys keys,
               wlm_chosen *fn)
{
    struct wlm_select sel = {.all = false};
    const char *key;
    json_t *value;
    json_t *o;
    enum status st = parse(r, out, &o);
    if (st != ST_OK) {
        return st == ST_SYNTAX ? ST_OK : st;
    }
    wlm_page_init(&sel.page);
    json_object_foreach(o, key, value)
    {
        st = take_member(a, key, value, keys, &sel);
        if (st != ST_OK) {
            st = wlm_bad_member(r, out, key, st == ST_NOTFOUND ? NULL : allowed(key));
            json_decref(o);
            return st;
        }
    }
    st = fn(a, r, &sel, out);
    json_decref(o);
    return st;
}
