/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/js_advisory.h"

#include <jansson.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "stream/js_out.h"
#include "stream/js_priv.h"
#include "stream/stream_priv.h"

#define ADVISORY "$JS.EVENT.ADVISORY."
#define METRIC   "$JS.EVENT.METRIC."
#define TYPE     "io.nats.jetstream.advisory.v1."

enum { ID_LEN = 22, SUBJECT_MAX = 1024 };

/* One event in the making. On the stack. */
struct event {
    struct stream *s; /* borrowed: its lock is held */
    char subject[SUBJECT_MAX];
    json_t *o; /* owned; NULL: not to be sent, or no memory */
};

static void
put(struct event *e, const char *key, json_t *v)
{
    if (json_object_set_new(e->o, key, v) != 0) {
        json_decref(e->o);
        e->o = NULL;
    }
}

static void
put_str(struct event *e, const char *key, const char *v)
{
    put(e, key, json_string(v));
}

static void
put_num(struct event *e, const char *key, uint64_t v)
{
    put(e, key, json_integer((json_int_t)v));
}

static void
put_time(struct event *e, const char *key, int64_t wall)
{
    char text[CLOCK_RFC3339_LEN];
    put_str(e, key, clock_rfc3339(wall, text));
}

static void
new_id(char id[ID_LEN + 1])
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    unsigned char raw[ID_LEN];
    randombytes_buf(raw, sizeof raw);
    for (size_t i = 0; i < ID_LEN; i++) {
        id[i] = digits[raw[i] % (sizeof digits - 1)];
    }
    id[ID_LEN] = '\0';
}

static bool begin(struct event *e, struct stream *s, const char *type, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* False: nobody listens to that subject (fmt), or there is no memory. */
static bool
begin(struct event *e, struct stream *s, const char *type, const char *fmt, ...)
{
    char id[ID_LEN + 1];
    const struct js_host *h = s->js->host;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->subject, sizeof e->subject, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof e->subject ||
        !h->has_interest(h->ctx, s->acc->acc, e->subject)) {
        return false;
    }
    new_id(id);
    e->s = s;
    e->o = json_object();
    put_str(e, "type", type);
    put_str(e, "id", id);
    put_time(e, "timestamp", js_wall(s->js));
    return true;
}

static void
put_domain(struct event *e)
{
    const char *domain = e->s->js->opts.domain;
    if (domain != NULL) {
        put_str(e, "domain", domain);
    }
}

static void
put_names(struct event *e, const char *consumer)
{
    put_str(e, "stream", e->s->name);
    if (consumer != NULL) {
        put_str(e, "consumer", consumer);
    }
}

static void
end(struct event *e)
{
    struct js_out *out = NULL;
    char *text = e->o != NULL ? json_dumps(e->o, JSON_COMPACT) : NULL;
    json_decref(e->o);
    if (text == NULL) {
        return;
    }
    struct js_out_spec spec = {
        .account = e->s->acc->acc, .to = e->subject, .data = text, .data_len = strlen(text)};
    if (js_out_new(&out, &spec) == ST_OK) {
        stream_emit(e->s, out);
    }
    free(text);
}

/* CREATED for "create", and so on. */
static const char *
word_of(const char *action)
{
    return strcmp(action, "create") == 0   ? "CREATED"
           : strcmp(action, "delete") == 0 ? "DELETED"
                                           : "UPDATED";
}

void
advise_stream_action(struct stream *s, const char *action, uint64_t cid)
{
    struct event e;
    (void)cid;
    if (begin(&e, s, TYPE "stream_action", ADVISORY "STREAM.%s.%s", word_of(action), s->name)) {
        put_names(&e, NULL);
        put_str(&e, "action", action);
        put_domain(&e);
        end(&e);
    }
}

void
advise_consumer_action(struct stream *s, const char *consumer, const char *action, uint64_t cid)
{
    struct event e;
    (void)cid;
    if (begin(&e, s, TYPE "consumer_action", ADVISORY "CONSUMER.%s.%s.%s", word_of(action), s->name,
              consumer)) {
        put_names(&e, consumer);
        put_str(&e, "action", action);
        put_domain(&e);
        end(&e);
    }
}

void
advise_consumer_pause(struct stream *s, const char *consumer, int64_t until_wall)
{
    struct event e;
    bool paused = until_wall > js_wall(s->js);
    if (begin(&e, s, TYPE "consumer_pause", ADVISORY "CONSUMER.PAUSE.%s.%s", s->name, consumer)) {
        put_names(&e, consumer);
        put(&e, "paused", json_boolean(paused));
        if (paused) {
            put_time(&e, "pause_until", until_wall);
        } else {
            put_str(&e, "pause_until", "0001-01-01T00:00:00Z");
        }
        put_domain(&e);
        end(&e);
    }
}

void
advise_max_deliver(struct stream *s, const char *consumer, uint64_t seq, uint64_t deliveries)
{
    struct event e;
    if (begin(&e, s, TYPE "max_deliver", ADVISORY "CONSUMER.MAX_DELIVERIES.%s.%s", s->name,
              consumer)) {
        put_names(&e, consumer);
        put_num(&e, "stream_seq", seq);
        put_num(&e, "deliveries", deliveries);
        put_domain(&e);
        end(&e);
    }
}

static void
put_delivery(struct event *e, uint64_t seq, uint64_t cseq, uint64_t deliveries)
{
    put_num(e, "consumer_seq", cseq);
    put_num(e, "stream_seq", seq);
    put_num(e, "deliveries", deliveries);
}

void
advise_nak(struct stream *s, const char *consumer, uint64_t seq, uint64_t cseq, uint64_t deliveries)
{
    struct event e;
    if (begin(&e, s, TYPE "nak", ADVISORY "CONSUMER.MSG_NAKED.%s.%s", s->name, consumer)) {
        put_names(&e, consumer);
        put_delivery(&e, seq, cseq, deliveries);
        put_domain(&e);
        end(&e);
    }
}

void
advise_terminated(struct stream *s, const char *consumer, const struct advise_term *t)
{
    struct event e;
    if (begin(&e, s, TYPE "terminated", ADVISORY "CONSUMER.MSG_TERMINATED.%s.%s", s->name,
              consumer)) {
        put_names(&e, consumer);
        put_delivery(&e, t->seq, t->cseq, t->deliveries);
        if (t->reason != NULL && t->reason[0] != '\0') {
            put_str(&e, "reason", t->reason);
        }
        put_domain(&e);
        end(&e);
    }
}

static void
put_group(struct event *e, const char *consumer, const char *group)
{
    put_str(e, "account", e->s->acc->name);
    put_names(e, consumer);
    put_domain(e);
    put_str(e, "group", group);
}

void
advise_pinned(struct stream *s, const char *consumer, const char *group, const char *pin_id)
{
    struct event e;
    if (begin(&e, s, TYPE "consumer_group_pinned", ADVISORY "CONSUMER.PINNED.%s.%s", s->name,
              consumer)) {
        put_group(&e, consumer, group);
        put_str(&e, "pinned_id", pin_id);
        end(&e);
    }
}

void
advise_unpinned(struct stream *s, const char *consumer, const char *group, const char *reason)
{
    struct event e;
    if (begin(&e, s, TYPE "consumer_group_unpinned", ADVISORY "CONSUMER.UNPINNED.%s.%s", s->name,
              consumer)) {
        put_group(&e, consumer, group);
        put_str(&e, "reason", reason);
        end(&e);
    }
}

void
advise_ack_metric(struct stream *s, const char *consumer, const struct advise_ack *a)
{
    struct event e;
    if (begin(&e, s, "io.nats.jetstream.metric.v1.consumer_ack", METRIC "CONSUMER.ACK.%s.%s",
              s->name, consumer)) {
        put_names(&e, consumer);
        put_num(&e, "consumer_seq", a->cseq);
        put_num(&e, "stream_seq", a->seq);
        put_num(&e, "ack_time", (uint64_t)a->delay);
        put_num(&e, "deliveries", a->deliveries);
        put_domain(&e);
        end(&e);
    }
}

void
advise_batch_abandoned(struct stream *s, const struct advise_batch *b)
{
    struct event e;
    if (begin(&e, s, TYPE "stream_batch_abandoned", ADVISORY "STREAM.BATCH_ABANDONED.%s",
              s->name)) {
        put_names(&e, NULL);
        put_domain(&e);
        put_str(&e, "batch", b->id);
        put_str(&e, "reason", b->reason);
        end(&e);
    }
}

static const struct {
    const char *what, *subject, *type;
} snapshots[] = {
    {"snapshot_create", "SNAPSHOT_CREATE", TYPE "snapshot_create"},
    {"snapshot_complete", "SNAPSHOT_COMPLETE", TYPE "snapshot_complete"},
    {"restore_create", "RESTORE_CREATE", TYPE "restore_create"},
    {"restore_complete", "RESTORE_COMPLETE", TYPE "restore_complete"},
};

static void
put_snapshot(struct event *e, const char *what, json_t *client, int64_t start, uint64_t bytes)
{
    put_names(e, NULL);
    if (strcmp(what, "snapshot_create") == 0) {
        struct mlog_state st;
        mlog_state(e->s->log, &st);
        put(e, "state",
            json_pack("{s:I, s:I, s:I, s:I}", "messages", (json_int_t)st.msgs, "bytes",
                      (json_int_t)st.bytes, "first_seq", (json_int_t)st.first_seq, "last_seq",
                      (json_int_t)st.last_seq));
    }
    if (strstr(what, "_complete") != NULL) {
        put_time(e, "start", start);
        put_time(e, "end", js_wall(e->s->js));
    }
    if (strcmp(what, "restore_complete") == 0) {
        put_num(e, "bytes", bytes);
    }
    put(e, "client", client != NULL ? json_incref(client) : json_object());
    put_domain(e);
}

void
advise_snapshot(struct stream *s, const char *what, json_t *client, int64_t start, uint64_t bytes)
{
    struct event e;
    for (size_t i = 0; i < sizeof snapshots / sizeof snapshots[0]; i++) {
        if (strcmp(snapshots[i].what, what) == 0 &&
            begin(&e, s, snapshots[i].type, ADVISORY "STREAM.%s.%s", snapshots[i].subject,
                  s->name)) {
            put_snapshot(&e, what, client, start, bytes);
            end(&e);
        }
    }
}
