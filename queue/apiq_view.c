/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/apiq_view.h"

#include <stdio.h>

#include "queue/apiq_priv.h"
#include "server/base/assert.h"

/* The push time of the oldest that waits in the level; now: nothing does. */
static int64_t
oldest_push(const struct apiq_lv *lv, int64_t now)
{
    int64_t oldest = now;
    for (uint64_t used = lv->due_used; used != 0; used &= used - 1) {
        const struct list_node *head = &lv->due[__builtin_ctzll(used)];
        const struct apiq_item *it = LIST_ENTRY(head->next, struct apiq_item, due_node);
        if (it->pushed_ns < oldest) {
            oldest = it->pushed_ns;
        }
    }
    return oldest;
}

/* Before anything has drained with a backlog, what the slots could do at the median. */
static double
drain_rate(const struct apiq *q, const struct apiq_lv *lv, int64_t now)
{
    double rate = meter_rate(&lv->meter, now);
    int64_t median = meter_median(&lv->meter);
    if (rate > 0.0 || median == 0) {
        return rate;
    }
    unsigned slots = lv->conf.max_running > 0 ? lv->conf.max_running : q->slots;
    return (double)(slots > 0 ? slots : 1) * (double)CLOCK_S / (double)median;
}

void
apiq_stats(struct apiq *q, struct apiq_stats *out)
{
    pthread_mutex_lock(&q->lock);
    int64_t now = clock_now(&q->clk);
    *out = (struct apiq_stats){.now = now, .slots = q->slots, .closed = q->closed};
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        const struct apiq_lv *lv = &q->lv[i];
        struct apiq_level_stats *st = &out->level[i];
        *st = lv->st;
        st->blocked = lv->st.depth - lv->runnable;
        st->flows = lv->heavy.flows;
        st->oldest_age_ns = now - oldest_push(lv, now);
        st->median_ns = meter_median(&lv->meter);
        st->drain_per_sec = drain_rate(q, lv, now);
    }
    pthread_mutex_unlock(&q->lock);
}

int64_t
apiq_drain_ns(struct apiq *q, enum apiq_level level)
{
    ASSERT(level < APIQ_LEVELS);
    pthread_mutex_lock(&q->lock);
    const struct apiq_lv *lv = &q->lv[level];
    double rate = drain_rate(q, lv, clock_now(&q->clk));
    double depth = (double)lv->st.depth;
    pthread_mutex_unlock(&q->lock);
    double ns = rate > 0.0 ? depth / rate * (double)CLOCK_S : 0.0;
    return ns < (double)INT64_MAX / 2 ? (int64_t)ns : INT64_MAX / 2;
}

static void
copy_text(char *out, size_t size, const char *text)
{
    (void)snprintf(out, size, "%s", text != NULL ? text : "");
}

size_t
apiq_top_flows(struct apiq *q, enum apiq_level level, struct apiq_flow_info *out, size_t max)
{
    ASSERT(level < APIQ_LEVELS);
    size_t n = 0;
    pthread_mutex_lock(&q->lock);
    int64_t now = clock_now(&q->clk);
    const struct heavy *h = &q->lv[level].heavy;
    struct apiq_flow *f = heavy_by_entries(h);
    for (; f != NULL && n < max; f = heavy_after(h, f), n++) {
        const struct apiq_item *oldest = flow_oldest(f);
        out[n] = (struct apiq_flow_info){
            .flow = f->node.key,
            .depth = f->depth,
            .bytes = f->bytes,
            .oldest_age_ns = now - oldest->pushed_ns,
            .newest_first = f->newest_first,
        };
        copy_text(out[n].name, sizeof(out[n].name), oldest->name);
    }
    pthread_mutex_unlock(&q->lock);
    return n;
}

static bool
agrees(uint64_t want, uint64_t have)
{
    return want == 0 || want == have;
}

static bool
is_match(const struct apiq_match *m, const struct apiq_item *it)
{
    return agrees(m->id, it->id) && agrees(m->flow, it->flow) && agrees(m->owner, it->owner) &&
           agrees(m->tag, it->tag);
}

/* The first item behind `it` in its level that matches; behind none (NULL): the first of all. */
static struct apiq_item *
next_match(const struct apiq_lv *lv, const struct apiq_match *m, const struct apiq_item *it)
{
    struct apiq_flow *f = it != NULL ? it->fl : heavy_by_entries(&lv->heavy);
    const struct list_node *n = it != NULL ? it->flow_node.next : (f != NULL ? f->all.next : NULL);
    while (f != NULL) {
        for (; n != &f->all && agrees(m->flow, f->node.key); n = n->next) {
            struct apiq_item *cand = LIST_ENTRY(n, struct apiq_item, flow_node);
            if (is_match(m, cand)) {
                return cand;
            }
        }
        f = heavy_after(&lv->heavy, f);
        n = f != NULL ? f->all.next : NULL;
    }
    return NULL;
}

static bool
wants_level(const struct apiq_match *m, unsigned level)
{
    return m->levels == 0 || (m->levels & (1u << level)) != 0;
}

static void
describe(const struct apiq_item *it, const struct apiq_conf *conf, int64_t now,
         struct apiq_item_info *out)
{
    int64_t due = flow_due(it, conf);
    *out = (struct apiq_item_info){
        .id = it->id,
        .flow = it->flow,
        .order_key = it->order_key,
        .owner = it->owner,
        .tag = it->tag,
        .level = it->level,
        .blocked = it->ready == FLOW_BLOCKED,
        .bytes = it->bytes,
        .age_ns = now - it->pushed_ns,
        .left_ns = due == INT64_MAX ? due : due - now,
    };
    copy_text(out->label, sizeof(out->label), it->label);
    copy_text(out->name, sizeof(out->name), it->name);
}

size_t
apiq_list(struct apiq *q, const struct apiq_match *match, size_t offset, struct apiq_item_info *out,
          size_t max, size_t *total)
{
    size_t seen = 0;
    size_t n = 0;
    pthread_mutex_lock(&q->lock);
    int64_t now = clock_now(&q->clk);
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        const struct apiq_lv *lv = &q->lv[i];
        struct apiq_item *it = wants_level(match, i) ? next_match(lv, match, NULL) : NULL;
        for (; it != NULL && (n < max || total != NULL); it = next_match(lv, match, it)) {
            if (seen++ >= offset && n < max) {
                describe(it, &lv->conf, now, &out[n++]);
            }
        }
    }
    pthread_mutex_unlock(&q->lock);
    if (total != NULL) {
        *total = seen;
    }
    return n;
}

/* NB: a removal changes the order of the walk, so first all are found, then all are removed. */
size_t
apiq_cancel_match(struct apiq *q, const struct apiq_match *match, size_t max, struct list_node *out)
{
    size_t n = 0;
    pthread_mutex_lock(&q->lock);
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        struct apiq_lv *lv = &q->lv[i];
        struct list_node found;
        list_init(&found);
        struct apiq_item *it = wants_level(match, i) ? next_match(lv, match, NULL) : NULL;
        for (; it != NULL && n < max; it = next_match(lv, match, it), n++) {
            list_push_back(&found, &it->link);
        }
        struct apiq_item *hit;
        while ((hit = apiq_fallen_pop(&found)) != NULL) {
            apiq_drop_cancelled(q, hit, out);
        }
        apiq_judge(lv, NULL, clock_now(&q->clk));
    }
    apiq_unlock_kick(q);
    return n;
}
