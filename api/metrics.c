/* SPDX-License-Identifier: Apache-2.0 */
/* The plane in the Prometheus text format. */
#include <inttypes.h>
#include <string.h>

#include "api/api.h"
#include "api/gates.h"
#include "api/group_admin.h"
#include "api/history.h"
#include "api/ledger.h"
#include "api/plane.h"
#include "queue/apiq_conf.h"
#include "queue/apiq_view.h"
#include "queue/pool.h"
#include "server/base/buf.h"

/* Accounts that get series of their own, those that lost most first: labels must stay few. */
#define ACCOUNTS_MAX 100u

static void
head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP sluice_api_%s %s\n# TYPE sluice_api_%s %s\n", name, help, name, type);
}

static void
label(struct buf *b, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '\n') {
            buf_puts(b, "\\n");
            continue;
        }
        if (*s == '\\' || *s == '"') {
            buf_putc(b, '\\');
        }
        buf_putc(b, *s);
    }
}

static const char *
level_name(int i)
{
    return apiq_level_name((enum apiq_level)i);
}

static void
put_counters(struct buf *b, const struct ledger_snapshot *s)
{
    head(b, "received_total", "counter", "Requests received.");
    for (int i = 0; i < APIQ_LEVELS; i++) {
        buf_printf(b, "sluice_api_received_total{level=\"%s\"} %" PRIu64 "\n", level_name(i),
                   s->level[i].received);
    }
    head(b, "ended_total", "counter", "Requests ended, by the way they ended.");
    for (int i = 0; i < APIQ_LEVELS; i++) {
        for (int k = 0; k < LEDGER_OUTCOMES; k++) {
            buf_printf(b, "sluice_api_ended_total{level=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
                       level_name(i), ledger_outcome_name((enum ledger_outcome)k),
                       s->level[i].ended[k]);
        }
    }
    head(b, "reason_total", "counter", "Requests ended, by reason.");
    for (int e = 0; e < LEDGER_END_COUNT; e++) {
        if (ledger_end_is_of((enum ledger_end)e, LEDGER_PLANE)) {
            buf_printf(b, "sluice_api_reason_total{reason=\"%s\"} %" PRIu64 "\n",
                       ledger_end_name((enum ledger_end)e), s->by_end[e]);
        }
    }
    head(b, "queued", "gauge", "Requests that wait.");
    for (int i = 0; i < APIQ_LEVELS; i++) {
        buf_printf(b, "sluice_api_queued{level=\"%s\"} %" PRIu64 "\n", level_name(i),
                   s->level[i].queued);
    }
    head(b, "parked", "gauge", "Requests that wait for a workload group.");
    for (int i = 0; i < APIQ_LEVELS; i++) {
        buf_printf(b, "sluice_api_parked{level=\"%s\"} %" PRIu64 "\n", level_name(i),
                   s->level[i].parked);
    }
    head(b, "running", "gauge", "Requests that run or are to be completed.");
    for (int i = 0; i < APIQ_LEVELS; i++) {
        buf_printf(b, "sluice_api_running{level=\"%s\"} %" PRIu64 "\n", level_name(i),
                   s->level[i].running);
    }
    head(b, "pending", "gauge", "Requests that are to be completed and hold no worker.");
    buf_printf(b, "sluice_api_pending %" PRIu64 "\n", s->pending);
}

static void
put_waits(struct buf *b, const struct apiq_stats *q)
{
    head(b, "wait_seconds", "histogram", "Time from arrival in the queue to its run.");
    for (int i = 0; i < APIQ_LEVELS; i++) {
        const struct apiq_level_stats *l = &q->level[i];
        uint64_t sum = 0;
        for (int k = 0; k < APIQ_WAIT_BUCKETS; k++) {
            sum += l->wait[k];
            if (k + 1 < APIQ_WAIT_BUCKETS) {
                buf_printf(b,
                           "sluice_api_wait_seconds_bucket{level=\"%s\",le=\"%.9g\"} %" PRIu64 "\n",
                           level_name(i), (double)(INT64_C(1) << k) / 1e6, sum);
            }
        }
        buf_printf(b,
                   "sluice_api_wait_seconds_bucket{level=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
                   "sluice_api_wait_seconds_sum{level=\"%s\"} %.9g\n"
                   "sluice_api_wait_seconds_count{level=\"%s\"} %" PRIu64 "\n",
                   level_name(i), sum, level_name(i), (double)l->wait_sum_ns / 1e9, level_name(i),
                   sum);
    }
}

static void
put_queue(struct buf *b, struct api *a, const struct apiq_stats *q)
{
    static const struct {
        const char *name, *type, *help;
    } heads[] = {
        {"queue_bytes", "gauge", "Bytes of the requests that wait."},
        {"queue_limit", "gauge", "How many requests may wait."},
        {"queue_oldest_seconds", "gauge", "Age of the request that has waited longest."},
        {"queue_newest_first", "gauge", "1 while the level is served newest first."},
        {"queue_order_switches_total", "counter", "Changes of the order of service."},
    };
    for (size_t h = 0; h < sizeof(heads) / sizeof(heads[0]); h++) {
        head(b, heads[h].name, heads[h].type, heads[h].help);
        for (int i = 0; i < APIQ_LEVELS; i++) {
            struct apiq_conf c;
            const struct apiq_level_stats *l = &q->level[i];
            apiq_get_conf(a->queue, (enum apiq_level)i, &c);
            double v[] = {(double)l->bytes, (double)c.max_entries, (double)l->oldest_age_ns / 1e9,
                          l->newest_first ? 1 : 0, (double)l->switches};
            buf_printf(b, "sluice_api_%s{level=\"%s\"} %.17g\n", heads[h].name, level_name(i),
                       v[h]);
        }
    }
    head(b, "workers", "gauge", "Worker threads.");
    buf_printf(b, "sluice_api_workers %u\n", a->pool == NULL ? 0 : pool_workers(a->pool));
}

static void
put_accounts(struct buf *b, struct api *a)
{
    struct ledger_account_info v[ACCOUNTS_MAX];
    size_t n = ledger_accounts(a->ledger, true, v, ACCOUNTS_MAX);
    head(b, "account_received_total", "counter", "Requests received from an account.");
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, "sluice_api_account_received_total{account=\"");
        label(b, v[i].name);
        buf_printf(b, "\"} %" PRIu64 "\n", v[i].counts.received);
    }
    head(b, "account_ended_total", "counter", "Requests of an account that ended.");
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < LEDGER_OUTCOMES; k++) {
            buf_puts(b, "sluice_api_account_ended_total{account=\"");
            label(b, v[i].name);
            buf_printf(b, "\",outcome=\"%s\"} %" PRIu64 "\n",
                       ledger_outcome_name((enum ledger_outcome)k), v[i].counts.ended[k]);
        }
    }
}

static const struct group_series {
    const char *name, *type, *help;
    size_t offset; /* in struct group_counts */
} group_series[] = {
#define SERIES(name, type, field, help)                                                            \
    {                                                                                              \
        name, type, help, offsetof(struct group_counts, field)                                     \
    }
    SERIES("group_running", "gauge", running, "Permits of a workload group in use."),
    SERIES("group_parked", "gauge", queued_current, "Requests that a workload group has parked."),
    SERIES("group_parked_bytes", "gauge", queued_bytes, "Their bytes."),
    SERIES("group_admitted_total", "counter", total_admitted, "Permits given."),
    SERIES("group_throttled_total", "counter", total_throttled, "Arrivals over the limit."),
    SERIES("group_would_throttle_total", "counter", total_would_throttle,
           "Arrivals over the limit in mode monitor."),
    SERIES("group_queued_total", "counter", total_queued, "Requests parked."),
    SERIES("group_rejected_total", "counter", total_queue_rejections,
           "Requests refused: the parking was full or off."),
    SERIES("group_cancelled_total", "counter", total_cancelled, "Requests that ended parked."),
    SERIES("group_waits_total", "counter", queue_wait_count, "Requests let in from the parking."),
#undef SERIES
};

static void
put_group_value(struct buf *b, const struct group_series *s, const struct group_info *g)
{
    uint64_t v;
    memcpy(&v, (const char *)&g->counts + s->offset, sizeof(v));
    buf_printf(b, "sluice_api_%s{group=\"%s\"} %" PRIu64 "\n", s->name, g->conf.name, v);
}

static void
put_groups(struct buf *b, struct api *a)
{
    struct group_info g;
    if (!groups_any(a->groups)) {
        return;
    }
    for (size_t k = 0; k < sizeof(group_series) / sizeof(group_series[0]); k++) {
        head(b, group_series[k].name, group_series[k].type, group_series[k].help);
        for (size_t i = 0; groups_at(a->groups, i, &g); i++) {
            put_group_value(b, &group_series[k], &g);
        }
    }
    head(b, "group_limit", "gauge", "Requests that may run at once in a bucket; 0: any number.");
    for (size_t i = 0; groups_at(a->groups, i, &g); i++) {
        buf_printf(b, "sluice_api_group_limit{group=\"%s\"} %lld\n", g.conf.name,
                   (long long)g.conf.limit);
    }
    head(b, "group_wait_seconds_total", "counter", "Time parked of the requests let in.");
    for (size_t i = 0; groups_at(a->groups, i, &g); i++) {
        buf_printf(b, "sluice_api_group_wait_seconds_total{group=\"%s\"} %.9g\n", g.conf.name,
                   (double)g.counts.wait_ns / 1e9);
    }
}

char *
api_metrics(struct api *a)
{
    struct buf b;
    struct apiq_stats q;
    struct ledger_snapshot s;
    struct history_sample past[HISTORY_LEN];
    struct history_state state;
    buf_init(&b);
    apiq_stats(a->queue, &q);
    ledger_read(a->ledger, &s);
    (void)history_read(a->history, past, &state);
    put_counters(&b, &s);
    put_queue(&b, a, &q);
    put_waits(&b, &q);
    put_accounts(&b, a);
    put_groups(&b, a);
    head(&b, "overloaded", "gauge", "1 while requests are lost or served newest first.");
    buf_printf(&b, "sluice_api_overloaded %d\n", state.overloaded ? 1 : 0);
    gates_metrics(a->gates, &b);
    size_t len;
    char *text = buf_detach(&b, &len);
    buf_fini(&b);
    return text;
}
