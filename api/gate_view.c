/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator sees of the gates: JSON and the Prometheus text format. */
#include <inttypes.h>

#include "api/gate.h"
#include "api/gates.h"
#include "api/jobj.h"
#include "api/views.h"
#include "server/base/buf.h"

static uint64_t
outcome(const struct gate_counts *c, enum ledger_outcome o)
{
    uint64_t n = 0;
    for (unsigned e = 0; e < LEDGER_END_COUNT; e++) {
        n += ledger_outcome_of((enum ledger_end)e) == o ? c->ended[e] : 0;
    }
    return n;
}

static json_t *
counters(const struct gate_counts *c)
{
    json_t *o = json_object();
    json_t *reasons = json_object();
    jobj_int(&o, "received", c->received);
    for (unsigned k = 0; k < LEDGER_OUTCOMES; k++) {
        jobj_int(&o, ledger_outcome_name((enum ledger_outcome)k),
                 outcome(c, (enum ledger_outcome)k));
    }
    jobj_int(&o, "parked", c->parked);
    jobj_int(&o, "queued", c->queued);
    jobj_int(&o, "running", c->running);
    for (unsigned e = 0; e < LEDGER_END_COUNT; e++) {
        if (ledger_end_is_of((enum ledger_end)e, LEDGER_GATES)) {
            jobj_int(&reasons, ledger_end_name((enum ledger_end)e), c->ended[e]);
        }
    }
    jobj_put(&o, "reasons", reasons);
    return o;
}

json_t *
gate_info_json(const struct gate_info *info)
{
    const struct apiq_level_stats *q = &info->queue;
    json_t *o = gate_conf_json(&info->conf);
    json_t *now = json_object();
    jobj_str(&o, "origin", info->from_config ? "config" : "api");
    jobj_int(&now, "waiting", q->depth);
    jobj_int(&now, "waiting_bytes", q->bytes);
    jobj_int(&now, "peak", q->peak);
    jobj_ms(&now, "oldest_age_ms", q->oldest_age_ns);
    jobj_int(&now, "parked", info->counts.parked);
    jobj_int(&now, "running", info->counts.running);
    jobj_str(&now, "order", q->newest_first ? "newest_first" : "oldest_first");
    jobj_int(&now, "order_switches", q->switches);
    jobj_ms(&now, "service_median_ms", q->median_ns);
    jobj_ms(&now, "wait_p50_ms", views_quantile(q, 0.5));
    jobj_ms(&now, "wait_p99_ms", views_quantile(q, 0.99));
    jobj_real(&now, "drain_per_sec", q->drain_per_sec);
    jobj_ms(&now, "drain_ms", info->drain_ns);
    if (info->group_missing) {
        jobj_bool(&o, "group_missing", true);
    }
    jobj_put(&o, "now", now);
    jobj_put(&o, "counters", counters(&info->counts));
    return o;
}

json_t *
gates_json(struct gates *gs)
{
    struct gate_info info;
    json_t *all = json_array();
    for (size_t i = 0; gates_info(gs, i, &info); i++) {
        jarr_add(&all, gate_info_json(&info));
    }
    return all;
}

static void
head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP sluice_gate_%s %s\n# TYPE sluice_gate_%s %s\n", name, help, name, type);
}

static void
put_reasons(const struct gate_info *info, struct buf *b)
{
    for (unsigned e = 0; e < LEDGER_END_COUNT; e++) {
        if (ledger_end_is_of((enum ledger_end)e, LEDGER_GATES)) {
            buf_printf(b, "sluice_gate_reason_total{gate=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
                       info->conf.name, ledger_end_name((enum ledger_end)e), info->counts.ended[e]);
        }
    }
}

static void
put_ended(struct gates *gs, struct buf *b)
{
    struct gate_info info;
    head(b, "ended_total", "counter", "Requests ended, by the way they ended.");
    for (size_t i = 0; gates_info(gs, i, &info); i++) {
        for (unsigned k = 0; k < LEDGER_OUTCOMES; k++) {
            buf_printf(b, "sluice_gate_ended_total{gate=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
                       info.conf.name, ledger_outcome_name((enum ledger_outcome)k),
                       outcome(&info.counts, (enum ledger_outcome)k));
        }
    }
    head(b, "reason_total", "counter", "Requests ended, by reason.");
    for (size_t i = 0; gates_info(gs, i, &info); i++) {
        put_reasons(&info, b);
    }
}

void
gates_metrics(struct gates *gs, struct buf *b)
{
    static const struct {
        const char *name, *type, *help;
    } heads[] = {
        {"received_total", "counter", "Requests received."},
        {"parked", "gauge", "Requests that wait for their workload group."},
        {"queued", "gauge", "Requests that wait."},
        {"running", "gauge", "Slots that are taken."},
        {"limit", "gauge", "Slots."},
        {"queue_limit", "gauge", "How many requests may wait."},
        {"oldest_seconds", "gauge", "Age of the request that has waited longest."},
        {"newest_first", "gauge", "1 while served newest first."},
    };
    struct gate_info info;
    for (size_t h = 0; h < sizeof(heads) / sizeof(heads[0]); h++) {
        head(b, heads[h].name, heads[h].type, heads[h].help);
        for (size_t i = 0; gates_info(gs, i, &info); i++) {
            double v[] = {(double)info.counts.received,
                          (double)info.counts.parked,
                          (double)info.counts.queued,
                          (double)info.counts.running,
                          (double)info.conf.limit,
                          (double)info.conf.request_queue_limit,
                          (double)info.queue.oldest_age_ns / 1e9,
                          info.queue.newest_first ? 1 : 0};
            buf_printf(b, "sluice_gate_%s{gate=\"%s\"} %.17g\n", heads[h].name, info.conf.name,
                       v[h]);
        }
    }
    put_ended(gs, b);
}
