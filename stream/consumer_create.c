/* SPDX-License-Identifier: Apache-2.0 */
/* Making a consumer, and changing one that is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/hash.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "server/base/version.h"
#include "stream/consumer_priv.h"
#include "stream/consumer_text.h"
#include "stream/js_advisory.h"
#include "stream/rfc3339.h"

enum { NAME_MAX_LEN = 255, MADE_UP_NAME = 8 };

#define LEVEL_KEY "_nats.req.level"

/* The level that a consumer of that configuration asks of a server goes into its metadata. */
static enum status
set_level(struct consumer_config *cfg)
{
    if (cfg->metadata == NULL && (cfg->metadata = json_object()) == NULL) {
        return ST_NOMEM;
    }
    (void)json_object_del(cfg->metadata, "_nats.ver");
    (void)json_object_del(cfg->metadata, "_nats.level");
    bool pauses = cfg->has_pause_until && cfg->pause_until != RFC3339_ZERO;
    bool newer = pauses || cfg->priority != PRIORITY_NONE || cfg->pinned_ttl != 0 ||
                 cfg->n_priority_groups > 0;
    const char *level = cfg->ack == ACK_FLOW_CONTROL ? "4" : newer ? "1" : "0";
    return json_object_set_new(cfg->metadata, LEVEL_KEY, json_string(level)) == 0 ? ST_OK
                                                                                  : ST_NOMEM;
}

size_t
consumer_filters(const struct consumer_config *cfg, const char *const **out)
{
    if (cfg->filter_subject != NULL) {
        *out = (const char *const *)&cfg->filter_subject;
        return 1;
    }
    *out = (const char *const *)cfg->filter_subjects;
    return cfg->n_filter_subjects;
}

enum status
consumer_make_filter(const struct consumer_config *cfg, struct mfilter **out)
{
    const char *const *v;
    size_t n = consumer_filters(cfg, &v);
    *out = NULL;
    return n > 0 ? mfilter_new(out, v, n) : ST_OK;
}

static bool
same_filters(const struct consumer_config *a, const struct consumer_config *b)
{
    const char *const *va, *const *vb;
    size_t na = consumer_filters(a, &va);
    size_t nb = consumer_filters(b, &vb);
    bool same = na == nb;
    for (size_t i = 0; same && i < na; i++) {
        same = strcmp(va[i], vb[i]) == 0;
    }
    return same;
}

static bool
overlaps_filters(const struct consumer *c, const char *const *v, size_t n)
{
    const char *const *own;
    size_t n_own = consumer_filters(c->cfg, &own);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n_own; j++) {
            if (subject_overlaps(v[i], strlen(v[i]), own[j], strlen(own[j]))) {
                return true;
            }
        }
    }
    return n_own == 0 && n > 0;
}

/* Work-queue retention: no message may have two consumers. */
static bool
is_apart(struct stream *s, const char *name, const struct consumer_config *cfg)
{
    const char *const *v;
    size_t n = consumer_filters(cfg, &v);
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
    {
        const struct consumer *c = LIST_ENTRY(it, struct consumer, node);
        if (!c->cfg->direct && !c->cfg->sourcing && (name == NULL || strcmp(c->name, name) != 0) &&
            overlaps_filters(c, v, n)) {
            return false;
        }
    }
    return true;
}

static enum js_error
check_place(struct stream *s, const struct consumer_config *cfg, const struct js_limits *limits,
            struct js_fail *f)
{
    if (cfg->direct || cfg->sourcing) {
        return JS_OK;
    }
    size_t n = s->n_limited;
    int64_t max = s->cfg->max_consumers;
    if (max <= 0 || (limits->max_consumers > 0 && limits->max_consumers < max)) {
        max = limits->max_consumers;
    }
    if (max <= 0) {
        struct js_caps caps;
        js_caps(s->js, &caps);
        max = caps.default_max_consumers;
    }
    if (max > 0 && (int64_t)n >= max) {
        return js_fail_plain(f, JS_ERR_MAXIMUM_CONSUMERS_LIMIT);
    }
    if (s->cfg->retention != RETENTION_WORKQUEUE) {
        return JS_OK;
    }
    if (cfg->ack != ACK_EXPLICIT && cfg->ack != ACK_FLOW_CONTROL) {
        return js_fail_plain(f, JS_ERR_CONSUMER_WQ_REQUIRES_EXPLICIT_ACK);
    }
    if (cfg->deliver != DELIVER_ALL) {
        return js_fail_plain(f, JS_ERR_CONSUMER_WQ_CONSUMER_NOT_DELIVER_ALL);
    }
    if (n > 0 && cfg->filter_subject == NULL && cfg->n_filter_subjects == 0) {
        return js_fail_plain(f, JS_ERR_CONSUMER_WQ_MULTIPLE_UNFILTERED);
    }
    return n > 0 && !is_apart(s, cfg->durable != NULL ? cfg->durable : cfg->name, cfg)
               ? js_fail_plain(f, JS_ERR_CONSUMER_WQ_CONSUMER_NOT_UNIQUE)
               : JS_OK;
}

static char *
record_text(const struct consumer_config *cfg)
{
    json_t *o = consumer_config_to_json(cfg);
    size_t n = o != NULL ? json_dumpb(o, NULL, 0, JSON_COMPACT) : 0;
    char *text = n > 0 ? mem_alloc(n + 1) : NULL;
    if (text != NULL) {
        (void)json_dumpb(o, text, n, JSON_COMPACT);
    }
    json_decref(o);
    return text;
}

static void
set_sample(struct consumer *c)
{
    c->sample = c->cfg->sample_freq != NULL ? strtol(c->cfg->sample_freq, NULL, 10) : 0;
}

/* Takes cfg. On failure nothing is left. */
static enum status
consumer_new(struct stream *s, struct consumer_config *cfg, const char *name, struct consumer **out)
{
    struct consumer *c = mem_alloc(sizeof *c);
    if (c == NULL || js_timers_reserve(s->js->timers, 1) != ST_OK) {
        mem_free(c);
        consumer_config_free(cfg);
        return ST_NOMEM;
    }
    atomic_init(&c->refs, 1);
    c->stream = stream_ref(s);
    c->cfg = cfg;
    c->created = js_wall(s->js);
    c->is_push = cfg->deliver_subject != NULL;
    c->timer.fn = consumer_timer;
    c->armed = c->idle_at = c->pause_at = INT64_MAX;
    unacked_init(&c->unacked);
    pull_init(c);
    char made_up[MADE_UP_NAME + 1];
    while (name == NULL || (name == made_up && consumer_lookup(s, name, MADE_UP_NAME) != NULL)) {
        name = random_name(made_up, MADE_UP_NAME);
    }
    c->name = mem_strdup(name);
    c->record_config = record_text(cfg);
    if (c->name == NULL || c->record_config == NULL || mcursor_new(&c->cursor) != ST_OK ||
        consumer_make_filter(cfg, &c->filter) != ST_OK) {
        consumer_free(c);
        return ST_NOMEM;
    }
    c->loop = (uint32_t)hash_bytes(c->name, strlen(c->name));
    c->stored = !s->memory && !cfg->mem_storage && !cfg->direct;
    set_sample(c);
    push_init(c);
    *out = c;
    return ST_OK;
}

/* One of the stream's from now on; the table has the first reference. */
static enum status
consumer_enter(struct consumer *c)
{
    struct stream *s = c->stream;
    enum status st = ntab_put(&s->consumers, c->name, strlen(c->name), c);
    if (st != ST_OK) {
        return st;
    }
    st = c->is_push ? interest_watch(c) : ST_OK;
    if (st != ST_OK) {
        (void)ntab_remove(&s->consumers, c->name, strlen(c->name));
        return st;
    }
    list_push_back(&s->consumer_order, &c->node);
    c->limited = !c->cfg->direct && !c->cfg->sourcing;
    s->n_limited += c->limited;
    atomic_fetch_add_explicit(&s->acc->n_consumers, 1, memory_order_relaxed);
    return ST_OK;
}

/* It begins to work. */
static void
consumer_begin(struct consumer *c)
{
    c->pull.last = consumer_now(c);
    c->replaying = c->cfg->replay != REPLAY_INSTANT;
    c->replay_to = mlog_last_seq(c->stream->log);
    consumer_recount(c);
    consumer_set_idle_limit(c);
    consumer_set_pause(c);
    consumer_arm(c, unacked_first_due(&c->unacked));
    if (c->is_push) {
        interest_check(c);
        consumer_arm(c, consumer_now(c));
    }
}

static enum js_error
create(struct stream *s, struct consumer_config *cfg, const struct consumer_request *rq,
       struct consumer **out, struct js_fail *f)
{
    const char *name = cfg->durable != NULL ? cfg->durable : cfg->name;
    if (name != NULL && strlen(name) > NAME_MAX_LEN) {
        consumer_config_free(cfg);
        return js_fail_num(f, JS_ERR_CONSUMER_NAME_TOO_LONG, NAME_MAX_LEN);
    }
    struct consumer *c;
    enum status st = consumer_new(s, cfg, name, &c);
    if (st != ST_OK) {
        return js_fail_status(f, st);
    }
    if (c->stored && js_check_writes(s->js, false, f) != JS_OK) {
        consumer_free(c);
        return f->e;
    }
    st = consumer_select_start(c);
    if (st == ST_OK) {
        st = consumer_enter(c);
    }
    if (st != ST_OK) {
        consumer_free(c);
        return js_fail_status(f, st);
    }
    consumer_set_idle_limit(c);
    c->open = !c->stored;
    st = consumer_save_new(c);
    if (st != ST_OK) {
        consumer_forget(c);
        return js_fail_status(f, st);
    }
    consumer_begin(c);
    advise_consumer_action(s, c->name, "create", rq->cid);
    if (consumer_is_paused(c)) {
        advise_consumer_pause(s, c->name, c->cfg->pause_until);
    }
    *out = consumer_ref(c);
    return JS_OK;
}

/* ---- changes ---- */

static void
wait_anew(struct consumer *c)
{
    int64_t ahead = consumer_now(c) - js_wall(consumer_js(c));
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &c->unacked.pending)
    {
        struct unacked *u = LIST_ENTRY(it, struct unacked, node);
        if (u->at != 0) {
            unacked_wait(&c->unacked, u, clock_after(u->ts + ahead, consumer_ack_wait(c, u)));
        }
    }
    consumer_arm(c, unacked_first_due(&c->unacked));
}

static bool
same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void
apply_filter(struct consumer *c, struct mfilter *filter)
{
    mfilter_free(c->filter);
    c->filter = filter;
    consumer_recount(c);
    if (c->stream->cfg->retention == RETENTION_INTEREST) {
        retention_sweep(c->stream, c->floor);
    }
}

/* Takes cfg, text and filter (used where filters differ). */
static void
apply(struct consumer *c, struct consumer_config *cfg, char *text, struct mfilter *filter)
{
    struct consumer_config *old = c->cfg;
    bool moved = !same_text(old->deliver_subject, cfg->deliver_subject) ||
                 !same_text(old->deliver_group, cfg->deliver_group);
    if (moved && c->is_push) {
        (void)consumer_redeliver_all(c);
        interest_unwatch(c);
    }
    c->cfg = cfg;
    mem_free(c->record_config);
    c->record_config = text;
    if (moved && c->is_push) {
        if (interest_watch(c) != ST_OK) {
            c->push.active = false;
        }
        interest_check(c);
    }
    if (old->ack_wait != cfg->ack_wait || old->n_backoff != cfg->n_backoff) {
        wait_anew(c);
    }
    if (old->rate_limit != cfg->rate_limit) {
        push_set_rate(c);
    }
    if (old->inactive_threshold != cfg->inactive_threshold) {
        consumer_set_idle_limit(c);
    }
    if (old->has_pause_until != cfg->has_pause_until || old->pause_until != cfg->pause_until) {
        consumer_set_pause(c);
        advise_consumer_pause(c->stream, c->name, cfg->has_pause_until ? cfg->pause_until : 0);
    }
    set_sample(c);
    if (!same_filters(old, cfg)) {
        apply_filter(c, filter);
    } else {
        mfilter_free(filter);
    }
    consumer_config_free(old);
    c->dirty = true;
    consumer_save(c);
    consumer_pump(c);
}

/* Takes cfg. */
static enum js_error
update(struct consumer *c, struct consumer_config *cfg, struct js_fail *f)
{
    enum js_error e = consumer_config_check_update(c->cfg, cfg, f);
    if (e == JS_OK && c->stored) {
        e = js_check_writes(consumer_js(c), false, f);
    }
    if (e == JS_OK && c->is_push && c->push.active &&
        strcmp(c->cfg->deliver_subject, cfg->deliver_subject) != 0) {
        e = js_fail_plain(f, JS_ERR_CONSUMER_NAME_EXIST);
    }
    struct mfilter *filter = NULL;
    char *text = e == JS_OK ? record_text(cfg) : NULL;
    if (e == JS_OK && (text == NULL || consumer_make_filter(cfg, &filter) != ST_OK)) {
        e = js_fail_status(f, ST_NOMEM);
    }
    if (e != JS_OK) {
        mem_free(text);
        consumer_config_free(cfg);
        return e;
    }
    apply(c, cfg, text, filter);
    return JS_OK;
}

/* As the old but for what a request may leave out. */
static bool
is_same(const struct consumer *c, struct consumer_config *cfg)
{
    json_t *level = c->cfg->metadata != NULL ? json_object_get(c->cfg->metadata, LEVEL_KEY) : NULL;
    (void)json_object_set(cfg->metadata, LEVEL_KEY, level);
    return consumer_config_equal(c->cfg, cfg);
}

static enum js_error
change(struct consumer *c, struct consumer_config *cfg, const struct consumer_request *rq,
       struct js_fail *f)
{
    enum js_error e = JS_OK;
    if (rq->action == CONSUMER_CREATE_ONLY && !is_same(c, cfg)) {
        e = js_fail_plain(f, JS_ERR_CONSUMER_ALREADY_EXISTS);
    } else if (c->stream->cfg->retention == RETENTION_WORKQUEUE &&
               !is_apart(c->stream, c->name, cfg)) {
        e = js_fail_plain(f, JS_ERR_CONSUMER_WQ_CONSUMER_NOT_UNIQUE);
    }
    if (e != JS_OK) {
        consumer_config_free(cfg);
        return e;
    }
    return update(c, cfg, f);
}

static enum js_error
create_or_change(struct stream *s, struct consumer_config *cfg, const struct consumer_request *rq,
                 struct consumer **out, struct js_fail *f)
{
    struct js_limits limits;
    js_account_limits(s->acc, &limits);
    struct js_caps caps;
    js_caps(s->js, &caps);
    const char *name = cfg->durable != NULL ? cfg->durable : cfg->name;
    struct consumer *c = name != NULL ? consumer_lookup(s, name, strlen(name)) : NULL;
    if (c != NULL) {
        cfg->has_pause_until = c->cfg->has_pause_until;
        cfg->pause_until = c->cfg->pause_until;
    }
    enum js_error e = s->deleted ? js_fail_plain(f, JS_ERR_STREAM_INVALID) : JS_OK;
    if (e == JS_OK && set_level(cfg) != ST_OK) {
        e = js_fail_status(f, ST_NOMEM);
    }
    if (e == JS_OK) {
        e = consumer_config_check(cfg, s->cfg, &caps, &limits, rq->pedantic, f);
    }
    if (e == JS_OK && c == NULL && rq->action == CONSUMER_UPDATE_ONLY) {
        e = js_fail_plain(f, JS_ERR_CONSUMER_DOES_NOT_EXIST);
    }
    if (e == JS_OK && c == NULL) {
        e = check_place(s, cfg, &limits, f);
    }
    if (e != JS_OK) {
        consumer_config_free(cfg);
        return e;
    }
    if (c == NULL) {
        return create(s, cfg, rq, out, f);
    }
    e = change(c, cfg, rq, f);
    if (e == JS_OK) {
        *out = consumer_ref(c);
    }
    return e;
}

enum js_error
consumer_create(struct stream *s, struct consumer_config *cfg, const struct consumer_request *rq,
                struct consumer **out, struct js_fail *f)
{
    stream_lock(s);
    enum js_error e = create_or_change(s, cfg, rq, out, f);
    stream_unlock(s);
    return e;
}

enum js_error
consumer_pause(struct consumer *c, int64_t until, bool *paused, int64_t *remaining,
               struct js_fail *f)
{
    struct stream *s = c->stream;
    struct consumer_config *cfg = NULL;
    enum js_error e = JS_OK;
    stream_lock(s);
    if (c->deleted) {
        e = js_fail_plain(f, JS_ERR_CONSUMER_NOT_FOUND);
    } else if (consumer_config_copy(c->cfg, &cfg) != ST_OK) {
        e = js_fail_status(f, ST_NOMEM);
    } else {
        cfg->has_pause_until = until > 0;
        cfg->pause_until = until > 0 ? until : 0;
        if (set_level(cfg) != ST_OK) {
            consumer_config_free(cfg);
            e = js_fail_status(f, ST_NOMEM);
        } else {
            e = update(c, cfg, f);
        }
    }
    int64_t left = until - js_wall(s->js);
    *paused = e == JS_OK && left > 0;
    *remaining = *paused ? left : 0;
    stream_unlock(s);
    return e;
}

/* ---- a start: consumer_state.c reads the record ---- */

enum status
consumer_revive(struct stream *s, struct consumer_config *cfg, const char *name, int64_t created,
                struct consumer **out)
{
    struct consumer *c;
    enum status st = consumer_new(s, cfg, name, &c);
    if (st != ST_OK) {
        return st;
    }
    c->created = created;
    c->open = true;
    *out = c;
    return ST_OK;
}

enum status
consumer_resume(struct consumer *c)
{
    enum status st = consumer_enter(c);
    if (st != ST_OK) {
        consumer_free(c);
        return st;
    }
    consumer_begin(c);
    return ST_OK;
}
