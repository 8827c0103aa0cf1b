/* SPDX-License-Identifier: Apache-2.0 */
/* The backlog of a standstill while it is read up. What was sent last is read last, and it is what
 * can still be answered in time; so the time goes into reading on. What came late is not run
 * meanwhile, for a while, and what would fall out again is refused before it is copied. */
#include "queue/apiq_priv.h"
#include "server/base/assert.h"

/* A backlog that is read up brings a late item at least so often. */
#define LATE_GAP (20 * CLOCK_MS)
/* Late items that come so long after the last ones are of another standstill. */
#define LATE_APART CLOCK_S
/* What is read up sooner than that needs no help. */
#define HOLD_AFTER (100 * CLOCK_MS)
/* A flow of fewer is served in no time, and nothing is won by holding it. */
#define HOLD_CROWD 64u
#define HOLD_FLOWS 4

static int64_t
min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void
apiq_note_late(struct apiq_lv *lv, int64_t late_ns, int64_t now)
{
    if (lv->late_until == 0 || now - lv->late_until > LATE_APART) {
        lv->hold_from = now + HOLD_AFTER;
        lv->hold_until = now + min64(late_ns, 2 * lv->conf.adaptive_wait_ns);
    }
    lv->late_until = now + LATE_GAP;
}

static bool
is_reading_up(const struct apiq_lv *lv, int64_t now)
{
    return lv->conf.order == APIQ_ADAPTIVE && lv->late_until > now;
}

static struct apiq_flow *
flow_at(struct list_node *turn)
{
    return LIST_ENTRY(turn, struct apiq_flow, turn_node);
}

static bool
has_few_flows(const struct apiq_lv *lv)
{
    int flows = 0;
    for (const struct list_node *n = lv->turns.next; n != &lv->turns; n = n->next) {
        if (++flows > HOLD_FLOWS) {
            return false;
        }
    }
    return true;
}

static bool
holds_late_at(const struct apiq_lv *lv, int64_t now)
{
    return is_reading_up(lv, now) && lv->hold_from <= now && now < lv->hold_until &&
           has_few_flows(lv);
}

bool
apiq_holds_late(const struct apiq *q, const struct apiq_lv *lv)
{
    return lv->late_until != 0 && holds_late_at(lv, clock_now(&q->clk));
}

bool
apiq_is_crowded(const struct apiq_flow *f)
{
    return f->depth >= HOLD_CROWD;
}

/* The first flow with something that is not stale nor, where late ones are held, of a late crowd.
 */
static struct apiq_flow *
first_unheld(const struct apiq_lv *lv, bool holds_late)
{
    for (struct list_node *n = lv->turns.next; n != &lv->turns; n = n->next) {
        struct apiq_flow *f = flow_at(n);
        bool by_prompt = holds_late && apiq_is_crowded(f);
        if (by_prompt ? flow_prompt(f) != NULL : f->n_stale < f->runnable) {
            return f;
        }
    }
    return NULL;
}

struct apiq_flow *
apiq_unheld(const struct apiq_lv *lv)
{
    return first_unheld(lv, true);
}

bool
apiq_is_held(const struct apiq *q, const struct apiq_lv *lv)
{
    int64_t now = clock_now(&q->clk);
    return is_reading_up(lv, now) && has_few_flows(lv) &&
           first_unheld(lv, holds_late_at(lv, now)) == NULL;
}

int64_t
apiq_next_look(const struct apiq *q, int64_t now, int64_t usual)
{
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        if (q->lv[i].late_until > now) {
            return min64(usual, LATE_GAP);
        }
    }
    return usual;
}

/* What came behind it is presumed to be as much as the level serves in the time it lay unread; if
 * that is more than fits, it would be pushed out. NB: where what it would push out itself still has
 * the time to be served, nobody loses an answer by that. */
static bool
falls_out_anyway(const struct apiq_lv *lv, const struct apiq_flow *f, int64_t late_ns, int64_t now)
{
    double behind = apiq_rate(lv, now) * (double)late_ns / (double)CLOCK_S;
    struct flow_rule rule = {.conf = &lv->conf, .now = now};
    return behind >= (double)lv->conf.max_entries && flow_has_time(flow_oldest(f), &rule);
}

/* The level is full, of this flow most. */
static bool
is_not_worth_a_push(const struct apiq_lv *lv, const struct apiq_flow *f, int64_t late_ns,
                    int64_t deadline_ns, int64_t now)
{
    struct apiq_item it = {.late_ns = late_ns, .deadline_ns = deadline_ns};
    return lv->conf.order == APIQ_ADAPTIVE &&
           (flow_is_stale_at_once(&it, &lv->conf) || falls_out_anyway(lv, f, late_ns, now));
}

bool
apiq_refuses_late(struct apiq *q, enum apiq_level level, uint64_t flow, int64_t late_ns,
                  int64_t deadline_ns)
{
    ASSERT(level < APIQ_LEVELS);
    struct apiq_lv *lv = &q->lv[level];
    pthread_mutex_lock(&q->lock);
    int64_t now = clock_now(&q->clk);
    const struct apiq_flow *most = heavy_by_entries(&lv->heavy);
    bool refuses = lv->st.depth >= lv->conf.max_entries && most != NULL && most->node.key == flow &&
                   is_not_worth_a_push(lv, most, late_ns, deadline_ns, now);
    if (refuses) {
        apiq_note_late(lv, late_ns, now);
        lv->st.refused++;
    }
    pthread_mutex_unlock(&q->lock);
    return refuses;
}
