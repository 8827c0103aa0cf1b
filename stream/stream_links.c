/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_links.h"

#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer_priv.h"
#include "stream/stream_feed.h"
#include "stream/stream_priv.h"

/* Of an origin. */
struct stream_links {
    struct list_node feeds; /* feed.node, a reference each */
};

/* Of a stream that takes. Owner: the stream; changed under stream_admin_lock and its lock. */
struct stream_sources {
    struct feed **v; /* owned array, a reference each */
    size_t n;
};

/* ---- the origin's side ---- */

enum status
stream_links_add(struct stream *origin, struct feed *f)
{
    enum status st = ST_OK;
    stream_lock(origin);
    if (origin->links == NULL) {
        origin->links = mem_alloc(sizeof *origin->links);
        if (origin->links != NULL) {
            list_init(&origin->links->feeds);
        }
    }
    if (origin->deleted) {
        st = ST_CLOSED;
    } else if (origin->links == NULL) {
        st = ST_NOMEM;
    } else {
        list_push_back(&origin->links->feeds, &f->node);
        feed_ref(f);
    }
    stream_unlock(origin);
    return st;
}

void
stream_links_remove(struct stream *origin, struct feed *f)
{
    stream_lock(origin);
    bool linked = list_is_linked(&f->node);
    if (linked) {
        list_remove(&f->node);
    }
    if (linked && !origin->deleted && !js_is_stopping(origin->js) &&
        origin->cfg->retention == RETENTION_INTEREST) {
        retention_sweep(origin, f->freed);
    }
    stream_unlock(origin);
    if (linked) {
        feed_unref(f);
    }
}

void
stream_links_notify(struct stream *s)
{
    if (s->links == NULL) {
        return;
    }
    struct list_node *head = &s->links->feeds;
    for (struct list_node *n = head->next; n != head; n = n->next) {
        feed_wake(LIST_ENTRY(n, struct feed, node), 0);
    }
}

bool
stream_links_need(struct stream *s, uint64_t seq, const char *subject, size_t len)
{
    if (s->links == NULL) {
        return false;
    }
    struct list_node *head = &s->links->feeds;
    for (struct list_node *n = head->next; n != head; n = n->next) {
        const struct feed *f = LIST_ENTRY(n, struct feed, node);
        bool takes =
            f->n_filters == 0 || (f->filter != NULL && mfilter_takes(f->filter, subject, len));
        if (takes && seq >= f->freed) {
            return true;
        }
    }
    return false;
}

bool
stream_links_want(struct stream *s, const char *subject, size_t len)
{
    return stream_links_need(s, UINT64_MAX, subject, len);
}

size_t
stream_links_count(const struct stream *s)
{
    size_t n = 0;
    const struct list_node *head = s->links != NULL ? &s->links->feeds : NULL;
    for (const struct list_node *it = head; it != NULL && it->next != head; it = it->next) {
        n++;
    }
    return n;
}

void
stream_links_free(struct stream_links *l)
{
    mem_free(l);
}

/* ---- the side that takes ---- */

void
stream_sources_rewind(struct stream *s)
{
    for (size_t i = 0; s->sources != NULL && i < s->sources->n; i++) {
        s->sources->v[i]->lost = true;
        feed_wake(s->sources->v[i], CLOCK_S);
    }
}

static struct feed *
find(const struct stream_sources *v, const char *key, bool mirror)
{
    for (size_t i = 0; v != NULL && i < v->n; i++) {
        if (v->v[i] != NULL && v->v[i]->mirror == mirror && strcmp(v->v[i]->key, key) == 0) {
            return v->v[i];
        }
    }
    return NULL;
}

static enum status
want(struct stream *s, struct stream_sources *all, const struct stream_source *src, bool mirror)
{
    char *key = feed_key(src);
    if (key == NULL) {
        return ST_NOMEM;
    }
    struct feed *f = find(s->sources, key, mirror);
    mem_free(key);
    if (f != NULL) {
        all->v[all->n++] = feed_ref(f);
        return ST_OK;
    }
    enum status st = feed_new(&f, s, src, mirror);
    if (st == ST_OK) {
        all->v[all->n++] = f;
    }
    return st;
}

static bool
has(const struct stream_sources *v, const struct feed *f)
{
    for (size_t i = 0; v != NULL && i < v->n; i++) {
        if (v->v[i] == f) {
            return true;
        }
    }
    return false;
}

/* Ends those of `gone` that `stay` does not have, and lets go of the rest. */
static void
let_go(struct stream_sources *gone, const struct stream_sources *stay)
{
    for (size_t i = 0; gone != NULL && i < gone->n; i++) {
        if (has(stay, gone->v[i])) {
            feed_unref(gone->v[i]);
        } else {
            feed_end(gone->v[i]);
        }
    }
    if (gone != NULL) {
        mem_free(gone->v);
        mem_free(gone);
    }
}

static struct stream_sources *
swap(struct stream *s, struct stream_sources *v)
{
    stream_lock(s);
    struct stream_sources *old = s->sources;
    s->sources = v;
    stream_unlock(s);
    atomic_fetch_add(&s->acc->n_sourced, (v != NULL) - (old != NULL));
    return old;
}

enum status
stream_sources_update(struct stream *s)
{
    const struct stream_config *c = s->cfg;
    size_t n = c->n_sources + (c->mirror != NULL ? 1 : 0);
    if (n == 0 && s->sources == NULL) {
        return ST_OK;
    }
    struct stream_sources *all = mem_alloc(sizeof *all);
    enum status st = ST_NOMEM;
    if (all != NULL && (all->v = mem_alloc_array(n, sizeof *all->v)) != NULL) {
        st = c->mirror != NULL ? want(s, all, c->mirror, true) : ST_OK;
        for (size_t i = 0; i < c->n_sources && st == ST_OK; i++) {
            st = want(s, all, &c->sources[i], false);
        }
    }
    if (st != ST_OK) {
        let_go(all, s->sources);
        return st;
    }
    for (size_t i = 0; i < all->n; i++) {
        feed_wake(all->v[i], 0);
    }
    struct stream_sources *old = swap(s, all);
    let_go(old, all);
    return ST_OK;
}

void
stream_sources_stop(struct stream *s)
{
    let_go(swap(s, NULL), NULL);
}

void
stream_sources_appeared(struct js_account *a, const char *name)
{
    struct stream **v;
    size_t n;
    if (atomic_load(&a->n_sourced) == 0 || js_account_streams(a, &v, &n) != ST_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        stream_lock(v[i]);
        struct stream_sources *all = v[i]->sources;
        for (size_t k = 0; all != NULL && k < all->n; k++) {
            if (strcmp(all->v[k]->name, name) == 0) {
                feed_wake(all->v[k], 0);
            }
        }
        stream_unlock(v[i]);
    }
    js_streams_free(v, n);
}

/* ---- for StreamInfo ---- */

static json_t *
feed_json(struct stream *s, const struct feed *f)
{
    json_t *o = json_deep_copy(f->info);
    int64_t active = f->heard > 0 ? js_wall(s->js) - f->heard : -1;
    int rc = o == NULL;
    rc |= json_object_set_new(o, "lag", json_integer((json_int_t)f->lag));
    if (!f->mirror && f->seq > 0) {
        rc |= json_object_set_new(o, "seq", json_integer((json_int_t)f->seq));
    }
    rc |= json_object_set_new(o, "active", json_integer((json_int_t)active));
    if (f->missing) {
        struct js_fail why = {0};
        js_fail_plain(&why, JS_ERR_STREAM_NOT_FOUND);
        rc |= json_object_set_new(o, "error",
                                  json_pack("{s:i,s:i,s:s}", "code", why.code, "err_code",
                                            why.err_code, "description", why.text));
    }
    if (rc != 0) {
        json_decref(o);
        return NULL;
    }
    return o;
}

json_t *
stream_mirror_json(struct stream *s, bool *failed)
{
    const struct stream_sources *all = s->sources;
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        if (all->v[i]->mirror) {
            json_t *o = feed_json(s, all->v[i]);
            *failed |= o == NULL;
            return o;
        }
    }
    return NULL;
}

json_t *
stream_sources_json(struct stream *s, bool *failed)
{
    const struct stream_sources *all = s->sources;
    if (s->cfg->n_sources == 0) {
        return NULL;
    }
    json_t *a = json_array();
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        if (!all->v[i]->mirror && json_array_append_new(a, feed_json(s, all->v[i])) != 0) {
            *failed = true;
        }
    }
    *failed |= a == NULL;
    return a;
}
