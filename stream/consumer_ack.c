/* SPDX-License-Identifier: Apache-2.0 */
/* Acks of all kinds, and what goes out anew without one. */
#include <jansson.h>
#include <sodium.h>
#include <string.h>

#include "server/base/log.h"
#include "stream/consumer_ack.h"
#include "stream/consumer_priv.h"
#include "stream/consumer_text.h"
#include "stream/js_advisory.h"

#define ACK_WAIT_MORE CLOCK_MS /* bursts are looked at together */

int64_t
consumer_ack_wait(const struct consumer *c, const struct unacked *u)
{
    const struct consumer_config *cfg = c->cfg;
    if (cfg->n_backoff == 0) {
        return cfg->ack_wait;
    }
    size_t i = u->redelivered < cfg->n_backoff ? u->redelivered : cfg->n_backoff - 1;
    return cfg->backoff[i];
}

/* Its wait begins at the time stamp. */
static void
wait_for_ack(struct consumer *c, struct unacked *u)
{
    if (c->cfg->ack_wait <= 0) {
        unacked_rest(&c->unacked, u);
        return;
    }
    unacked_wait(&c->unacked, u, clock_after(c->now - (c->wall - u->ts), consumer_ack_wait(c, u)));
    consumer_arm(c, unacked_first_due(&c->unacked) + ACK_WAIT_MORE);
}

void
consumer_track(struct consumer *c, uint64_t seq, uint64_t dseq)
{
    struct unacked *u = unacked_find(&c->unacked, seq);
    if (u == NULL && unacked_add(&c->unacked, seq, dseq, &u) != ST_OK) {
        static struct log_limit limit;
        uint64_t held;
        if (log_limit_pass(&limit, &held)) {
            log_error("JetStream consumer '%s > %s' has no memory to wait for an ack",
                      c->stream->name, c->name);
        }
        return;
    }

    u->ts = c->wall;
    wait_for_ack(c, u);
}

void
consumer_move_floor(struct consumer *c, uint64_t seq, uint64_t dseq)
{
    const struct unacked *first = unacked_first(&c->unacked);
    if (first == NULL) {
        c->floor = c->delivered;
        c->floor_dseq = c->delivered_dseq;
    } else if (dseq == c->floor_dseq + 1) {
        bool ahead = first->seq > seq && first->dseq > 0;
        c->floor = ahead ? first->seq - 1 : seq;
        c->floor_dseq = ahead ? first->dseq - 1 : dseq;
    }
}

void
consumer_exceeded(struct consumer *c, struct unacked *u, uint64_t deliveries)
{
    advise_max_deliver(c->stream, c->name, u->seq, deliveries);
    unacked_kill(&c->unacked, u);
    if (u->redelivered == 0) {
        unacked_set_redelivered(&c->unacked, u, 1);
    }
    consumer_touch(c);
}

static void
expired(void *arg, struct unacked *u)
{
    struct consumer *c = arg;
    uint64_t count = u->redelivered > 0 ? u->redelivered : 1;
    if (c->cfg->max_deliver > 0 && count >= (uint64_t)c->cfg->max_deliver) {
        consumer_exceeded(c, u, (uint64_t)u->redelivered + 1);
    } else {
        unacked_queue(&c->unacked, u);
    }
}

void
consumer_expire(struct consumer *c, int64_t now)
{
    unacked_expire(&c->unacked, now, expired, c);
}

bool
consumer_redeliver_all(struct consumer *c)
{
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &c->unacked.pending)
    {
        struct unacked *u = LIST_ENTRY(it, struct unacked, node);
        if (!list_is_linked(&u->again)) {
            unacked_rest(&c->unacked, u);
            expired(c, u);
        }
    }
    return c->unacked.n_redeliver > 0;
}

/* Where an ack is for all below it too, the floor goes on only if nothing below is waited for. */
static void
lost_of_all(struct consumer *c, uint64_t seq, uint64_t dseq)
{
    const struct unacked *first = unacked_first(&c->unacked);
    if (first == NULL) {
        c->floor = c->delivered;
        c->floor_dseq = c->delivered_dseq;
    } else if (first->seq > seq && dseq > c->floor_dseq) {
        c->floor = seq;
        c->floor_dseq = dseq;
    }
}

void
consumer_lost(struct consumer *c, struct unacked *u, const char *reason)
{
    uint64_t seq = u->seq;
    uint64_t dseq = u->dseq;
    if (u->dead) {
        unacked_drop(&c->unacked, u);
        consumer_touch(c);
        return;
    }
    struct advise_term t = {.seq = seq,
                            .cseq = dseq,
                            .deliveries = u->redelivered > 0 ? u->redelivered : 1,
                            .reason = reason};
    unacked_drop(&c->unacked, u);
    if (c->cfg->ack == ACK_EXPLICIT) {
        consumer_move_floor(c, seq, dseq);
    } else {
        lost_of_all(c, seq, dseq);
    }
    c->last_acked = js_wall(consumer_js(c));
    advise_terminated(c->stream, c->name, &t);
    consumer_touch(c);
    consumer_arm(c, consumer_now(c));
}

/* ---- acks as they come ---- */

/* What an ack's subject says, and what came with it. */
struct ack {
    uint64_t seq, dseq, deliveries;
    const char *body;
    size_t len;
    const struct js_in *in;
};

static void
sample_ack(struct consumer *c, const struct ack *a, const struct unacked *u)
{
    if (c->sample <= 0 || (c->sample < 100 && randombytes_uniform(100) > (uint32_t)c->sample)) {
        return;
    }
    struct advise_ack m = {.seq = a->seq,
                           .cseq = a->dseq,
                           .deliveries = a->deliveries,
                           .delay = js_wall(consumer_js(c)) - u->ts};
    advise_ack_metric(c->stream, c->name, &m);
}

static void
ack_one(struct consumer *c, const struct ack *a, bool sample)
{
    struct unacked *u = unacked_find(&c->unacked, a->seq);
    if (u == NULL) {
        return;
    }
    bool pending = !u->dead;
    uint64_t dseq = u->dseq;
    if (pending && sample) {
        sample_ack(c, a, u);
    }
    unacked_drop(&c->unacked, u);
    if (pending) {
        consumer_move_floor(c, a->seq, dseq);
    }
}

static void
ack_up_to(struct consumer *c, uint64_t seq, uint64_t dseq)
{
    if (dseq <= c->floor_dseq || seq <= c->floor) {
        return;
    }
    c->floor = seq;
    c->floor_dseq = dseq;
    struct unacked *u;
    while ((u = unacked_first(&c->unacked)) != NULL && u->seq <= seq) {
        uint64_t gone = u->seq;
        unacked_drop(&c->unacked, u);
        if (gone != seq) {
            retention_done(c, gone);
        }
    }
}

void
consumer_acked_by_flow(struct consumer *c, uint64_t seq, uint64_t dseq)
{
    ack_up_to(c, seq, dseq);
    c->last_acked = js_wall(consumer_js(c));
    retention_done(c, seq);
    consumer_touch(c);
}

/* False: an ack of what was never delivered. */
static bool
acknowledge(struct consumer *c, const struct ack *a, bool sample)
{
    if (a->seq > c->delivered || c->cfg->ack == ACK_NONE) {
        return false;
    }
    if (c->cfg->ack == ACK_EXPLICIT) {
        ack_one(c, a, sample);
    } else {
        ack_up_to(c, a->seq, a->dseq);
    }
    c->last_acked = c->wall;
    retention_done(c, a->seq);
    consumer_touch(c);
    return true;
}

static bool
nak_delay(const struct ack *a, int64_t *delay)
{
    const char *p = a->body + 4;
    const char *end = a->body + a->len;
    while (p < end && strchr(" \t\r\n", *p) != NULL) {
        p++;
    }
    while (end > p && strchr(" \t\r\n", end[-1]) != NULL) {
        end--;
    }
    if (p == end) {
        return false;
    }
    bool ok;
    if (*p == '{') {
        json_t *o = json_loadb(p, (size_t)(end - p), 0, NULL);
        const json_t *d = json_object_get(o, "delay");
        ok = json_is_integer(d) || (o != NULL && d == NULL);
        *delay = json_integer_value(d);
        json_decref(o);
    } else {
        ok = duration_parse(p, (size_t)(end - p), delay) == ST_OK;
    }
    static struct log_limit limit;
    uint64_t held;
    if (!ok && log_limit_pass(&limit, &held)) {
        log_warn("JetStream consumer: bad NAK delay value: \"%.*s\" (%llu more)",
                 (int)(end - p > 100 ? 100 : end - p), p, (unsigned long long)held);
    }
    return ok;
}

static void
nak(struct consumer *c, const struct ack *a)
{
    struct unacked *u = unacked_find(&c->unacked, a->seq);
    if (a->dseq <= c->floor_dseq || a->dseq > c->dseq || u == NULL || u->dead) {
        return;
    }
    advise_nak(c->stream, c->name, a->seq, a->dseq, a->deliveries);
    consumer_touch(c);
    int64_t delay;
    if (nak_delay(a, &delay)) {
        /* As if it had been delivered so that its wait ends then. */
        u->ts = clock_after(clock_after(js_wall(consumer_js(c)), delay), -consumer_ack_wait(c, u));
        unacked_wait(&c->unacked, u, clock_after(consumer_now(c), delay));
        consumer_arm(c, unacked_first_due(&c->unacked));
    } else if (!list_is_linked(&u->again)) {
        unacked_queue(&c->unacked, u);
    }
}

static void
progress(struct consumer *c, uint64_t seq)
{
    struct unacked *u = unacked_find(&c->unacked, seq);
    if (u == NULL || u->dead) {
        return;
    }
    u->ts = c->wall;
    if (!list_is_linked(&u->again)) {
        wait_for_ack(c, u);
    }
    consumer_touch(c);
}

static bool
terminate(struct consumer *c, const struct ack *a)
{
    bool done = acknowledge(c, a, false);
    const char *p = a->body + 5;
    size_t n = a->len - 5;
    while (n > 0 && strchr(" \t\r\n", *p) != NULL) {
        p++;
        n--;
    }
    while (n > 0 && strchr(" \t\r\n", p[n - 1]) != NULL) {
        n--;
    }
    char reason[512];
    n = n < sizeof reason ? n : sizeof reason - 1;
    memcpy(reason, p, n);
    reason[n] = '\0';
    struct advise_term t = {.seq = a->seq,
                            .cseq = a->dseq,
                            .deliveries = a->deliveries,
                            .reason = n > 0 ? reason : NULL};
    advise_terminated(c->stream, c->name, &t);
    return done;
}

static bool
begins(const struct ack *a, const char *text)
{
    size_t n = strlen(text);
    return a->len >= n && memcmp(a->body, text, n) == 0;
}

static bool
is(const struct ack *a, const char *text)
{
    return a->len == strlen(text) && begins(a, text);
}

/* True: a reply is due. */
static bool
process(struct consumer *c, const struct ack *a)
{
    if (a->len == 0 || is(a, "+ACK") || is(a, "+OK")) {
        return acknowledge(c, a, true);
    }
    if (begins(a, "+NXT")) {
        (void)acknowledge(c, a, true);
        pull_request(c, a->in, a->body + 4, a->len - 4);
        return false;
    }
    if (begins(a, "-NAK")) {
        nak(c, a);
    } else if (is(a, "+WPI")) {
        progress(c, a->seq);
    } else if (begins(a, "+TERM")) {
        return terminate(c, a);
    }
    return true;
}

void
consumer_ack(struct consumer *c, const struct js_in *in, const struct ack_subject *s)
{
    struct ack a = {.seq = s->seq,
                    .dseq = s->dseq,
                    .deliveries = s->deliveries,
                    .body = in->data,
                    .len = in->data_len,
                    .in = in};
    consumer_read_clock(c);
    c->pull.last = c->now;
    if (c->is_push && c->idle_limit > 0 && !c->push.active) {
        c->idle_at = clock_after(c->pull.last, c->idle_limit);
    }
    bool full =
        c->cfg->max_ack_pending > 0 && c->unacked.n_pending >= (size_t)c->cfg->max_ack_pending;
    bool reply = process(c, &a);
    if (reply && a.seq != 0 && in->reply[0] != '\0') {
        struct js_out_spec spec = {
            .account = c->stream->acc->acc, .loop = in->loop, .to = in->reply};
        struct js_out *o = NULL;
        if (js_out_new(&o, &spec) == ST_OK) {
            stream_emit(c->stream, o);
        }
    }
    if (full || c->unacked.n_redeliver > 0) {
        consumer_pump(c);
    }
}
