/* SPDX-License-Identifier: Apache-2.0 */
/* Interned subjects with what is known of each, and filters that remember their verdicts. */
#include "stream/mlog_subject.h"

#include <string.h>

#include "server/base/assert.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/mlog_priv.h"

/* gen 0: not asked yet. */
struct verdict {
    uint32_t gen;
    bool takes;
};

struct mfilter {
    char **subjects; /* owned, each owned */
    size_t n;
    bool literal;          /* one subject without wildcards */
    bool all;              /* it takes each subject */
    struct verdict *by_id; /* owned */
    uint32_t cap;
};

static enum status
reserve_ids(struct mlog *l, uint32_t id)
{
    if (id < l->cap_ids) {
        return ST_OK;
    }
    uint32_t cap = l->cap_ids == 0 ? 16 : l->cap_ids;
    while (cap <= id) {
        cap *= 2;
    }
    struct msubject **v = mem_realloc(l->subjects, cap * sizeof(struct msubject *));
    if (v == NULL) {
        return ST_NOMEM;
    }
    memset(v + l->cap_ids, 0, (cap - l->cap_ids) * sizeof(struct msubject *));
    l->subjects = v;
    l->cap_ids = cap;
    return ST_OK;
}

static enum status
make(struct mlog *l, uint32_t id, const char *text, size_t len, bool named, struct msubject **out)
{
    struct msubject *s = mem_alloc_raw(sizeof(*s) + len + 1);
    if (s == NULL) {
        return ST_NOMEM;
    }
    if (++l->last_gen == 0) {
        l->last_gen = 1;
    }
    *s = (struct msubject){.id = id, .gen = l->last_gen, .len = (uint32_t)len};
    memcpy(s->text, text, len);
    s->text[len] = '\0';
    enum status st = named ? ntab_put(&l->by_name, s->text, len, s) : ST_OK;
    if (st != ST_OK) {
        mem_free(s);
        return st;
    }
    l->subjects[id] = s;
    morder_add(l, s);
    *out = s;
    return ST_OK;
}

enum status
msubject_intern(struct mlog *l, const char *text, size_t len, struct msubject **out, bool *is_new)
{
    *out = ntab_get(&l->by_name, text, len);
    *is_new = *out == NULL;
    if (*out != NULL) {
        return ST_OK;
    }
    if (l->n_ids == 0) {
        l->n_ids = 1;
    }
    bool reuse = l->n_free > 0;
    uint32_t id = reuse ? l->free_ids[l->n_free - 1] : l->n_ids;
    enum status st = reserve_ids(l, id);
    if (st == ST_OK) {
        st = make(l, id, text, len, true, out);
    }
    if (st == ST_OK && reuse) {
        l->n_free--;
    } else if (st == ST_OK) {
        l->n_ids++;
    }
    return st;
}

enum status
msubject_load(struct mlog *l, uint32_t id, const char *text, size_t len)
{
    struct msubject *s;
    enum status st = reserve_ids(l, id);
    if (st != ST_OK || id == 0 || l->subjects[id] != NULL) {
        return st != ST_OK ? st : ST_INVAL;
    }
    st = make(l, id, text, len, false, &s);
    if (st == ST_OK && id >= l->n_ids) {
        l->n_ids = id + 1;
    }
    return st;
}

static void
free_id(struct mlog *l, struct msubject *s)
{
    morder_remove(l, s);
    l->subjects[s->id] = NULL;
    if (l->n_free == l->cap_free) {
        uint32_t cap = l->cap_free == 0 ? 16 : l->cap_free * 2;
        uint32_t *v = mem_realloc(l->free_ids, cap * sizeof(*v));
        if (v != NULL) {
            l->free_ids = v;
            l->cap_free = cap;
        }
    }
    /* NB: without memory the number is lost until the next start. */
    if (l->n_free < l->cap_free) {
        l->free_ids[l->n_free++] = s->id;
    }
    mem_free(s);
}

void
msubject_release(struct mlog *l, struct msubject *s)
{
    (void)ntab_remove(&l->by_name, s->text, s->len);
    free_id(l, s);
}

enum status
msubjects_loaded(struct mlog *l)
{
    enum status st = ST_OK;
    for (uint32_t id = 1; id < l->n_ids && st == ST_OK; id++) {
        struct msubject *s = l->subjects[id];
        if (s != NULL && s->msgs == 0) {
            free_id(l, s);
        } else if (s != NULL) {
            st = ntab_put(&l->by_name, s->text, s->len, s);
        }
    }
    return st;
}

void
msubject_add(struct mlog *l, struct msubject *s, uint64_t off)
{
    if (s->msgs++ == 0) {
        s->first = off;
        s->first_stale = false;
        l->n_subjects++;
    }
    s->last = off;
    s->last_stale = false;
}

void
msubject_remove(struct mlog *l, struct msubject *s, uint64_t off)
{
    if (--s->msgs == 0) {
        l->n_subjects--;
        msubject_release(l, s);
        return;
    }
    if (off == s->first) {
        s->first_stale = true;
    }
    if (off == s->last) {
        s->last_stale = true;
    }
    if (s->msgs == 1 && s->first_stale && !s->last_stale) {
        s->first = s->last;
        s->first_stale = false;
    } else if (s->msgs == 1 && s->last_stale && !s->first_stale) {
        s->last = s->first;
        s->last_stale = false;
    }
}

static bool
is_of(const struct mlog *l, uint64_t off, uint32_t id)
{
    const struct mentry *e = mindex_at(l, off);
    return e != NULL && e->subject == id;
}

void
msubject_settle(struct mlog *l, struct msubject *s)
{
    if (s->first_stale) {
        while (!is_of(l, s->first, s->id)) {
            s->first = mindex_next(l, s->first + 1, l->next);
        }
        s->first_stale = false;
    }
    if (s->last_stale) {
        while (!is_of(l, s->last, s->id)) {
            s->last = mindex_prev(l, s->last - 1, l->first);
        }
        s->last_stale = false;
    }
}

void
msubjects_fini(struct mlog *l)
{
    morder_fini(&l->order);
    for (uint32_t i = 1; i < l->n_ids; i++) {
        mem_free(l->subjects[i]);
    }
    ntab_fini(&l->by_name);
    mem_free(l->subjects);
    mem_free(l->free_ids);
}

static void
tell(struct mlog *l, struct msubject *s, struct mlog_subject *out)
{
    msubject_settle(l, s);
    *out = (struct mlog_subject){.subject = s->text,
                                 .len = s->len,
                                 .first = s->first + l->base,
                                 .last = s->last + l->base,
                                 .msgs = s->msgs};
}

bool
mlog_subject(struct mlog *l, const char *subject, size_t len, struct mlog_subject *out)
{
    struct msubject *s = ntab_get(&l->by_name, subject, len);
    if (s == NULL || s->msgs == 0) {
        return false;
    }
    tell(l, s, out);
    return true;
}

static bool
each_of_all(struct mlog *l, size_t most, bool (*fn)(void *arg, struct msubject *s), void *arg)
{
    for (uint32_t i = 1; i < l->n_ids; i++) {
        struct msubject *s = l->subjects[i];
        if (s != NULL && s->msgs > 0 && (most-- == 0 || !fn(arg, s))) {
            return false;
        }
    }
    return true;
}

/* A filter of several patterns: those that an earlier pattern takes have been told. */
struct several {
    const struct mfilter *f;
    size_t at;
    bool (*fn)(void *arg, struct msubject *s);
    void *arg;
};

static bool
tell_first(void *arg, struct msubject *s)
{
    const struct several *e = arg;
    for (size_t i = 0; i < e->at; i++) {
        if (morder_takes(e->f->subjects[i], s)) {
            return true;
        }
    }
    return e->fn(e->arg, s);
}

bool
msubject_each(struct mlog *l, const struct mfilter *f, size_t most,
              bool (*fn)(void *arg, struct msubject *s), void *arg)
{
    struct several e = {.f = f, .fn = fn, .arg = arg};
    if (mfilter_is_all(f)) {
        return each_of_all(l, most, fn, arg);
    }
    for (; e.at < f->n; e.at++) {
        const char *p = f->subjects[e.at];
        size_t len = strlen(p);
        bool wild = subject_has_wildcard(p, len);
        struct msubject *s = wild ? NULL : ntab_get(&l->by_name, p, len);
        if ((s != NULL && s->msgs > 0 && !tell_first(&e, s)) ||
            (wild && !morder_each(l, p, most, tell_first, &e))) {
            return false;
        }
    }
    return true;
}

struct telling {
    struct mlog *l;
    bool (*fn)(void *arg, const struct mlog_subject *s);
    void *arg;
};

static bool
tell_one(void *arg, struct msubject *s)
{
    const struct telling *t = arg;
    struct mlog_subject out;
    tell(t->l, s, &out);
    return t->fn(t->arg, &out);
}

void
mlog_each_subject(struct mlog *l, const struct mfilter *f,
                  bool (*fn)(void *arg, const struct mlog_subject *s), void *arg)
{
    struct telling t = {l, fn, arg};
    (void)!msubject_each(l, f, SIZE_MAX, tell_one, &t);
}

enum status
mfilter_new(struct mfilter **out, const char *const *subjects, size_t n)
{
    *out = NULL;
    struct mfilter *f = mem_alloc(sizeof(*f));
    if (f == NULL) {
        return ST_NOMEM;
    }
    f->subjects = mem_alloc_array(n, sizeof(char *));
    if (f->subjects == NULL) {
        mem_free(f);
        return ST_NOMEM;
    }
    for (; f->n < n; f->n++) {
        f->subjects[f->n] = mem_strdup(subjects[f->n]);
        if (f->subjects[f->n] == NULL) {
            mfilter_free(f);
            return ST_NOMEM;
        }
        f->all = f->all || strcmp(subjects[f->n], ">") == 0;
    }
    f->all = f->all || n == 0;
    f->literal = n == 1 && !subject_has_wildcard(subjects[0], strlen(subjects[0]));
    *out = f;
    return ST_OK;
}

void
mfilter_free(struct mfilter *f)
{
    if (f == NULL) {
        return;
    }
    for (size_t i = 0; i < f->n; i++) {
        mem_free(f->subjects[i]);
    }
    mem_free(f->subjects);
    mem_free(f->by_id);
    mem_free(f);
}

bool
mfilter_is_all(const struct mfilter *f)
{
    return f == NULL || f->all;
}

bool
mfilter_takes(const struct mfilter *f, const char *subject, size_t len)
{
    if (mfilter_is_all(f)) {
        return true;
    }
    for (size_t i = 0; i < f->n; i++) {
        if (subject_is_inside(subject, len, f->subjects[i], strlen(f->subjects[i]))) {
            return true;
        }
    }
    return false;
}

static bool
takes(const struct mfilter *f, const struct msubject *s)
{
    for (size_t i = 0; i < f->n; i++) {
        if (morder_takes(f->subjects[i], s)) {
            return true;
        }
    }
    return false;
}

bool
mfilter_takes_id(struct mfilter *f, const struct mlog *l, uint32_t id)
{
    if (mfilter_is_all(f)) {
        return true;
    }
    ASSERT(id < l->n_ids && l->subjects != NULL);
    const struct msubject *s = l->subjects[id];
    if (id >= f->cap) {
        uint32_t cap = l->cap_ids;
        struct verdict *v = mem_realloc(f->by_id, cap * sizeof(*v));
        if (v == NULL) {
            return takes(f, s);
        }
        memset(v + f->cap, 0, (cap - f->cap) * sizeof(*v));
        f->by_id = v;
        f->cap = cap;
    }
    struct verdict *v = &f->by_id[id];
    if (v->gen != s->gen) {
        *v = (struct verdict){s->gen, takes(f, s)};
    }
    return v->takes;
}

const char *
mfilter_literal(const struct mfilter *f, size_t *len)
{
    if (f == NULL || !f->literal) {
        return NULL;
    }
    *len = strlen(f->subjects[0]);
    return f->subjects[0];
}
