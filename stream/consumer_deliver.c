/* SPDX-License-Identifier: Apache-2.0 */
/* The pump. Happy path: the next message that the consumer takes (first what goes out anew) is
 * read, its reader is found, it goes out by reference and is remembered until it is acknowledged;
 * and so on until there is nothing more, nobody who wants it, or the bounds of one go are reached,
 * whereupon the timer goes on. Failure: a message that cannot be read (store, memory) is left where
 * it is, and tried again later. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/consumer_priv.h"
#include "stream/hdr.h"
#include "stream/text.h"

enum { GO_MSGS = 256, GO_BYTES = 1 << 20, NAME_MOST = 255, REPLY_MAX = 640 };

#define RETRY_AFTER CLOCK_S

enum pick_result { PICK_OK, PICK_NONE, PICK_FULL, PICK_FAILED };

/* The next message. On the stack of the pump. */
struct pick {
    struct unacked *again; /* borrowed: goes out anew; NULL: for the first time */
    struct msg *msg;       /* ref */
    uint64_t deliveries;   /* this one included */
};

static void
report_failure(struct consumer *c, uint64_t seq, enum status st)
{
    static struct log_limit limit;
    uint64_t held;
    if (log_limit_pass(&limit, &held)) {
        log_error("JetStream consumer '%s > %s > %s' cannot read message %" PRIu64 ": %s (%" PRIu64
                  " more)",
                  c->stream->acc->name, c->stream->name, c->name, seq, status_text(st), held);
    }
    consumer_arm(c, consumer_now(c) + RETRY_AFTER);
}

/* What goes out anew. PICK_NONE: nothing does. */
static enum pick_result
pick_again(struct consumer *c, struct pick *p)
{
    struct unacked *u;
    while ((u = unacked_first_again(&c->unacked)) != NULL) {
        uint64_t deliveries = (uint64_t)u->redelivered + 2;
        if (c->cfg->max_deliver > 0 && deliveries > (uint64_t)c->cfg->max_deliver) {
            unacked_set_redelivered(&c->unacked, u, u->redelivered + 1);
            consumer_exceeded(c, u, deliveries - 1);
            continue;
        }
        enum status st = mlog_get(c->stream->log, u->seq, NULL, &p->msg);
        if (st == ST_NOTFOUND) {
            consumer_lost(c, u, "Unacknowledged message was deleted");
            continue;
        }
        if (st != ST_OK) {
            report_failure(c, u->seq, st);
            return PICK_FAILED;
        }
        p->again = u;
        p->deliveries = deliveries;
        return PICK_OK;
    }
    return PICK_NONE;
}

/* The sequence after the one just delivered, or after a hole. */
static void
step(struct consumer *c)
{
    if (c->skip == NULL) {
        c->next++;
    } else if (++c->at_skip < c->n_skip) {
        c->next = c->skip[c->at_skip];
    } else {
        mem_free(c->skip);
        c->skip = NULL;
        c->next = c->resume;
    }
}

/* Moves `next` to the next message to deliver; false: none yet. */
static bool
seek(struct consumer *c)
{
    uint64_t committed = mlog_committed(c->stream->log);
    if (c->skip != NULL) {
        return c->next <= committed;
    }
    if (c->next > committed) {
        return false;
    }
    uint64_t seq = mlog_next(c->stream->log, c->filter, c->next);
    if (seq != 0 && seq <= committed) {
        c->next = seq;
        return true;
    }
    /* There is nothing more: what was counted must be none. */
    c->next = seq != 0 ? seq : committed + 1;
    c->counted = committed;
    c->num_pending = 0;
    c->recount = false;
    return false;
}

static enum pick_result
pick_next(struct consumer *c, struct pick *p)
{
    *p = (struct pick){.deliveries = 1};
    enum pick_result again = pick_again(c, p);
    if (again != PICK_NONE) {
        return again;
    }
    if (c->cfg->max_ack_pending > 0 && c->cfg->ack != ACK_NONE &&
        c->unacked.n_pending >= (size_t)c->cfg->max_ack_pending) {
        return PICK_FULL;
    }
    while (seek(c)) {
        enum status st = mlog_get(c->stream->log, c->next, c->cursor, &p->msg);
        if (st == ST_OK) {
            return PICK_OK;
        }
        if (st != ST_NOTFOUND) {
            report_failure(c, c->next, st);
            return PICK_FAILED;
        }
        step(c);
    }
    return PICK_NONE;
}

/* "$JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.<consumer seq>.<time>.<pending>" */
static size_t
ack_reply(struct consumer *c, const struct pick *p, uint64_t pending, char out[REPLY_MAX])
{
    const uint64_t numbers[] = {p->deliveries, p->msg->seq, c->dseq, (uint64_t)p->msg->ts, pending};
    char *at = text_put(out, "$JS.ACK.", NAME_MOST);
    at = text_put(at, c->stream->name, NAME_MOST);
    *at++ = '.';
    at = text_put(at, c->name, NAME_MOST);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        *at++ = '.';
        at = text_put_u64(at, numbers[i]);
    }
    *at = '\0';
    return (size_t)(at - out);
}

/* True: the message is not yet to go out; the timer comes back. */
static bool
is_held(struct consumer *c, const struct msg *m, size_t size)
{
    struct hold *h = &c->hold;
    int64_t now = c->now;
    if (h->seq != m->seq) {
        *h = (struct hold){.seq = m->seq};
    }
    if (h->stage == 0) {
        int64_t gap = m->ts - c->replay_ts;
        h->stage = 1;
        h->until = c->replaying && c->replay_ts > 0 && gap > CLOCK_MS ? now + gap : now;
    }
    if (h->stage == 1 && now >= h->until) {
        h->stage = 2;
        h->until = now + push_rate_delay(c, size);
    }
    if (now < h->until) {
        consumer_arm(c, h->until);
        return true;
    }
    h->seq = 0;
    return false;
}

/* Headers as they go out: with the size of a payload left out, with the pin of the client. */
static bool
extra_headers(struct consumer *c, const struct msg *m, struct buf *b)
{
    bool pinned = c->cfg->priority == PRIORITY_PINNED_CLIENT;
    if (!c->cfg->headers_only && !pinned) {
        return false;
    }
    buf_append(b, msg_hdr(m), m->hdr_len);
    if (c->cfg->headers_only) {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu32, m->data_len);
        hdr_add(b, "Nats-Msg-Size", text);
    }
    if (pinned) {
        hdr_add(b, "Nats-Pin-Id", c->pull.pin);
    }
    return true;
}

static enum status
emit(struct consumer *c, const struct msg *m, struct js_out_spec *spec)
{
    struct buf b;
    buf_init(&b);
    if (extra_headers(c, m, &b)) {
        spec->hdr = b.data;
        spec->hdr_len = b.len;
        if (c->cfg->headers_only) {
            spec->subject = msg_subject(m);
            spec->msg = NULL;
        }
    }
    struct js_out *o = NULL;
    enum status st = buf_status(&b);
    if (st == ST_OK) {
        st = js_out_new(&o, spec);
    }
    buf_fini(&b);
    if (st == ST_OK) {
        stream_emit(c->stream, o);
    }
    return st;
}

/* The books after a delivery. */
static void
delivered(struct consumer *c, const struct pick *p)
{
    uint64_t seq = p->msg->seq;
    uint64_t dseq = c->dseq++;
    c->last_delivered = c->wall;
    c->delivered_dseq = dseq;
    c->delivered = seq > c->delivered ? seq : c->delivered;
    c->replay_ts = p->msg->ts;
    if (p->again == NULL) {
        step(c);
        c->num_pending--;
    } else {
        unacked_set_redelivered(&c->unacked, p->again, p->again->redelivered + 1);
    }
    if (c->cfg->ack == ACK_NONE) {
        c->floor_dseq = dseq;
        c->floor = seq;
    } else {
        consumer_track(c, seq, dseq);
    }
    c->pull.last = c->now;
    consumer_touch(c);
}

/* False: it could not go out, or there is nobody to take it. */
static bool
deliver(struct consumer *c, const struct pick *p, size_t *size)
{
    uint64_t pending = consumer_num_pending(c);
    pending -= p->again == NULL && pending > 0;
    char reply[REPLY_MAX];
    struct msg *m = p->msg;
    *size = m->subject_len + ack_reply(c, p, pending, reply) + m->hdr_len +
            (c->cfg->headers_only ? 0 : m->data_len);
    if (is_held(c, m, *size)) {
        return false;
    }
    struct js_out_spec spec = {
        .account = c->stream->acc->acc, .reply = reply, .msg = m, .loop = c->loop};
    if (!list_is_empty(&c->stream->outq)) {
        spec.slab = &c->stream->out_slab;
    }
    struct request *r = NULL;
    if (c->is_push) {
        spec.to = c->cfg->deliver_subject;
    } else {
        r = pull_next(c, *size);
        if (r == NULL) {
            return false;
        }
        struct pull_target to = pull_target(r);
        spec.to = to.reply;
        spec.loop = to.loop;
    }
    enum status st = emit(c, m, &spec);
    if (st != ST_OK) {
        report_failure(c, m->seq, st);
    }
    /* Without memory it counts as sent: an unacknowledged message goes out again. */
    delivered(c, p);
    if (c->is_push) {
        push_sent(c, *size);
    } else {
        pull_served(c, r);
    }
    if (c->cfg->ack == ACK_NONE && c->stream->cfg->retention != RETENTION_LIMITS) {
        retention_done(c, m->seq);
    }
    return true;
}

static bool
may_deliver(const struct consumer *c)
{
    if (!c->open || c->deleted || (c->hold.seq != 0 && consumer_now(c) < c->hold.until)) {
        return false;
    }
    bool wanted = c->is_push ? push_may_send(c) : c->pull.n_waiting > 0;
    return wanted && !consumer_is_paused(c);
}

void
consumer_pump(struct consumer *c)
{
    enum pick_result r = PICK_NONE;
    size_t bytes = 0;
    consumer_read_clock(c);
    for (int n = 0; may_deliver(c); n++) {
        if (n == GO_MSGS || bytes >= GO_BYTES) {
            consumer_arm(c, consumer_now(c));
            return;
        }
        struct pick p;
        r = pick_next(c, &p);
        if (r != PICK_OK) {
            break;
        }
        size_t size = 0;
        bool went = deliver(c, &p, &size);
        msg_unref(p.msg);
        if (!went) {
            break;
        }
        bytes += size;
    }
    if (c->replaying && c->next > c->replay_to) {
        c->replaying = false;
    }
    if (!c->is_push && !c->deleted) {
        pull_sweep(c, r != PICK_FULL && c->hold.seq == 0);
    }
}

void
consumer_send(struct consumer *c, uint32_t loop, const char *to, const char *reply, const char *fmt,
              ...)
{
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "NATS/1.0 ");
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    struct js_out_spec spec = {.account = c->stream->acc->acc,
                               .loop = loop,
                               .to = to,
                               .reply = reply,
                               .hdr = b.data,
                               .hdr_len = b.len};
    struct js_out *o = NULL;
    if (buf_status(&b) == ST_OK && js_out_new(&o, &spec) == ST_OK) {
        stream_emit(c->stream, o);
    }
    buf_fini(&b);
}
