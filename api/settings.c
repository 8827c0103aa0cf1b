/* SPDX-License-Identifier: Apache-2.0 */
#include "api/settings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/header.h"
#include "api/plane.h"
#include "queue/pool.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

#define ENTRIES_MAX INT64_C(100000000)
#define BYTES_MAX   (INT64_C(1) << 40)
#define UNBOUNDED   ENTRIES_MAX

/* `lock` guards the rest. `applying` keeps changes one after the other without a lock held over
 * calls into the queue and the pool. */
struct settings {
    pthread_mutex_t lock;
    pthread_cond_t applied;
    bool applying;
    struct settings_values now;
    atomic_bool limits;
};

void
settings_of_opts(const struct api_opts *opts, struct settings_values *out)
{
    static const enum apiq_order of[] = {
        [API_FIFO] = APIQ_FIFO, [API_LIFO] = APIQ_LIFO, [API_ADAPTIVE] = APIQ_ADAPTIVE};
    out->opts = *opts;
    for (int i = 0; i < APIQ_LEVELS; i++) {
        out->order[i] = of[opts->discipline];
    }
}

enum status
settings_new(struct settings **out, const struct api_opts *opts)
{
    struct settings *s = mem_alloc(sizeof(*s));
    if (s == NULL) {
        return ST_NOMEM;
    }
    ASSERT(pthread_mutex_init(&s->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&s->applied, NULL) == 0);
    settings_of_opts(opts, &s->now);
    atomic_init(&s->limits, opts->limits);
    *out = s;
    return ST_OK;
}

void
settings_free(struct settings *s)
{
    if (s == NULL) {
        return;
    }
    pthread_cond_destroy(&s->applied);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

bool
settings_limits(const struct settings *s)
{
    return atomic_load_explicit(&s->limits, memory_order_relaxed);
}

void
settings_get(struct settings *s, struct settings_values *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->now;
    pthread_mutex_unlock(&s->lock);
}

enum kind { KIND_INT, KIND_REAL, KIND_TIME };
#define REAL_MIN 0.01 /* as in the configuration */

static const struct row {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct api_opts */
    int64_t min, max;
} rows[] = {
#define ROW(name, kind, min, max)                                                                  \
    {                                                                                              \
#name, kind, offsetof(struct api_opts, name), min, max                                     \
    }
    ROW(workers, KIND_INT, 1, POOL_MAX_WORKERS),
    ROW(request_queue_limit, KIND_INT, 0, ENTRIES_MAX),
    ROW(info_queue_limit, KIND_INT, 0, ENTRIES_MAX),
    /* NB: 0 would lock the operators out, and this request with them. */
    ROW(operator_queue_limit, KIND_INT, 1, APIQ_OPERATOR_MAX),
    ROW(request_queue_max_bytes, KIND_INT, 0, BYTES_MAX),
    ROW(info_queue_max_bytes, KIND_INT, 0, BYTES_MAX),
    ROW(adaptive_age, KIND_REAL, 0, 1),
    ROW(adaptive_wait, KIND_TIME, 0, HEADER_TIMEOUT_MAX),
    ROW(aged_share, KIND_INT, 0, 1000000),
    ROW(request_deadline, KIND_TIME, 0, HEADER_TIMEOUT_MAX),
    ROW(max_pending_commits, KIND_INT, 0, 1000000),
#undef ROW
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* The copies keep the alignment of the fields out of the question. */
static int64_t
get_int(const struct api_opts *o, size_t offset)
{
    int64_t v;
    memcpy(&v, (const char *)o + offset, sizeof(v));
    return v;
}

static double
get_real(const struct api_opts *o, size_t offset)
{
    double v;
    memcpy(&v, (const char *)o + offset, sizeof(v));
    return v;
}

static bool
is_in_range(const struct api_opts *o)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct row *r = &rows[i];
        if (r->kind == KIND_REAL) {
            double v = get_real(o, r->offset);
            if (!(v > (double)r->min && v <= (double)r->max)) {
                return false;
            }
            continue;
        }
        int64_t v = get_int(o, r->offset);
        /* No workers at all: the plane is driven by dispatch_step. */
        bool none = r->offset == offsetof(struct api_opts, workers) && v == 0;
        if (!none && (v < r->min || v > r->max)) {
            return false;
        }
    }
    return true;
}

static void
conf_of(const struct settings_values *v, enum apiq_level level, struct apiq_conf *c)
{
    const struct api_opts *o = &v->opts;
    apiq_conf_default(level, c);
    if (!o->limits) {
        c->order = APIQ_FIFO;
        c->max_entries = level == APIQ_OPERATOR ? APIQ_OPERATOR_MAX : (size_t)UNBOUNDED;
        c->max_bytes = (size_t)BYTES_MAX;
        c->deadline_ns = 0;
        c->aged_share = 0;
        c->min_share = 0;
        c->max_pending = 0;
        return;
    }
    c->order = v->order[level];
    c->deadline_ns = o->request_deadline;
    c->adaptive_age = o->adaptive_age;
    c->adaptive_wait_ns = o->adaptive_wait;
    c->aged_share = (unsigned)o->aged_share;
    c->max_pending = (unsigned)o->max_pending_commits;
    if (level == APIQ_OPERATOR) {
        c->max_entries = (size_t)o->operator_queue_limit;
    } else if (level == APIQ_NORMAL) {
        c->max_entries = (size_t)o->request_queue_limit;
        c->max_bytes = (size_t)o->request_queue_max_bytes;
    } else {
        c->max_entries = (size_t)o->info_queue_limit;
        c->max_bytes = (size_t)o->info_queue_max_bytes;
    }
}

static enum status
configure(struct api *a, const struct settings_values *v, struct list_node *fallen)
{
    for (int i = 0; i < APIQ_LEVELS; i++) {
        struct apiq_conf c;
        struct apiq_conf old;
        conf_of(v, (enum apiq_level)i, &c);
        apiq_get_conf(a->queue, (enum apiq_level)i, &old);
        c.max_running = old.max_running; /* the pool's */
        enum status st = apiq_configure(a->queue, (enum apiq_level)i, &c, fallen);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

enum status
settings_apply(struct api *a, const struct settings_values *v, struct list_node *fallen)
{
    struct settings *s = a->settings;
    if (!is_in_range(&v->opts)) {
        return ST_INVAL;
    }
    pthread_mutex_lock(&s->lock);
    while (s->applying) {
        pthread_cond_wait(&s->applied, &s->lock);
    }
    s->applying = true;
    struct settings_values old = s->now;
    pthread_mutex_unlock(&s->lock);

    /* Workers first: they alone can fail, and then nothing has fallen out yet. */
    enum status st = a->pool == NULL || v->opts.workers == 0
                         ? ST_OK
                         : pool_set_workers(a->pool, (unsigned)v->opts.workers);
    if (st == ST_OK) {
        st = configure(a, v, fallen);
    }
    if (st != ST_OK) {
        if (a->pool != NULL && pool_set_workers(a->pool, (unsigned)old.opts.workers) != ST_OK) {
            old.opts.workers = (int64_t)pool_workers(a->pool);
        }
        ASSERT(configure(a, &old, fallen) == ST_OK);
    }
    pthread_mutex_lock(&s->lock);
    s->now = st == ST_OK ? *v : old;
    atomic_store(&s->limits, s->now.opts.limits);
    s->applying = false;
    pthread_cond_broadcast(&s->applied);
    pthread_mutex_unlock(&s->lock);
    return st;
}

static enum status
parse_int(const struct row *r, const json_t *j, struct api_opts *o, char *err, size_t size)
{
    if (!json_is_integer(j) || json_integer_value(j) < r->min || json_integer_value(j) > r->max) {
        (void)snprintf(err, size, "invalid value for %s: must be a whole number from %lld to %lld",
                       r->name, (long long)r->min, (long long)r->max);
        return ST_INVAL;
    }
    int64_t v = json_integer_value(j);
    memcpy((char *)o + r->offset, &v, sizeof(v));
    return ST_OK;
}

static enum status
parse_real(const struct row *r, const json_t *j, struct api_opts *o, char *err, size_t size)
{
    double v = json_number_value(j);
    if (!json_is_number(j) || !(v >= REAL_MIN && v <= (double)r->max)) {
        (void)snprintf(err, size, "invalid value for %s: must be a number from %g to %lld", r->name,
                       REAL_MIN, (long long)r->max);
        return ST_INVAL;
    }
    memcpy((char *)o + r->offset, &v, sizeof(v));
    return ST_OK;
}

static enum status
parse_time(const struct row *r, const json_t *j, struct api_opts *o, char *err, size_t size)
{
    int64_t v = -1;
    if (!json_is_string(j) ||
        header_duration(json_string_value(j), json_string_length(j), &v) != ST_OK || v < r->min ||
        v > r->max) {
        (void)snprintf(err, size,
                       "invalid value for %s: must be a time as \"500ms\" or \"5s\", at most %llds",
                       r->name, (long long)(r->max / CLOCK_S));
        return ST_INVAL;
    }
    memcpy((char *)o + r->offset, &v, sizeof(v));
    return ST_OK;
}

static enum status
parse_order(const json_t *j, enum apiq_order *out, char *err, size_t size)
{
    if (!json_is_string(j) || apiq_order_parse(json_string_value(j), out) != ST_OK) {
        (void)snprintf(err, size,
                       "invalid value for discipline: must be \"fifo\", \"lifo\" or \"adaptive\"");
        return ST_INVAL;
    }
    return ST_OK;
}

/* One name for all levels, or {"info": "lifo", …}. */
static enum status
parse_discipline(const json_t *j, struct settings_values *v, char *err, size_t size)
{
    if (!json_is_object(j)) {
        enum apiq_order order;
        enum status st = parse_order(j, &order, err, size);
        for (int i = 0; st == ST_OK && i < APIQ_LEVELS; i++) {
            v->order[i] = order;
        }
        return st;
    }
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)j, key, value)
    {
        int i = 0;
        while (i < APIQ_LEVELS && strcmp(key, apiq_level_name((enum apiq_level)i)) != 0) {
            i++;
        }
        if (i == APIQ_LEVELS) {
            (void)snprintf(err, size, "unknown level in discipline: %.64s", key);
            return ST_INVAL;
        }
        enum status st = parse_order(value, &v->order[i], err, size);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status
parse_member(const char *key, const json_t *j, struct settings_values *v, char *err, size_t size)
{
    if (strcmp(key, "discipline") == 0) {
        return parse_discipline(j, v, err, size);
    }
    for (size_t i = 0; i < N_ROWS; i++) {
        if (strcmp(key, rows[i].name) != 0) {
            continue;
        }
        switch (rows[i].kind) {
        case KIND_REAL:
            return parse_real(&rows[i], j, &v->opts, err, size);
        case KIND_TIME:
            return parse_time(&rows[i], j, &v->opts, err, size);
        case KIND_INT:
        default:
            return parse_int(&rows[i], j, &v->opts, err, size);
        }
    }
    int n = snprintf(err, size, "unknown key: %.64s, there are discipline", key);
    for (size_t i = 0; i < N_ROWS && n > 0 && (size_t)n < size; i++) {
        n += snprintf(err + n, size - (size_t)n, ", %s", rows[i].name);
    }
    return ST_INVAL;
}

enum status
settings_parse(const json_t *json, struct settings_values *v, char *err, size_t err_size)
{
    struct settings_values next = *v;
    const char *key;
    json_t *value;
    if (!json_is_object(json)) {
        (void)snprintf(err, err_size, "the settings must be a JSON object");
        return ST_INVAL;
    }
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        enum status st = parse_member(key, value, &next, err, err_size);
        if (st != ST_OK) {
            return st;
        }
    }
    *v = next;
    return ST_OK;
}

json_t *
settings_json(const struct settings_values *v)
{
    json_t *all = json_object();
    int rc = all == NULL ? -1 : 0;
    for (size_t i = 0; i < N_ROWS && rc == 0; i++) {
        const struct row *r = &rows[i];
        char text[HEADER_TIME_LEN];
        json_t *j;
        if (r->kind == KIND_REAL) {
            j = json_real(get_real(&v->opts, r->offset));
        } else if (r->kind == KIND_TIME) {
            j = json_string(header_time_text(get_int(&v->opts, r->offset), text));
        } else {
            j = json_integer(get_int(&v->opts, r->offset));
        }
        rc = json_object_set_new(all, r->name, j);
    }
    json_t *order = json_object();
    for (int i = 0; i < APIQ_LEVELS && rc == 0; i++) {
        rc = json_object_set_new(order, apiq_level_name((enum apiq_level)i),
                                 json_string(apiq_order_name(v->order[i])));
    }
    if (rc == 0) {
        rc = json_object_set_new(all, "discipline", order);
    } else {
        json_decref(order);
    }
    if (rc == 0) {
        rc = json_object_set_new(all, "limits", json_boolean(v->opts.limits));
    }
    if (rc != 0) {
        json_decref(all);
        return NULL;
    }
    return all;
}
