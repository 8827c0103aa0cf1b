/* SPDX-License-Identifier: Apache-2.0 */
/* Consumers that deliver to a subject: flow control, heartbeats, the rate limit. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stream/consumer_ack.h"
#include "stream/consumer_priv.h"
#include "stream/consumer_text.h"
#include "stream/hdr.h"

#define WINDOW_MAX (INT64_C(32) << 20) /* bytes on their way that flow control allows */
#define SLOW_START 16                  /* of which this part at first */

void
push_init(struct consumer *c)
{
    c->push.heartbeat_at = INT64_MAX;
    if (!c->is_push) {
        return;
    }
    if (c->cfg->flow_control) {
        c->push.max = WINDOW_MAX;
        c->push.window = WINDOW_MAX / SLOW_START;
    }
    if (c->cfg->heartbeat > 0) {
        c->push.heartbeat_at = clock_after(consumer_now(c), c->cfg->heartbeat);
    }
    push_set_rate(c);
}

bool
push_may_send(const struct consumer *c)
{
    return c->push.active && (c->push.window == 0 || c->push.unacked <= c->push.window);
}

static void
ask(struct consumer *c)
{
    struct push *p = &c->push;
    char token[5];
    snprintf(p->fc_id, sizeof p->fc_id, "$JS.FC.%s.%s.%s", c->stream->name, c->name,
             random_name(token, sizeof token - 1));
    p->asked = p->unacked;
    consumer_send(c, c->loop, c->cfg->deliver_subject, p->fc_id, "100 FlowControl Request\r\n\r\n");
}

static bool
should_ask(const struct consumer *c)
{
    const struct push *p = &c->push;
    if (p->fc_id[0] != '\0') {
        return false;
    }
    return p->unacked > p->window / 2 ||
           (c->cfg->ack == ACK_FLOW_CONTROL && c->cfg->max_ack_pending > 0 &&
            c->unacked.n_pending >= (size_t)c->cfg->max_ack_pending);
}

void
push_sent(struct consumer *c, size_t size)
{
    struct push *p = &c->push;
    if (p->window > 0) {
        p->unacked += (int64_t)size;
        if (should_ask(c)) {
            ask(c);
        } else if (p->fc_id[0] != '\0' && p->unacked - p->asked >= p->window) {
            p->asked += (int64_t)size;
        }
    }
    if (c->cfg->heartbeat > 0) {
        p->heartbeat_at = clock_after(c->now, c->cfg->heartbeat);
    }
}

void
push_answered(struct consumer *c, const struct js_in *in)
{
    struct push *p = &c->push;
    if (!c->is_push || p->fc_id[0] == '\0' || strcmp(in->subject, p->fc_id) != 0) {
        return;
    }
    p->window = p->window * 2 < p->max ? p->window * 2 : p->max;
    p->unacked = p->unacked > p->asked ? p->unacked - p->asked : 0;
    p->asked = 0;
    p->fc_id[0] = '\0';
    unsigned long long seq, dseq;
    if (c->cfg->ack == ACK_FLOW_CONTROL &&
        hdr_u64(in->hdr, in->hdr_len, "Nats-Last-Stream", &seq) == ST_OK && seq > 0) {
        if (hdr_u64(in->hdr, in->hdr_len, "Nats-Last-Consumer", &dseq) != ST_OK) {
            dseq = 0;
        }
        consumer_acked_by_flow(c, seq, dseq);
    }
    consumer_pump(c);
}

void
idle_heartbeat(struct consumer *c, uint32_t loop, const char *to)
{
    const char *stalled = c->push.fc_id;
    consumer_send(c, loop, to, NULL,
                  "100 Idle Heartbeat\r\nNats-Last-Consumer: %" PRIu64
                  "\r\nNats-Last-Stream: %" PRIu64 "\r\n%s%s%s\r\n",
                  c->dseq - 1, c->next - 1, stalled[0] != '\0' ? "Nats-Consumer-Stalled: " : "",
                  stalled, stalled[0] != '\0' ? "\r\n" : "");
}

void
push_heartbeat(struct consumer *c)
{
    struct push *p = &c->push;
    int64_t now = consumer_now(c);
    if (now < p->heartbeat_at) {
        return;
    }
    if (p->active) {
        idle_heartbeat(c, c->loop, c->cfg->deliver_subject);
        if (c->cfg->ack == ACK_FLOW_CONTROL && c->unacked.n_pending > 0 && p->fc_id[0] == '\0') {
            ask(c);
        }
    }
    p->heartbeat_at = clock_after(now, c->cfg->heartbeat);
}

/* ---- the rate limit: a bucket of bytes that holds one message of the largest size ---- */

static double
bucket_size(const struct consumer *c)
{
    int64_t max = c->stream->cfg->max_msg_size;
    return max > 0 ? (double)max : (double)consumer_js(c)->host->max_payload;
}

void
push_set_rate(struct consumer *c)
{
    c->push.tokens = bucket_size(c);
    c->push.tokens_at = consumer_now(c);
}

int64_t
push_rate_delay(struct consumer *c, size_t size)
{
    struct push *p = &c->push;
    double rate = (double)c->cfg->rate_limit / 8;
    if (rate < 1) {
        return 0;
    }
    int64_t now = consumer_now(c);
    double full = bucket_size(c);
    p->tokens += rate * (double)(now - p->tokens_at) / (double)CLOCK_S;
    p->tokens = (p->tokens < full ? p->tokens : full) - (double)size;
    p->tokens_at = now;
    return p->tokens < 0 ? (int64_t)(-p->tokens / rate * (double)CLOCK_S) : 0;
}
