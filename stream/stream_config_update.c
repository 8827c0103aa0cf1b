/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/stream_config_priv.h"
#include "stream/transforms.h"

#define API_LEVEL   "5"
#define API_VERSION "2.15.2"

static bool
same_mirror(const struct stream_config *a, const struct stream_config *b)
{
    json_t *ja = stream_config_to_json(a);
    json_t *jb = stream_config_to_json(b);
    bool same = ja != NULL && jb != NULL &&
                json_equal(json_object_get(ja, "mirror"), json_object_get(jb, "mirror")) == 1;
    json_decref(ja);
    json_decref(jb);
    return same;
}

/* An update without a destination is one to all. */
static enum js_error
check_republish(struct stream_config *c, struct js_fail *f)
{
    struct subject_transform *r = c->republish;
    char err[TRANSFORM_ERR_LEN];
    struct transform *t;
    if (r == NULL || r->dest != NULL) {
        return JS_OK;
    }
    r->dest = mem_strdup(">");
    if (r->dest == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    enum status st = transform_new(&t, r->src, r->dest, err);
    if (st == ST_SYNTAX) {
        char text[700];
        (void)snprintf(text, sizeof text,
                       "stream configuration for republish from '%.150s' to '%.150s': %s", r->src,
                       r->dest, err);
        return js_fail_text(f, JS_ERR_STREAM_UPDATE, text);
    }
    if (st != ST_OK) {
        return js_fail_status(f, st);
    }
    transform_free(t);
    return JS_OK;
}

enum js_error
stream_config_check_update(const struct stream_config *old, struct stream_config *c,
                           struct js_fail *f)
{
    if (strcmp(c->name, old->name) != 0) {
        return stream_config_invalid(f, "stream configuration name must match original");
    }
    if (c->replicas > 1) {
        return js_fail_plain(f, JS_ERR_STREAM_REPLICAS_NOT_SUPPORTED);
    }
    bool queue = old->retention == RETENTION_WORKQUEUE || c->retention == RETENTION_WORKQUEUE;
    const struct {
        bool broken;
        const char *text;
    } rules[] = {
        {c->storage != old->storage, "stream configuration update can not change storage type"},
        {c->retention != old->retention && queue,
         "stream configuration update can not change retention policy to/from workqueue"},
        {old->sealed && !c->sealed, "stream configuration update can not unseal a sealed stream"},
        {old->deny_delete && !c->deny_delete,
         "stream configuration update can not cancel deny message deletes"},
        {old->deny_purge && !c->deny_purge,
         "stream configuration update can not cancel deny purge"}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].broken) {
            return stream_config_invalid(f, "%s", rules[i].text);
        }
    }
    if (c->mirror != NULL && !same_mirror(c, old)) {
        return js_fail_plain(f, JS_ERR_STREAM_MIRROR_NOT_UPDATABLE);
    }
    const struct {
        bool broken;
        const char *text;
    } more[] = {
        {old->allow_msg_ttl && !c->allow_msg_ttl, "message TTL status can not be disabled"},
        {old->allow_msg_counter != c->allow_msg_counter,
         "stream configuration update can not change message counter setting"},
        {old->allow_msg_schedules && !c->allow_msg_schedules,
         "message schedules can not be disabled"},
        {old->persist != c->persist, "stream configuration update can not change persist mode"}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        if (more[i].broken) {
            return stream_config_invalid(f, "%s", more[i].text);
        }
    }
    if (c->sealed) {
        c->max_age = 0;
        c->discard = DISCARD_NEW;
        c->deny_delete = c->deny_purge = true;
        c->allow_rollup = false;
    }
    return check_republish(c, f);
}

enum status
stream_config_stamp(struct stream_config *c)
{
    int level = c->allow_msg_ttl || c->subject_delete_marker_ttl > 0 ? 1 : 0;
    if (c->allow_msg_counter || c->allow_atomic || c->allow_msg_schedules ||
        c->persist == PERSIST_ASYNC) {
        level = 2;
    }
    if (c->allow_batched) {
        level = 4;
    }
    if (c->metadata == NULL) {
        c->metadata = json_object();
    }
    char text[4];
    snprintf(text, sizeof text, "%d", level);
    json_object_del(c->metadata, "_nats.ver");
    json_object_del(c->metadata, "_nats.level");
    return json_object_set_new(c->metadata, "_nats.req.level", json_string(text)) == 0 ? ST_OK
                                                                                       : ST_NOMEM;
}

enum status
js_metadata_for_answer(json_t *config)
{
    json_t *m = json_object_get(config, "metadata");
    json_t *all = m != NULL ? json_copy(m) : json_object();
    if (all == NULL || json_object_set_new(all, "_nats.ver", json_string(API_VERSION)) != 0 ||
        json_object_set_new(all, "_nats.level", json_string(API_LEVEL)) != 0 ||
        json_object_set(config, "metadata", all) != 0) {
        json_decref(all);
        return ST_NOMEM;
    }
    json_decref(all);
    return ST_OK;
}
