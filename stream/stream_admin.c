/* SPDX-License-Identifier: Apache-2.0 */
/* Creation, update, deletion: one at a time, under stream_admin_lock. Memory changes at once; the
 * store's queue has the record; whoever asked is answered when that is committed. */
#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer.h"
#include "stream/ingest.h"
#include "stream/ingest_batch.h"
#include "stream/js_advisory.h"
#include "stream/stream_admin.h"
#include "stream/stream_inner.h"
#include "stream/stream_links.h"
#include "stream/stream_priv.h"

/* ---- creation ---- */

static enum js_error
same_or_not(struct stream *s, const struct stream_config *cfg, struct js_fail *f)
{
    return stream_config_equal(s->cfg, cfg) ? JS_OK : js_fail_plain(f, JS_ERR_STREAM_NAME_EXIST);
}

enum status
stream_begin(struct js_account *a, struct stream *s)
{
    enum status st = js_account_add(a, s);
    if (st != ST_OK) {
        return st;
    }
    stream_reserve(s, s->cfg->max_bytes, 1);
    st = stream_serve(s);
    if (st == ST_OK) {
        st = stream_sources_update(s);
    }
    if (st != ST_OK) {
        stream_sources_stop(s);
        stream_unserve(s);
        stream_reserve(s, s->cfg->max_bytes, -1);
        js_account_remove(a, s);
        return st;
    }
    stream_lock(s);
    s->is_active = true;
    stream_unlock(s);
    stream_sources_appeared(a, s->name);
    return ST_OK;
}

static enum js_error
make(struct js_account *a, struct stream_config *cfg, uint64_t cid, struct stream **out,
     struct js_fail *f)
{
    struct stream *s;
    struct stream_make m = {.acc = a,
                            .cfg = cfg,
                            .id = store_new_id(js_store(a->js, stream_config_is_memory(cfg))),
                            .created = js_wall(a->js)};
    enum status st = stream_new(&s, &m);
    if (st != ST_OK) {
        return js_fail_status(f, st);
    }
    stream_lock(s);
    st = stream_save(s);
    stream_unlock(s);
    if (st == ST_OK) {
        st = stream_begin(a, s);
    }
    if (st != ST_OK) {
        stream_lock(s);
        stream_forget_record(s);
        stream_unlock(s);
        stream_unref(s);
        return js_fail_status(f, st);
    }
    stream_lock(s);
    advise_stream_action(s, "create", cid);
    stream_unlock(s);
    *out = s;
    return JS_OK;
}

/* Whether there may be a stream like that, new or changed. *limits: those of the account. */
static enum js_error
check(struct js_account *a, struct stream_config *cfg, bool pedantic, struct js_limits *limits,
      struct js_fail *f)
{
    struct js_caps caps;
    js_account_limits(a, limits);
    js_caps(a->js, &caps);
    enum js_error e = stream_config_check(cfg, &caps, limits, pedantic, f);
    return e == JS_OK ? stream_check_others(a, cfg, pedantic, f) : e;
}

static enum js_error
create_locked(struct js_account *a, struct stream_config *cfg, const struct stream_request *rq,
              struct stream **out, bool *created, struct js_fail *f)
{
    struct js_limits limits;
    enum js_error e = check(a, cfg, rq->pedantic, &limits, f);
    if (e == JS_OK && stream_config_stamp(cfg) != ST_OK) {
        e = js_fail_status(f, ST_NOMEM);
    }
    if (e == JS_OK && cfg->replicas > 1) {
        e = js_fail_plain(f, JS_ERR_STREAM_REPLICAS_NOT_SUPPORTED);
    }
    if (e != JS_OK) {
        stream_config_free(cfg);
        return e;
    }
    struct stream *old = stream_find(a, cfg->name);
    if (old != NULL) {
        e = same_or_not(old, cfg, f);
        stream_config_free(cfg);
        if (e != JS_OK) {
            stream_unref(old);
            return e;
        }
        *out = old;
        *created = false;
        return JS_OK;
    }
    e = stream_check_new(a, cfg, &limits, f);
    if (e != JS_OK) {
        stream_config_free(cfg);
        return e;
    }
    if (js_check_writes(a->js, stream_config_is_memory(cfg), f) != JS_OK) {
        stream_config_free(cfg);
        return f->e;
    }
    *created = true;
    return make(a, cfg, rq->cid, out, f);
}

/* What only a request to create may not say. */
static enum js_error
check_create_request(const struct stream_config *c, struct js_fail *f)
{
    if (c->sealed) {
        return js_fail_text(f, JS_ERR_STREAM_INVALID_CONFIG,
                            "stream configuration for create can not be sealed");
    }
    if (c->mirror_direct && c->mirror == NULL) {
        return js_fail_text(f, JS_ERR_STREAM_INVALID_CONFIG,
                            "stream has no mirror but does have mirror direct");
    }
    return JS_OK;
}

enum js_error
stream_create(struct js_account *a, struct stream_config *cfg, const struct stream_request *rq,
              struct stream **out, bool *created, struct js_fail *f)
{
    enum js_error e = check_create_request(cfg, f);
    if (e != JS_OK) {
        stream_config_free(cfg);
        return e;
    }
    stream_admin_lock();
    e = create_locked(a, cfg, rq, out, created, f);
    stream_admin_unlock();
    return e;
}

/* ---- update ---- */

/* The stream has the new configuration; the rest follows it. Takes cfg. */
static enum js_error
apply(struct stream *s, struct stream_config *cfg, uint64_t cid, struct js_fail *f)
{
    struct stream_config *old = s->cfg;
    if (js_account_add_subjects(s->acc, s, cfg) != ST_OK) {
        stream_config_free(cfg);
        return js_fail_status(f, ST_NOMEM);
    }
    stream_lock(s);
    s->cfg = cfg;
    json_decref(s->cfg_answer);
    s->cfg_answer = NULL;
    enum status st = stream_features_update(s);
    if (st == ST_OK) {
        st = stream_save(s);
    }
    if (st != ST_OK) {
        s->cfg = old;
        json_decref(s->cfg_answer);
        s->cfg_answer = NULL;
        if (stream_features_update(s) != ST_OK) {
            /* What is made already stays: nothing depends on its going. */
            st = ST_NOMEM;
        }
        stream_unlock(s);
        js_account_remove_subjects(s->acc, s, cfg);
        stream_config_free(cfg);
        return js_fail_status(f, st);
    }
    if (old->retention != cfg->retention && cfg->retention == RETENTION_INTEREST &&
        consumers_count(s) == 0) {
        uint64_t n;
        st = stream_drop_before(s, mlog_last_seq(s->log) + 1, &n);
    }
    if (!cfg->allow_atomic || !cfg->allow_batched) {
        ingest_batches_end(s, !cfg->allow_atomic, !cfg->allow_batched);
    }
    stream_trim(s);
    ingest_enforce_limits(s);
    consumers_on_update(s);
    stream_tick_at(s, js_now(s->js));
    advise_stream_action(s, "modify", cid);
    stream_unlock(s);
    stream_reserve(s, old->max_bytes, -1);
    stream_reserve(s, cfg->max_bytes, 1);
    js_account_remove_subjects(s->acc, s, old);
    stream_config_free(old);
    if (st == ST_OK) {
        st = stream_serve(s);
    }
    if (st == ST_OK) {
        st = stream_sources_update(s);
    }
    return st == ST_OK ? JS_OK : js_fail_status(f, st);
}

static enum js_error
update_locked(struct stream *s, struct stream_config *cfg, const struct stream_request *rq,
              struct js_fail *f)
{
    struct js_limits limits;
    enum js_error e = check(s->acc, cfg, rq->pedantic, &limits, f);
    if (e == JS_OK && stream_config_stamp(cfg) != ST_OK) {
        e = js_fail_status(f, ST_NOMEM);
    }
    if (e == JS_OK) {
        e = stream_config_check_update(s->cfg, cfg, f);
    }
    if (e == JS_OK) {
        e = stream_check_change(s, cfg, &limits, f);
    }
    if (e == JS_OK) {
        e = js_check_writes(s->js, s->memory, f);
    }
    if (e != JS_OK) {
        stream_config_free(cfg);
        return e;
    }
    return apply(s, cfg, rq->cid, f);
}

enum js_error
stream_check_request(struct js_account *a, struct stream_config *cfg, bool pedantic,
                     struct js_fail *f)
{
    struct js_limits limits;
    stream_admin_lock();
    enum js_error e = check(a, cfg, pedantic, &limits, f);
    stream_admin_unlock();
    return e;
}

enum js_error
stream_update(struct js_account *a, struct stream_config *cfg, const struct stream_request *rq,
              struct stream **out, struct js_fail *f)
{
    stream_admin_lock();
    struct stream *s = cfg->name != NULL ? stream_find(a, cfg->name) : NULL;
    enum js_error e;
    if (s == NULL) {
        stream_config_free(cfg);
        e = js_fail_plain(f, JS_ERR_STREAM_NOT_FOUND);
    } else {
        e = update_locked(s, cfg, rq, f);
    }
    stream_admin_unlock();
    if (e != JS_OK) {
        stream_unref(s);
        return e;
    }
    *out = s;
    return JS_OK;
}

/* ---- deletion ---- */

enum js_error
stream_delete(struct stream *s, uint64_t cid, struct js_fail *f)
{
    stream_admin_lock();
    stream_lock(s);
    if (s->deleted) {
        stream_unlock(s);
        stream_admin_unlock();
        return js_fail_plain(f, JS_ERR_STREAM_NOT_FOUND);
    }
    s->is_active = false;
    consumers_on_delete(s);
    s->deleted = true;
    ingest_batches_end(s, true, true);
    struct mlog_state state;
    mlog_state(s->log, &state);
    js_account_use(s->acc, s->memory, -(int64_t)state.bytes);
    stream_forget_record(s);
    advise_stream_action(s, "delete", cid);
    stream_links_notify(s);
    stream_unlock(s);

    stream_unserve(s);
    stream_sources_stop(s);
    stream_reserve(s, s->cfg->max_bytes, -1);
    if (js_timer_cancel(s->js->timers, &s->tick)) {
        stream_unref(s);
    }
    js_account_remove(s->acc, s);
    stream_admin_unlock();
    return JS_OK;
}
