/* SPDX-License-Identifier: Apache-2.0 */
/* Push links an item into all its lists (apiq_link.c) and puts out what no longer fits. Pull first
 * gives out what has expired, then chooses a level, in it the flow whose turn it is, and in that
 * the item its discipline says (flow.c). Done releases the order key and the slot. Each of them
 * ends with apiq_unlock_kick, which wakes sleepers if there is something for them
 * (apiq_wait.c). */
#include "queue/apiq.h"

#include "queue/apiq_priv.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

/* So many expired items are given out in a row before one is run, lest a pile of dead ones hold
 * up the living. */
#define EXPIRED_ROW 16u
/* So many items are cancelled under one hold of the lock. */
#define CANCEL_STEP 64u

static enum status
level_init(struct apiq_lv *lv, enum apiq_level level, int64_t now)
{
    apiq_conf_default(level, &lv->conf);
    list_init(&lv->turns);
    for (unsigned i = 0; i < DUE_CLASSES; i++) {
        list_init(&lv->due[i]);
    }
    heavy_init(&lv->heavy);
    lv->st.order_since = now;
    return ktab_init(&lv->flows, sizeof(struct apiq_flow));
}

static void
level_fini(struct apiq_lv *lv)
{
    ASSERT(lv->st.depth == 0 && lv->st.running == 0 && lv->st.pending == 0);
    ktab_fini(&lv->flows);
    heavy_fini(&lv->heavy);
}

static void
init_sync(struct apiq *q)
{
    pthread_condattr_t attr;
    ASSERT(pthread_mutex_init(&q->lock, NULL) == 0);
    ASSERT(pthread_condattr_init(&attr) == 0);
    ASSERT(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    for (int lane = 0; lane < 2; lane++) {
        ASSERT(pthread_cond_init(&q->wake[lane], &attr) == 0);
    }
    pthread_condattr_destroy(&attr);
}

enum status
apiq_new(struct apiq **out, const struct clock *clk, unsigned slots)
{
    unsigned n = 0;
    struct apiq *q = mem_alloc(sizeof(*q));
    if (q == NULL) {
        return ST_NOMEM;
    }
    q->clk = *clk;
    q->slots = slots;
    if (ktab_init(&q->keys, sizeof(struct apiq_key)) != ST_OK) {
        goto err_after_alloc;
    }
    if (ktab_init(&q->owners, sizeof(struct apiq_owner)) != ST_OK) {
        goto err_after_keys;
    }
    for (n = 0; n < APIQ_LEVELS; n++) {
        if (level_init(&q->lv[n], n, clock_now(clk)) != ST_OK) {
            goto err_after_owners;
        }
    }
    init_sync(q);
    *out = q;
    return ST_OK;

err_after_owners:
    while (n-- > 0) {
        level_fini(&q->lv[n]);
    }
    ktab_fini(&q->owners);
err_after_keys:
    ktab_fini(&q->keys);
err_after_alloc:
    mem_free(q);
    return ST_NOMEM;
}

void
apiq_free(struct apiq *q)
{
    if (q == NULL) {
        return;
    }
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        level_fini(&q->lv[i]);
    }
    ktab_fini(&q->owners);
    ktab_fini(&q->keys);
    for (int lane = 0; lane < 2; lane++) {
        pthread_cond_destroy(&q->wake[lane]);
    }
    pthread_mutex_destroy(&q->lock);
    mem_free(q);
}

/* Why the item may not enter, before anything is changed; ST_OK: it may. */
static enum status
admit(const struct apiq *q, struct apiq_item *it, int64_t now)
{
    const struct apiq_conf *conf = &q->lv[it->level].conf;
    if (it->state == APIQ_CANCELLED) {
        return ST_CANCELLED;
    }
    ASSERT(it->state == APIQ_IDLE);
    if (q->closed) {
        return ST_CLOSED;
    }
    if (conf->max_entries == 0 || it->bytes > conf->max_bytes) {
        return ST_FULL;
    }
    it->pushed_ns = now - it->late_ns;
    return flow_due(it, conf) <= now ? ST_EXPIRED : ST_OK;
}

/* Whether it fits without that anything falls out. */
static bool
has_room(const struct apiq_lv *lv, const struct apiq_item *it)
{
    return lv->st.depth < lv->conf.max_entries && it->bytes <= lv->conf.max_bytes - lv->st.bytes;
}

/* fallen NULL: only where there is room. */
static enum status
push(struct apiq *q, struct apiq_item *it, struct list_node *fallen)
{
    struct apiq_lv *lv = &q->lv[it->level];
    int64_t now = clock_now(&q->clk);
    enum status st = admit(q, it, now);
    if (st == ST_OK && fallen == NULL && !has_room(lv, it)) {
        return ST_AGAIN;
    }
    if (st == ST_OK) {
        st = apiq_link(q, it, now);
    }
    if (st == ST_OK) {
        lv->st.pushed++;
        if (it->late_ns > 0) {
            apiq_note_late(lv, it->late_ns, now);
        }
        if (fallen != NULL) {
            apiq_evict(lv, q, it, fallen);
        }
        if (lv->st.depth > lv->st.peak) {
            lv->st.peak = lv->st.depth;
        }
        apiq_judge(lv, it->fl, now);
    } else if (st != ST_CANCELLED && st != ST_CLOSED) {
        lv->st.refused++;
    }
    return st;
}

enum status
apiq_push(struct apiq *q, struct apiq_item *it, struct list_node *fallen)
{
    ASSERT(it->level < APIQ_LEVELS && fallen != NULL);
    pthread_mutex_lock(&q->lock);
    enum status st = push(q, it, fallen);
    apiq_unlock_kick(q);
    return st;
}

enum status
apiq_offer(struct apiq *q, struct apiq_item *it)
{
    ASSERT(it->level < APIQ_LEVELS);
    pthread_mutex_lock(&q->lock);
    enum status st = push(q, it, NULL);
    apiq_unlock_kick(q);
    return st;
}

uint64_t
apiq_departed(struct apiq *q, enum apiq_level level)
{
    ASSERT(level < APIQ_LEVELS);
    pthread_mutex_lock(&q->lock);
    uint64_t n = q->lv[level].departed;
    pthread_mutex_unlock(&q->lock);
    return n;
}

/* The level whose turn it is, or NULL. */
static struct apiq_lv *
choose_level(struct apiq *q, enum apiq_lane lane, bool patient)
{
    if (lane == APIQ_LANE_OPERATOR) {
        return apiq_level_servable(q, APIQ_OPERATOR, patient) ? &q->lv[APIQ_OPERATOR] : NULL;
    }
    bool can[APIQ_LEVELS];
    int pick = -1;
    bool due = false;
    for (int i = 0; i < APIQ_LEVELS; i++) {
        can[i] = apiq_level_servable(q, (enum apiq_level)i, patient);
        if (!can[i]) {
            continue;
        }
        if (pick < 0) {
            pick = i;
            continue;
        }
        unsigned share = q->lv[i].conf.min_share;
        if (!due && share > 0 && q->lv[i].passed + 1 >= share) {
            pick = i;
            due = true;
        }
    }
    if (pick < 0) {
        return NULL;
    }
    for (int i = 0; i < APIQ_LEVELS; i++) {
        q->lv[i].passed += can[i] ? 1 : 0;
    }
    q->lv[pick].passed = 0;
    return &q->lv[pick];
}

static void
note_wait(struct apiq_level_stats *st, int64_t wait)
{
    uint64_t us = wait <= 1000 ? 1 : ((uint64_t)wait + 999) / 1000;
    unsigned b = us <= 1 ? 0 : 64u - (unsigned)__builtin_clzll(us - 1);
    st->wait[b < APIQ_WAIT_BUCKETS ? b : APIQ_WAIT_BUCKETS - 1]++;
    st->wait_sum_ns += wait;
    if (wait > st->wait_max_ns) {
        st->wait_max_ns = wait;
    }
}

static enum status
give_expired(struct apiq *q, struct apiq_item *it, int64_t now)
{
    struct apiq_lv *lv = &q->lv[it->level];
    apiq_unlink(q, it, false);
    it->state = APIQ_ENDED;
    lv->st.expired++;
    q->expired_row++;
    apiq_judge(lv, NULL, now);
    return ST_EXPIRED;
}

static enum status
give_leftover(struct apiq *q, struct apiq_item **out)
{
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        struct apiq_flow *f = heavy_by_entries(&q->lv[i].heavy);
        if (f != NULL) {
            struct apiq_item *it = flow_oldest(f);
            apiq_unlink(q, it, false);
            it->state = APIQ_ENDED;
            q->lv[i].st.leftover++;
            *out = it;
            return ST_CANCELLED;
        }
    }
    return ST_CLOSED;
}

/* After a pull of the flow. One that is owed turns stays where it is for them. */
static void
end_turn(struct apiq_lv *lv, struct apiq_flow *f)
{
    lv->rounds += 1.0 / (double)lv->turns_weight;
    f->turns = (f->turns > 0 ? f->turns : f->weight) - 1;
    if (f->turns > 0) {
        return;
    }
    if (f->owed > 0) {
        f->owed--;
        return;
    }
    list_remove(&f->turn_node);
    list_push_back(&lv->turns, &f->turn_node);
}

/* The item that is next in the flow. */
static struct apiq_item *
next_of(struct apiq_lv *lv, struct apiq_flow *f, int64_t now, bool *aged)
{
    struct flow_rule rule = {.conf = &lv->conf, .now = now};
    apiq_judge(lv, f, now);
    if (flow_wants_aged(f, &rule)) {
        rule.median_ns = meter_median(&lv->meter);
    }
    return flow_next(f, &rule, aged);
}

/* The item that is next in the flow whose turn it is, or, where late ones are held, of what is not;
 * its flow's turn is counted if it is to be run.
 * ST_AGAIN: only to a patient puller, who now knows that all is held. */
static enum status
give_next(struct apiq *q, struct apiq_lv *lv, int64_t now, bool patient, struct apiq_item **out)
{
    struct apiq_item *it = NULL;
    bool aged = false;
    bool holds = patient && apiq_holds_late(q, lv);
    struct apiq_flow *f =
        holds ? apiq_unheld(lv) : LIST_ENTRY(lv->turns.next, struct apiq_flow, turn_node);
    if (f != NULL) {
        it = holds && apiq_is_crowded(f) ? flow_prompt(f) : next_of(lv, f, now, &aged);
    }
    if (it == NULL || (flow_due(it, &lv->conf) > now && patient && it->ready == FLOW_STALE &&
                       apiq_is_held(q, lv))) {
        return ST_AGAIN;
    }
    *out = it;
    if (flow_due(it, &lv->conf) <= now) {
        return give_expired(q, it, now);
    }
    end_turn(lv, it->fl);
    apiq_unlink(q, it, true);
    it->state = APIQ_RUNNING;
    it->pulled_ns = now;
    q->expired_row = 0;
    q->busy += it->level != APIQ_OPERATOR ? 1 : 0;
    lv->st.running++;
    lv->st.pulled++;
    lv->st.aged += aged ? 1 : 0;
    note_wait(&lv->st, now - it->pushed_ns);
    apiq_judge(lv, NULL, now);
    return ST_OK;
}

enum status
apiq_pull_locked(struct apiq *q, enum apiq_lane lane, bool patient, struct apiq_item **out)
{
    *out = NULL;
    if (q->depth == 0) {
        return q->closed ? ST_CLOSED : ST_AGAIN;
    }
    if (q->closed) {
        return give_leftover(q, out);
    }
    int64_t now = clock_now(&q->clk);
    struct apiq_item *dead = apiq_find_expired(q, now);
    struct apiq_lv *lv = NULL;
    if (dead == NULL || q->expired_row >= EXPIRED_ROW) {
        lv = choose_level(q, lane, patient);
    }
    while (lv != NULL) {
        enum status st = give_next(q, lv, now, patient, out);
        if (st != ST_AGAIN) {
            return st;
        }
        lv = choose_level(q, lane, patient);
    }
    *out = dead;
    return dead == NULL ? ST_AGAIN : give_expired(q, dead, now);
}

enum status
apiq_pull(struct apiq *q, enum apiq_lane lane, struct apiq_item **out)
{
    pthread_mutex_lock(&q->lock);
    enum status st = apiq_pull_locked(q, lane, false, out);
    apiq_unlock_kick(q);
    return st;
}

static void
leave_slot(struct apiq *q, const struct apiq_item *it)
{
    q->lv[it->level].st.running--;
    q->busy -= it->level != APIQ_OPERATOR ? 1 : 0;
}

/* With the lock held. */
static void
done(struct apiq *q, struct apiq_item *it)
{
    struct apiq_lv *lv = &q->lv[it->level];
    int64_t now = clock_now(&q->clk);
    ASSERT(it->state == APIQ_RUNNING || it->state == APIQ_PENDING);
    if (it->state == APIQ_RUNNING) {
        leave_slot(q, it);
    } else {
        lv->st.pending--;
    }
    it->state = APIQ_ENDED;
    lv->st.done++;
    meter_service(&lv->meter, now - it->pulled_ns);
    meter_done(&lv->meter, now, lv->st.depth > 0);
    apiq_key_release(q, it);
}

void
apiq_done(struct apiq *q, struct apiq_item *it)
{
    pthread_mutex_lock(&q->lock);
    done(q, it);
    apiq_unlock_kick(q);
}

void
apiq_done_pulling(struct apiq *q, struct apiq_item *it)
{
    pthread_mutex_lock(&q->lock);
    done(q, it);
    pthread_mutex_unlock(&q->lock);
}

void
apiq_defer(struct apiq *q, struct apiq_item *it)
{
    pthread_mutex_lock(&q->lock);
    ASSERT(it->state == APIQ_RUNNING);
    it->state = APIQ_PENDING;
    leave_slot(q, it);
    q->lv[it->level].st.pending++;
    apiq_unlock_kick(q);
}

enum status
apiq_cancel(struct apiq *q, struct apiq_item *it)
{
    enum status st = ST_NOTFOUND;
    pthread_mutex_lock(&q->lock);
    if (it->state == APIQ_WAITING) {
        apiq_drop_cancelled(q, it, NULL);
        apiq_judge(&q->lv[it->level], NULL, clock_now(&q->clk));
        st = ST_OK;
    } else if (it->state == APIQ_IDLE || it->state == APIQ_CANCELLED) {
        it->state = APIQ_CANCELLED;
        st = ST_AGAIN;
    }
    apiq_unlock_kick(q);
    return st;
}

/* One step of apiq_cancel_owner; true: there may be more. */
static bool
cancel_owner_step(struct apiq *q, uint64_t owner, struct list_node *out, size_t *n)
{
    pthread_mutex_lock(&q->lock);
    struct apiq_owner *ow = ktab_find(&q->owners, owner);
    bool more = ow != NULL;
    for (unsigned i = 0; i < CANCEL_STEP && more; i++) {
        /* NB: the owner is freed with its last item. */
        more = ow->waiting.next->next != &ow->waiting;
        apiq_drop_cancelled(q, LIST_ENTRY(ow->waiting.next, struct apiq_item, owner_node), out);
        ++*n;
    }
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        apiq_judge(&q->lv[i], NULL, clock_now(&q->clk));
    }
    apiq_unlock_kick(q);
    return more;
}

size_t
apiq_cancel_owner(struct apiq *q, uint64_t owner, struct list_node *out)
{
    size_t n = 0;
    while (owner != 0 && cancel_owner_step(q, owner, out, &n)) {
    }
    return n;
}

void
apiq_close(struct apiq *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    for (int lane = 0; lane < 2; lane++) {
        pthread_cond_broadcast(&q->wake[lane]);
    }
    pthread_mutex_unlock(&q->lock);
}
