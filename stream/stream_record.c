/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a stream in the store: {"config": …, "created": …}. The log and the consumers keep
 * their own. */
#include <string.h>

#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/consumer.h"
#include "stream/ingest.h"
#include "stream/js_advisory.h"
#include "stream/rfc3339.h"
#include "stream/store_read.h"
#include "stream/stream_admin.h"
#include "stream/stream_inner.h"
#include "stream/stream_links.h"
#include "stream/stream_priv.h"

/* An operation with its name and data behind it. */
static struct store_op *
op_new(enum store_kind kind, const struct stream *s, const char *data, size_t len)
{
    size_t an = strlen(s->acc->name), sn = strlen(s->name);
    struct store_op *op = mem_alloc(sizeof *op + an + sn + 1 + len);
    if (op == NULL) {
        return NULL;
    }
    char *name = (char *)(op + 1);
    memcpy(name, s->acc->name, an);
    memcpy(name + an + 1, s->name, sn);
    memcpy(name + an + 1 + sn, data, len);
    op->kind = kind;
    op->stream = s->id;
    op->name = name;
    op->name_len = an + 1 + sn;
    op->data = name + op->name_len;
    op->data_len = len;
    return op;
}

static char *
record_text(const struct stream *s, size_t *len)
{
    char ts[40];
    json_t *config = stream_config_to_json(s->cfg);
    json_t *o = config != NULL ? json_pack("{s:o,s:s}", "config", config, "created",
                                           rfc3339_format(s->created, ts))
                               : NULL;
    if (o != NULL && s->restoring && json_object_set_new(o, "restoring", json_true()) != 0) {
        json_decref(o);
        return NULL;
    }
    size_t n = o != NULL ? json_dumpb(o, NULL, 0, JSON_COMPACT) : 0;
    char *text = n > 0 ? mem_alloc_raw(n) : NULL;
    if (text != NULL) {
        *len = json_dumpb(o, text, n, JSON_COMPACT);
    }
    json_decref(o);
    return text;
}

enum status
stream_save(struct stream *s)
{
    size_t len = 0;
    char *text = record_text(s, &len);
    struct store_op *op = text != NULL ? op_new(STORE_PUT_STREAM, s, text, len) : NULL;
    mem_free(text);
    if (op == NULL) {
        return ST_NOMEM;
    }
    store_push(js_store(s->js, s->memory), op);
    return ST_OK;
}

void
stream_forget_record(struct stream *s)
{
    struct store_op *op = op_new(STORE_DEL_STREAM, s, "", 0);
    if (op == NULL) {
        log_error("JetStream: no memory to delete stream '%s > %s' from the store", s->acc->name,
                  s->name);
        return;
    }
    store_push(js_store(s->js, s->memory), op);
}

static enum status
read_record(struct stream_make *m, const char *record, size_t len, bool *restoring)
{
    json_t *o = json_loadb(record, len, 0, NULL);
    const char *created = json_string_value(json_object_get(o, "created"));
    enum status st = ST_INVAL;
    struct js_fail f = {0};
    if (created != NULL && rfc3339_parse(created, strlen(created), &m->created) == ST_OK &&
        stream_config_from_json(json_object_get(o, "config"), false, &m->cfg, &f) == JS_OK) {
        st = ST_OK;
    }
    *restoring = json_is_true(json_object_get(o, "restoring"));
    json_decref(o);
    return st;
}

struct recovery {
    struct stream *s; /* borrowed for the walk */
    enum status st;
};

static bool
recover_consumer(void *arg, const struct store_record *r)
{
    struct recovery *v = arg;
    char name[512];
    if (r->name_len >= sizeof name) {
        return true;
    }
    memcpy(name, r->name, r->name_len);
    name[r->name_len] = '\0';
    v->st = consumer_recover(v->s, name, r->data, r->data_len);
    if (v->st == ST_INVAL) {
        log_warn("JetStream: consumer '%s > %s > %s' has a record that cannot be read",
                 v->s->acc->name, v->s->name, name);
        v->st = ST_OK;
    }
    return v->st == ST_OK;
}

static void
account_for(struct stream *s)
{
    struct mlog_state state;
    mlog_state(s->log, &state);
    js_account_use(s->acc, s->memory, (int64_t)state.bytes);
    stream_reserve(s, s->cfg->max_bytes, 1);
}

enum status
stream_recover(struct js_account *a, uint64_t id, const char *record, size_t len)
{
    struct stream_make m = {.acc = a, .id = id, .load = true};
    struct stream *s;
    bool restoring;
    enum status st = read_record(&m, record, len, &restoring);
    if (st == ST_OK) {
        st = stream_new(&s, &m);
    }
    if (st != ST_OK) {
        return st;
    }
    if (restoring) {
        log_warn("JetStream: the restore of stream '%s > %s' was not finished: it is dropped",
                 a->name, s->name);
        stream_lock(s);
        stream_forget_record(s);
        stream_unlock(s);
        stream_unref(s);
        return ST_OK;
    }
    account_for(s);
    /* Removals are written a little later than what made them due: a killed server may owe some. */
    stream_lock(s);
    stream_trim(s);
    ingest_enforce_limits(s);
    stream_unlock(s);
    struct recovery r = {.s = s, .st = ST_OK};
    st = store_consumers(js_store(a->js, s->memory), id, recover_consumer, &r);
    if (st == ST_OK) {
        st = r.st;
    }
    if (st == ST_OK) {
        stream_admin_lock();
        st = js_account_add(a, s);
        if (st == ST_OK) {
            st = stream_serve(s);
        }
        if (st == ST_OK) {
            st = stream_sources_update(s);
        }
        stream_lock(s);
        s->is_active = st == ST_OK;
        stream_unlock(s);
        stream_admin_unlock();
    }
    if (st == ST_OK) {
        stream_sources_appeared(a, s->name);
    }
    stream_unref(s);
    return st;
}

void
stream_stop(struct stream *s)
{
    stream_sources_stop(s);
    stream_lock(s);
    s->is_active = false;
    consumers_stop(s);
    stream_unlock(s);
    stream_admin_lock();
    stream_unserve(s);
    stream_admin_unlock();
}

struct trim {
    struct stream *s; /* borrowed for the walk */
    uint64_t most;
    size_t n, cap;
    char **subjects; /* owned: those that have more */
};

static bool
over(void *arg, const struct mlog_subject *ms)
{
    struct trim *t = arg;
    if (ms->msgs <= t->most) {
        return true;
    }
    if (t->n == t->cap) {
        size_t cap = t->cap > 0 ? t->cap * 2 : 64;
        char **v = mem_realloc(t->subjects, cap * sizeof *v);
        if (v == NULL) {
            return false;
        }
        t->subjects = v;
        t->cap = cap;
    }
    t->subjects[t->n] = mem_strndup(ms->subject, ms->len);
    return t->subjects[t->n++] != NULL;
}

void
stream_trim(struct stream *s)
{
    if (s->cfg->max_msgs_per <= 0) {
        return;
    }
    struct trim t = {.s = s, .most = (uint64_t)s->cfg->max_msgs_per};
    mlog_each_subject(s->log, NULL, over, &t);
    for (size_t i = 0; i < t.n; i++) {
        struct mlog_subject ms;
        while (t.subjects[i] != NULL &&
               mlog_subject(s->log, t.subjects[i], strlen(t.subjects[i]), &ms) &&
               ms.msgs > t.most && stream_remove(s, ms.first) == ST_OK) {
        }
        mem_free(t.subjects[i]);
    }
    mem_free(t.subjects);
}
