/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a consumer after it was made: who holds it, its one timer, its end.
 * Happy path of the timer: it fires at the earliest of all that is due, does what is due, and is
 * armed for what is next. Times are only ever moved forward, so it may fire for nothing. */
#include "stream/consumer.h"

#include <sodium.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer_priv.h"
#include "stream/js_advisory.h"

#define IDLE_LIMIT (5 * CLOCK_S)

struct consumer *
consumer_ref(struct consumer *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void
consumer_unref(struct consumer *c)
{
    if (c == NULL || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    consumer_free(c);
}

void
consumer_free(struct consumer *c)
{
    struct stream *s = c->stream;
    unacked_fini(&c->unacked);
    mcursor_free(c->cursor);
    mfilter_free(c->filter);
    consumer_config_free(c->cfg);
    mem_free(c->record_config);
    mem_free(c->skip);
    mem_free(c->name);
    (void)!js_timers_reserve(s->js->timers, -1);
    mem_free(c);
    stream_unref(s);
}

const char *
consumer_name(const struct consumer *c)
{
    return c->name;
}

struct stream *
consumer_stream(const struct consumer *c)
{
    return c->stream;
}

bool
consumer_is_memory(const struct consumer *c)
{
    return !c->stored;
}

struct consumer *
consumer_lookup(struct stream *s, const char *name, size_t len)
{
    return s->deleted ? NULL : ntab_get(&s->consumers, name, len);
}

struct consumer *
consumer_find(struct stream *s, const char *name)
{
    stream_lock(s);
    struct consumer *c = consumer_lookup(s, name, strlen(name));
    if (c != NULL) {
        consumer_ref(c);
    }
    stream_unlock(s);
    return c;
}

enum status
consumers_of(struct stream *s, struct consumer ***out, size_t *n)
{
    enum status st = ST_OK;
    stream_lock(s);
    struct consumer **v = mem_alloc_array(s->consumers.n, sizeof(struct consumer *));
    *n = 0;
    if (v == NULL) {
        st = ST_NOMEM;
    } else {
        struct list_node *it, *tmp;
        LIST_FOREACH_SAFE(it, tmp, &s->consumer_order)
        {
            v[(*n)++] = consumer_ref(LIST_ENTRY(it, struct consumer, node));
        }
        *out = v;
    }
    stream_unlock(s);
    return st;
}

void
consumers_free(struct consumer **v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        consumer_unref(v[i]);
    }
    mem_free(v);
}

size_t
consumers_count(const struct stream *s)
{
    return s->consumers.n;
}

/* ---- the timer ---- */

void
consumer_arm(struct consumer *c, int64_t at)
{
    if (at >= c->armed || c->deleted || js_is_stopping(consumer_js(c))) {
        return;
    }
    c->armed = at;
    consumer_ref(c);
    if (!js_timer_set_earlier(consumer_js(c)->timers, &c->timer, at)) {
        consumer_unref(c);
    }
}

static void
arm_all(struct consumer *c, int64_t now)
{
    consumer_arm(c, unacked_first_due(&c->unacked));
    consumer_arm(c, c->idle_at);
    consumer_arm(c, c->pause_at);
    if (c->is_push) {
        consumer_arm(c, c->push.heartbeat_at);
    } else {
        consumer_arm(c, c->pull.due);
        consumer_arm(c, c->pull.pin_until);
    }
    if (c->hold.seq != 0 && c->hold.until > now) {
        consumer_arm(c, c->hold.until);
    }
    if (c->dirty) {
        consumer_arm(c, c->save_at);
    }
}

/* The latest time at which an ack is still expected. */
static int64_t
last_ack_due(const struct consumer *c)
{
    int64_t last = 0;
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &c->unacked.pending)
    {
        const struct unacked *u = LIST_ENTRY(it, struct unacked, node);
        int64_t at = clock_after(u->ts, consumer_ack_wait(c, u));
        last = at > last ? at : last;
    }
    int64_t ahead = last - js_wall(consumer_js(c));
    return last > 0 && ahead > 0 ? consumer_now(c) + ahead : 0;
}

/* True: it was not used for too long and is gone. */
static bool
went_idle(struct consumer *c, int64_t now)
{
    if (c->is_push) {
        if (c->push.active) {
            c->idle_at = INT64_MAX;
            return false;
        }
    } else {
        pull_sweep(c, true);
        int64_t acks = last_ack_due(c);
        int64_t from = c->pull.n_waiting > 0 ? now : c->pull.last;
        from = acks > from ? acks : from;
        if (now < clock_after(from, c->idle_limit)) {
            c->idle_at = clock_after(from, c->idle_limit);
            return false;
        }
    }
    consumer_remove(c, 0, true);
    return true;
}

static void
run_due(struct consumer *c, int64_t now)
{
    c->armed = INT64_MAX;
    if (c->idle_at <= now && went_idle(c, now)) {
        return;
    }
    if (c->pause_at <= now) {
        c->pause_at = INT64_MAX;
        advise_consumer_pause(c->stream, c->name, c->cfg->pause_until);
    }
    consumer_expire(c, now);
    if (c->is_push) {
        push_heartbeat(c);
    } else if (c->pull.pin_until <= now) {
        pull_unpin(c, c->cfg->priority_groups[0], "timeout");
    }
    consumer_pump(c);
    if (c->dirty && c->save_at <= now) {
        consumer_save_lazily(c);
    }
    arm_all(c, now);
}

/* By way of the timer, so that whoever made it is answered first; where nobody waits, there is
 * nothing to do. */
void
consumer_open(struct consumer *c)
{
    struct stream *s = c->stream;
    stream_lock(s);
    c->open = true;
    if (c->is_push || c->pull.n_waiting > 0) {
        consumer_arm(c, consumer_now(c));
    }
    stream_unlock(s);
    consumer_unref(c);
}

void
consumer_timer(struct js_timer *t)
{
    struct consumer *c = LIST_ENTRY(t, struct consumer, timer);
    struct stream *s = c->stream;
    stream_lock(s);
    if (!c->deleted && !js_is_stopping(s->js)) {
        run_due(c, js_now(s->js));
    }
    stream_unlock(s);
    consumer_unref(c);
}

/* ---- what the configuration says of time ---- */

void
consumer_set_idle_limit(struct consumer *c)
{
    struct consumer_config *cfg = c->cfg;
    bool ephemeral = cfg->durable == NULL;
    int64_t jitter = 100 * CLOCK_MS + (int64_t)randombytes_uniform(900) * CLOCK_MS;
    if (ephemeral && cfg->inactive_threshold <= 0) {
        cfg->inactive_threshold = IDLE_LIMIT;
        c->idle_limit = IDLE_LIMIT + jitter;
    } else if (cfg->inactive_threshold > 0) {
        c->idle_limit = clock_after(c->is_push ? 0 : jitter, cfg->inactive_threshold);
    } else {
        c->idle_limit = 0;
    }
    bool counts = c->idle_limit > 0 && (!c->is_push || !c->push.active);
    c->idle_at = counts ? clock_after(consumer_now(c), c->idle_limit) : INT64_MAX;
    consumer_arm(c, c->idle_at);
}

bool
consumer_is_paused(const struct consumer *c)
{
    return c->cfg->has_pause_until && js_wall(consumer_js(c)) < c->cfg->pause_until;
}

void
consumer_set_pause(struct consumer *c)
{
    c->pause_at = INT64_MAX;
    if (consumer_is_paused(c)) {
        int64_t left = c->cfg->pause_until - js_wall(consumer_js(c));
        int64_t now = consumer_now(c);
        c->pause_at = left < INT64_MAX - now ? now + left : INT64_MAX - 1;
        consumer_arm(c, c->pause_at);
    }
}

/* ---- the end ---- */

void
consumer_forget(struct consumer *c)
{
    struct stream *s = c->stream;
    c->deleted = true;
    if (c->is_push) {
        interest_unwatch(c);
    }
    (void)ntab_remove(&s->consumers, c->name, strlen(c->name));
    list_remove(&c->node);
    s->n_limited -= c->limited;
    atomic_fetch_sub_explicit(&s->acc->n_consumers, 1, memory_order_relaxed);
    if (js_timer_cancel(s->js->timers, &c->timer)) {
        consumer_unref(c);
    }
    consumer_unref(c);
}

void
consumer_remove(struct consumer *c, uint64_t cid, bool advise)
{
    struct stream *s = c->stream;
    consumer_ref(c);
    if (advise) {
        advise_consumer_action(s, c->name, "delete", cid);
    }
    if (!c->is_push) {
        pull_release(c, "409 Consumer Deleted", false);
    }
    consumer_erase(c);
    uint64_t from = c->floor;
    consumer_forget(c);
    if (!s->deleted && s->cfg->retention == RETENTION_INTEREST) {
        retention_sweep(s, from);
    }
    consumer_unref(c);
}

enum js_error
consumer_delete(struct consumer *c, uint64_t cid, struct js_fail *f)
{
    struct stream *s = c->stream;
    stream_lock(s);
    enum js_error e = JS_OK;
    if (c->deleted) {
        e = js_fail_plain(f, JS_ERR_CONSUMER_NOT_FOUND);
    } else {
        consumer_remove(c, cid, true);
    }
    stream_unlock(s);
    return e;
}
