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

enum { MAX_MSGS = 1000, MAX_STAGED = 256 << 20, API_LEVEL = 5 };
static const struct batch_room atomic_room = {.per_stream = 50, .total = 1000};
#define TIMEOUT (10 * CLOCK_S)

int64_t
batch_timeout(struct stream *s)
{
    struct js_caps caps;
    js_caps(s->js, &caps);
    return caps.batch_timeout > 0 ? caps.batch_timeout : TIMEOUT;
}

static uint64_t
max_msgs(struct stream *s)
{
    struct js_caps caps;
    js_caps(s->js, &caps);
    return caps.batch_msgs > 0 ? (uint64_t)caps.batch_msgs : MAX_MSGS;
}

bool
batch_enter(struct stream *s, size_t here, _Atomic int64_t *open, struct batch_room room)
{
    struct js_caps caps;
    js_caps(s->js, &caps);
    int64_t per_stream = caps.batches_per_stream > 0 ? caps.batches_per_stream : room.per_stream;
    int64_t total = caps.batches_total > 0 ? caps.batches_total : room.total;
    if ((int64_t)here >= per_stream) {
        return false;
    }
    if (atomic_fetch_add(open, 1) >= total) {
        atomic_fetch_sub(open, 1);
        return false;
    }
    return true;
}

struct batches *
batches_of(struct stream *s)
{
    if (s->batches == NULL) {
        struct batches *b = mem_alloc(sizeof *b);
        if (b != NULL) {
            list_init(&b->atomic);
            list_init(&b->fast);
            b->open_atomic = &s->js->atomic_batches;
            b->open_fast = &s->js->fast_batches;
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
    atomic_fetch_sub(all->open_atomic, 1);
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
        batch_free(b, LIST_ENTRY(b->atomic.next, struct atomic_batch, node));
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
    uint64_t most = max_msgs(s);
    if (t->seq != 1) {
        return t->seq - (t->eob ? 1 : 0) > most
                   ? js_fail_num(f, JS_ERR_ATOMIC_PUBLISH_TOO_LARGE_BATCH, most)
                   : js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_INCOMPLETE_BATCH);
    }
    if (all->staged_bytes > MAX_STAGED ||
        !batch_enter(s, all->n_atomic, all->open_atomic, atomic_room)) {
        return js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_TOO_MANY_INFLIGHT);
    }
    struct atomic_batch *b = mem_alloc(sizeof *b);
    if (b == NULL) {
        atomic_fetch_sub(all->open_atomic, 1);
        return js_fail_status(f, ST_NOMEM);
    }
    list_init(&b->msgs);
    memcpy(b->id, t->id, t->len);
    b->len = t->len;
    list_push_back(&all->atomic, &b->node);
    all->n_atomic++;
    stream_tick_at(s, js_now(s->js) + batch_timeout(s));
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

enum js_error
batch_check_level(struct pub *p, struct js_fail *f)
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
    e = batch_check_level(p, f);
    if (e != JS_OK) {
        abandon(s, b, "unsupported");
        return e;
    }
    b->ends = js_wall(s->js) + batch_timeout(s);
    b->last++;
    if (b->last != t->seq || (t->seq == 1 && t->eob)) {
        abandon(s, b, "incomplete");
        return js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_INCOMPLETE_BATCH);
    }
    uint64_t most = max_msgs(s);
    if (t->seq - (t->eob ? 1 : 0) > most) {
        abandon(s, b, "large");
        return js_fail_num(f, JS_ERR_ATOMIC_PUBLISH_TOO_LARGE_BATCH, most);
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
    enum js_error e = js_account_check_room(s->acc, s->memory, size, f);
    if (e != JS_OK) {
        return e;
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
