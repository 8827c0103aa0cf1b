/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/consumer_priv.h"
#include "stream/stream_admin.h"
#include "stream/stream_config_priv.h"
#include "stream/stream_priv.h"

static bool
collide(const char *a, const char *b)
{
    return subject_overlaps(a, strlen(a), b, strlen(b));
}

/* ---- origins ---- */

/* stream_admin_lock keeps the configuration as it is; a reference keeps the stream. */
static struct stream *
origin(struct js_account *a, const struct stream_source *src)
{
    return src->external || src->name == NULL ? NULL : stream_find(a, src->name);
}

static enum js_error
check_origin(struct js_account *a, const struct stream_config *c, const struct stream_source *src,
             enum js_error too_big, struct js_fail *f)
{
    enum js_error e = JS_OK;
    struct stream *o = origin(a, src);
    if (o == NULL) {
        return JS_OK;
    }
    if (c->max_msg_size > 0 && o->cfg->max_msg_size > 0 && c->max_msg_size < o->cfg->max_msg_size) {
        e = js_fail_plain(f, too_big);
    }
    stream_unref(o);
    return e;
}

static enum js_error
inherit_direct(struct js_account *a, struct stream_config *c, bool pedantic, struct js_fail *f)
{
    enum js_error e = JS_OK;
    struct stream *o = origin(a, c->mirror);
    if (o == NULL) {
        return JS_OK;
    }
    if (pedantic && c->mirror_direct != o->cfg->allow_direct) {
        e = js_fail_text(f, JS_ERR_PEDANTIC,
                         "origin stream has direct get set, mirror has it disabled");
    } else {
        c->mirror_direct = o->cfg->allow_direct;
    }
    stream_unref(o);
    return e;
}

/* ---- cycles ---- */

/* Breadth first, as nats-server goes: a stream counts as seen when its turn has come, so that an
 * origin that is reached twice at different depths is taken for a cycle too. */
struct walk {
    struct js_account *a; /* borrowed */
    struct stream *v[64]; /* owned: to be visited, a reference each; NULL: the new configuration */
    size_t n;
};

static bool
takes_any(const struct stream_config *c, const char *filter)
{
    if (filter == NULL) {
        return true;
    }
    for (size_t i = 0; i < c->n_subjects; i++) {
        if (collide(c->subjects[i], filter)) {
            return true;
        }
    }
    return false;
}

/* Among the first `done` of the walk, or the new one. */
static bool
has_seen(const struct walk *w, size_t done, const char *self, const char *name)
{
    bool seen = strcmp(self, name) == 0;
    for (size_t i = 1; i < done && !seen; i++) {
        seen = strcmp(stream_name(w->v[i]), name) == 0;
    }
    return seen;
}

static bool
leads_back(struct walk *w, size_t done, const char *self, const struct stream_source *src)
{
    if (src->external || src->name == NULL) {
        return false;
    }
    if (has_seen(w, done, self, src->name)) {
        return true;
    }
    struct stream *o = w->n < sizeof w->v / sizeof *w->v ? stream_find(w->a, src->name) : NULL;
    if (o != NULL) {
        w->v[w->n++] = o;
    }
    return false;
}

static bool
has_cycle(struct js_account *a, const struct stream_config *c)
{
    struct walk w = {.a = a, .n = 1};
    bool cycle = false;
    for (size_t at = 0; at < w.n && !cycle; at++) {
        const struct stream_config *v = at == 0 ? c : w.v[at]->cfg;
        for (size_t i = 0; i < v->n_sources && !cycle; i++) {
            cycle = leads_back(&w, at + 1, c->name, &v->sources[i]) &&
                    takes_any(v, v->sources[i].filter_subject);
        }
        cycle = cycle || (v->mirror != NULL && leads_back(&w, at + 1, c->name, v->mirror));
    }
    for (size_t i = 1; i < w.n; i++) {
        stream_unref(w.v[i]);
    }
    return cycle;
}

enum js_error
stream_check_others(struct js_account *a, struct stream_config *c, bool pedantic, struct js_fail *f)
{
    enum js_error e = JS_OK;
    if (c->mirror != NULL) {
        e = check_origin(a, c, c->mirror, JS_ERR_MIRROR_MAX_MESSAGE_SIZE_TOO_BIG, f);
        if (e == JS_OK) {
            e = inherit_direct(a, c, pedantic, f);
        }
    }
    for (size_t i = 0; i < c->n_sources && e == JS_OK; i++) {
        e = check_origin(a, c, &c->sources[i], JS_ERR_SOURCE_MAX_MESSAGE_SIZE_TOO_BIG, f);
    }
    if (e == JS_OK && has_cycle(a, c)) {
        e = stream_config_invalid(f, "detected cycle");
    }
    return e;
}

/* ---- subjects of others, limits ---- */

struct others {
    const struct stream *self;
    bool found;
};

static bool
on_overlap(void *arg, const char *pattern, void *value)
{
    (void)pattern;
    struct others *o = arg;
    o->found = value != o->self;
    return !o->found;
}

static bool
overlaps_others(struct js_account *a, const struct stream_config *c, const struct stream *self)
{
    struct others o = {.self = self};
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < c->n_subjects && !o.found; i++) {
        ptrie_overlaps(&a->subjects, c->subjects[i], strlen(c->subjects[i]), on_overlap, &o);
    }
    pthread_mutex_unlock(&a->lock);
    return o.found;
}

/* `more` bytes on top of what is reserved. */
static enum js_error
check_bytes(struct js_account *a, bool memory, int64_t more, const struct js_limits *l,
            struct js_fail *f)
{
    int64_t of_account = memory ? l->max_memory : l->max_file;
    int64_t of_server = memory ? a->js->max_memory : a->js->max_file;
    int64_t here = memory ? a->reserved_memory : a->reserved_file;
    int64_t everywhere = 0;
    if (more <= 0) {
        return JS_OK;
    }
    for (struct js_account *o = js_account_next(a->js, NULL); o != NULL;
         o = js_account_next(a->js, o)) {
        everywhere += memory ? o->reserved_memory : o->reserved_file;
    }
    if ((of_account >= 0 && (here > of_account || more > of_account - here)) ||
        (of_server >= 0 && (everywhere > of_server || more > of_server - everywhere))) {
        return js_fail_plain(f, memory ? JS_ERR_MEMORY_RESOURCES_EXCEEDED
                                       : JS_ERR_STORAGE_RESOURCES_EXCEEDED);
    }
    return JS_OK;
}

static enum js_error
check_limits(struct js_account *a, const struct stream_config *c, int64_t more,
             const struct js_limits *l, struct js_fail *f)
{
    if (c->max_consumers > 0 && l->max_consumers > 0 && c->max_consumers > l->max_consumers) {
        return js_fail_plain(f, JS_ERR_MAXIMUM_CONSUMERS_LIMIT);
    }
    return check_bytes(a, stream_config_is_memory(c), more, l, f);
}

enum js_error
stream_check_new(struct js_account *a, const struct stream_config *c,
                 const struct js_limits *limits, struct js_fail *f)
{
    if (limits->max_streams > 0 && a->n_streams >= limits->max_streams) {
        return js_fail_plain(f, JS_ERR_MAXIMUM_STREAMS_LIMIT);
    }
    enum js_error e = check_limits(a, c, c->max_bytes > 0 ? c->max_bytes : 1, limits, f);
    if (e == JS_OK && overlaps_others(a, c, NULL)) {
        e = js_fail_plain(f, JS_ERR_STREAM_SUBJECT_OVERLAP);
    }
    return e;
}

/* New limits for consumers, which those that are there must keep. */
static enum js_error
check_consumers(struct stream *s, const struct stream_config *c, struct js_fail *f)
{
    const struct stream_config *old = s->cfg;
    int64_t idle = c->limit_inactive_threshold, pending = c->limit_max_ack_pending;
    bool new_idle = idle > 0 && idle != old->limit_inactive_threshold;
    bool new_pending = pending > 0 && pending != old->limit_max_ack_pending;
    char names[400] = "";
    size_t n, len = 0;
    struct consumer **v;
    if (!new_idle && !new_pending) {
        return JS_OK;
    }
    enum status st = consumers_of(s, &v, &n);
    if (st != ST_OK) {
        return js_fail_status(f, st);
    }
    stream_lock(s);
    for (size_t i = 0; i < n && len < sizeof names; i++) {
        const struct consumer_config *cc = v[i]->cfg;
        if ((idle > 0 && cc->inactive_threshold > idle) ||
            (pending > 0 && cc->max_ack_pending > pending)) {
            int k = snprintf(names + len, sizeof names - len, "%s%s", len > 0 ? ", " : "",
                             consumer_name(v[i]));
            len += k > 0 ? (size_t)k : 0;
        }
    }
    stream_unlock(s);
    consumers_free(v, n);
    if (len == 0) {
        return JS_OK;
    }
    char text[480];
    snprintf(text, sizeof text, "change to limits violates consumers: %s", names);
    return js_fail_text(f, JS_ERR_STREAM_UPDATE, text);
}

static int64_t
positive(int64_t v)
{
    return v > 0 ? v : 0;
}

enum js_error
stream_check_change(struct stream *s, const struct stream_config *c, const struct js_limits *limits,
                    struct js_fail *f)
{
    int64_t more = positive(c->max_bytes) - positive(s->cfg->max_bytes);
    enum js_error e = check_limits(s->acc, c, more, limits, f);
    if (e == JS_OK) {
        e = check_consumers(s, c, f);
    }
    if (e == JS_OK && overlaps_others(s->acc, c, s)) {
        e = js_fail_plain(f, JS_ERR_STREAM_SUBJECT_OVERLAP);
    }
    return e;
}

void
stream_reserve(struct stream *s, int64_t max_bytes, int sign)
{
    if (max_bytes > 0) {
        atomic_fetch_add(s->memory ? &s->acc->reserved_memory : &s->acc->reserved_file,
                         sign * max_bytes);
    }
}
