/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_json.h"

#include <stdio.h>

#include "api/api.h"
#include "api/jobj.h"
#include "api/plane.h"
#include "api/views.h"

static uint64_t
millis(int64_t ns)
{
    return (uint64_t)(ns / CLOCK_MS);
}

json_t *
group_json_stats(const struct group_counts *n, const struct group_conf *conf)
{
    json_t *o = json_object();
    jobj_int(&o, "running", n->running);
    jobj_int(&o, "queued_current", n->queued_current);
    jobj_int(&o, "queued_bytes", n->queued_bytes);
    jobj_int(&o, "queue_peak", n->queue_peak);
    jobj_int(&o, "limit", (uint64_t)conf->limit);
    jobj_int(&o, "size", (uint64_t)conf->size);
    jobj_int(&o, "max_bytes", (uint64_t)conf->max_bytes);
    jobj_int(&o, "total_admitted", n->total_admitted);
    jobj_int(&o, "total_throttled", n->total_throttled);
    jobj_int(&o, "total_would_throttle", n->total_would_throttle);
    jobj_int(&o, "total_queued", n->total_queued);
    jobj_int(&o, "total_queue_rejections", n->total_queue_rejections);
    jobj_int(&o, "total_queue_displaced", n->total_displaced);
    jobj_int(&o, "total_queue_cancelled", n->total_cancelled);
    jobj_int(&o, "queue_wait_count", n->queue_wait_count);
    jobj_int(&o, "total_queue_wait_millis", millis(n->wait_ns));
    jobj_int(&o, "max_queue_wait_millis", millis(n->wait_max_ns));
    return o;
}

static const char *
source_name(enum group_source s)
{
    return s == GROUP_FROM_CONFIG ? "config" : "api";
}

static json_t *
stats_of(const struct group_info *g)
{
    json_t *o = group_json_stats(&g->counts, &g->conf);
    jobj_int(&o, "buckets", g->buckets);
    jobj_ms(&o, "oldest_age_ms", g->oldest_age_ns);
    return o;
}

static json_t *
buckets_of(struct api *a, const struct group_info *g)
{
    struct group_bucket_info v[GROUP_JSON_BUCKETS];
    size_t n = groups_buckets(a->groups, g->conf.name, v, GROUP_JSON_BUCKETS);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *o = json_object();
        jobj_str(&o, group_attribute_name(v[i].attribute), v[i].name);
        if (v[i].account[0] != '\0' && v[i].attribute != GROUP_BY_ACCOUNT) {
            jobj_str(&o, "account", v[i].account);
        }
        jobj_put(&o, "stats", group_json_stats(&v[i].counts, &g->conf));
        jarr_add(&list, o);
    }
    return list;
}

json_t *
group_json_info(struct api *a, const struct group_info *g, bool with_buckets)
{
    json_t *o = json_object();
    jobj_str(&o, "name", g->conf.name);
    jobj_str(&o, "source", source_name(g->source));
    jobj_put(&o, "config", group_conf_json(&g->conf));
    jobj_put(&o, "stats", stats_of(g));
    if (with_buckets) {
        jobj_put(&o, "buckets", buckets_of(a, g));
    }
    return o;
}

json_t *
group_json_all(struct api *a)
{
    struct group_info g;
    json_t *list = json_array();
    for (size_t i = 0; groups_at(a->groups, i, &g); i++) {
        json_t *o = stats_of(&g);
        jobj_str(&o, "name", g.conf.name);
        jobj_str(&o, "source", source_name(g.source));
        jobj_str(&o, "mode", group_mode_name(g.conf.mode));
        jarr_add(&list, o);
    }
    return list;
}

json_t *
group_json_totals(struct api *a)
{
    struct groups_totals t;
    groups_totals(a->groups, &t);
    json_t *o = json_object();
    jobj_int(&o, "groups", t.groups);
    jobj_int(&o, "queued_current", t.parked);
    jobj_int(&o, "running", t.running);
    jobj_ms(&o, "oldest_age_ms", t.oldest_age_ns);
    jobj_int(&o, "swept_cancelled", t.swept_cancelled);
    jobj_int(&o, "swept_admitted", t.swept_admitted);
    return o;
}

json_t *
group_json_brief(struct api *a)
{
    json_t *o = group_json_totals(a);
    jobj_put(&o, "list", group_json_all(a));
    return o;
}

json_t *
group_json_parked(const struct group_parked_info *p)
{
    json_t *o = views_waiting(&p->item, p->gate[0] == '\0' ? NULL : p->gate);
    jobj_str(&o, "group", p->group);
    return o;
}

json_t *
api_wlmz(struct api *a)
{
    struct group_info g;
    json_t *list = json_array();
    for (size_t i = 0; groups_at(a->groups, i, &g); i++) {
        jarr_add(&list, group_json_info(a, &g, true));
    }
    json_t *o = json_object();
    jobj_str(&o, "server_id", a->host->server_id(a->host->ctx));
    jobj_str(&o, "server_name", a->host->server_name(a->host->ctx));
    jobj_time(&o, "time", clock_wall_ns());
    jobj_put(&o, "totals", group_json_totals(a));
    jobj_put(&o, "groups", list);
    return o;
}
