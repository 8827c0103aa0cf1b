/* SPDX-License-Identifier: Apache-2.0 */
/* A stream is made of a copy that a client sends in chunks. Each chunk is answered when what it
 * brought is committed, so the client goes as fast as the disk. The stream is in the store from the
 * beginning, marked as not whole (a start drops such a one), and in no table until the end. */
#include <stdio.h>
#include <string.h>

#include "server/base/assert.h"
#include "server/base/mem.h"
#include "stream/consumer.h"
#include "stream/consumer_copy.h"
#include "stream/consumer_text.h"
#include "stream/js_advisory.h"
#include "stream/stream_admin.h"
#include "stream/stream_inner.h"
#include "stream/stream_priv.h"
#include "stream/stream_restore_priv.h"

#define IDLE_TIMEOUT (30 * CLOCK_S)

void
restore_unref(struct restore *v)
{
    struct list_node *it;
    if (atomic_fetch_sub(&v->refs, 1) != 1) {
        return;
    }
    if (js_timers_reserve(v->a->js->timers, -1) != ST_OK) {
        ASSERT(false);
    }
    while ((it = list_pop_front(&v->kept)) != NULL) {
        mem_free(LIST_ENTRY(it, struct kept, node));
    }
    stream_config_free(v->cfg);
    stream_unref(v->s);
    snapshot_in_fini(&v->in);
    json_decref(v->client);
    pthread_mutex_destroy(&v->lock);
    mem_free(v);
}

struct restore *
restore_ref(struct restore *v)
{
    atomic_fetch_add(&v->refs, 1);
    return v;
}

static void
release(void *arg)
{
    restore_unref(arg);
}

static void
wake(struct restore *v, int64_t in)
{
    struct js *js = v->a->js;
    restore_ref(v);
    if (!js_timer_set_earlier(js->timers, &v->timer, js_now(js) + in)) {
        restore_unref(v);
    }
}

void
restore_fail(struct restore *v, const char *why)
{
    if (v->why[0] == '\0') {
        snprintf(v->why, sizeof v->why, "%s", why);
    }
}

void
restore_answer(struct js_account *a, const char *reply, const char *text, size_t len)
{
    struct js_out *o;
    struct js_out_spec spec = {.account = a->acc, .to = reply, .data = text, .data_len = len};
    if (reply != NULL && *reply != '\0' && js_out_new(&o, &spec) == ST_OK) {
        js_send(a->js, o);
    }
}

static void
answer_json(struct js_account *a, const char *reply, json_t *o)
{
    size_t n = o != NULL ? json_dumpb(o, NULL, 0, JSON_COMPACT) : 0;
    char *text = n > 0 ? mem_alloc_raw(n) : NULL;
    if (text != NULL) {
        json_dumpb(o, text, n, JSON_COMPACT);
        restore_answer(a, reply, text, n);
    }
    mem_free(text);
    json_decref(o);
}

void
restore_answer_error(struct js_account *a, const char *reply, const char *why)
{
    struct js_fail f = {0};
    js_fail_text(&f, JS_ERR_STREAM_RESTORE, why);
    answer_json(a, reply,
                json_pack("{s:s,s:{s:i,s:i,s:s}}", "type",
                          "io.nats.jetstream.api.v1.stream_create_response", "error", "code",
                          f.code, "err_code", f.err_code, "description", f.text));
}

/* ---- the end ---- */

struct last_word {
    struct js_account *a; /* borrowed */
    struct stream *s;     /* ref */
    char *reply;          /* owned */
};

static void
on_committed(void *arg, enum status st)
{
    struct last_word *w = arg;
    struct js_fail f = {0};
    json_t *info = st == ST_OK ? stream_info_json(w->s, NULL, NULL, &f) : NULL;
    if (info != NULL) {
        json_object_set_new(info, "type",
                            json_string("io.nats.jetstream.api.v1.stream_create_response"));
        answer_json(w->a, w->reply, info);
    } else {
        restore_answer_error(w->a, w->reply, status_text(st));
    }
    stream_unref(w->s);
    mem_free(w->reply);
    mem_free(w);
}

/* The stream takes its place. stream_admin_lock is held. */
static enum status
take_place(struct restore *v)
{
    struct stream *s = v->s;
    struct list_node *it;
    enum status st = ST_OK;
    stream_lock(s);
    s->restoring = false;
    if (v->last_seq > mlog_last_seq(s->log)) {
        st = mlog_skip_to(s->log, v->last_seq + 1);
    }
    if (st == ST_OK) {
        stream_features_fini(s);
        st = stream_features_reset(s);
    }
    if (st == ST_OK) {
        st = stream_save(s);
    }
    stream_unlock(s);
    while (st == ST_OK && (it = list_pop_front(&v->kept)) != NULL) {
        struct kept *k = LIST_ENTRY(it, struct kept, node);
        st = consumer_copy_in(s, k->bytes, k->bytes + k->name_len + 1, k->len);
        mem_free(k);
    }
    if (st == ST_OK) {
        st = stream_begin(v->a, s);
    }
    if (st == ST_OK) {
        stream_lock(s);
        advise_snapshot(s, "restore_complete", v->client, v->wall, v->bytes);
        stream_unlock(s);
    }
    return st;
}

static void
finish(struct restore *v, const char *reply)
{
    struct js *js = v->a->js;
    if (v->why[0] == '\0' && !v->whole) {
        restore_fail(v, "the copy is not whole");
    }
    struct last_word *w = mem_alloc(sizeof *w);
    if (v->why[0] == '\0' && w != NULL && (w->reply = mem_strdup(reply)) != NULL) {
        uint64_t ticket = js_ticket(js);
        stream_admin_lock();
        struct stream *other = stream_find(v->a, v->s->name);
        enum status st = other == NULL ? take_place(v) : ST_EXISTS;
        stream_admin_unlock();
        stream_unref(other);
        if (st == ST_OK) {
            w->a = v->a;
            w->s = v->s;
            v->s = NULL;
            st = js_when_committed(js, ticket, w->s->memory, on_committed, w);
            if (st != ST_OK) {
                on_committed(w, st);
            }
            return;
        }
        restore_fail(v, status_text(st));
    }
    if (w != NULL) {
        mem_free(w->reply);
        mem_free(w);
    }
    restore_answer_error(v->a, reply, v->why[0] != '\0' ? v->why : "out of memory");
}

static void
drop(struct restore *v)
{
    struct mlog_state st;
    struct stream *s = v->s;
    if (s == NULL) {
        return;
    }
    stream_lock(s);
    mlog_state(s->log, &st);
    s->deleted = true;
    js_account_use(s->acc, s->memory, -(int64_t)st.bytes);
    stream_forget_record(s);
    stream_unlock(s);
    stream_unref(s);
    v->s = NULL;
}

/* ---- the service ---- */

static void
on_chunk(void *arg, const struct js_in *in)
{
    struct restore *v = arg;
    const char *reply = in->reply != NULL ? in->reply : "";
    bool took = false, failed;
    char why[sizeof v->why];
    pthread_mutex_lock(&v->lock);
    v->heard = js_now(v->a->js);
    if (v->over) {
        pthread_mutex_unlock(&v->lock);
        return;
    }
    if (*reply == '\0') {
        restore_fail(v, "each chunk needs a reply subject");
    } else if (in->data_len == 0) {
        v->over = true;
        finish(v, reply);
        took = true;
    } else {
        v->bytes += in->data_len;
        took = restore_digest(v, in->data, in->data_len, reply);
    }
    failed = v->why[0] != '\0' && !took;
    memcpy(why, v->why, sizeof why);
    if (failed) {
        v->over = true;
    }
    if (v->over) {
        drop(v);
        wake(v, 0);
    }
    pthread_mutex_unlock(&v->lock);
    if (failed) {
        restore_answer_error(v->a, reply, why);
    } else if (!took) {
        restore_answer(v->a, reply, "", 0);
    }
}

static void
on_timer(struct js_timer *t)
{
    struct restore *v = LIST_ENTRY(t, struct restore, timer);
    struct js *js = v->a->js;
    struct js_service *service = NULL;
    pthread_mutex_lock(&v->lock);
    int64_t left = v->heard + IDLE_TIMEOUT - js_now(js);
    if (v->over || left <= 0 || js_is_stopping(js)) {
        v->over = true;
        drop(v);
        service = v->service;
        v->service = NULL;
    } else {
        wake(v, left);
    }
    pthread_mutex_unlock(&v->lock);
    if (service != NULL) {
        js->host->unsubscribe(js->host->ctx, v->a->acc, service);
    }
    restore_unref(v);
}

/* ---- the beginning ---- */

static enum js_error
check(struct js_account *a, struct stream_config *cfg, struct js_fail *f)
{
    struct js_limits limits;
    js_account_limits(a, &limits);
    stream_admin_lock();
    struct js_caps caps;
    js_caps(a->js, &caps);
    enum js_error e = stream_config_check(cfg, &caps, &limits, false, f);
    if (e == JS_OK && stream_config_stamp(cfg) != ST_OK) {
        e = js_fail_status(f, ST_NOMEM);
    }
    if (e == JS_OK) {
        struct stream *s = stream_find(a, cfg->name);
        if (s != NULL) {
            e = js_fail_plain(f, JS_ERR_STREAM_NAME_EXIST_RESTORE_FAILED);
            stream_unref(s);
        }
    }
    if (e == JS_OK) {
        e = stream_check_new(a, cfg, &limits, f);
    }
    stream_admin_unlock();
    return e;
}

static struct restore *
restore_new(struct js_account *a, struct stream_config *cfg)
{
    struct restore *v = mem_alloc(sizeof *v);
    if (v == NULL || js_timers_reserve(a->js->timers, 1) != ST_OK) {
        mem_free(v);
        stream_config_free(cfg);
        return NULL;
    }
    v->refs = 1;
    v->timer.fn = on_timer;
    v->a = a;
    v->cfg = cfg;
    v->heard = js_now(a->js);
    v->wall = js_wall(a->js);
    list_init(&v->kept);
    pthread_mutex_init(&v->lock, NULL);
    return v;
}

enum js_error
stream_restore(struct js_account *a, struct stream_config *cfg, uint64_t cid, json_t **answer_out,
               struct js_fail *f)
{
    char id[23], subject[400];
    enum js_error e = check(a, cfg, f);
    if (e != JS_OK) {
        stream_config_free(cfg);
        return e;
    }
    snprintf(subject, sizeof subject, "$JS.SNAPSHOT.RESTORE.%s.%s", cfg->name,
             random_name(id, sizeof id - 1));
    struct restore *v = restore_new(a, cfg);
    if (v == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    const struct js_host *h = a->js->host;
    v->client = h->client_info(h->ctx, cid);
    *answer_out = json_pack("{s:s}", "deliver_subject", subject);
    struct js_service *service = NULL;
    enum status st = *answer_out != NULL ? ST_OK : ST_NOMEM;
    if (st == ST_OK) {
        st = h->subscribe(h->ctx, a->acc, subject, on_chunk, release, restore_ref(v), &service);
        if (st != ST_OK) {
            restore_unref(v);
        }
    }
    if (st != ST_OK) {
        json_decref(*answer_out);
        *answer_out = NULL;
        e = js_fail_status(f, st);
    } else {
        pthread_mutex_lock(&v->lock);
        v->service = service;
        pthread_mutex_unlock(&v->lock);
        wake(v, IDLE_TIMEOUT);
    }
    restore_unref(v);
    return e;
}
