/* SPDX-License-Identifier: Apache-2.0 */
/* Fast batches: what a message is within its batch is in its reply subject,
 * <prefix>.<id>.<flow>.<gap>.<sequence>.<operation>.$FI. Stored as they come; acknowledged now and
 * then, which is also the publisher's flow control. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/ingest_batch_priv.h"

enum { MOST_EVERY = 500 };
static const struct batch_room fast_room = {.per_stream = 1000, .total = 50000};
enum fast_op { OP_START, OP_APPEND, OP_COMMIT, OP_EOB, OP_PING };

struct part {
    const char *id;
    size_t len;
    uint64_t seq;
    uint32_t flow;
    enum fast_op op;
    bool gap_ok;
};

/* ---- the reply subject ---- */

static bool
number(const char *s, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9' || v > (UINT64_MAX - 9) / 10) {
            return false;
        }
        v = v * 10 + (uint64_t)(s[i] - '0');
    }
    *out = v;
    return n > 0;
}

/* The last token before *end, which moves to its dot. */
static bool
back(const char *s, size_t *end, const char **token, size_t *n)
{
    size_t at = *end;
    while (at > 0 && s[at - 1] != '.') {
        at--;
    }
    *token = s + at;
    *n = *end - at;
    *end = at > 0 ? at - 1 : 0;
    return at > 0;
}

static bool
parse(const char *reply, size_t len, struct part *t)
{
    const char *v;
    size_t n, end = len - 4;
    uint64_t op, flow;
    if (!back(reply, &end, &v, &n) || !number(v, n, &op) || op > OP_PING) {
        return false;
    }
    t->op = (enum fast_op)op;
    if (!back(reply, &end, &v, &n) || !number(v, n, &t->seq) || t->seq == 0 ||
        (t->op == OP_EOB && t->seq == 1) || (t->op == OP_START && t->seq != 1) ||
        (t->op == OP_APPEND && t->seq == 1)) {
        return false;
    }
    if (!back(reply, &end, &v, &n)) {
        return false;
    }
    t->gap_ok = n == 2 && memcmp(v, "ok", 2) == 0;
    if (!t->gap_ok && !(n == 4 && memcmp(v, "fail", 4) == 0)) {
        return false;
    }
    if (!back(reply, &end, &v, &n)) {
        return false;
    }
    flow = number(v, n, &flow) && flow > 0 ? flow : 10;
    t->flow = flow > UINT16_MAX ? UINT16_MAX : (uint32_t)flow;
    return back(reply, &end, &t->id, &t->len);
}

/* ---- the set ---- */

void
fast_batch_free(struct batches *all, struct fast_batch *b)
{
    list_remove(&b->node);
    all->n_fast--;
    atomic_fetch_sub(all->open_fast, 1);
    mem_free(b->reply);
    mem_free(b);
}

static struct fast_batch *
find(struct batches *all, const char *id, size_t len)
{
    for (struct list_node *n = all->fast.next; n != &all->fast; n = n->next) {
        struct fast_batch *b = LIST_ENTRY(n, struct fast_batch, node);
        if (b->len == len && memcmp(b->id, id, len) == 0) {
            return b;
        }
    }
    return NULL;
}

static enum js_error
begin(struct stream *s, struct batches *all, const struct part *t, struct fast_batch **out,
      struct js_fail *f)
{
    if (t->seq != 1 || t->op == OP_PING) {
        return js_fail_plain(f, JS_ERR_BATCH_PUBLISH_UNKNOWN_BATCH_ID);
    }
    if (!batch_enter(s, all->n_fast, all->open_fast, fast_room)) {
        return js_fail_plain(f, JS_ERR_BATCH_PUBLISH_TOO_MANY_INFLIGHT);
    }
    struct fast_batch *b = mem_alloc(sizeof *b);
    if (b == NULL) {
        atomic_fetch_sub(all->open_fast, 1);
        return js_fail_status(f, ST_NOMEM);
    }
    memcpy(b->id, t->id, t->len);
    b->len = t->len;
    b->gap_ok = t->gap_ok;
    b->most = t->flow;
    list_push_back(&all->fast, &b->node);
    all->n_fast++;
    b->every = all->n_fast > 1 ? 1 : b->most < MOST_EVERY ? b->most : MOST_EVERY;
    stream_tick_at(s, js_now(s->js) + batch_timeout(s));
    *out = b;
    return JS_OK;
}

/* ---- answers ---- */

static void
send_flow(struct stream *s, const struct fast_batch *b, uint32_t loop, const char *reply)
{
    char text[96];
    int n = snprintf(text, sizeof text, "{\"type\":\"ack\",\"seq\":%" PRIu64 ",\"msgs\":%u}",
                     b->flow_seq, b->every);
    ingest_reply_text(s, loop, reply, text, (size_t)n);
}

static void
send_gap(struct stream *s, const struct pub *p, uint64_t want, uint64_t got)
{
    char text[112];
    int n = snprintf(text, sizeof text,
                     "{\"type\":\"gap\",\"last_seq\":%" PRIu64 ",\"seq\":%" PRIu64 "}", want, got);
    ingest_reply_text(s, p->loop, p->reply, text, (size_t)n);
}

static void
send_error(struct stream *s, const struct pub *p, uint64_t seq, const struct js_fail *f)
{
    char text[1200];
    json_t *o =
        json_pack("{s:s,s:I,s:{s:i,s:i,s:s}}", "type", "err", "seq", (json_int_t)seq, "error",
                  "code", f->code, "err_code", f->err_code, "description", f->text);
    size_t n = o != NULL ? json_dumpb(o, text, sizeof text, JSON_COMPACT) : 0;
    json_decref(o);
    if (n > 0 && n <= sizeof text) {
        ingest_reply_text(s, p->loop, p->reply, text, n);
    }
}

static bool
check_flow(struct stream *s, struct fast_batch *b, uint32_t loop, const char *reply)
{
    if (b->stored < b->flow_seq + b->every) {
        return false;
    }
    b->flow_seq += (b->stored - b->flow_seq) / b->every * b->every;
    uint32_t most = (uint32_t)(MOST_EVERY / s->batches->n_fast);
    most = most < 1 ? 1 : most;
    most = most > b->most ? b->most : most;
    if (b->every < most) {
        b->every = b->every * 2 < most ? b->every * 2 : most;
    } else if (b->every > most) {
        b->every = b->every / 2 > most ? b->every / 2 : most;
    }
    send_flow(s, b, loop, reply);
    return true;
}

/* The batch ends. True: it is answered and gone; else it is when the rest is stored. */
static bool
commit(struct stream *s, struct fast_batch *b, uint32_t loop, const char *reply)
{
    char tail[256];
    b->commit = true;
    if (b->last != b->stored) {
        mem_free(b->reply);
        b->reply = mem_strdup(reply);
        b->loop = loop;
        return false;
    }
    batch_tail(tail, sizeof tail, b->id, b->last);
    ingest_reply_ack(s, loop, reply, b->stream, tail);
    fast_batch_free(s->batches, b);
    return true;
}

void
ingest_fast_stored(struct stream *s, const struct put *u, uint64_t seq)
{
    struct fast_batch *b =
        s->batches != NULL ? find(s->batches, u->fast_id, strlen(u->fast_id)) : NULL;
    if (b == NULL) {
        return;
    }
    b->pending -= b->pending > 0 ? 1 : 0;
    b->stream = seq;
    b->stored = b->pending == 0 ? b->last : u->fast_seq;
    if (b->commit && b->last == b->stored) {
        char *reply = b->reply;
        b->reply = NULL;
        (void)commit(s, b, reply != NULL ? b->loop : u->loop, reply != NULL ? reply : u->reply);
        mem_free(reply);
        return;
    }
    if (!b->commit) {
        (void)check_flow(s, b, u->loop, u->reply);
    }
}

/* ---- one message ---- */

static void
ping(struct stream *s, struct fast_batch *b, const struct part *t, const struct pub *p)
{
    bool flow = true;
    if (t->seq > b->last) {
        send_gap(s, p, b->last + 1, t->seq + 1);
        if (b->gap_ok) {
            b->last = t->seq;
            b->stored = b->pending == 0 ? b->last : b->stored;
            flow = !check_flow(s, b, p->loop, p->reply);
        } else if (commit(s, b, p->loop, p->reply)) {
            return;
        }
    }
    if (flow) {
        send_flow(s, b, p->loop, p->reply);
    }
}

/* False: the batch cannot go on with this message. */
static bool
follows(struct stream *s, struct fast_batch *b, const struct part *t, const struct pub *p)
{
    b->last++;
    if (b->last == t->seq) {
        return true;
    }
    send_gap(s, p, b->last, t->seq);
    if (b->gap_ok && t->seq > b->last) {
        b->last = t->seq;
        return true;
    }
    b->last--;
    (void)commit(s, b, p->loop, p->reply);
    return false;
}

/* The message is not stored: a duplicate (dup > 0) or refused. */
static void
not_stored(struct stream *s, struct fast_batch *b, const struct part *t, const struct pub *p,
           const struct js_fail *f)
{
    bool dup = p->dup_seq > 0, is_commit = t->op == OP_COMMIT;
    char tail[300];
    if (dup && b->pending == 0) {
        b->stored = t->seq;
        (void)check_flow(s, b, p->loop, p->reply);
    }
    if (dup && !is_commit) {
        return;
    }
    if (!t->gap_ok && b->last == 1) {
        if (dup) {
            int n = snprintf(tail, sizeof tail, ",\"duplicate\": true");
            batch_tail(tail + n, sizeof tail - (size_t)n, b->id, t->seq);
            ingest_reply_ack(s, p->loop, p->reply, p->dup_seq, tail);
        } else {
            ingest_reply_error(s, p, f);
        }
        fast_batch_free(s->batches, b);
        return;
    }
    if (!dup) {
        send_error(s, p, t->seq, f);
        if (t->gap_ok && !is_commit) {
            return;
        }
        b->last--;
        b->stored = b->pending == 0 ? b->last : b->stored;
    }
    (void)commit(s, b, p->loop, p->reply);
}

static void
append(struct stream *s, struct fast_batch *b, const struct part *t, struct pub *p)
{
    struct js_fail f = {0};
    uint64_t before = mlog_last_seq(s->log);
    p->fast_id = b->id;
    p->fast_seq = t->seq;
    if (t->op == OP_COMMIT) {
        batch_tail(p->tail, sizeof p->tail, b->id, t->seq);
    }
    b->pending++;
    enum js_error e = ingest_one(s, p, &f);
    if (e != JS_OK || mlog_last_seq(s->log) == before) {
        b->pending--;
        not_stored(s, b, t, p, &f);
    }
}

static void
take(struct stream *s, struct fast_batch *b, const struct part *t, struct pub *p)
{
    b->ends = js_wall(s->js) + batch_timeout(s);
    if (t->op == OP_PING) {
        ping(s, b, t, p);
        return;
    }
    if (b->commit || !follows(s, b, t, p)) {
        return;
    }
    if (t->op == OP_EOB) {
        b->last--;
        b->stored = b->pending == 0 ? b->last : b->stored;
        (void)commit(s, b, p->loop, p->reply);
        return;
    }
    if (t->op == OP_COMMIT) {
        b->commit = true;
    } else if (t->seq == 1) {
        send_flow(s, b, p->loop, p->reply);
    }
    append(s, b, t, p);
}

bool
fast_batch_takes(struct stream *s, struct pub *p, enum js_error *e, struct js_fail *f)
{
    size_t len = strlen(p->reply);
    struct part t = {0};
    if (len <= 4 || memcmp(p->reply + len - 4, ".$FI", 4) != 0) {
        return false;
    }
    struct batches *all = batches_of(s);
    bool ok = parse(p->reply, len, &t);
    if (s->cfg->sealed) {
        *e = js_fail_plain(f, JS_ERR_STREAM_SEALED);
    } else if (s->cfg->max_msg_size >= 0 &&
               p->hdr_len + p->data_len > (uint64_t)s->cfg->max_msg_size) {
        *e = js_fail_plain(f, JS_ERR_STREAM_MESSAGE_EXCEEDS_MAXIMUM);
    } else if (!s->cfg->allow_batched) {
        *e = js_fail_plain(f, JS_ERR_BATCH_PUBLISH_DISABLED);
    } else if (!ok) {
        *e = js_fail_plain(f, JS_ERR_BATCH_PUBLISH_INVALID_PATTERN);
    } else if (t.len > BATCH_ID_MAX) {
        *e = js_fail_plain(f, JS_ERR_BATCH_PUBLISH_INVALID_BATCH_ID);
    } else if (all == NULL) {
        *e = js_fail_status(f, ST_NOMEM);
    } else {
        struct fast_batch *b = find(all, t.id, t.len);
        *e = b == NULL ? begin(s, all, &t, &b, f) : JS_OK;
        if (*e != JS_OK || b == NULL) {
            return true;
        }
        *e = batch_check_level(p, f);
        if (*e == JS_OK) {
            take(s, b, &t, p);
        } else {
            fast_batch_free(all, b);
        }
    }
    return true;
}
