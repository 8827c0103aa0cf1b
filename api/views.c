/* SPDX-License-Identifier: Apache-2.0 */
#include "api/views.h"

#include <stdio.h>
#include <string.h>

#include "api/endpoint.h"
#include "api/history.h"
#include "api/jobj.h"
#include "api/ledger.h"
#include "api/plane.h"
#include "api/settings.h"
#include "queue/pool.h"
#include "server/base/mem.h"

#define TOP 10u

/* A time of the plane's clock as wall time. */
static int64_t
wall_of(const struct api *a, int64_t t)
{
    return clock_wall_ns() - (clock_now(&a->clock) - t);
}

int64_t
views_quantile(const struct apiq_level_stats *s, double q)
{
    uint64_t all = 0;
    for (int i = 0; i < APIQ_WAIT_BUCKETS; i++) {
        all += s->wait[i];
    }
    uint64_t seen = 0;
    for (int i = 0; i < APIQ_WAIT_BUCKETS && all > 0; i++) {
        seen += s->wait[i];
        if ((double)seen >= q * (double)all) {
            int64_t bound = (INT64_C(1) << i) * CLOCK_US;
            return bound < s->wait_max_ns ? bound : s->wait_max_ns;
        }
    }
    return 0;
}

static json_t *
level(const struct api *a, const struct apiq_level_stats *s, const struct apiq_conf *c)
{
    json_t *o = json_object();
    jobj_int(&o, "waiting", s->depth);
    jobj_int(&o, "blocked", s->blocked);
    jobj_int(&o, "bytes", s->bytes);
    jobj_int(&o, "peak", s->peak);
    jobj_int(&o, "limit", c->max_entries);
    jobj_int(&o, "limit_bytes", c->max_bytes);
    jobj_int(&o, "flows", s->flows);
    jobj_int(&o, "running", s->running);
    jobj_int(&o, "pending", s->pending);
    jobj_ms(&o, "oldest_age_ms", s->oldest_age_ns);
    jobj_str(&o, "discipline", apiq_order_name(c->order));
    jobj_str(&o, "order", s->newest_first ? "newest_first" : "oldest_first");
    jobj_time(&o, "order_since", wall_of(a, s->order_since));
    jobj_int(&o, "order_switches", s->switches);
    jobj_int(&o, "aged", s->aged);
    jobj_ms(&o, "wait_p50_ms", views_quantile(s, 0.5));
    jobj_ms(&o, "wait_p99_ms", views_quantile(s, 0.99));
    jobj_ms(&o, "wait_max_ms", s->wait_max_ns);
    jobj_ms(&o, "service_median_ms", s->median_ns);
    jobj_real(&o, "drain_per_sec", s->drain_per_sec);
    return o;
}

json_t *
views_levels(struct api *a)
{
    struct apiq_stats q;
    apiq_stats(a->queue, &q);
    json_t *all = json_object();
    for (int i = 0; i < APIQ_LEVELS; i++) {
        struct apiq_conf c;
        apiq_get_conf(a->queue, (enum apiq_level)i, &c);
        jobj_put(&all, apiq_level_name((enum apiq_level)i), level(a, &q.level[i], &c));
    }
    return all;
}

static json_t *
counts(const struct ledger_counts *c)
{
    json_t *o = json_object();
    jobj_int(&o, "received", c->received);
    for (int k = 0; k < LEDGER_OUTCOMES; k++) {
        jobj_int(&o, ledger_outcome_name((enum ledger_outcome)k), c->ended[k]);
    }
    jobj_int(&o, "parked", c->parked);
    jobj_int(&o, "queued", c->queued);
    jobj_int(&o, "running", c->running);
    return o;
}

json_t *
views_counters(struct api *a)
{
    struct ledger_snapshot s;
    struct ledger_counts sum = {0};
    ledger_read(a->ledger, &s);
    json_t *levels = json_object();
    for (int i = 0; i < APIQ_LEVELS; i++) {
        const struct ledger_counts *c = &s.level[i];
        jobj_put(&levels, apiq_level_name((enum apiq_level)i), counts(c));
        sum.received += c->received;
        sum.parked += c->parked;
        sum.queued += c->queued;
        sum.running += c->running;
        for (int k = 0; k < LEDGER_OUTCOMES; k++) {
            sum.ended[k] += c->ended[k];
        }
    }
    json_t *o = counts(&sum);
    jobj_put(&o, "levels", levels);
    return o;
}

static json_t *
lost_accounts(struct api *a)
{
    struct ledger_account_info v[TOP];
    size_t n = ledger_accounts(a->ledger, false, v, TOP);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *o = counts(&v[i].counts);
        jobj_str(&o, "account", v[i].name);
        jobj_time(&o, "first", v[i].lost_first);
        jobj_time(&o, "last", v[i].lost_last);
        jarr_add(&list, o);
    }
    return list;
}

json_t *
views_lost(struct api *a)
{
    struct ledger_snapshot s;
    uint64_t total = 0;
    ledger_read(a->ledger, &s);
    json_t *reasons = json_object();
    for (int e = 0; e < LEDGER_END_COUNT; e++) {
        if (ledger_outcome_of((enum ledger_end)e) != LEDGER_ANSWERED) {
            jobj_int(&reasons, ledger_end_name((enum ledger_end)e), s.by_end[e]);
            total += s.by_end[e];
        }
    }
    json_t *o = json_object();
    jobj_int(&o, "total", total);
    jobj_int(&o, "failed", s.by_end[END_FAILED]);
    jobj_time(&o, "first", s.lost_first);
    jobj_time(&o, "last", s.lost_last);
    jobj_put(&o, "reasons", reasons);
    jobj_put(&o, "accounts", lost_accounts(a));
    return o;
}

static json_t *
top(struct api *a, enum who_order order)
{
    struct who_pair v[TOP];
    size_t n = ledger_who(a->ledger, order, v, TOP);
    int64_t now = clock_now(&a->clock);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *o = json_object();
        jobj_str(&o, "account", v[i].account);
        jobj_str(&o, "class", v[i].ep == NULL ? "" : v[i].ep->subjects[0]);
        jobj_real(&o, "arrivals_per_sec", rate_per_sec(&v[i].arrivals, now, RATE_RECENT));
        jobj_real(&o, "workers", rate_per_sec(&v[i].worker_ns, now, RATE_RECENT) / 1e9);
        jobj_int(&o, "waiting", v[i].waiting);
        jobj_int(&o, "running", v[i].running);
        jarr_add(&list, o);
    }
    return list;
}

json_t *
views_who(struct api *a)
{
    json_t *o = json_object();
    jobj_put(&o, "by_arrivals", top(a, WHO_ARRIVALS));
    jobj_put(&o, "by_workers", top(a, WHO_WORKERS));
    jobj_put(&o, "by_waiting", top(a, WHO_WAITING));
    return o;
}

static json_t *
holder(const struct api *a, const struct pool_worker_info *w)
{
    char name[24];
    (void)snprintf(name, sizeof(name), "api-%u", w->worker);
    json_t *o = json_object();
    jobj_str(&o, "worker", w->worker == POOL_MAX_WORKERS ? "api-op" : name);
    jobj_int(&o, "runs", w->runs);
    jobj_real(&o, "busy_sec", (double)w->busy_ns / 1e9);
    jobj_bool(&o, "busy", w->busy);
    if (w->busy) {
        jobj_int(&o, "id", w->id);
        jobj_str(&o, "level", apiq_level_name(w->level));
        jobj_str(&o, "account", w->name);
        jobj_str(&o, "subject", w->label);
        if (w->owner != 0) {
            jobj_int(&o, "cid", w->owner);
        }
        jobj_ms(&o, "for_ms", clock_now(&a->clock) - w->since);
    }
    return o;
}

json_t *
views_holders(struct api *a)
{
    json_t *list = json_array();
    if (a->pool == NULL) {
        return list;
    }
    struct pool_worker_info *v = mem_alloc_array(POOL_MAX_WORKERS + 1, sizeof(*v));
    if (v == NULL) {
        json_decref(list);
        return NULL;
    }
    size_t n = pool_view(a->pool, v, POOL_MAX_WORKERS + 1);
    for (size_t i = 0; i < n; i++) {
        jarr_add(&list, holder(a, &v[i]));
    }
    mem_free(v);
    return list;
}

static json_t *
sample(const struct history_sample *s)
{
    json_t *o = json_object();
    jobj_time(&o, "at", s->wall);
    jobj_int(&o, "waiting", s->depth);
    jobj_ms(&o, "oldest_age_ms", s->oldest_age_ns);
    jobj_int(&o, "running", s->running);
    jobj_int(&o, "pending", s->pending);
    jobj_int(&o, "workers", s->workers);
    jobj_int(&o, "arrivals", s->arrivals);
    for (int k = 0; k < LEDGER_OUTCOMES; k++) {
        jobj_int(&o, ledger_outcome_name((enum ledger_outcome)k), s->ended[k]);
    }
    jobj_bool(&o, "newest_first", s->newest_first);
    return o;
}

json_t *
views_history(struct api *a)
{
    struct history_sample v[HISTORY_LEN];
    struct history_state state;
    size_t n = history_read(a->history, v, &state);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        jarr_add(&list, sample(&v[i]));
    }
    return list;
}

json_t *
views_waiting(const struct apiq_item_info *i, const char *gate)
{
    json_t *o = json_object();
    jobj_int(&o, "id", i->id);
    if (gate == NULL) {
        jobj_str(&o, "level", apiq_level_name(i->level));
    } else {
        jobj_str(&o, "gate", gate);
    }
    jobj_str(&o, "account", i->name);
    jobj_str(&o, "subject", i->label);
    if (i->owner != 0) {
        jobj_int(&o, "cid", i->owner);
    }
    jobj_int(&o, "bytes", i->bytes);
    jobj_ms(&o, "age_ms", i->age_ns);
    if (i->left_ns != INT64_MAX) {
        jobj_ms(&o, "left_ms", i->left_ns);
    }
    return o;
}
