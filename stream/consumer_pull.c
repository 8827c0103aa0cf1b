/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of pull consumers that wait for messages: who is served next, what they are told.
 * Happy path: a request comes in, waits in the queue, is served message by message, each time going
 * to the end of the queue, and is gone when its batch is full or its time is up.
 * Failure: a request whose inbox nobody listens to any more is dropped when its turn comes. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer_priv.h"
#include "stream/consumer_request.h"
#include "stream/consumer_text.h"
#include "stream/js_advisory.h"

#define SWEEP_EVERY CLOCK_S
#define REST        "Nats-Pending-Messages: %" PRId64 "\r\nNats-Pending-Bytes: %" PRId64 "\r\n\r\n"

struct request {
    struct list_node node;
    uint32_t loop;
    struct pull_spec spec; /* n and max_bytes: what is left */
    int64_t expires;       /* monotonic; 0: never */
    int64_t beat_at;       /* monotonic; INT64_MAX: no heartbeat */
    bool served, done;
    char reply[];
};

void
pull_init(struct consumer *c)
{
    list_init(&c->pull.waiting);
    c->pull.due = c->pull.pin_until = INT64_MAX;
}

static struct request *
first(struct consumer *c)
{
    return list_is_empty(&c->pull.waiting) ? NULL
                                           : LIST_ENTRY(c->pull.waiting.next, struct request, node);
}

static void
drop(struct consumer *c, struct request *r)
{
    list_remove(&r->node);
    c->pull.n_waiting--;
    c->pull.n_no_wait -= r->spec.no_wait;
    mem_free(r);
}

static void
tell(struct consumer *c, const struct request *r, const char *status)
{
    consumer_send(c, r->loop, r->reply, NULL, "%s\r\n" REST, status, r->spec.n, r->spec.max_bytes);
}

static void
tell_and_drop(struct consumer *c, struct request *r, const char *status)
{
    tell(c, r, status);
    drop(c, r);
}

static bool
is_heard(struct consumer *c, const struct request *r)
{
    const struct js_host *h = consumer_js(c)->host;
    return h->has_interest(h->ctx, c->stream->acc->acc, r->reply);
}

/* To its place: the end, or behind the others of its priority. */
static void
enqueue(struct consumer *c, struct request *r)
{
    struct list_node *pos = c->pull.waiting.prev;
    if (c->cfg->priority == PRIORITY_PRIORITIZED) {
        while (pos != &c->pull.waiting &&
               LIST_ENTRY(pos, struct request, node)->spec.priority > r->spec.priority) {
            pos = pos->prev;
        }
    }
    list_insert_after(pos, &r->node);
}

static void
to_the_end(struct consumer *c, struct request *r)
{
    list_remove(&r->node);
    list_push_back(&c->pull.waiting, &r->node);
}

/* ---- pinned clients ---- */

static void
assign_pin(struct consumer *c, struct request *r)
{
    if (r->spec.group[0] == '\0') {
        return;
    }
    random_name(c->pull.pin, PIN_LEN);
    memcpy(r->spec.pin, c->pull.pin, PIN_LEN + 1);
    c->pull.pinned_wall = js_wall(consumer_js(c));
    c->pull.pin_until = clock_after(consumer_now(c), c->cfg->pinned_ttl);
    consumer_arm(c, c->pull.pin_until);
    advise_pinned(c->stream, c->name, r->spec.group, c->pull.pin);
}

static void
forget_pin(struct consumer *c)
{
    c->pull.pin[0] = '\0';
    c->pull.pinned_wall = 0;
    c->pull.pin_until = INT64_MAX;
}

void
pull_unpin(struct consumer *c, const char *group, const char *reason)
{
    if (c->pull.pin[0] == '\0') {
        c->pull.pin_until = INT64_MAX;
        return;
    }
    forget_pin(c);
    advise_unpinned(c->stream, c->name, group, reason);
}

enum js_error
consumer_unpin(struct consumer *c, const char *group, struct js_fail *f)
{
    enum js_error e = JS_ERR_CONSUMER_INVALID_PRIORITY_GROUP;
    stream_lock(c->stream);
    for (size_t i = 0; !c->deleted && i < c->cfg->n_priority_groups; i++) {
        if (strcmp(c->cfg->priority_groups[i], group) == 0) {
            e = JS_OK;
        }
    }
    if (e == JS_OK) {
        forget_pin(c);
        advise_unpinned(c->stream, c->name, group, "admin");
        consumer_pump(c);
    }
    stream_unlock(c->stream);
    return e == JS_OK ? JS_OK : js_fail_plain(f, e);
}

/* ---- who is next ---- */

enum turn { TURN_SERVE, TURN_LATER, TURN_GONE };

/* One client is served as long as it holds the pin. *fresh: this one has just got it. */
static enum turn
turn_of_pinned(struct consumer *c, struct request *r, bool *fresh)
{
    if (c->cfg->priority != PRIORITY_PINNED_CLIENT) {
        return TURN_SERVE;
    }
    if (c->pull.pin[0] == '\0') {
        if (r->spec.pin[0] == '\0') {
            assign_pin(c, r);
            *fresh = true;
            return TURN_SERVE;
        }
    } else if (strcmp(r->spec.pin, c->pull.pin) == 0) {
        return TURN_SERVE;
    } else if (r->spec.pin[0] == '\0') {
        return TURN_LATER;
    }
    tell_and_drop(c, r, "423 Nats-Wrong-Pin-Id");
    return TURN_GONE;
}

/* A request may only want what others leave over. */
static bool
is_overflowing(struct consumer *c, const struct request *r)
{
    const struct pull_spec *s = &r->spec;
    if (c->cfg->priority != PRIORITY_OVERFLOW || (s->min_pending <= 0 && s->min_ack_pending <= 0)) {
        return true;
    }
    return (s->min_pending > 0 && s->min_pending <= (int64_t)consumer_num_pending(c)) ||
           (s->min_ack_pending > 0 && s->min_ack_pending <= (int64_t)c->unacked.n_pending);
}

/* False: the message is too big for what it still wants; it has been told and is gone. */
static bool
fits(struct consumer *c, struct request *r, size_t size, bool fresh_pin)
{
    if (r->spec.max_bytes <= 0) {
        return true;
    }
    if ((int64_t)size > r->spec.max_bytes) {
        if (fresh_pin) {
            forget_pin(c);
        }
        tell_and_drop(c, r, "409 Message Size Exceeds MaxBytes");
        return false;
    }
    r->spec.max_bytes -= (int64_t)size;
    if (r->spec.max_bytes == 0) {
        r->spec.n = 1;
    }
    return true;
}

static void
expire(struct consumer *c, struct request *r)
{
    if (r->expires > c->pull.last) {
        c->pull.last = r->expires;
    }
    tell_and_drop(c, r, "408 Request Timeout");
}

static void
count_one(struct consumer *c, struct request *r)
{
    r->served = true;
    r->spec.n -= r->spec.n > INT64_MIN; /* less than none is one */
    if (r->spec.n <= 0) {
        r->done = true;
    } else if (c->pull.n_waiting > 1) {
        list_remove(&r->node);
        enqueue(c, r);
    }
}

struct request *
pull_next(struct consumer *c, size_t size)
{
    int64_t now = c->now;
    size_t passed = 0;
    struct request *r;
    while ((r = first(c)) != NULL && passed < c->pull.n_waiting) {
        if (r->expires != 0 && now >= r->expires) {
            expire(c, r);
            continue;
        }
        if (!is_heard(c, r)) {
            drop(c, r);
            continue;
        }
        bool fresh = false;
        enum turn t = turn_of_pinned(c, r, &fresh);
        if (t == TURN_GONE) {
            continue;
        }
        if (t == TURN_LATER || !is_overflowing(c, r)) {
            to_the_end(c, r);
            passed++;
            continue;
        }
        if (fits(c, r, size, fresh)) {
            count_one(c, r);
            return r;
        }
    }
    return NULL;
}

struct pull_target
pull_target(const struct request *r)
{
    return (struct pull_target){.reply = r->reply, .loop = r->loop};
}

void
pull_served(struct consumer *c, struct request *r)
{
    if (!r->done) {
        if (r->spec.heartbeat > 0) {
            r->beat_at = clock_after(c->now, r->spec.heartbeat);
        }
        return;
    }
    if (r->spec.max_bytes > 0) {
        tell(c, r, "409 Batch Completed");
    }
    drop(c, r);
}

/* ---- those that wait ---- */

/* True: it is gone. */
static bool
sweep_one(struct consumer *c, struct request *r, int64_t now, bool end)
{
    if (r->expires != 0 && now > r->expires) {
        expire(c, r);
        return true;
    }
    if (end && r->spec.no_wait && (r->expires == 0 || r->served)) {
        consumer_send(c, r->loop, r->reply, NULL, "404 No Messages\r\n\r\n");
        c->pull.last = now;
        drop(c, r);
        return true;
    }
    return false;
}

void
pull_sweep(struct consumer *c, bool end)
{
    struct pull *p = &c->pull;
    int64_t now = consumer_now(c);
    if (p->n_waiting > 0 && now < p->due && !(end && p->n_no_wait > 0)) {
        return;
    }
    p->due = INT64_MAX;
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &p->waiting)
    {
        struct request *r = LIST_ENTRY(it, struct request, node);
        if (sweep_one(c, r, now, end)) {
            continue;
        }
        if (r->beat_at <= now) {
            if (!is_heard(c, r)) {
                drop(c, r);
                continue;
            }
            idle_heartbeat(c, r->loop, r->reply);
            r->beat_at = clock_after(now, r->spec.heartbeat);
        }
        p->due = r->beat_at < p->due ? r->beat_at : p->due;
        p->due = r->expires != 0 && r->expires < p->due ? clock_after(r->expires, 1) : p->due;
    }
    consumer_arm(c, p->due);
}

size_t
pull_count(struct consumer *c, int64_t *wanted)
{
    struct list_node *it, *tmp;
    *wanted = 0;
    pull_sweep(c, false);
    LIST_FOREACH_SAFE(it, tmp, &c->pull.waiting)
    {
        struct request *r = LIST_ENTRY(it, struct request, node);
        if (!is_heard(c, r)) {
            drop(c, r);
        } else if (__builtin_add_overflow(*wanted, r->spec.n, wanted)) {
            *wanted = INT64_MAX;
        }
    }
    return c->pull.n_waiting;
}

void
pull_release(struct consumer *c, const char *status, bool with_rest)
{
    struct request *r;
    while ((r = first(c)) != NULL) {
        if (with_rest) {
            tell(c, r, status);
        } else {
            consumer_send(c, r->loop, r->reply, NULL, "%s\r\n\r\n", status);
        }
        drop(c, r);
    }
}

/* ---- requests as they come ---- */

/* A request that does not wait, and what is there for it. False: it has been answered. */
static bool
may_not_wait(struct consumer *c, const struct js_in *in, const struct pull_spec *s)
{
    if (!s->no_wait) {
        return true;
    }
    uint64_t ready = consumer_num_pending(c) + c->unacked.n_redeliver;
    const char *answer = NULL;
    if (ready == 0 && s->expires == 0) {
        answer = "404 No Messages";
    } else if (ready > 0) {
        int64_t wanted;
        (void)pull_count(c, &wanted);
        answer = ready < (uint64_t)wanted ? "408 Requests Pending" : NULL;
    }
    if (answer == NULL) {
        return true;
    }
    c->pull.last = consumer_now(c);
    consumer_send(c, in->loop, in->reply, NULL, "%s\r\n\r\n", answer);
    return false;
}

static bool
has_room(struct consumer *c, const struct js_in *in, const struct pull_spec *s)
{
    int64_t now = consumer_now(c);
    size_t max = (size_t)c->cfg->max_waiting;
    if (c->pull.n_waiting >= max && now - c->pull.swept > SWEEP_EVERY) {
        int64_t wanted;
        c->pull.swept = now;
        (void)pull_count(c, &wanted);
    }
    if (c->pull.n_waiting < max) {
        return true;
    }
    /* With heartbeats the client finds out slowly, and does not ask again in a loop. */
    if (s->heartbeat == 0) {
        consumer_send(c, in->loop, in->reply, NULL, "409 Exceeded MaxWaiting\r\n\r\n");
    }
    return false;
}

static void
add(struct consumer *c, const struct js_in *in, const struct pull_spec *s)
{
    size_t n = strlen(in->reply) + 1;
    struct request *r = mem_alloc(sizeof *r + n);
    if (r == NULL) {
        consumer_send(c, in->loop, in->reply, NULL, "409 Exceeded MaxWaiting\r\n\r\n");
        return;
    }
    int64_t now = consumer_now(c);
    memcpy(r->reply, in->reply, n);
    r->loop = in->loop;
    r->spec = *s;
    r->expires = s->expires != 0 ? clock_after(now, s->expires) : 0; /* less than none: at once */
    r->beat_at = s->heartbeat > 0 ? clock_after(now, s->heartbeat) : INT64_MAX;
    enqueue(c, r);
    c->pull.n_waiting++;
    c->pull.n_no_wait += s->no_wait;
    c->pull.last = now;
    if (r->beat_at < c->pull.due) {
        c->pull.due = r->beat_at;
    }
    if (r->expires != 0 && r->expires < c->pull.due) {
        c->pull.due = clock_after(r->expires, 1);
    }
    consumer_arm(c, c->pull.due);
    consumer_pump(c);
}

void
pull_request(struct consumer *c, const struct js_in *in, const char *body, size_t len)
{
    if (in->reply[0] == '\0') {
        return;
    }
    char why[160];
    struct pull_spec s;
    if (c->is_push) {
        consumer_send(c, in->loop, in->reply, NULL, "409 Consumer is push based\r\n\r\n");
    } else if (!pull_spec_parse(body, len, &s, why) || !pull_spec_allowed(c->cfg, &s, why)) {
        consumer_send(c, in->loop, in->reply, NULL, "%s\r\n\r\n", why);
    } else if (c->pull.pin[0] != '\0' && s.pin[0] != '\0' && strcmp(s.pin, c->pull.pin) != 0) {
        consumer_send(c, in->loop, in->reply, NULL, "423 Nats-Pin-Id mismatch\r\n\r\n");
    } else {
        if (c->pull.pin[0] != '\0' && s.pin[0] != '\0') {
            c->pull.pin_until = clock_after(consumer_now(c), c->cfg->pinned_ttl);
            consumer_arm(c, c->pull.pin_until);
        }
        if (may_not_wait(c, in, &s) && has_room(c, in, &s)) {
            add(c, in, &s);
        }
    }
}
