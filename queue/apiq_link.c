/* SPDX-License-Identifier: Apache-2.0 */
/* An item in the queue stands in the list of its flow, among the runnable of its flow unless its
 * order key blocks it, in a class of deadlines of its level, and in the lists of its order key and
 * its owner if it has them. Here it enters and leaves them all at once. */
#include "queue/apiq_priv.h"
#include "server/base/assert.h"

/* Fewer completions than these say too little about the rate. */
#define TRUSTED_SAMPLES 16.0
/* What sums of parts of a round may lack of a whole one. */
#define ROUNDED 1e-6

static unsigned
due_class(const struct apiq_item *it)
{
    if (it->deadline_ns == 0) {
        return DUE_LEVEL;
    }
    if (it->deadline_ns < 0) {
        return DUE_NEVER;
    }
    int64_t passed = it->arrived_ns != 0 ? it->pushed_ns - it->arrived_ns : 0;
    int64_t left = it->deadline_ns - passed;
    unsigned c = DUE_OWN + (left > 0 ? 63u - (unsigned)__builtin_clzll((uint64_t)left) : 0);
    return c < DUE_CLASSES ? c : DUE_CLASSES - 1;
}

/* A flow that comes back is owed the turns that it would have had meanwhile, up to a bound: whoever
 * asks for less than its share then does not wait for one turn after the other when its requests
 * come close together. It never gets more than its share that way. */
static void
recall(struct apiq_lv *lv, struct apiq_flow *f, uint32_t weight)
{
    for (unsigned i = 0; i < LEFT_FLOWS; i++) {
        struct apiq_left *l = &lv->left[i];
        if (l->used && l->flow == f->node.key) {
            double others = (double)lv->turns_weight;
            double share = others / (others + (weight > 0 ? weight : 1));
            double owed = l->owed + (lv->rounds - l->at) * share + ROUNDED;
            f->owed = owed < OWED_MAX ? (uint32_t)owed : OWED_MAX;
            l->used = false;
            return;
        }
    }
}

static void
remember(struct apiq_lv *lv, const struct apiq_flow *f)
{
    unsigned at = lv->left_next++ % LEFT_FLOWS;
    lv->left[at] = (struct apiq_left){true, f->node.key, lv->rounds, f->owed};
}

static enum status
get_flow(struct apiq_lv *lv, struct apiq_item *it)
{
    bool created;
    struct apiq_flow *f = ktab_get(&lv->flows, it->flow, &created);
    if (f == NULL) {
        return ST_NOMEM;
    }
    if (created) {
        flow_init(f);
        if (heavy_add(&lv->heavy, f) != ST_OK) {
            ktab_del(&lv->flows, f);
            return ST_NOMEM;
        }
        recall(lv, f, it->weight);
    }
    it->fl = f;
    return ST_OK;
}

static void
put_flow(struct apiq_lv *lv, struct apiq_flow *f)
{
    if (f->depth == 0) {
        remember(lv, f);
        heavy_drop(&lv->heavy, f);
        ktab_del(&lv->flows, f);
    }
}

static enum status
get_key(struct apiq *q, struct apiq_item *it)
{
    bool created;
    it->key = NULL;
    if (it->order_key == 0) {
        return ST_OK;
    }
    it->key = ktab_get(&q->keys, it->order_key, &created);
    if (it->key == NULL) {
        return ST_NOMEM;
    }
    if (created) {
        list_init(&it->key->waiting);
    }
    return ST_OK;
}

static void
put_key(struct apiq *q, struct apiq_key *key)
{
    if (key != NULL && !key->busy && list_is_empty(&key->waiting)) {
        ktab_del(&q->keys, key);
    }
}

static enum status
get_owner(struct apiq *q, struct apiq_item *it)
{
    bool created;
    it->ow = NULL;
    if (it->owner == 0) {
        return ST_OK;
    }
    it->ow = ktab_get(&q->owners, it->owner, &created);
    if (it->ow == NULL) {
        return ST_NOMEM;
    }
    if (created) {
        list_init(&it->ow->waiting);
    }
    return ST_OK;
}

static void
enter_due(struct apiq_lv *lv, struct apiq_item *it)
{
    unsigned c = due_class(it);
    it->due_class = (uint8_t)c;
    list_push_back(&lv->due[c], &it->due_node);
    lv->due_used |= UINT64_C(1) << c;
}

static void
leave_due(struct apiq_lv *lv, struct apiq_item *it)
{
    unsigned c = it->due_class;
    list_remove(&it->due_node);
    if (list_is_empty(&lv->due[c])) {
        lv->due_used &= ~(UINT64_C(1) << c);
    }
}

/* In the list of turns exactly while something of the flow is runnable. */
static void
update_turn(struct apiq_lv *lv, struct apiq_flow *f)
{
    bool in = list_is_linked(&f->turn_node);
    if (f->runnable > 0 && !in) {
        list_insert_after(f->owed > 0 ? &lv->turns : lv->turns.prev, &f->turn_node);
        f->turns = 0;
        f->turn_weight = f->weight;
        lv->turns_weight += f->turn_weight;
    } else if (f->runnable == 0 && in) {
        list_remove(&f->turn_node);
        lv->turns_weight -= f->turn_weight;
    }
}

enum status
apiq_link(struct apiq *q, struct apiq_item *it, int64_t now)
{
    struct apiq_lv *lv = &q->lv[it->level];
    if (get_flow(lv, it) != ST_OK) {
        return ST_NOMEM;
    }
    if (get_key(q, it) != ST_OK) {
        goto err_after_flow;
    }
    if (get_owner(q, it) != ST_OK) {
        goto err_after_key;
    }
    it->pushed_ns = now - it->late_ns;
    it->seq = ++q->seq;
    it->state = APIQ_WAITING;
    bool runnable = it->key == NULL || (!it->key->busy && list_is_empty(&it->key->waiting));
    if (it->key != NULL) {
        list_push_back(&it->key->waiting, &it->key_node);
    }
    if (it->ow != NULL) {
        list_push_back(&it->ow->waiting, &it->owner_node);
    }
    flow_add(it->fl, it, runnable, &lv->conf);
    heavy_update(&lv->heavy, it->fl);
    enter_due(lv, it);
    update_turn(lv, it->fl);
    lv->runnable += runnable ? 1 : 0;
    lv->st.bytes += it->bytes;
    if (lv->st.depth++ == 0) {
        meter_backlog(&lv->meter, now);
    }
    q->depth++;
    return ST_OK;

err_after_key:
    put_key(q, it->key);
err_after_flow:
    put_flow(lv, it->fl);
    it->fl = NULL;
    it->key = NULL;
    return ST_NOMEM;
}

/* The first that waits for the key becomes runnable, if nothing of the key runs. */
static void
wake_key(struct apiq *q, struct apiq_key *key)
{
    if (key->busy || list_is_empty(&key->waiting)) {
        return;
    }
    struct apiq_item *it = LIST_ENTRY(key->waiting.next, struct apiq_item, key_node);
    if (it->ready != FLOW_BLOCKED) {
        return;
    }
    struct apiq_lv *lv = &q->lv[it->level];
    flow_wake(it->fl, it);
    update_turn(lv, it->fl);
    lv->runnable++;
}

void
apiq_unlink(struct apiq *q, struct apiq_item *it, bool to_run)
{
    struct apiq_lv *lv = &q->lv[it->level];
    ASSERT(it->state == APIQ_WAITING);
    lv->runnable -= it->ready != FLOW_BLOCKED ? 1 : 0;
    lv->st.depth--;
    lv->departed++;
    lv->st.bytes -= it->bytes;
    q->depth--;
    leave_due(lv, it);
    flow_remove(it->fl, it);
    heavy_update(&lv->heavy, it->fl);
    update_turn(lv, it->fl);
    if (it->fl->depth == 0 && it->fl->newest_first) {
        it->fl->newest_first = false;
        lv->st.newest_flows--;
    }
    put_flow(lv, it->fl);
    it->fl = NULL;
    if (it->ow != NULL) {
        list_remove(&it->owner_node);
        if (list_is_empty(&it->ow->waiting)) {
            ktab_del(&q->owners, it->ow);
        }
        it->ow = NULL;
    }
    if (it->key != NULL) {
        list_remove(&it->key_node);
        it->key->busy = it->key->busy || to_run;
        wake_key(q, it->key);
        if (!to_run) {
            put_key(q, it->key);
            it->key = NULL;
        }
    }
}

void
apiq_key_release(struct apiq *q, struct apiq_item *it)
{
    struct apiq_key *key = it->key;
    if (key == NULL) {
        return;
    }
    it->key = NULL;
    key->busy = false;
    wake_key(q, key);
    put_key(q, key);
}

double
apiq_rate(const struct apiq_lv *lv, int64_t now)
{
    return lv->meter.ended >= TRUSTED_SAMPLES ? meter_rate(&lv->meter, now) : 0.0;
}

/* How long it takes, at the level's recent rate, to serve what is runnable of the flow, while the
 * other flows get as many turns as it gets; but not longer than all of the level takes. */
static int64_t
time_ahead(const struct apiq_lv *lv, const struct apiq_flow *f, int64_t now)
{
    double n = (double)(f->runnable - f->n_stale) * (double)lv->heavy.flows;
    double all = (double)lv->runnable;
    double rate = apiq_rate(lv, now);
    return rate > 0.0 ? (int64_t)((n < all ? n : all) / rate * (double)CLOCK_S) : 0;
}

void
apiq_judge(struct apiq_lv *lv, struct apiq_flow *f, int64_t now)
{
    if (f != NULL) {
        struct flow_rule rule = {.conf = &lv->conf, .now = now};
        rule.ahead_ns = time_ahead(lv, f, now);
        bool was = f->newest_first;
        flow_judge(f, &rule);
        lv->st.newest_flows += f->newest_first && !was ? 1 : 0;
        lv->st.newest_flows -= was && !f->newest_first ? 1 : 0;
    }
    bool newest = lv->conf.order == APIQ_LIFO || lv->st.newest_flows > 0;
    if (newest != lv->st.newest_first) {
        lv->st.newest_first = newest;
        lv->st.order_since = now;
        lv->st.switches++;
    }
}

struct apiq_item *
apiq_find_expired(struct apiq *q, int64_t now)
{
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        const struct apiq_lv *lv = &q->lv[i];
        uint64_t used = lv->due_used & ~(UINT64_C(1) << DUE_NEVER);
        while (used != 0) {
            unsigned c = (unsigned)__builtin_ctzll(used);
            struct apiq_item *it = LIST_ENTRY(lv->due[c].next, struct apiq_item, due_node);
            if (flow_due(it, &lv->conf) <= now) {
                return it;
            }
            used &= used - 1;
        }
    }
    return NULL;
}

static void
evict_one(struct apiq *q, struct apiq_lv *lv, struct apiq_item *it, struct list_node *fallen)
{
    apiq_unlink(q, it, false);
    it->state = APIQ_ENDED;
    lv->st.evicted++;
    list_push_back(fallen, &it->link);
}

void
apiq_evict(struct apiq_lv *lv, struct apiq *q, const struct apiq_item *keep,
           struct list_node *fallen)
{
    while (lv->st.depth > lv->conf.max_entries) {
        struct apiq_flow *f = heavy_by_entries(&lv->heavy);
        struct apiq_item *it = f != NULL ? flow_victim(f, keep) : NULL;
        ASSERT(it != NULL);
        evict_one(q, lv, it, fallen);
    }
    while (lv->st.bytes > lv->conf.max_bytes) {
        struct apiq_flow *f = heavy_by_bytes(&lv->heavy, keep);
        ASSERT(f != NULL);
        evict_one(q, lv, flow_victim(f, keep), fallen);
    }
}

void
apiq_drop_cancelled(struct apiq *q, struct apiq_item *it, struct list_node *out)
{
    apiq_unlink(q, it, false);
    it->state = APIQ_ENDED;
    q->lv[it->level].st.cancelled++;
    if (out != NULL) {
        list_push_back(out, &it->link);
    }
}
