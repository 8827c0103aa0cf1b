/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a stream and its lock. Streams are made and unmade in stream_admin.c. */
#include "stream/stream.h"

#include <string.h>

#include "server/base/assert.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/consumer.h"
#include "stream/ingest_priv.h"
#include "stream/slab.h"
#include "stream/stream_inner.h"
#include "stream/stream_links.h"
#include "stream/stream_priv.h"

static pthread_mutex_t admin = PTHREAD_MUTEX_INITIALIZER;

void
stream_admin_lock(void)
{
    pthread_mutex_lock(&admin);
}

void
stream_admin_unlock(void)
{
    pthread_mutex_unlock(&admin);
}

static void
stream_free(struct stream *s)
{
    ASSERT(list_is_empty(&s->outq));
    slab_close(&s->out_slab);
    slab_close(&s->put_slab);
    js_timer_cancel(s->js->timers, &s->tick);
    if (js_timers_reserve(s->js->timers, -1) != ST_OK) {
        ASSERT(false);
    }
    stream_links_free(s->links);
    stream_features_fini(s);
    ntab_fini(&s->consumers);
    mlog_free(s->log);
    stream_config_free(s->cfg);
    json_decref(s->cfg_answer);
    mem_free(s->services);
    mem_free(s->ack_head);
    mem_free(s->name);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

struct stream *
stream_ref(struct stream *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void
stream_unref(struct stream *s)
{
    if (s != NULL && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
        stream_free(s);
    }
}

void
stream_lock(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
}

void
stream_unlock(struct stream *s)
{
    struct js *js = s->js;
    slab_close(&s->out_slab);
    if (list_is_empty(&s->outq) || s->flushing) {
        pthread_mutex_unlock(&s->lock);
        return;
    }
    /* Whoever comes meanwhile adds to outq and leaves it to us. */
    s->flushing = true;
    while (!list_is_empty(&s->outq)) {
        struct list_node out;
        list_init(&out);
        list_splice_back(&out, &s->outq);
        pthread_mutex_unlock(&s->lock);
        js->host->send_list(js->host->ctx, &out);
        pthread_mutex_lock(&s->lock);
    }
    s->flushing = false;
    pthread_mutex_unlock(&s->lock);
}

void
stream_emit(struct stream *s, struct js_out *o)
{
    if (o != NULL) {
        list_push_back(&s->outq, &o->node);
    }
}

/* A message went, or was never written. */
static void
on_remove(void *ctx, uint64_t seq, const char *subject, uint32_t size)
{
    struct stream *s = ctx;
    if (!s->deleted) {
        js_account_use(s->acc, s->memory, -(int64_t)size);
        consumers_on_remove(s, seq, subject);
    }
}

static void on_tick(struct js_timer *t);

static enum status
open_log(struct stream *s, const struct stream_make *m)
{
    uint64_t first = m->cfg->first_seq > 0 ? m->cfg->first_seq : 1;
    struct mlog_opts o = {.store = js_store(s->js, s->memory),
                          .stream = s->id,
                          .memory = s->memory,
                          .first_seq = first,
                          .on_remove = on_remove,
                          .ctx = s};
    return m->load ? mlog_load(&s->log, &o) : mlog_new(&s->log, &o);
}

/* {"stream":"X","seq": */
static char *
ack_head(const char *name, const char *domain)
{
    char text[1200];
    json_t *o = json_pack("{s:s}", "stream", name);
    bool ok =
        o != NULL && (domain == NULL || json_object_set_new(o, "domain", json_string(domain)) == 0);
    size_t n = ok ? json_dumpb(o, text, sizeof text - 8, JSON_COMPACT) : 0;
    json_decref(o);
    if (n == 0 || n > sizeof text - 8) {
        return NULL;
    }
    memcpy(text + n - 1, ",\"seq\":", 8);
    return mem_strndup(text, n + 6);
}

enum status
stream_new(struct stream **out, const struct stream_make *m)
{
    enum status st = ST_NOMEM;
    struct stream *s = mem_alloc(sizeof *s);
    if (s == NULL) {
        goto err;
    }
    s->refs = 1;
    s->js = m->acc->js;
    s->acc = m->acc;
    s->id = m->id;
    s->created = m->created;
    s->memory = stream_config_is_memory(m->cfg);
    s->tick.fn = on_tick;
    list_init(&s->outq);
    list_init(&s->consumer_order);
    list_init(&s->late_dups);
    s->name = mem_strdup(m->cfg->name);
    s->ack_head = ack_head(m->cfg->name, s->js->opts.domain);
    if (s->name == NULL || s->ack_head == NULL) {
        goto err_after_alloc;
    }
    st = js_timers_reserve(s->js->timers, 1);
    if (st != ST_OK) {
        goto err_after_alloc;
    }
    st = open_log(s, m);
    if (st != ST_OK) {
        goto err_after_reserve;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->cfg = m->cfg;
    st = stream_features_update(s);
    if (st != ST_OK) {
        stream_unref(s);
        return st;
    }
    *out = s;
    return ST_OK;

err_after_reserve:
    if (js_timers_reserve(s->js->timers, -1) != ST_OK) {
        ASSERT(false);
    }
err_after_alloc:
    mem_free(s->ack_head);
    mem_free(s->name);
    mem_free(s);
err:
    stream_config_free(m->cfg);
    return st;
}

/* ---- the timer ---- */

void
stream_tick_at(struct stream *s, int64_t at)
{
    stream_ref(s);
    if (!js_timer_set_earlier(s->js->timers, &s->tick, at)) {
        stream_unref(s);
    }
}

static void
on_tick(struct js_timer *t)
{
    struct stream *s = LIST_ENTRY(t, struct stream, tick);
    struct js *js = s->js;
    stream_lock(s);
    if (!s->deleted && !js_is_stopping(js)) {
        int64_t wall = js_wall(js);
        int64_t next = stream_expire(s, wall);
        if (next != INT64_MAX) {
            int64_t in = next > wall ? next - wall : 0;
            /* Not so often that it gets in the way of publishers. */
            in = in > 50 * CLOCK_MS ? in : 50 * CLOCK_MS;
            in = in < 3600 * CLOCK_S ? in : 3600 * CLOCK_S;
            stream_tick_at(s, js_now(js) + in);
        }
    }
    stream_unlock(s);
    stream_unref(s);
}

/* ---- finding ---- */

struct stream *
stream_find(struct js_account *a, const char *name)
{
    return js_account_stream(a, name, strlen(name));
}

const char *
stream_name(const struct stream *s)
{
    return s->name;
}

struct search {
    const char *subject;
    size_t len;
    struct stream *found;
};

static bool
on_overlap(void *arg, const char *pattern, void *value)
{
    struct search *v = arg;
    if (subject_is_inside(v->subject, v->len, pattern, strlen(pattern))) {
        v->found = value;
    }
    return v->found == NULL;
}

struct stream *
stream_by_subject(struct js_account *a, const char *subject)
{
    struct search v = {.subject = subject, .len = strlen(subject)};
    pthread_mutex_lock(&a->lock);
    ptrie_overlaps(&a->subjects, subject, v.len, on_overlap, &v);
    if (v.found != NULL) {
        stream_ref(v.found);
    }
    pthread_mutex_unlock(&a->lock);
    return v.found;
}

bool
stream_is_memory(struct stream *s)
{
    return s->memory;
}

enum status
stream_config_of(struct stream *s, struct stream_config **out)
{
    stream_lock(s);
    enum status st = stream_config_copy(s->cfg, out);
    stream_unlock(s);
    return st;
}

enum status
stream_last_of(struct stream *s, const char *subject, size_t len, struct msg **out)
{
    struct mlog_subject ms;
    if (!mlog_subject(s->log, subject, len, &ms) || ms.msgs == 0) {
        return ST_NOTFOUND;
    }
    return mlog_get(s->log, ms.last, NULL, out);
}
