/* SPDX-License-Identifier: Apache-2.0 */
/* The incident view: one answer to what is happening, to whom, and since when. Everything in it is
 * a snapshot of counters; nothing waits for the queue or its workers. */
#include <jansson.h>
#include <stdio.h>

#include "api/api.h"
#include "api/gates.h"
#include "api/group_json.h"
#include "api/history.h"
#include "api/jobj.h"
#include "api/ledger.h"
#include "api/plane.h"
#include "api/settings.h"
#include "api/views.h"
#include "queue/apiq_view.h"
#include "queue/pool.h"

/* Waits below this are nobody's incident. */
#define LONG_WAIT (CLOCK_MS * 100)

/* What the sections share. */
struct now {
    struct apiq_stats q;
    struct ledger_snapshot s;
    uint64_t waiting, running;
    int64_t oldest;
    double workers, busy;
};

static void
look(struct api *a, struct now *n)
{
    *n = (struct now){.workers = a->pool == NULL ? 0 : pool_workers(a->pool)};
    apiq_stats(a->queue, &n->q);
    ledger_read(a->ledger, &n->s);
    for (int i = 0; i < APIQ_LEVELS; i++) {
        n->waiting += n->q.level[i].depth;
        n->running += n->s.level[i].running;
        if (n->q.level[i].oldest_age_ns > n->oldest) {
            n->oldest = n->q.level[i].oldest_age_ns;
        }
    }
    n->busy = (double)(n->running - n->s.pending);
}

static json_t *
now_json(struct api *a, const struct now *n)
{
    bool newest = false;
    int64_t since = 0;
    int64_t drain = 0;
    for (int i = 0; i < APIQ_LEVELS; i++) {
        const struct apiq_level_stats *l = &n->q.level[i];
        int64_t d = apiq_drain_ns(a->queue, (enum apiq_level)i);
        drain = d > drain ? d : drain;
        if (l->newest_first && (!newest || l->order_since < since)) {
            newest = true;
            since = l->order_since;
        }
    }
    json_t *o = json_object();
    jobj_int(&o, "waiting", n->waiting);
    jobj_ms(&o, "oldest_age_ms", n->oldest);
    jobj_int(&o, "running", n->running);
    jobj_int(&o, "pending", n->s.pending);
    jobj_int(&o, "workers", (uint64_t)n->workers);
    jobj_int(&o, "workers_busy", (uint64_t)n->busy);
    jobj_str(&o, "order", newest ? "newest_first" : "oldest_first");
    if (newest) {
        jobj_time(&o, "order_since", clock_wall_ns() - (clock_now(&a->clock) - since));
    }
    jobj_real(&o, "arrivals_per_sec", n->s.arrivals);
    jobj_real(&o, "completions_per_sec", n->s.completions);
    jobj_real(&o, "workers_used", n->s.worker_ns / 1e9);
    jobj_ms(&o, "drain_ms", drain);
    return o;
}

static json_t *
hint(const struct now *n)
{
    const char *state = "calm";
    const char *text = "Nothing waits for long.";
    double used = n->s.worker_ns / 1e9;
    if (n->oldest >= LONG_WAIT && n->busy + 1 < n->workers && used < n->workers / 2) {
        state = "us";
        text = "A long queue and idle workers: a limit holds requests back (pending commits, order "
               "of one connection's requests), or it is a fault of this server.";
    } else if (n->oldest >= LONG_WAIT && n->s.completions < n->workers / 2) {
        state = "us";
        text = "The workers are held by few long requests: see holders.";
    } else if (n->oldest >= LONG_WAIT) {
        state = "them";
        text = "More arrives than can be served: the queue is saving you. See who.";
    }
    return json_pack("{s:s, s:s}", "state", state, "text", text);
}

static json_t *
overload(struct api *a)
{
    struct history_sample v[HISTORY_LEN];
    struct history_state state;
    (void)history_read(a->history, v, &state);
    json_t *o = json_object();
    jobj_bool(&o, "overloaded", state.overloaded);
    jobj_time(&o, "since", state.since);
    jobj_int(&o, "times", state.begins);
    return o;
}

json_t *
api_apiz(struct api *a)
{
    struct now n;
    struct settings_values v;
    look(a, &n);
    settings_get(a->settings, &v);
    json_t *o = json_object();
    jobj_str(&o, "server_id", a->host->server_id(a->host->ctx));
    jobj_str(&o, "server_name", a->host->server_name(a->host->ctx));
    jobj_time(&o, "time", clock_wall_ns());
    jobj_put(&o, "now", now_json(a, &n));
    jobj_put(&o, "hint", hint(&n));
    jobj_put(&o, "overload", overload(a));
    jobj_put(&o, "counters", views_counters(a));
    jobj_put(&o, "lost", views_lost(a));
    jobj_put(&o, "who", views_who(a));
    jobj_put(&o, "holders", views_holders(a));
    jobj_put(&o, "limits", settings_json(&v));
    jobj_put(&o, "levels", views_levels(a));
    jobj_put(&o, "gates", gates_json(a->gates));
    jobj_put(&o, "workload_groups", group_json_brief(a));
    jobj_put(&o, "history", views_history(a));
    return o;
}

json_t *
api_ipqueues(struct api *a)
{
    static const char *const names[] = {
        [APIQ_OPERATOR] = "API operator queue",
        [APIQ_NORMAL] = "JetStream API queue",
        [APIQ_INFO] = "JetStream API info queue",
    };
    struct apiq_stats q;
    apiq_stats(a->queue, &q);
    json_t *o = json_object();
    for (int i = 0; i < APIQ_LEVELS; i++) {
        json_t *row = json_object();
        jobj_int(&row, "pending", q.level[i].depth);
        jobj_int(&row, "in_progress", q.level[i].running + q.level[i].pending);
        jobj_put(&o, names[i], row);
    }
    return o;
}
