/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/apiq_conf.h"

#include <string.h>

#include "queue/apiq_priv.h"
#include "server/base/assert.h"

static const char *const order_names[APIQ_ORDERS] = {"fifo", "lifo", "adaptive"};
static const char *const level_names[APIQ_LEVELS] = {"operator", "normal", "info"};

void
apiq_conf_default(enum apiq_level level, struct apiq_conf *out)
{
    *out = (struct apiq_conf){
        .order = APIQ_ADAPTIVE,
        .max_entries = level == APIQ_OPERATOR ? APIQ_OPERATOR_MAX : 10000,
        .max_bytes = (size_t)64 << 20,
        .deadline_ns = 5 * CLOCK_S,
        .adaptive_age = 0.5,
        .adaptive_wait_ns = 500 * CLOCK_MS,
        .aged_share = 64,
        .min_share = 8,
        .max_running = 0,
        .max_pending = 1024,
    };
}

static bool
is_valid(enum apiq_level level, const struct apiq_conf *c)
{
    return (unsigned)c->order < APIQ_ORDERS && c->deadline_ns >= 0 && c->adaptive_wait_ns >= 0 &&
           c->adaptive_age > 0.0 && c->adaptive_age <= 1.0 && c->min_share != 1 &&
           (level != APIQ_OPERATOR || c->max_entries <= APIQ_OPERATOR_MAX);
}

void
apiq_get_conf(struct apiq *q, enum apiq_level level, struct apiq_conf *out)
{
    ASSERT(level < APIQ_LEVELS);
    pthread_mutex_lock(&q->lock);
    *out = q->lv[level].conf;
    pthread_mutex_unlock(&q->lock);
}

/* What depends on the settings is found anew, in each flow. */
static void
judge_all(struct apiq_lv *lv, int64_t now)
{
    struct apiq_flow *f = heavy_by_entries(&lv->heavy);
    for (; f != NULL; f = heavy_after(&lv->heavy, f)) {
        f->aged = &f->fresh;
        apiq_judge(lv, f, now);
    }
    apiq_judge(lv, NULL, now);
}

enum status
apiq_configure(struct apiq *q, enum apiq_level level, const struct apiq_conf *conf,
               struct list_node *fallen)
{
    ASSERT(level < APIQ_LEVELS);
    if (!is_valid(level, conf)) {
        return ST_INVAL;
    }
    struct apiq_lv *lv = &q->lv[level];
    pthread_mutex_lock(&q->lock);
    unsigned max_running = lv->conf.max_running;
    lv->conf = *conf;
    lv->conf.max_running = max_running;
    lv->departed++;
    apiq_evict(lv, q, NULL, fallen);
    judge_all(lv, clock_now(&q->clk));
    apiq_unlock_kick(q);
    return ST_OK;
}

void
apiq_set_max_running(struct apiq *q, enum apiq_level level, unsigned n)
{
    ASSERT(level < APIQ_LEVELS);
    pthread_mutex_lock(&q->lock);
    q->lv[level].conf.max_running = n;
    apiq_unlock_kick(q);
}

void
apiq_set_slots(struct apiq *q, unsigned slots)
{
    pthread_mutex_lock(&q->lock);
    q->slots = slots;
    apiq_unlock_kick(q);
}

const char *
apiq_order_name(enum apiq_order order)
{
    return (unsigned)order < APIQ_ORDERS ? order_names[order] : NULL;
}

enum status
apiq_order_parse(const char *name, enum apiq_order *out)
{
    for (unsigned i = 0; i < APIQ_ORDERS; i++) {
        if (strcmp(name, order_names[i]) == 0) {
            *out = (enum apiq_order)i;
            return ST_OK;
        }
    }
    return ST_INVAL;
}

const char *
apiq_level_name(enum apiq_level level)
{
    return (unsigned)level < APIQ_LEVELS ? level_names[level] : NULL;
}
