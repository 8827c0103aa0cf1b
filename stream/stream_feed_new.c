/* SPDX-License-Identifier: Apache-2.0 */
/* A feed by its configuration. */
#include <stdio.h>
#include <string.h>

#include "server/base/assert.h"
#include "server/base/buf.h"
#include "server/base/mem.h"
#include "stream/stream_feed.h"
#include "stream/stream_priv.h"
#include "stream/transforms.h"

static const char *
text(const char *s, const char *otherwise)
{
    return s != NULL && *s != '\0' ? s : otherwise;
}

/* "name filter destination", several of them joined by form feeds. */
char *
feed_key(const struct stream_source *src)
{
    struct buf b;
    buf_init(&b);
    buf_puts(&b, text(src->name, ""));
    if (src->external) {
        buf_printf(&b, ":%s", text(src->api_prefix, ""));
    }
    buf_putc(&b, ' ');
    if (src->n_transforms == 0) {
        buf_printf(&b, "%s >", text(src->filter_subject, ">"));
    }
    for (size_t i = 0; i < src->n_transforms; i++) {
        buf_printf(&b, "%s%s", i > 0 ? "\f" : "", text(src->transforms[i].src, ">"));
    }
    for (size_t i = 0; i < src->n_transforms; i++) {
        buf_printf(&b, "%s%s", i > 0 ? "\f" : " ", text(src->transforms[i].dest, ">"));
    }
    size_t n;
    char *key = buf_detach(&b, &n);
    buf_fini(&b);
    return key;
}

static json_t *
transforms_json(const struct stream_source *src)
{
    json_t *a = json_array();
    for (size_t i = 0; a != NULL && i < src->n_transforms; i++) {
        json_array_append_new(a, json_pack("{s:s,s:s}", "src", text(src->transforms[i].src, ""),
                                           "dest", text(src->transforms[i].dest, "")));
    }
    return a;
}

static json_t *
info_json(const struct stream_source *src)
{
    json_t *o = json_pack("{s:s}", "name", text(src->name, ""));
    int rc = o == NULL;
    if (src->external) {
        rc |= json_object_set_new(o, "external",
                                  json_pack("{s:s,s:s}", "api", text(src->api_prefix, ""),
                                            "deliver", text(src->deliver_prefix, "")));
    }
    if (src->filter_subject != NULL) {
        rc |= json_object_set_new(o, "filter_subject", json_string(src->filter_subject));
    }
    if (src->n_transforms > 0) {
        rc |= json_object_set_new(o, "subject_transforms", transforms_json(src));
    }
    if (rc != 0) {
        json_decref(o);
        return NULL;
    }
    return o;
}

/* An external one is here only where its prefix is that of our own domain. */
static bool
is_here(const struct stream *s, const struct stream_source *src)
{
    char own[300];
    if (!src->external || src->api_prefix == NULL) {
        return true;
    }
    if (s->js->opts.domain == NULL) {
        return false;
    }
    snprintf(own, sizeof own, "$JS.%.250s.API", s->js->opts.domain);
    return strcmp(own, src->api_prefix) == 0;
}

static enum status
fill_filters(struct feed *f, const struct stream_source *src)
{
    size_t n = src->n_transforms > 0 ? src->n_transforms : src->filter_subject != NULL ? 1 : 0;
    char err[TRANSFORM_ERR_LEN];
    f->filters = mem_alloc_array(n, sizeof *f->filters);
    f->transforms = mem_alloc_array(n, sizeof *f->transforms);
    if (f->filters == NULL || f->transforms == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        const struct subject_transform *t = src->n_transforms > 0 ? &src->transforms[i] : NULL;
        const char *from = t != NULL ? text(t->src, ">") : src->filter_subject;
        f->filters[f->n_filters] = mem_strdup(from);
        if (f->filters[f->n_filters++] == NULL) {
            return ST_NOMEM;
        }
        enum status st = t != NULL ? transform_new(&f->transforms[i], t->src, t->dest, err) : ST_OK;
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

enum status
feed_new(struct feed **out, struct stream *to, const struct stream_source *src, bool mirror)
{
    if (js_timers_reserve(to->js->timers, 1) != ST_OK) {
        return ST_NOMEM;
    }
    struct feed *f = mem_alloc(sizeof *f);
    if (f == NULL) {
        if (js_timers_reserve(to->js->timers, -1) != ST_OK) {
            ASSERT(false);
        }
        return ST_NOMEM;
    }
    f->refs = 1;
    f->timer.fn = feed_on_timer;
    f->to = stream_ref(to);
    f->mirror = mirror;
    f->is_here = is_here(to, src);
    f->start_seq = src->opt_start_seq;
    f->start_time = src->opt_start_time;
    f->has_start_time = src->has_start_time;
    f->key = feed_key(src);
    f->name = mem_strdup(text(src->name, ""));
    f->info = info_json(src);
    enum status st = f->key != NULL && f->name != NULL && f->info != NULL ? ST_OK : ST_NOMEM;
    if (st == ST_OK) {
        st = fill_filters(f, src);
    }
    if (st != ST_OK) {
        feed_unref(f);
        return st;
    }
    *out = f;
    return ST_OK;
}

void
feed_unref(struct feed *f)
{
    if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (js_timers_reserve(f->to->js->timers, -1) != ST_OK) {
        ASSERT(false);
    }
    for (size_t i = 0; i < f->n_filters; i++) {
        mem_free(f->filters[i]);
        transform_free(f->transforms[i]);
    }
    mem_free(f->filters);
    mem_free(f->transforms);
    mfilter_free(f->filter);
    mcursor_free(f->cursor);
    mem_free(f->key);
    mem_free(f->name);
    json_decref(f->info);
    stream_unref(f->to);
    mem_free(f);
}
