/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_admin.h"

#include <string.h>

#include "api/group_priv.h"
#include "api/group_turn.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

static struct group *
group_of(struct list_node *n)
{
    return LIST_ENTRY(n, struct group, node);
}

static struct group *
named(struct list_node *list, const char *name)
{
    for (struct list_node *n = list->next; n != list; n = n->next) {
        if (strcmp(group_of(n)->conf.name, name) == 0) {
            return group_of(n);
        }
    }
    return NULL;
}

struct group *
group_named(struct groups *gs, const char *name)
{
    return named(&gs->rules, name);
}

/* In the order in which they are matched. */
static char *
pack_patterns(const struct group_conf *c)
{
    const char *const texts[] = {c->user, c->client, c->account, c->subject};
    size_t size = 0;
    for (int i = 0; i < 4; i++) {
        size += strlen(texts[i]) + 1;
    }
    char *all = mem_alloc(size);
    char *at = all;
    for (int i = 0; all != NULL && i < 4; i++) {
        size_t n = strlen(texts[i]) + 1;
        memcpy(at, texts[i], n);
        at += n;
    }
    return all;
}

static struct group *
new_group(const struct group_conf *conf)
{
    struct group *g = mem_alloc(sizeof(*g));
    if (g == NULL) {
        return NULL;
    }
    g->patterns = pack_patterns(conf);
    if (g->patterns == NULL) {
        mem_free(g);
        return NULL;
    }
    g->conf = *conf;
    list_init(&g->buckets);
    list_init(&g->idle);
    list_init(&g->ages);
    fullest_init(&g->by_entries);
    fullest_init(&g->by_bytes);
    return g;
}

/* The one in force becomes as `like` is, which gets what is not used any more. */
static void
assume(struct group *g, struct group *like)
{
    char *unused = g->patterns;
    g->conf = like->conf;
    g->patterns = like->patterns;
    like->patterns = unused;
}

/* After its settings changed: what may be let in now waits for its turn. */
static void
judge_all(struct groups *gs, struct group *g)
{
    struct list_node *n;
    struct list_node *next;
    LIST_FOREACH_SAFE(n, next, &g->buckets)
    {
        group_judge(gs, LIST_ENTRY(n, struct group_bucket, of_group));
    }
}

/* It matches nothing any more; what it has parked is let in, what it runs ends, then it goes. */
static void
bury(struct groups *gs, struct group *g)
{
    list_remove(&g->node);
    list_push_back(&gs->zombies, &g->node);
    gs->n_rules--;
    g->is_zombie = true;
    while (!list_is_empty(&g->idle)) {
        group_drop_bucket(gs, LIST_ENTRY(g->idle.next, struct group_bucket, turn));
    }
    /* NB: judging its last bucket could free it. */
    g->n_buckets++;
    judge_all(gs, g);
    g->n_buckets--;
    group_reap(gs, g);
}

/* What the lists of both sources come to. Made before the lock is taken, so that it cannot fail
 * under it. */
struct plan {
    struct list_node fresh; /* owned: one new group for each name */
};

static void
plan_fini(struct plan *p)
{
    struct list_node *n;
    while ((n = list_pop_front(&p->fresh)) != NULL) {
        group_destroy(group_of(n));
    }
}

static enum status
plan_init(struct plan *p, enum group_source source, const struct group_conf *conf, size_t n)
{
    list_init(&p->fresh);
    for (size_t i = 0; i < n; i++) {
        struct group *g = new_group(&conf[i]);
        if (g == NULL) {
            plan_fini(p);
            return ST_NOMEM;
        }
        g->source = source;
        list_push_back(&p->fresh, &g->node);
    }
    return ST_OK;
}

/* Takes g: puts it into force before `at`, in the place of one of the same name. Returns what there
 * is to be freed, or NULL. */
static struct group *
enforce(struct groups *gs, struct group *g, struct list_node *old, struct list_node *at)
{
    struct group *was = named(old, g->conf.name);
    if (was == NULL) {
        g->id = ++gs->last_id;
        list_insert_after(at->prev, &g->node);
        gs->n_rules++;
        atomic_fetch_add(&gs->active, 1);
        return NULL;
    }
    assume(was, g);
    list_remove(&was->node);
    list_insert_after(at->prev, &was->node);
    judge_all(gs, was);
    return g;
}

/* Moves the groups of that source out of the rules. */
static void
detach(struct groups *gs, enum group_source source, struct list_node *old)
{
    struct list_node *n;
    struct list_node *next;
    list_init(old);
    LIST_FOREACH_SAFE(n, next, &gs->rules)
    {
        if (group_of(n)->source == source) {
            list_remove(n);
            list_push_back(old, n);
        }
    }
}

static void
index_all(struct groups *gs)
{
    size_t i = 0;
    gs->generation++;
    for (struct list_node *n = gs->rules.next; n != &gs->rules; n = n->next) {
        gs->index[i++] = (struct group_rule){group_of(n)->patterns, group_of(n)};
    }
    ASSERT(i == gs->n_rules);
}

static void
set_locked(struct groups *gs, enum group_source source, struct plan *p, struct list_node *unused)
{
    struct list_node old;
    struct list_node *n;
    detach(gs, source, &old);
    struct list_node *at = source == GROUP_FROM_CONFIG ? gs->rules.next : &gs->rules;
    while ((n = list_pop_front(&p->fresh)) != NULL) {
        struct group *g = enforce(gs, group_of(n), &old, at);
        if (g != NULL) {
            list_push_back(unused, &g->node);
        }
    }
    while (!list_is_empty(&old)) {
        bury(gs, group_of(old.next));
    }
    index_all(gs);
}

enum status
groups_set(struct groups *gs, enum group_source source, const struct group_conf *conf, size_t n)
{
    struct plan p;
    struct plan unused;
    enum status st = plan_init(&p, source, conf, n);
    if (st != ST_OK) {
        return st;
    }
    list_init(&unused.fresh);
    pthread_mutex_lock(&gs->lock);
    size_t others = 0;
    for (struct list_node *at = gs->rules.next; at != &gs->rules; at = at->next) {
        others += group_of(at)->source != source ? 1 : 0;
    }
    if (gs->closed) {
        st = ST_CLOSED;
    } else if (others + n > GROUPS_MAX) {
        st = ST_FULL;
    } else {
        set_locked(gs, source, &p, &unused.fresh);
    }
    pthread_mutex_unlock(&gs->lock);
    plan_fini(&p);
    plan_fini(&unused);
    return st;
}

enum status
groups_update(struct groups *gs, const struct group_conf *conf)
{
    struct group *like = new_group(conf);
    if (like == NULL) {
        return ST_NOMEM;
    }
    pthread_mutex_lock(&gs->lock);
    struct group *g = named(&gs->rules, conf->name);
    if (g != NULL) {
        assume(g, like);
        index_all(gs);
        judge_all(gs, g);
    }
    pthread_mutex_unlock(&gs->lock);
    group_destroy(like);
    return g == NULL ? ST_NOTFOUND : ST_OK;
}

void
groups_set_cancel_after(struct groups *gs, int64_t ns)
{
    pthread_mutex_lock(&gs->lock);
    gs->cancel_after = ns;
    pthread_mutex_unlock(&gs->lock);
}

/* ---- views --------------------------------------------------------------------------------------
 */

/* 0: nothing is parked. */
static int64_t
oldest_age(const struct groups *gs, const struct group *g)
{
    if (list_is_empty(&g->ages)) {
        return 0;
    }
    int64_t age = clock_now(&gs->clock) - LIST_ENTRY(g->ages.next, struct group_age, node)->since;
    return age > 0 ? age : 0;
}

static void
copy_info(const struct groups *gs, const struct group *g, struct group_info *out)
{
    out->conf = g->conf;
    out->source = g->source;
    out->counts = g->n;
    out->buckets = g->n_buckets - g->n_idle;
    out->oldest_age_ns = oldest_age(gs, g);
}

bool
groups_at(struct groups *gs, size_t i, struct group_info *out)
{
    pthread_mutex_lock(&gs->lock);
    struct list_node *n = gs->rules.next;
    while (n != &gs->rules && i-- > 0) {
        n = n->next;
    }
    bool found = n != &gs->rules;
    if (found) {
        copy_info(gs, group_of(n), out);
    }
    pthread_mutex_unlock(&gs->lock);
    return found;
}

enum status
groups_find(struct groups *gs, const char *name, struct group_info *out)
{
    pthread_mutex_lock(&gs->lock);
    const struct group *g = named(&gs->rules, name);
    if (g != NULL) {
        copy_info(gs, g, out);
    }
    pthread_mutex_unlock(&gs->lock);
    return g == NULL ? ST_NOTFOUND : ST_OK;
}

static void
copy_bucket(const struct group_bucket *b, struct group_bucket_info *out)
{
    out->attribute = b->attribute;
    memcpy(out->name, b->name, sizeof(out->name));
    memcpy(out->account, b->account, sizeof(out->account));
    out->counts = b->n;
}

size_t
groups_buckets(struct groups *gs, const char *name, struct group_bucket_info *out, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&gs->lock);
    struct group *g = named(&gs->rules, name);
    struct fullest_node *f = g == NULL ? NULL : fullest_first(&g->by_entries);
    for (; f != NULL && n < max; f = fullest_after(&g->by_entries, f)) {
        copy_bucket(LIST_ENTRY(f, struct group_bucket, by_entries), &out[n++]);
    }
    for (struct list_node *at = g == NULL ? NULL : g->buckets.prev;
         at != NULL && at != &g->buckets && n < max; at = at->prev) {
        const struct group_bucket *b = LIST_ENTRY(at, struct group_bucket, of_group);
        if (b->n.queued_current == 0) {
            copy_bucket(b, &out[n++]);
        }
    }
    pthread_mutex_unlock(&gs->lock);
    return n;
}

void
groups_totals(struct groups *gs, struct groups_totals *out)
{
    *out = (struct groups_totals){0};
    pthread_mutex_lock(&gs->lock);
    out->groups = gs->n_rules;
    out->swept_cancelled = gs->swept_cancelled;
    out->swept_admitted = gs->swept_admitted;
    struct list_node *const lists[] = {&gs->rules, &gs->zombies};
    for (int i = 0; i < 2; i++) {
        for (struct list_node *n = lists[i]->next; n != lists[i]; n = n->next) {
            const struct group *g = group_of(n);
            int64_t age = oldest_age(gs, g);
            out->parked += g->n.queued_current;
            out->running += g->n.running;
            out->oldest_age_ns = age > out->oldest_age_ns ? age : out->oldest_age_ns;
        }
    }
    pthread_mutex_unlock(&gs->lock);
}
