/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves of sorted pointers, in one sorted array. To walk is to go on to the next subject, or,
 * where one shows that those after it cannot match either, to leap to the first that may. */
#include "stream/mlog_order.h"

#include <string.h>

#include "server/base/assert.h"
#include "server/base/mem.h"
#include "stream/mlog_priv.h"

enum { LEAF = 128, STEP = 2048, AHEAD = 16, TEXT = 16 };

struct morder_leaf {
    uint32_t n;
    struct msubject *v[LEAF];
};

/* A place to seek: the bytes of a and of b, one after the other. */
struct key {
    const char *a, *b;
    size_t an, bn;
};

/* Before v[i] of that leaf. */
struct place {
    size_t leaf;
    uint32_t i;
};

/* ---- places ---- */

/* Compares what is left of s from *at with n bytes of p; equal: *at is behind them. */
static int
part(const struct msubject *s, size_t *at, const char *p, size_t n)
{
    size_t left = s->len - *at;
    int c = n > 0 ? memcmp(s->text + *at, p, left < n ? left : n) : 0;
    if (c != 0 || left < n) {
        return c != 0 ? c : -1;
    }
    *at += n;
    return 0;
}

static int
compare(const struct msubject *s, const struct key *k)
{
    size_t at = 0;
    int c = part(s, &at, k->a, k->an);
    if (c == 0) {
        c = part(s, &at, k->b, k->bn);
    }
    return c == 0 && at < s->len ? 1 : c;
}

/* The first of v[lo, hi) that is not below the key; hi: none. */
static uint32_t
lower(const struct morder_leaf *leaf, uint32_t lo, uint32_t hi, const struct key *k)
{
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (compare(leaf->v[mid], k) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* In the leaf where it belongs; possibly behind the last one there. */
static struct place
find(const struct morder *o, const struct key *k)
{
    size_t lo = 0;
    size_t hi = o->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare(o->leaves[mid]->v[0], k) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        return (struct place){0, 0};
    }
    const struct morder_leaf *leaf = o->leaves[lo - 1];
    return (struct place){lo - 1, lower(leaf, 0, leaf->n, k)};
}

/* On from a place whose subject is below the key: mostly not far. */
static struct place
leap(const struct morder *o, struct place at, const struct key *k)
{
    const struct morder_leaf *leaf = o->leaves[at.leaf];
    uint32_t lo = at.i + 1;
    uint32_t far = 1;
    if (lo < leaf->n && compare(leaf->v[lo], k) >= 0) {
        return (struct place){at.leaf, lo};
    }
    if (compare(leaf->v[leaf->n - 1], k) < 0) {
        return find(o, k);
    }
    while (lo + far < leaf->n && compare(leaf->v[lo + far - 1], k) < 0) {
        lo += far;
        far *= 2;
    }
    at.i = lower(leaf, lo, lo + far < leaf->n ? lo + far : leaf->n, k);
    return at;
}

/* ---- changes ---- */

static struct key
key_of(const struct msubject *s)
{
    return (struct key){.a = s->text, .an = s->len, .b = ""};
}

static struct morder_leaf *
new_leaf(struct morder *o, size_t at)
{
    if (o->n == o->cap) {
        size_t cap = o->cap == 0 ? 8 : o->cap * 2;
        struct morder_leaf **v = mem_realloc(o->leaves, cap * sizeof(*v));
        if (v == NULL) {
            return NULL;
        }
        o->leaves = v;
        o->cap = cap;
    }
    struct morder_leaf *leaf = mem_alloc_raw(sizeof(*leaf));
    if (leaf != NULL) {
        leaf->n = 0;
        memmove(o->leaves + at + 1, o->leaves + at, (o->n - at) * sizeof(*o->leaves));
        o->leaves[at] = leaf;
        o->n++;
    }
    return leaf;
}

/* Makes room in a full leaf. Where the new one is the last of all, it begins a leaf: subjects often
 * come in their order. */
static bool
split(struct morder *o, struct place *at)
{
    struct morder_leaf *leaf = o->leaves[at->leaf];
    uint32_t keep = at->leaf + 1 == o->n && at->i == LEAF ? LEAF : LEAF / 2;
    struct morder_leaf *right = new_leaf(o, at->leaf + 1);
    if (right == NULL) {
        return false;
    }
    right->n = LEAF - keep;
    memcpy(right->v, leaf->v + keep, right->n * sizeof(struct msubject *));
    leaf->n = keep;
    if (at->i > keep || keep == LEAF) {
        at->leaf++;
        at->i -= keep;
    }
    return true;
}

static bool
insert(struct morder *o, struct msubject *s)
{
    struct key k = key_of(s);
    if (o->n == 0 && new_leaf(o, 0) == NULL) {
        return false;
    }
    struct place at = o->leaves[0]->n > 0 ? find(o, &k) : (struct place){0, 0};
    if (o->leaves[at.leaf]->n == LEAF && !split(o, &at)) {
        return false;
    }
    struct morder_leaf *leaf = o->leaves[at.leaf];
    memmove(leaf->v + at.i + 1, leaf->v + at.i, (leaf->n - at.i) * sizeof(struct msubject *));
    leaf->v[at.i] = s;
    leaf->n++;
    return true;
}

void
morder_fini(struct morder *o)
{
    for (size_t i = 0; i < o->n; i++) {
        mem_free(o->leaves[i]);
    }
    mem_free(o->leaves);
    *o = (struct morder){0};
}

void
morder_add(struct mlog *l, struct msubject *s)
{
    if (s->id < l->order.below && !insert(&l->order, s)) {
        morder_fini(&l->order);
    }
}

void
morder_remove(struct mlog *l, const struct msubject *s)
{
    struct morder *o = &l->order;
    if (s->id >= o->below) {
        return;
    }
    struct key k = key_of(s);
    struct place at = find(o, &k);
    if (at.i == o->leaves[at.leaf]->n) {
        at = (struct place){at.leaf + 1, 0};
    }
    struct morder_leaf *leaf = o->leaves[at.leaf];
    ASSERT(leaf->v[at.i] == s);
    leaf->n--;
    memmove(leaf->v + at.i, leaf->v + at.i + 1, (leaf->n - at.i) * sizeof(struct msubject *));
    if (leaf->n == 0) {
        mem_free(leaf);
        o->n--;
        memmove(o->leaves + at.leaf, o->leaves + at.leaf + 1,
                (o->n - at.leaf) * sizeof(*o->leaves));
    }
}

static void
make_some(struct mlog *l)
{
    struct morder *o = &l->order;
    uint32_t end = l->n_ids - o->below > STEP ? o->below + STEP : l->n_ids;
    while (o->below < end) {
        struct msubject *s = l->subjects[o->below];
        if (s != NULL && !insert(o, s)) {
            morder_fini(o);
            return;
        }
        o->below++;
    }
}

/* ---- walking ---- */

enum verdict { TAKES, NOT_THIS, LEAP, ENDS };

/* want: a token of the pattern that differs from that of s at base, first where p and t are. */
static enum verdict
differs(const struct msubject *s, const char *want, size_t base, const char *p, const char *t,
        struct key *k)
{
    if (t == s->text + s->len || (*p != '\0' && (unsigned char)*t < (unsigned char)*p)) {
        const char *dot = strchr(want, '.');
        *k = (struct key){.a = s->text, .an = base, .b = want};
        k->bn = dot != NULL ? (size_t)(dot - want) + 1 : strlen(want);
        return LEAP;
    }
    /* Behind all that begin with the same tokens: '/' is what comes after '.'. */
    *k = (struct key){.a = s->text, .an = base > 0 ? base - 1 : 0, .b = "/", .bn = 1};
    return base > 0 ? LEAP : ENDS;
}

/* LEAP: no subject from s to the key is taken. */
static enum verdict
judge(const char *p, const struct msubject *s, struct key *k)
{
    const char *const text = s->text;
    const char *const end = text + s->len;
    for (const char *t = text;; p++, t++) {
        const char *const token = t;
        const char *const want = p;
        if (p[0] == '>' && p[1] == '\0') {
            return TAKES;
        }
        if (p[0] == '*' && (p[1] == '.' || p[1] == '\0')) {
            const char *dot = memchr(t, '.', (size_t)(end - t));
            t = dot != NULL ? dot : end;
            p++;
        } else {
            while (t < end && *p != '\0' && *p == *t && *t != '.') {
                p++;
                t++;
            }
        }
        if ((*p != '.' && *p != '\0') || (t < end && *t != '.')) {
            return differs(s, want, (size_t)(token - text), p, t, k);
        }
        if (*p == '\0' && t < end) {
            *k = (struct key){.a = text, .an = (size_t)(t - text), .b = "/", .bn = 1};
            return LEAP;
        }
        if (*p == '\0' || t == end) {
            return *p == '\0' ? TAKES : NOT_THIS;
        }
    }
}

bool
morder_takes(const char *pattern, const struct msubject *s)
{
    struct key k;
    return judge(pattern, s, &k) == TAKES;
}

/* The bytes of a pattern that all it takes begin with. */
static size_t
fixed(const char *p)
{
    size_t token = 0;
    for (size_t i = 0;; i++) {
        bool last = p[i] == '\0';
        if ((p[i] == '*' && i == token && (p[i + 1] == '.' || p[i + 1] == '\0')) ||
            (p[i] == '>' && i == token && p[i + 1] == '\0')) {
            return token;
        }
        if (last) {
            return i;
        }
        if (p[i] == '.') {
            token = i + 1;
        }
    }
}

/* Each lies somewhere else in memory, and to wait for that would be most of the work. */
static void
fetch(const struct msubject *s)
{
    if (s != NULL) {
        __builtin_prefetch(s);
        __builtin_prefetch(s->text + TEXT);
    }
}

static void
fetch_ahead(const struct morder *o, struct place at)
{
    const struct morder_leaf *leaf = o->leaves[at.leaf];
    if (at.i + AHEAD < leaf->n) {
        fetch(leaf->v[at.i + AHEAD]);
    } else if (at.leaf + 1 < o->n) {
        const struct morder_leaf *next = o->leaves[at.leaf + 1];
        uint32_t i = at.i + AHEAD - leaf->n;
        fetch(i < next->n ? next->v[i] : NULL);
    }
}

struct walk {
    const char *pattern;
    size_t most;
    bool (*fn)(void *arg, struct msubject *s);
    void *arg;
};

/* False: the walk is over before its end. */
static bool
look(struct walk *w, struct msubject *s, enum verdict *v, struct key *k)
{
    if (w->most-- == 0) {
        return false;
    }
    *v = judge(w->pattern, s, k);
    return *v != TAKES || s->msgs == 0 || w->fn(w->arg, s);
}

static bool
walk_ordered(const struct morder *o, struct walk *w)
{
    struct key k = {.a = w->pattern, .an = fixed(w->pattern), .b = ""};
    enum verdict v;
    for (struct place at = find(o, &k); at.leaf < o->n;) {
        const struct morder_leaf *leaf = o->leaves[at.leaf];
        if (at.i == leaf->n) {
            at = (struct place){at.leaf + 1, 0};
            continue;
        }
        fetch_ahead(o, at);
        if (!look(w, leaf->v[at.i], &v, &k)) {
            return false;
        }
        if (v == ENDS) {
            return true;
        }
        if (v == LEAP) {
            at = leap(o, at, &k);
        } else {
            at.i++;
        }
    }
    return true;
}

bool
morder_each(struct mlog *l, const char *pattern, size_t most,
            bool (*fn)(void *arg, struct msubject *s), void *arg)
{
    struct walk w = {pattern, most, fn, arg};
    enum verdict v;
    struct key k;
    make_some(l);
    if (!walk_ordered(&l->order, &w)) {
        return false;
    }
    for (uint32_t i = l->order.below; i < l->n_ids; i++) {
        fetch(i + AHEAD < l->n_ids ? l->subjects[i + AHEAD] : NULL);
        if (l->subjects[i] != NULL && !look(&w, l->subjects[i], &v, &k)) {
            return false;
        }
    }
    return true;
}
