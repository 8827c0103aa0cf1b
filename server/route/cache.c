/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route/cache.h"

#include <stdatomic.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/base/hash.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/loop.h"

enum { SLOTS = 8192, MAX_KEY = 255, SWEEP = 8 };

struct slot {
    struct account *account; /* borrowed: accounts outlive loops; NULL: holds no match */
    struct match match;
    struct sublist_watch watch;
    size_t len;
    char *subject; /* owned */
};

struct route_cache {
    struct slot *slots[SLOTS]; /* owned, or NULL */
    struct slot *last;         /* borrowed: the slot of the last hit, or NULL */
    uint32_t seen[SLOTS];      /* fingerprint of the last subject that missed in the slot */
    size_t swept;              /* where the next sweep goes on */
};

enum status
route_cache_new(struct route_cache **out)
{
    *out = mem_alloc(sizeof **out);
    return *out != NULL ? ST_OK : ST_NOMEM;
}

static void
free_slot(struct slot *s)
{
    if (s != NULL) {
        match_fini(&s->match);
        mem_free(s->subject);
        mem_free(s);
    }
}

void
route_cache_free(struct route_cache *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        free_slot(c->slots[i]);
    }
    mem_free(c);
}

static bool
is_for(const struct slot *s, const struct account *a, const char *subject, size_t n)
{
    return s != NULL && s->account == a && s->len == n && memcmp(s->subject, subject, n) == 0;
}

static struct slot *
new_slot(struct loop *l, struct account *a, const char *subject, size_t n)
{
    struct slot *s = mem_alloc(sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->subject = mem_strndup(subject, n);
    if (s->subject == NULL) {
        mem_free(s);
        return NULL;
    }
    s->account = a;
    s->len = n;
    s->watch = sublist_watch(a->subs, subject, n);
    LOOP_COUNT(l->stats.cached, 1);
    return s;
}

static void
count_match(struct loop *l, const struct match *m)
{
    int64_t fanout = m->n_plain + m->n_groups;
    LOOP_COUNT(l->stats.fanout_sum, fanout);
    LOOP_COUNT(l->stats.fanout_count, 1);
    if (fanout > atomic_load_explicit(&l->stats.fanout_max, memory_order_relaxed)) {
        atomic_store_explicit(&l->stats.fanout_max, fanout, memory_order_relaxed);
    }
}

/* The slot to fill for a subject that missed, or NULL: it is not kept. */
static struct slot *
slot_to_fill(struct loop *l, uint64_t hash, struct account *a, const char *subject, size_t n)
{
    struct route_cache *c = l->cache;
    size_t i = hash % SLOTS;
    if (is_for(c->slots[i], a, subject, n)) {
        return c->slots[i];
    }
    uint32_t print = (uint32_t)(hash >> 32);
    if (c->seen[i] != print || n > MAX_KEY) {
        c->seen[i] = print;
        return NULL;
    }
    struct slot *s = new_slot(l, a, subject, n);
    if (s != NULL) {
        if (c->slots[i] != NULL) {
            LOOP_COUNT(l->stats.cached, -1);
        }
        c->last = NULL;
        free_slot(c->slots[i]);
        c->slots[i] = s;
    }
    return s;
}

static bool
is_hit(const struct slot *s, const struct account *a, const char *subject, size_t n)
{
    return is_for(s, a, subject, n) && sublist_is_current(&s->watch, &s->match.stamp);
}

const struct match *
route_cache_match(struct loop *l, struct account *a, const char *subject, size_t n)
{
    struct route_cache *c = l->cache;
    LOOP_COUNT(l->stats.matches, 1);
    if (is_hit(c->last, a, subject, n)) { /* as a busy publisher goes on */
        LOOP_COUNT(l->stats.cache_hits, 1);
        return &c->last->match;
    }
    uint64_t hash = hash_bytes(subject, n) ^ (a->key * UINT64_C(0x9e3779b97f4a7c15));
    struct slot *s = c->slots[hash % SLOTS];
    if (is_hit(s, a, subject, n)) {
        LOOP_COUNT(l->stats.cache_hits, 1);
        c->last = s;
        return &s->match;
    }
    s = l->cfg->disable_sublist_cache ? NULL : slot_to_fill(l, hash, a, subject, n);
    struct match *m = s != NULL ? &s->match : &l->match;
    if (sublist_match(a->subs, subject, n, m) != ST_OK) {
        if (s != NULL) {
            s->account = NULL; /* its stamp is current, but the match is not whole */
        }
        return NULL;
    }
    count_match(l, m);
    return m;
}

void
route_cache_sweep(struct loop *l)
{
    struct route_cache *c = l->cache;
    for (int i = 0; i < SWEEP; i++) {
        struct slot **at = &c->slots[c->swept++ % SLOTS];
        struct slot *s = *at;
        if (s == NULL || (s->account != NULL && sublist_is_current(&s->watch, &s->match.stamp))) {
            continue;
        }
        if (s == c->last) {
            c->last = NULL;
        }
        free_slot(s);
        *at = NULL;
        LOOP_COUNT(l->stats.cached, -1);
    }
}
