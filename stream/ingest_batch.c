/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic batches: messages are staged in memory until the one that commits. */
#include "stream/ingest_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/hdr.h"
#include "stream/ingest_batch_priv.h"
#include "stream/js_advisory.h"

enum { MAX_INFLIGHT = 50, MAX_STAGED = 256 << 20, API_LEVEL = 5 };

struct batches *
batches_of(struct stream *s)
{
    if (s->batches == NULL) {
        struct batches *b = mem_alloc(sizeof *b);
        if (b != NULL) {
            list_init(&b->atomic);
            list_init(&b->fast);
        }
        s->batches = b;
    }
    return s->batches;
}

void
batch_tail(char *out, size_t n, const char *id, uint64_t count)
{
    char text[BATCH_ID_MAX * 6 + 3];
    json_t *v = json_string(id);
    size_t len = v != NULL ? json_dumpb(v, text, sizeof text - 1, JSON_ENCODE_ANY) : 0;
    json_decref(v);
    text[len < sizeof text ? len : 0] = '\0';
    snprintf(out, n, ",\"batch\":%s,\"count\":%" PRIu64, text, count);
}

static void
batch_free(struct batches *all, struct atomic_batch *b)
{
    struct list_node *it;
    while ((it = list_pop_front(&b->msgs)) != NULL) {
        struct staged *m = LIST_ENTRY(it, struct staged, node);
        msg_unref(m->msg);
        mem_free(m);
    }
    all->staged_bytes -= b->bytes;
    all->n_atomic--;
    list_remove(&b->node);
    mem_free(b);
}

static void
abandon(struct stream *s, struct atomic_batch *b, const char *reason)
{
    struct advise_batch a = {.id = b->id, .reason = reason};
    advise_batch_abandoned(s, &a);
    batch_free(s->batches, b);
}

void
ingest_batches_free(struct batches *b)
{
    if (b == NULL) {
        return;
    }
    while (!list_is_empty(&b->atomic)) {
        batch_free(b, LIST_ENTRY(b->atomic.next, struct atomic_batch, node));
    }
    while (!list_is_empty(&b->fast)) {
        fast_batch_free(b, LIST_ENTRY(b->fast.next, struct fast_batch, node));
    }
    mem_free(b);
}

void
ingest_batches_end(struct stream *s, bool atomic, bool fast)
{
    struct batches *b = s->batches;
    while (b != NULL && atomic && !list_is_empty(&b->atomic)) {
        abandon(s, LIST_ENTRY(b->atomic.next, struct atomic_batch, node), "incomplete");
    }
    while (b != NULL && fast && !list_is_empty(&b->fast)) {
        fast_batch_free(b, LIST_ENTRY(b->fast.next, struct fast_batch, node));
    }
}

int64_t
ingest_batches_expire(struct stream *s, int64_t now)
{
    struct list_node *it, *tmp;
    int64_t next = INT64_MAX;
    LIST_FOREACH_SAFE(it, tmp, &s->batches->atomic)
    {
        struct atomic_batch *b = LIST_ENTRY(it, struct atomic_batch, node);
        if (b->ends <= now) {
            abandon(s, b, "timeout");
        } else {
            next = b->ends < next ? b->ends : next;
        }
    }
    LIST_FOREACH_SAFE(it, tmp, &s->batches->fast)
    {
        struct fast_batch *b = LIST_ENTRY(it, struct fast_batch, node);
        if (b->ends <= now) {
            fast_batch_free(s->batches, b);
        } else {
            next = b->ends < next ? b->ends : next;
        }
    }
    return next;
}

/* ---- one message of a batch ---- */

struct part {
    const char *id;
    size_t len;
    uint64_t seq;
    bool commit, eob, bad_commit;
};

static struct atomic_batch *
find(struct batches *all, const struct part *t)
{
    for (struct list_node *n = all->atomic.next; n != &all->atomic; n = n->next) {
        struct atomic_batch *b = LIST_ENTRY(n, struct atomic_batch, node);
        if (b->len == t->len && memcmp(b->id, t->id, t->len) == 0) {
            return b;
        }
    }
    return NULL;
}

static enum js_error
begin(struct stream *s, struct batches *all, const struct part *t, struct atomic_batch **out,
      struct js_fail *f)
{
    uint64_t size = t->seq - (t->eob ? 1 : 0);
    if (t->seq != 1) {
        return size > BATCH_MAX_MSGS
                   ? js_fail_num(f, JS_ERR_ATOMIC_PUBLISH_TOO_LARGE_BATCH, BATCH_MAX_MSGS)
                   : js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_INCOMPLETE_BATCH);
    }
    if (all->n_atomic >= MAX_INFLIGHT || all->staged_bytes > MAX_STAGED) {
        return js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_TOO_MANY_INFLIGHT);
    }
    struct atomic_batch *b = mem_alloc(sizeof *b);
    if (b == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    list_init(&b->msgs);
    memcpy(b->id, t->id, t->len);
    b->len = t->len;
    list_push_back(&all->atomic, &b->node);
    all->n_atomic++;
    stream_tick_at(s, js_now(s->js) + BATCH_TIMEOUT);
    *out = b;
    return JS_OK;
}

static enum status
stage(struct batches *all, struct atomic_batch *b, const struct pub *p)
{
    struct staged *m = mem_alloc(sizeof *m);
    if (m == NULL) {
        return ST_NOMEM;
    }
    struct msg_spec spec = {.subject = p->subject,
                            .subject_len = p->subject_len,
                            .hdr = p->hdr,
                            .hdr_len = p->hdr_len,
                            .data = p->data,
                            .data_len = p->data_len};
    enum status st = msg_new(&m->msg, &spec);
    if (st != ST_OK) {
        mem_free(m);
        return st;
    }
    size_t size = p->subject_len + p->hdr_len + p->data_len;
    b->bytes += size;
    all->staged_bytes += size;
    list_push_back(&b->msgs, &m->node);
    return ST_OK;
}

/* A client may demand a level of the API; the header is not kept. */
static enum js_error
check_level(struct pub *p, struct js_fail *f)
{
    unsigned long long level;
    const char *v;
    size_t n;
    if (!hdr_find(p->hdr, p->hdr_len, "Nats-Required-Api-Level", &v, &n) || n == 0) {
        return JS_OK;
    }
    if (hdr_u64(p->hdr, p->hdr_len, "Nats-Required-Api-Level", &level) != ST_OK ||
        level > API_LEVEL) {
        return js_fail_plain(f, JS_ERR_REQUIRED_API_LEVEL);
    }
    struct buf b;
    buf_init(&b);
    hdr_copy_without(&b, p->hdr, p->hdr_len, "Nats-Required-Api-Level");
    pub_set_hdr(p, &b);
    return JS_OK;
}

static enum js_error
take(struct stream *s, struct pub *p, const struct part *t, struct js_fail *f)
{
    struct batches *all = batches_of(s);
    if (all == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    struct atomic_batch *b = find(all, t);
    enum js_error e = b == NULL ? begin(s, all, t, &b, f) : JS_OK;
    if (e != JS_OK) {
        return e;
    }
    if (t->bad_commit) {
        batch_free(all, b);
        return js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_INVALID_BATCH_COMMIT);
    }
    e = check_level(p, f);
    if (e != JS_OK) {
        abandon(s, b, "unsupported");
        return e;
    }
    b->ends = js_wall(s->js) + BATCH_TIMEOUT;
    b->last++;
    if (b->last != t->seq || (t->seq == 1 && t->eob)) {
        abandon(s, b, "incomplete");
        return js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_INCOMPLETE_BATCH);
    }
    if (t->seq - (t->eob ? 1 : 0) > BATCH_MAX_MSGS) {
        abandon(s, b, "large");
        return js_fail_num(f, JS_ERR_ATOMIC_PUBLISH_TOO_LARGE_BATCH, BATCH_MAX_MSGS);
    }
    if (!t->eob && stage(all, b, p) != ST_OK) {
        abandon(s, b, "incomplete");
        return js_fail_status(f, ST_NOMEM);
    }
    if (!t->commit) {
        if (!s->cfg->no_ack) {
            ingest_reply_text(s, p->loop, p->reply, "", 0);
        }
        return JS_OK;
    }
    e = batch_commit(s, b, p, t->eob, f);
    batch_free(all, b);
    return e;
}

static enum js_error
check_part(struct stream *s, const struct pub *p, const struct part *t, bool has_seq,
           struct js_fail *f)
{
    if (s->cfg->sealed) {
        return js_fail_plain(f, JS_ERR_STREAM_SEALED);
    }
    int64_t size = (int64_t)mlog_size(s->memory, p->subject_len, p->hdr_len, p->data_len);
    if (js_account_is_over(s->acc, s->memory, size)) {
        return js_fail_plain(f, JS_ERR_ACCOUNT_RESOURCES_EXCEEDED);
    }
    if (s->cfg->max_msg_size >= 0 && p->hdr_len + p->data_len > (uint64_t)s->cfg->max_msg_size) {
        return js_fail_plain(f, JS_ERR_STREAM_MESSAGE_EXCEEDS_MAXIMUM);
    }
    if (!s->cfg->allow_atomic) {
        return js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_DISABLED);
    }
    if (t->len > BATCH_ID_MAX) {
        return js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_INVALID_BATCH_ID);
    }
    return has_seq ? JS_OK : js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_MISSING_SEQ);
}

bool
ingest_batch_takes(struct stream *s, struct pub *p, enum js_error *e, struct js_fail *f)
{
    struct part t = {0};
    unsigned long long seq = 0;
    const char *v;
    size_t n;
    if (fast_batch_takes(s, p, e, f)) {
        return true;
    }
    if (!hdr_find(p->hdr, p->hdr_len, "Nats-Batch-Id", &t.id, &t.len) || t.len == 0) {
        return false;
    }
    bool has_seq = hdr_u64(p->hdr, p->hdr_len, "Nats-Batch-Sequence", &seq) == ST_OK;
    t.seq = seq;
    if (hdr_find(p->hdr, p->hdr_len, "Nats-Batch-Commit", &v, &n)) {
        t.commit = true;
        t.eob = n == 3 && memcmp(v, "eob", 3) == 0;
        t.bad_commit = !t.eob && !(n == 1 && *v == '1');
    }
    *e = check_part(s, p, &t, has_seq, f);
    if (*e == JS_OK) {
        *e = take(s, p, &t, f);
    }
    return true;
}
