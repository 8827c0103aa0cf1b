/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects that the host serves for a stream: its own, and those of direct gets. */
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/direct_get.h"
#include "stream/ingest.h"
#include "stream/stream_inner.h"
#include "stream/stream_priv.h"

static void
release(void *arg)
{
    stream_unref(arg);
}

/* The subjects that there are to be. */
struct wanted {
    struct stream_service v[16]; /* direct gets; subject owned */
    size_t n;
};

static enum status
want(struct wanted *w, const char *prefix, const char *name, const char *rest)
{
    char text[600];
    snprintf(text, sizeof text, "%s.API.DIRECT.GET.%s%s", prefix, name, rest);
    w->v[w->n].subject = mem_strdup(text);
    w->v[w->n].direct = true;
    return w->v[w->n++].subject != NULL ? ST_OK : ST_NOMEM;
}

static enum status
want_direct(struct stream *s, struct wanted *w)
{
    const char *names[2];
    size_t n = 0;
    char domain[300];
    if (s->cfg->allow_direct) {
        names[n++] = s->name;
    }
    if (s->cfg->mirror != NULL && s->cfg->mirror_direct && !s->cfg->mirror->external) {
        names[n++] = s->cfg->mirror->name;
    }
    snprintf(domain, sizeof domain, "$JS.%.250s",
             s->js->opts.domain != NULL ? s->js->opts.domain : "");
    enum status st = ST_OK;
    for (size_t i = 0; i < n && st == ST_OK; i++) {
        const char *prefixes[] = {"$JS", s->js->opts.domain != NULL ? domain : NULL};
        for (size_t k = 0; k < 2 && prefixes[k] != NULL && st == ST_OK; k++) {
            st = want(w, prefixes[k], names[i], "");
            if (st == ST_OK) {
                st = want(w, prefixes[k], names[i], ".>");
            }
        }
    }
    return st;
}

static struct stream_service *
find(struct stream *s, const char *subject, bool direct)
{
    for (size_t i = 0; i < s->n_services; i++) {
        if (s->services[i].direct == direct && strcmp(s->services[i].subject, subject) == 0) {
            return &s->services[i];
        }
    }
    return NULL;
}

static enum status
serve_one(struct stream *s, const char *subject, bool direct)
{
    if (find(s, subject, direct) != NULL) {
        return ST_OK;
    }
    struct stream_service *v = mem_realloc(s->services, (s->n_services + 1) * sizeof *s->services);
    if (v == NULL) {
        return ST_NOMEM;
    }
    s->services = v;
    struct stream_service one = {.subject = mem_strdup(subject), .direct = direct};
    if (one.subject == NULL) {
        return ST_NOMEM;
    }
    const struct js_host *h = s->js->host;
    enum status st =
        h->subscribe(h->ctx, s->acc->acc, subject, direct ? direct_get_receive : ingest_receive,
                     release, stream_ref(s), &one.svc);
    if (st != ST_OK) {
        stream_unref(s);
        mem_free(one.subject);
        return st;
    }
    s->services[s->n_services++] = one;
    return ST_OK;
}

static void
drop(struct stream *s, size_t i)
{
    struct stream_service one = s->services[i];
    s->services[i] = s->services[--s->n_services];
    mem_free(one.subject);
    s->js->host->unsubscribe(s->js->host->ctx, s->acc->acc, one.svc);
}

static bool
is_wanted(const struct stream *s, const struct wanted *w, const struct stream_service *v)
{
    for (size_t i = 0; v->direct && i < w->n; i++) {
        if (strcmp(w->v[i].subject, v->subject) == 0) {
            return true;
        }
    }
    for (size_t i = 0; !v->direct && i < s->cfg->n_subjects; i++) {
        if (strcmp(s->cfg->subjects[i], v->subject) == 0) {
            return true;
        }
    }
    return false;
}

enum status
stream_serve(struct stream *s)
{
    struct wanted w = {.n = 0};
    enum status st = want_direct(s, &w);
    for (size_t i = s->n_services; i > 0 && st == ST_OK; i--) {
        if (!is_wanted(s, &w, &s->services[i - 1])) {
            drop(s, i - 1);
        }
    }
    for (size_t i = 0; i < s->cfg->n_subjects && st == ST_OK; i++) {
        st = serve_one(s, s->cfg->subjects[i], false);
    }
    for (size_t i = 0; i < w.n && st == ST_OK; i++) {
        st = serve_one(s, w.v[i].subject, true);
    }
    for (size_t i = 0; i < w.n; i++) {
        mem_free(w.v[i].subject);
    }
    return st;
}

void
stream_unserve(struct stream *s)
{
    while (s->n_services > 0) {
        drop(s, s->n_services - 1);
    }
}
