/* SPDX-License-Identifier: Apache-2.0 */
/* The happy path: groups_enter finds the first group that matches and the bucket in it, and gives a
 * permit; groups_leave takes it back. Over the limit: group_park.c. Letting in: group_drain.c. */
#include "api/group.h"

#include <stdio.h>
#include <string.h>

#include "api/group_priv.h"
#include "api/group_turn.h"
#include "api/match.h"
#include "server/base/assert.h"
#include "server/base/hash.h"
#include "server/base/mem.h"

void
group_room_init(struct group_room *r, struct apiq *queue, enum apiq_level level, const char *gate)
{
    r->gate = gate;
    r->closed = false;
    r->queue = queue;
    r->level = level;
    list_init(&r->blocked);
    atomic_init(&r->n_blocked, 0);
}

enum status
groups_new(struct groups **out, const struct clock *clock)
{
    struct groups *gs = mem_alloc(sizeof(*gs));
    if (gs == NULL) {
        return ST_NOMEM;
    }
    if (ktab_init(&gs->buckets, sizeof(struct group_bucket)) != ST_OK) {
        goto err_after_alloc;
    }
    if (ktab_init(&gs->keys, sizeof(struct group_key)) != ST_OK) {
        goto err_after_buckets;
    }
    if (ktab_init(&gs->owners, sizeof(struct group_owner)) != ST_OK) {
        goto err_after_keys;
    }
    gs->clock = *clock;
    gs->generation = 1;
    ASSERT(pthread_mutex_init(&gs->lock, NULL) == 0);
    list_init(&gs->rules);
    list_init(&gs->zombies);
    list_init(&gs->turns);
    list_init(&gs->hands);
    wheel_init(&gs->due, clock_now(clock));
    *out = gs;
    return ST_OK;

err_after_keys:
    ktab_fini(&gs->keys);
err_after_buckets:
    ktab_fini(&gs->buckets);
err_after_alloc:
    mem_free(gs);
    return ST_NOMEM;
}

static void
free_group(struct groups *gs, struct group *g)
{
    while (!list_is_empty(&g->buckets)) {
        struct group_bucket *b = LIST_ENTRY(g->buckets.next, struct group_bucket, of_group);
        ASSERT(b->n.running == 0 && b->n.queued_current == 0);
        group_drop_bucket(gs, b);
    }
    list_remove(&g->node);
    group_destroy(g);
}

void
groups_free(struct groups *gs)
{
    if (gs == NULL) {
        return;
    }
    while (!list_is_empty(&gs->rules)) {
        free_group(gs, LIST_ENTRY(gs->rules.next, struct group, node));
    }
    ASSERT(list_is_empty(&gs->zombies) && gs->due.count == 0);
    ktab_fini(&gs->owners);
    ktab_fini(&gs->keys);
    ktab_fini(&gs->buckets);
    pthread_mutex_destroy(&gs->lock);
    mem_free(gs);
}

bool
groups_any(const struct groups *gs)
{
    return atomic_load_explicit(&gs->active, memory_order_relaxed) > 0;
}

/* ---- buckets ------------------------------------------------------------------------------------
 */

/* The value of the group's attribute, as a number and for people. */
static uint64_t
attribute(const struct group *g, const struct group_who *who, const char **name)
{
    switch (g->conf.attribute) {
    case GROUP_BY_ACCOUNT:
        *name = who->account;
        return who->account_key;
    case GROUP_BY_USER:
        *name = who->user;
        break;
    case GROUP_BY_CLIENT:
        *name = who->client;
        break;
    case GROUP_BY_SUBJECT:
        *name = who->subject;
        break;
    case GROUP_BY_GROUP:
    default:
        *name = g->conf.name;
        return 0;
    }
    return hash_bytes(*name, strlen(*name));
}

static struct group_bucket *
get_bucket(struct groups *gs, struct group *g, const struct group_who *who)
{
    const char *name;
    bool created;
    bool whole = g->conf.attribute == GROUP_BY_GROUP;
    /* Two whose hashes agree share a bucket, which harms nobody. */
    uint64_t parts[4] = {g->id, g->conf.attribute, whole ? 0 : who->account_key,
                         attribute(g, who, &name)};
    struct group_bucket *b = ktab_get(&gs->buckets, hash_bytes(parts, sizeof(parts)), &created);
    if (b == NULL) {
        return NULL;
    }
    if (created) {
        b->group = g;
        b->attribute = g->conf.attribute;
        list_init(&b->parked);
        list_push_back(&g->buckets, &b->of_group);
        g->n_buckets++;
        (void)snprintf(b->name, sizeof(b->name), "%s", name);
        (void)snprintf(b->account, sizeof(b->account), "%s", whole ? "" : who->account);
    } else if (b->is_idle) {
        list_remove(&b->turn);
        g->n_idle--;
        b->is_idle = false;
    }
    return b;
}

uint64_t
groups_bucket_id(const struct group_bucket *permit)
{
    return permit->tab.key;
}

/* ---- arrival ------------------------------------------------------------------------------------
 */

/* The pattern at *at, and *at behind it. */
static bool
takes(bool (*fn)(const char *pattern, const char *text), const char **at, const char *text)
{
    const char *pattern = *at;
    *at += strlen(pattern) + 1;
    return *pattern == '\0' || fn(pattern, text);
}

static bool
is_match(const char *at, const struct group_who *who)
{
    return takes(match_glob, &at, who->user) && takes(match_glob, &at, who->client) &&
           takes(match_glob, &at, who->account) && takes(match_subject, &at, who->subject);
}

void
groups_link(struct groups *gs, struct group_link *link, const char *name)
{
    pthread_mutex_lock(&gs->lock);
    *link = (struct group_link){0};
    (void)snprintf(link->name, sizeof(link->name), "%s", name);
    pthread_mutex_unlock(&gs->lock);
}

static struct group *
find_linked(struct groups *gs, const struct group_who *who)
{
    struct group_link *link = who->link;
    if (link->generation != gs->generation) {
        link->group = link->name[0] == '\0' ? NULL : group_named(gs, link->name);
        link->generation = gs->generation;
    }
    return link->group != NULL && is_match(link->group->patterns, who) ? link->group : NULL;
}

static struct group *
find(struct groups *gs, const struct group_who *who)
{
    if (who->link != NULL) {
        return find_linked(gs, who);
    }
    for (size_t i = 0; i < gs->n_rules; i++) {
        if (is_match(gs->index[i].patterns, who)) {
            return gs->index[i].group;
        }
    }
    return NULL;
}

enum group_verdict
group_judge_arrival(struct groups *gs, const struct group_who *who, struct group_bucket **out)
{
    *out = NULL;
    if (gs->closed) {
        return GROUP_NONE;
    }
    struct group_key *key = who->order_key == 0 ? NULL : ktab_find(&gs->keys, who->order_key);
    if (key != NULL) {
        *out = key->bucket;
        return GROUP_PARK;
    }
    struct group *g = find(gs, who);
    if (g == NULL) {
        return GROUP_NONE;
    }
    struct group_bucket *b = get_bucket(gs, g, who);
    if (b == NULL) {
        return GROUP_NOMEM;
    }
    *out = b;
    if (b->n.queued_current > 0 || !group_may_admit(b)) {
        return g->conf.size > 0 ? GROUP_PARK : GROUP_OFF;
    }
    if (g->conf.mode == GROUP_MONITOR && g->conf.limit > 0 &&
        b->n.running >= (uint64_t)g->conf.limit) {
        GROUP_COUNT(b, total_would_throttle);
    }
    GROUP_COUNT(b, running);
    GROUP_COUNT(b, total_admitted);
    return GROUP_ADMITTED;
}

void
group_refuse(struct groups *gs, struct group_bucket *b, struct group_answer *out)
{
    GROUP_COUNT(b, total_throttled);
    GROUP_COUNT(b, total_queue_rejections);
    out->drain_ns = b->gap * (int64_t)(b->n.queued_current + 1);
    group_judge(gs, b);
}

void
groups_enter(struct groups *gs, const struct group_who *who, struct group_answer *out)
{
    struct group_bucket *b;
    *out = (struct group_answer){.due = INT64_MAX};
    pthread_mutex_lock(&gs->lock);
    out->verdict = group_judge_arrival(gs, who, &b);
    if (out->verdict == GROUP_ADMITTED) {
        out->permit = b;
    } else if (out->verdict == GROUP_OFF) {
        group_refuse(gs, b, out);
    } else if (b != NULL) {
        group_judge(gs, b);
    }
    pthread_mutex_unlock(&gs->lock);
}

/* How often a permit comes free while others want one: for the hint of a refusal. */
static void
note_gap(const struct groups *gs, struct group_bucket *b)
{
    if (b->n.queued_current == 0 && b->n.running < (uint64_t)b->group->conf.limit) {
        b->left_last = 0;
        return;
    }
    int64_t now = clock_now(&gs->clock);
    if (b->left_last != 0) {
        int64_t gap = now - b->left_last;
        b->gap = b->gap == 0 ? gap : b->gap + (gap - b->gap) / 8;
    }
    b->left_last = now;
}

void
groups_leave(struct groups *gs, struct group_bucket *permit)
{
    pthread_mutex_lock(&gs->lock);
    ASSERT(permit->n.running > 0);
    note_gap(gs, permit);
    permit->n.running--;
    permit->group->n.running--;
    GROUP_COUNT(permit, total_released);
    group_judge(gs, permit);
    pthread_mutex_unlock(&gs->lock);
}
