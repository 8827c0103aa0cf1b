/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/consumer_config.h"

#include <string.h>

#include "server/base/mem.h"
#include "stream/jfield.h"
#include "stream/jtidy.h"

#define AT(member) offsetof(struct consumer_config, member)

static const char *const delivers[] = {
    "all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject", NULL};
static const char *const acks[] = {"none", "all", "explicit", "flow_control", NULL};
static const char *const replays[] = {"instant", "original", NULL};
static const char *const priorities[] = {"none", "overflow", "pinned_client", "prioritized", NULL};

static void
texts_free(char **v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mem_free(v[i]);
    }
    mem_free(v);
}

void
consumer_config_free(struct consumer_config *c)
{
    if (c == NULL) {
        return;
    }
    mem_free(c->durable);
    mem_free(c->name);
    mem_free(c->description);
    mem_free(c->backoff);
    mem_free(c->filter_subject);
    texts_free(c->filter_subjects, c->n_filter_subjects);
    mem_free(c->sample_freq);
    mem_free(c->deliver_subject);
    mem_free(c->deliver_group);
    json_decref(c->metadata);
    texts_free(c->priority_groups, c->n_priority_groups);
    mem_free(c);
}

/* A field of an enum whose texts have an exception. */
static enum status
read_enum_field(struct jread *r, const json_t *v, const struct jfield fields[2], void *base)
{
    json_t *o = json_pack("{s:O}", fields[0].key, (json_t *)(uintptr_t)v);
    if (o == NULL) {
        return ST_NOMEM;
    }
    struct jread how = {.fields = fields, .type = "", .path = ""};
    enum status st = jfield_read(&how, o, base);
    json_decref(o);
    if (st == ST_SYNTAX) {
        r->failed = true;
        memcpy(r->err, how.err, sizeof r->err);
    }
    return st;
}

static enum status
read_deliver(struct jread *r, const json_t *v, void *base)
{
    static const struct jfield f[] = {
        {.key = "deliver_policy", .kind = JF_ENUM, .off = AT(deliver), .names = delivers},
        {.key = NULL}};
    if (json_is_string(v) && strcmp(json_string_value(v), "undefined") == 0) {
        return ST_OK;
    }
    return read_enum_field(r, v, f, base);
}

static json_t *
write_deliver(const void *base, bool *failed)
{
    json_t *o = json_string(delivers[((const struct consumer_config *)base)->deliver]);
    *failed = o == NULL;
    return o;
}

static enum status
read_backoff(struct jread *r, const json_t *v, void *base)
{
    struct consumer_config *c = base;
    if (json_is_null(v)) {
        return ST_OK;
    }
    if (!json_is_array(v)) {
        return jfield_mismatch(r, v, "backoff", "[]time.Duration");
    }
    size_t n = json_array_size(v);
    mem_free(c->backoff);
    c->n_backoff = 0;
    c->backoff = mem_alloc_array(n, sizeof *c->backoff);
    if (c->backoff == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *e = json_array_get(v, i);
        bool is_null = json_is_null(e);
        if (!jtidy_int(e, &c->backoff[c->n_backoff++]) && !is_null) {
            return jfield_mismatch(r, e, "backoff", "time.Duration");
        }
    }
    return ST_OK;
}

static json_t *
write_backoff(const void *base, bool *failed)
{
    const struct consumer_config *c = base;
    if (c->n_backoff == 0) {
        return NULL;
    }
    json_t *a = json_array();
    for (size_t i = 0; a != NULL && i < c->n_backoff; i++) {
        if (json_array_append_new(a, json_integer(c->backoff[i])) != 0) {
            json_decref(a);
            a = NULL;
        }
    }
    *failed = a == NULL;
    return a;
}

#define STR(k, m)                                                                                  \
    {                                                                                              \
        .key = (k), .kind = JF_STR, .off = AT(m)                                                   \
    }
#define INT(k, m)                                                                                  \
    {                                                                                              \
        .key = (k), .kind = JF_INT, .off = AT(m), .type = "int"                                    \
    }
#define DUR(k, m)                                                                                  \
    {                                                                                              \
        .key = (k), .kind = JF_DURATION, .off = AT(m)                                              \
    }
#define UINT(k, m)                                                                                 \
    {                                                                                              \
        .key = (k), .kind = JF_UINT, .off = AT(m)                                                  \
    }
#define FLAG(k, m)                                                                                 \
    {                                                                                              \
        .key = (k), .kind = JF_BOOL, .off = AT(m)                                                  \
    }
#define STRS(k, m)                                                                                 \
    {                                                                                              \
        .key = (k), .kind = JF_STRS, .off = AT(m), .off2 = AT(n_##m)                               \
    }
#define WHEN(k, m, has)                                                                            \
    {                                                                                              \
        .key = (k), .kind = JF_TIME, .off = AT(m), .off2 = AT(has)                                 \
    }
#define OWN(k, r, w)                                                                               \
    {                                                                                              \
        .key = (k), .kind = JF_CUSTOM, .nulls = true, .read = (r), .write = (w)                    \
    }

/* In nats-server's order. */
static const struct jfield fields[] = {
    STR("durable_name", durable),
    STR("name", name),
    STR("description", description),
    OWN("deliver_policy", read_deliver, write_deliver),
    UINT("opt_start_seq", opt_start_seq),
    WHEN("opt_start_time", opt_start_time, has_start_time),
    {.key = "ack_policy", .kind = JF_ENUM, .off = AT(ack), .names = acks, .always = true},
    DUR("ack_wait", ack_wait),
    INT("max_deliver", max_deliver),
    OWN("backoff", read_backoff, write_backoff),
    STR("filter_subject", filter_subject),
    STRS("filter_subjects", filter_subjects),
    {.key = "replay_policy", .kind = JF_ENUM, .off = AT(replay), .names = replays, .always = true},
    UINT("rate_limit_bps", rate_limit),
    STR("sample_freq", sample_freq),
    INT("max_waiting", max_waiting),
    INT("max_ack_pending", max_ack_pending),
    FLAG("flow_control", flow_control),
    FLAG("headers_only", headers_only),
    INT("max_batch", max_batch),
    DUR("max_expires", max_expires),
    INT("max_bytes", max_bytes),
    STR("deliver_subject", deliver_subject),
    STR("deliver_group", deliver_group),
    DUR("idle_heartbeat", heartbeat),
    DUR("inactive_threshold", inactive_threshold),
    {.key = "num_replicas", .kind = JF_INT, .off = AT(replicas), .type = "int", .always = true},
    FLAG("mem_storage", mem_storage),
    FLAG("direct", direct),
    FLAG("sourcing", sourcing),
    {.key = "metadata", .kind = JF_TEXTS, .off = AT(metadata)},
    WHEN("pause_until", pause_until, has_pause_until),
    STRS("priority_groups", priority_groups),
    {.key = "priority_policy",
     .kind = JF_ENUM,
     .off = AT(priority),
     .names = priorities,
     .type = "unknown priority policy:"},
    DUR("priority_timeout", pinned_ttl),
    {.key = NULL}};

enum js_error
consumer_config_from_json(const json_t *o, bool strict, struct consumer_config **out,
                          struct js_fail *f)
{
    struct jread r = {
        .fields = fields, .type = "ConsumerConfig", .path = "config.", .strict = strict};
    struct consumer_config *c = mem_alloc(sizeof *c);
    if (c == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    enum status st = ST_OK;
    if (o != NULL && !json_is_null(o)) {
        if (json_is_object(o)) {
            st = jfield_read(&r, o, c);
        } else {
            r.type = "CreateConsumerRequest";
            r.path = "";
            st = jfield_mismatch(&r, o, "config", "server.ConsumerConfig");
        }
    }
    if (st != ST_OK) {
        consumer_config_free(c);
        return st == ST_SYNTAX ? js_fail_text(f, JS_ERR_INVALID_JSON, r.err)
                               : js_fail_status(f, st);
    }
    *out = c;
    return JS_OK;
}

json_t *
consumer_config_to_json(const struct consumer_config *c)
{
    return jfield_write(fields, c);
}

/* By way of JSON: whatever is written is read back. */
enum status
consumer_config_copy(const struct consumer_config *c, struct consumer_config **out)
{
    json_t *o = consumer_config_to_json(c);
    if (o == NULL) {
        return ST_NOMEM;
    }
    enum js_error e = consumer_config_from_json(o, false, out, NULL);
    json_decref(o);
    return e == JS_OK ? ST_OK : ST_NOMEM;
}

bool
consumer_config_equal(const struct consumer_config *a, const struct consumer_config *b)
{
    json_t *ja = consumer_config_to_json(a);
    json_t *jb = consumer_config_to_json(b);
    bool same = ja != NULL && jb != NULL && json_equal(ja, jb) == 1;
    json_decref(ja);
    json_decref(jb);
    return same;
}
