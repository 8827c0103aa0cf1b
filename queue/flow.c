/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/flow.h"

#include "server/base/assert.h"

/* They bound the work of one call; what they cut short is taken up by later ones. */
#define WAKE_STEPS  32
#define LATE_STEPS  512
#define AGED_STEPS  256
#define STALE_STEPS 256
/* How long a flow catches up after a standstill, in adaptive bounds. Half of that is what a client
 * is presumed to wait. At 0.75 of capacity the backlog of one such wait is worked off in three. */
#define CATCH_UP_BOUNDS 6

static struct apiq_item *
ready_item(struct list_node *n)
{
    return LIST_ENTRY(n, struct apiq_item, ready_node);
}

static struct apiq_item *
item_of(struct list_node *n)
{
    return LIST_ENTRY(n, struct apiq_item, flow_node);
}

void
flow_init(struct apiq_flow *f)
{
    list_init(&f->all);
    list_init(&f->fresh);
    list_init(&f->woken);
    list_init(&f->stale);
    f->late = &f->all;
    f->aged = &f->fresh;
}

static int64_t
add_sat(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t
flow_due(const struct apiq_item *it, const struct apiq_conf *conf)
{
    if (it->deadline_ns > 0) {
        return add_sat(it->arrived_ns != 0 ? it->arrived_ns : it->pushed_ns, it->deadline_ns);
    }
    if (it->deadline_ns < 0 || conf->deadline_ns == 0) {
        return INT64_MAX;
    }
    return add_sat(it->pushed_ns, conf->deadline_ns);
}

/* The adaptive bound: the age at which an item has newest first begin. */
static int64_t
patience(const struct apiq_item *it, const struct apiq_conf *conf)
{
    int64_t due = flow_due(it, conf);
    int64_t age = INT64_MAX;
    if (due != INT64_MAX) {
        age = (int64_t)((double)(due - it->pushed_ns) * conf->adaptive_age);
    }
    if (conf->adaptive_wait_ns > 0 && conf->adaptive_wait_ns < age) {
        age = conf->adaptive_wait_ns;
    }
    return age;
}

/* After which one a late item belongs. After a standstill the backlog is pushed connection by
 * connection, each from its oldest on, so the search begins where the last late one stands. */
static struct list_node *
late_place(const struct apiq_flow *f, const struct apiq_item *it)
{
    struct list_node *pos = f->late != &f->all ? f->late : f->all.prev;
    int steps = LATE_STEPS;
    while (pos != &f->all && item_of(pos)->pushed_ns > it->pushed_ns && steps-- > 0) {
        pos = pos->prev;
    }
    while (pos->next != &f->all && item_of(pos->next)->pushed_ns <= it->pushed_ns && steps-- > 0) {
        pos = pos->next;
    }
    return pos;
}

/* The last of the fresh ones that stand before it in `all`. */
static struct list_node *
fresh_before(struct apiq_flow *f, const struct apiq_item *it)
{
    int steps = LATE_STEPS;
    for (struct list_node *n = it->flow_node.prev; n != &f->all && steps-- > 0; n = n->prev) {
        if (item_of(n)->ready == FLOW_FRESH) {
            return &item_of(n)->ready_node;
        }
    }
    return &f->fresh;
}

static void
add_late(struct apiq_flow *f, struct apiq_item *it, const struct apiq_conf *conf)
{
    list_insert_after(late_place(f, it), &it->flow_node);
    f->late = &it->flow_node;
    int64_t bound = patience(it, conf);
    if (bound != INT64_MAX && it->late_ns >= bound / 2) {
        f->catching_up = add_sat(it->pushed_ns + it->late_ns, bound * CATCH_UP_BOUNDS);
    }
}

void
flow_add(struct apiq_flow *f, struct apiq_item *it, bool runnable, const struct apiq_conf *conf)
{
    if (it->late_ns > 0) {
        add_late(f, it, conf);
    } else {
        list_push_back(&f->all, &it->flow_node);
    }
    f->depth++;
    f->bytes += it->bytes;
    f->weight = it->weight > 0 ? it->weight : 1;
    it->ready = FLOW_BLOCKED;
    if (runnable) {
        it->ready = FLOW_FRESH;
        list_insert_after(it->late_ns > 0 ? fresh_before(f, it) : f->fresh.prev, &it->ready_node);
        f->runnable++;
    }
}

static void
leave_ready(struct apiq_flow *f, struct apiq_item *it)
{
    if (f->aged == &it->ready_node) {
        f->aged = it->ready_node.prev;
    }
    f->n_stale -= it->ready == FLOW_STALE ? 1 : 0;
    list_remove(&it->ready_node);
}

void
flow_remove(struct apiq_flow *f, struct apiq_item *it)
{
    if (it->ready != FLOW_BLOCKED) {
        leave_ready(f, it);
        f->runnable--;
        it->ready = FLOW_BLOCKED;
    }
    if (f->late == &it->flow_node) {
        f->late = it->flow_node.prev;
    }
    list_remove(&it->flow_node);
    f->depth--;
    f->bytes -= it->bytes;
}

/* Items wake out of order, so each is put in its place by arrival. NB: only so many places are
 * looked at, to keep the cost constant; past that an item stands somewhat behind its place among
 * the woken ones, which changes nothing but its turn among them. */
void
flow_wake(struct apiq_flow *f, struct apiq_item *it)
{
    ASSERT(it->ready == FLOW_BLOCKED);
    struct list_node *pos = f->woken.prev;
    for (int i = 0; i < WAKE_STEPS && pos != &f->woken && ready_item(pos)->seq > it->seq; i++) {
        pos = pos->prev;
    }
    list_insert_after(pos, &it->ready_node);
    it->ready = FLOW_WOKEN;
    f->runnable++;
}

static struct apiq_item *
oldest_runnable(struct apiq_flow *f)
{
    if (list_is_empty(&f->woken)) {
        return ready_item(f->fresh.next);
    }
    struct apiq_item *woken = ready_item(f->woken.next);
    if (list_is_empty(&f->fresh)) {
        return woken;
    }
    struct apiq_item *fresh = ready_item(f->fresh.next);
    return fresh->seq < woken->seq ? fresh : woken;
}

static struct apiq_item *
last_of(struct list_node *list)
{
    return list_is_empty(list) ? NULL : ready_item(list->prev);
}

/* The one that came later; either may be NULL. */
static struct apiq_item *
newer_of(struct apiq_item *a, struct apiq_item *b)
{
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    return a->seq > b->seq ? a : b;
}

static struct apiq_item *
newest_runnable(struct apiq_flow *f)
{
    return newer_of(last_of(&f->fresh), last_of(&f->woken));
}

static struct apiq_item *
unless_late(struct apiq_item *it)
{
    return it != NULL && it->late_ns == 0 ? it : NULL;
}

struct apiq_item *
flow_prompt(struct apiq_flow *f)
{
    return newer_of(unless_late(last_of(&f->fresh)), unless_late(last_of(&f->woken)));
}

struct apiq_item *
flow_oldest(const struct apiq_flow *f)
{
    return list_is_empty(&f->all) ? NULL : item_of(f->all.next);
}

struct apiq_item *
flow_victim(const struct apiq_flow *f, const struct apiq_item *keep)
{
    struct apiq_item *it = flow_oldest(f);
    if (it == NULL || it != keep) {
        return it;
    }
    return it->flow_node.next != &f->all ? item_of(it->flow_node.next) : NULL;
}

/* How long the client of an item without a deadline of its own is presumed to wait: adaptive_wait
 * is meant to be half of that. INT64_MAX: nothing is presumed. */
static int64_t
presumed_patience(const struct apiq_item *it, const struct apiq_conf *conf)
{
    if (it->deadline_ns != 0 || conf->deadline_ns == 0 || conf->adaptive_wait_ns == 0 ||
        conf->adaptive_wait_ns >= conf->deadline_ns / 2) {
        return INT64_MAX;
    }
    return 2 * conf->adaptive_wait_ns;
}

static bool
is_past_patience(const struct apiq_item *it, const struct apiq_conf *conf, int64_t age)
{
    int64_t patience_ns = presumed_patience(it, conf);
    return patience_ns != INT64_MAX && age >= patience_ns;
}

static bool
is_stale(const struct apiq_item *it, const struct flow_rule *rule)
{
    return is_past_patience(it, rule->conf, rule->now - it->pushed_ns);
}

bool
flow_is_stale_at_once(const struct apiq_item *it, const struct apiq_conf *conf)
{
    return conf->order == APIQ_ADAPTIVE && is_past_patience(it, conf, it->late_ns);
}

static void
make_stale(struct apiq_flow *f, struct apiq_item *it)
{
    leave_ready(f, it);
    it->ready = FLOW_STALE;
    f->n_stale++;
    list_push_back(&f->stale, &it->ready_node);
}

/* Moves what has become stale at the old end of a list; each item is moved once in its life. */
static void
sort_out(struct apiq_flow *f, struct list_node *list, const struct flow_rule *rule)
{
    for (int i = 0; i < STALE_STEPS && !list_is_empty(list); i++) {
        struct apiq_item *it = ready_item(list->next);
        if (!is_stale(it, rule)) {
            return;
        }
        make_stale(f, it);
    }
}

void
flow_judge(struct apiq_flow *f, const struct flow_rule *rule)
{
    if (rule->conf->order == APIQ_ADAPTIVE) {
        sort_out(f, &f->fresh, rule);
        sort_out(f, &f->woken, rule);
    }
    if (rule->conf->order != APIQ_ADAPTIVE || f->runnable == f->n_stale) {
        f->newest_first = rule->conf->order == APIQ_LIFO;
        return;
    }
    const struct apiq_item *oldest = oldest_runnable(f);
    int64_t bound = patience(oldest, rule->conf);
    int64_t age = rule->now - oldest->pushed_ns;
    /* After a standstill all that came meanwhile is read at once and looks young. If it takes more
     * than twice the bound to serve, the oldest of it are not worth waiting for. */
    if (rule->ahead_ns / 2 > age) {
        age = rule->ahead_ns / 2;
    }
    /* Between half the bound and the bound it stays as it is: no flapping. */
    if (age >= bound) {
        f->newest_first = true;
    } else if (age < bound / 2) {
        f->newest_first = false;
    }
}

bool
flow_has_time(const struct apiq_item *it, const struct flow_rule *rule)
{
    int64_t due = flow_due(it, rule->conf);
    if (due == INT64_MAX) {
        return true;
    }
    int64_t span = due - it->pushed_ns;
    int64_t presumed = presumed_patience(it, rule->conf);
    if (presumed < span) {
        span = presumed;
    }
    int64_t need = span / 4;
    if (rule->median_ns > need / 4) {
        need = rule->median_ns * 4;
    }
    return it->pushed_ns + span - rule->now >= need;
}

/* The oldest runnable item with time left, or NULL. Time left only shrinks, so what was found to
 * have too little is not looked at again. */
static struct apiq_item *
oldest_with_time(struct apiq_flow *f, const struct flow_rule *rule)
{
    struct apiq_item *found = NULL;
    for (int i = 0; i < AGED_STEPS && f->aged->next != &f->fresh && found == NULL; i++) {
        struct apiq_item *it = ready_item(f->aged->next);
        if (flow_has_time(it, rule)) {
            found = it;
        } else {
            f->aged = f->aged->next;
        }
    }
    if (!list_is_empty(&f->woken)) {
        struct apiq_item *woken = ready_item(f->woken.next);
        if ((found == NULL || woken->seq < found->seq) && flow_has_time(woken, rule)) {
            found = woken;
        }
    }
    return found;
}

/* Late ones (late_ns) are not in the order of their age, so a stale one may stand anywhere. */
static struct apiq_item *
newest_not_stale(struct apiq_flow *f, const struct flow_rule *rule)
{
    struct apiq_item *it = newest_runnable(f);
    for (int i = 0; i < STALE_STEPS && rule->conf->order == APIQ_ADAPTIVE && is_stale(it, rule);
         i++) {
        make_stale(f, it);
        if (f->n_stale == f->runnable) {
            return ready_item(f->stale.prev);
        }
        it = newest_runnable(f);
    }
    return it;
}

/* After a standstill the most is answered in time by taking the oldest that still has the time: the
 * newer ones can wait for it, as there was capacity before. That is wrong where it was the load
 * that made it stand still, so it is for a while only. */
static unsigned
aged_share(const struct apiq_flow *f, const struct flow_rule *rule)
{
    if (rule->conf->order == APIQ_ADAPTIVE && rule->now < f->catching_up) {
        return 1;
    }
    return rule->conf->aged_share;
}

bool
flow_wants_aged(const struct apiq_flow *f, const struct flow_rule *rule)
{
    unsigned share = aged_share(f, rule);
    return f->newest_first && share > 0 && f->since_aged + 1 >= share;
}

struct apiq_item *
flow_next(struct apiq_flow *f, const struct flow_rule *rule, bool *aged)
{
    ASSERT(f->runnable > 0);
    *aged = false;
    if (f->n_stale > 0 && (f->n_stale == f->runnable || rule->conf->order == APIQ_FIFO)) {
        return rule->conf->order == APIQ_FIFO ? ready_item(f->stale.next)
                                              : ready_item(f->stale.prev);
    }
    if (!f->newest_first) {
        f->since_aged = 0;
        return oldest_runnable(f);
    }
    bool wants_aged = flow_wants_aged(f, rule);
    f->since_aged++;
    if (wants_aged) {
        f->since_aged = 0;
        struct apiq_item *it = oldest_with_time(f, rule);
        if (it != NULL) {
            *aged = true;
            return it;
        }
    }
    return newest_not_stale(f, rule);
}
