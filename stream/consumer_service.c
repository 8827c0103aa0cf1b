/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of consumers that are data: acks, requests for messages, answers to flow control.
 * I/O threads: each finds its consumer by the subject, and acts under the stream's lock. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/version.h"
#include "stream/consumer_ack.h"
#include "stream/consumer_priv.h"
#include "stream/hdr.h"

enum { TOKENS_MAX = 16, TOKENS_V1 = 9, TOKENS_V2 = 11, FC_TOKENS_V1 = 5, FC_TOKENS_V2 = 7 };

struct token {
    const char *p; /* borrowed: in the subject */
    size_t len;
};

/* How many there are, of which at most TOKENS_MAX are noted. */
static size_t
split(const char *s, size_t len, struct token v[TOKENS_MAX])
{
    size_t n = 0;
    for (size_t at = 0; at <= len; n++) {
        const char *dot = memchr(s + at, '.', len - at);
        size_t end = dot != NULL ? (size_t)(dot - s) : len;
        if (n < TOKENS_MAX) {
            v[n] = (struct token){s + at, end - at};
        }
        at = end + 1;
    }
    return n;
}

static bool
is(const struct token *t, const char *text)
{
    return t->len == strlen(text) && memcmp(t->p, text, t->len) == 0;
}

/* Not a number: the largest. */
static uint64_t
number(const struct token *t)
{
    uint64_t v = 0;
    for (size_t i = 0; i < t->len; i++) {
        if (t->p[i] < '0' || t->p[i] > '9') {
            return UINT64_MAX;
        }
        v = v * 10 + (uint64_t)(t->p[i] - '0');
    }
    return t->len > 0 ? v : UINT64_MAX;
}

bool
ack_subject_parse(const char *subject, size_t len, struct ack_subject *out)
{
    struct token v[TOKENS_MAX];
    size_t n = split(subject, len, v);
    if ((n != TOKENS_V1 && n < TOKENS_V2) || !is(&v[0], "$JS") || !is(&v[1], "ACK")) {
        return false;
    }
    const struct token *t = &v[n >= TOKENS_V2 ? 4 : 2];
    *out = (struct ack_subject){.stream = t[0].p,
                                .stream_len = t[0].len,
                                .consumer = t[1].p,
                                .consumer_len = t[1].len,
                                .deliveries = number(&t[2]),
                                .seq = number(&t[3]),
                                .dseq = number(&t[4])};
    return true;
}

enum { SUBJECT_TEXT = 4096 };

static void
no_responders(struct js_account *a, const struct js_in *in)
{
    char hdr[SUBJECT_TEXT + 40];
    int n = snprintf(hdr, sizeof hdr, "NATS/1.0 503\r\nNats-Subject: %s\r\n\r\n", in->subject);
    if (in->reply[0] == '\0' || n < 0 || (size_t)n >= sizeof hdr) {
        return;
    }
    struct js_out_spec spec = {
        .account = a->acc, .loop = in->loop, .to = in->reply, .hdr = hdr, .hdr_len = (size_t)n};
    struct js_out *o = NULL;
    if (js_out_new(&o, &spec) == ST_OK) {
        js_send(a->js, o);
    }
}

/* The stream with a reference and its lock, and the consumer; NULL: there is none. */
static struct consumer *
enter(struct js_account *a, const struct token *stream, const struct token *consumer)
{
    struct stream *s = js_account_stream(a, stream->p, stream->len);
    if (s == NULL) {
        return NULL;
    }
    stream_lock(s);
    struct consumer *c = consumer_lookup(s, consumer->p, consumer->len);
    if (c == NULL) {
        stream_unlock(s);
        stream_unref(s);
    }
    return c;
}

static void
leave(struct stream *s)
{
    stream_unlock(s);
    stream_unref(s);
}

void
consumer_ack_receive(void *account, const struct js_in *in)
{
    struct js_account *a = account;
    struct ack_subject as;
    struct consumer *c = NULL;
    if (ack_subject_parse(in->subject, in->subject_len, &as)) {
        c = enter(a, &(struct token){as.stream, as.stream_len},
                  &(struct token){as.consumer, as.consumer_len});
    }
    if (c == NULL) {
        no_responders(a, in);
        return;
    }
    struct stream *s = c->stream;
    bool takes = c->cfg->ack != ACK_NONE && c->cfg->ack != ACK_FLOW_CONTROL;
    if (takes) {
        consumer_ack(c, in, &as);
    }
    leave(s);
    if (!takes) {
        no_responders(a, in);
    }
}

/* A request may ask for a newer server. */
static bool
is_level_enough(const struct js_in *in)
{
    const char *v;
    size_t n;
    if (!hdr_find(in->hdr, in->hdr_len, "Nats-Required-Api-Level", &v, &n) || n == 0) {
        return true;
    }
    char text[12];
    char *end;
    if (n >= sizeof text) {
        return false;
    }
    memcpy(text, v, n);
    text[n] = '\0';
    long level = strtol(text, &end, 10);
    return *end == '\0' && level <= JS_API_LEVEL;
}

void
consumer_next_receive(void *account, const struct js_in *in)
{
    struct js_account *a = account;
    struct token v[TOKENS_MAX];
    size_t n = split(in->subject, in->subject_len, v);
    struct consumer *c = NULL;
    if (in->reply[0] == '\0') {
        return;
    }
    if (n >= 2 && n <= TOKENS_MAX) {
        c = enter(a, &v[n - 2], &v[n - 1]);
    }
    if (c == NULL) {
        no_responders(a, in);
        return;
    }
    struct stream *s = c->stream;
    if (!c->is_push && !is_level_enough(in)) {
        consumer_send(c, in->loop, in->reply, NULL, "412 Required Api Level\r\n\r\n");
    } else {
        pull_request(c, in, in->data, in->data_len);
    }
    leave(s);
}

void
consumer_fc_receive(void *account, const struct js_in *in)
{
    struct js_account *a = account;
    struct token v[TOKENS_MAX];
    size_t n = split(in->subject, in->subject_len, v);
    struct consumer *c = NULL;
    if (n == FC_TOKENS_V1 || n == FC_TOKENS_V2) {
        c = enter(a, &v[n - 3], &v[n - 2]);
    }
    if (c != NULL) {
        struct stream *s = c->stream;
        push_answered(c, in);
        leave(s);
    }
}
