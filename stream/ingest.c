/* SPDX-License-Identifier: Apache-2.0 */
/* A publish: service → checks → log → (the store's thread) commit → PubAck, consumers, limits. All
 * that is refused is answered at once. What failed to be written is answered as an error, and
 * neither acknowledged nor delivered. */
#include "stream/ingest.h"

#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer.h"
#include "stream/dedupe.h"
#include "stream/hdr.h"
#include "stream/ingest_batch.h"
#include "stream/ingest_priv.h"
#include "stream/republish.h"
#include "stream/schedules.h"
#include "stream/slab.h"
#include "stream/stream_inner.h"
#include "stream/stream_links.h"
#include "stream/text.h"
#include "stream/theap.h"
#include "stream/transforms.h"

enum { DEFAULT_BACKLOG = 100000, DEFAULT_BACKLOG_BYTES = 128 << 20 };
enum { HEAD_MOST = 1200, TAIL_MOST = 256 }; /* of a PubAck, before and behind the sequence */

void
pub_fini(struct pub *p)
{
    buf_fini(&p->new_subject);
    buf_fini(&p->new_hdr);
    buf_fini(&p->new_data);
}

/* ---- answers ---- */

void
ingest_reply_text(struct stream *s, uint32_t loop, const char *reply, const char *text, size_t len)
{
    struct js_out *o;
    struct js_out_spec spec = {
        .account = s->acc->acc, .loop = loop, .to = reply, .data = text, .data_len = len};
    if (!list_is_empty(&s->outq)) {
        spec.slab = &s->out_slab;
    }
    if (*reply != '\0' && js_out_new(&o, &spec) == ST_OK) {
        stream_emit(s, o);
    }
}

void
ingest_reply_ack(struct stream *s, uint32_t loop, const char *reply, uint64_t seq, const char *tail)
{
    char text[HEAD_MOST + TEXT_U64 + TAIL_MOST + 1];
    char *at = text_put(text, s->ack_head, HEAD_MOST);
    at = text_put_u64(at, seq);
    if (tail != NULL) {
        at = text_put(at, tail, TAIL_MOST);
    }
    *at++ = '}';
    ingest_reply_text(s, loop, reply, text, (size_t)(at - text));
}

void
ingest_reply_error(struct stream *s, const struct pub *p, const struct js_fail *f)
{
    if (*p->reply == '\0' || s->cfg->no_ack) {
        return;
    }
    char text[1400];
    json_t *o = json_pack("{s:{s:i,s:i,s:s},s:s,s:i}", "error", "code", f->code, "err_code",
                          f->err_code, "description", f->text, "stream", s->name, "seq", 0);
    size_t n = o != NULL ? json_dumpb(o, text, sizeof text, JSON_COMPACT) : 0;
    json_decref(o);
    if (n > 0 && n <= sizeof text) {
        ingest_reply_text(s, p->loop, p->reply, text, n);
    }
}

/* ---- puts ---- */

struct put *
put_new(struct stream *s, const struct pub *p)
{
    size_t rlen = p->inner ? 0 : strlen(p->reply);
    uint64_t msgs, bytes;
    struct slab *slab;
    mlog_backlog(s->log, &msgs, &bytes);
    struct put *u = slab_take(msgs > 0 ? &s->put_slab : NULL, sizeof *u + rlen + 1, &slab);
    if (u == NULL) {
        return NULL;
    }
    *u = (struct put){.slab = slab};
    memcpy(u->reply, p->reply, rlen);
    u->reply[rlen] = '\0';
    u->loop = p->loop;
    u->ack = rlen > 0 && !s->cfg->no_ack;
    u->rollup_subject = p->rollup_subject;
    u->rollup_all = p->rollup_all;
    bool marked = p->ttl != 0 || p->is_schedule;
    struct msg_spec spec = {.subject = p->subject,
                            .subject_len = p->subject_len,
                            .hdr = p->hdr,
                            .hdr_len = p->hdr_len,
                            .data = p->data,
                            .data_len = p->data_len,
                            .flags = marked ? MSG_MARKED : 0};
    u->fast_seq = p->fast_seq;
    if ((p->tail[0] != '\0' && (u->tail = mem_strdup(p->tail)) == NULL) ||
        (p->fast_id != NULL && (u->fast_id = mem_strdup(p->fast_id)) == NULL) ||
        msg_new(&u->p.op.msg, &spec) != ST_OK) {
        put_free(u);
        return NULL;
    }
    u->p.op.done = ingest_done;
    u->p.op.group = s;
    u->p.op.when = p->in_turn ? STORE_IN_TURN : STORE_NOW;
    if (s->republish != NULL) {
        struct mlog_subject ms;
        bool any = mlog_subject(s->log, p->subject, p->subject_len, &ms);
        u->prev = any && ms.msgs > 0 ? ms.last : 0;
    }
    return u;
}

void
put_free(struct put *u)
{
    msg_unref(u->p.op.msg);
    mem_free(u->tail);
    mem_free(u->fast_id);
    slab_drop(u->slab, u);
}

/* What else is kept of a message that has its sequence. */
static void
note(struct stream *s, const struct pub *p, uint64_t seq, int64_t ts)
{
    if (p->msg_id_len > 0 && s->dedupe != NULL &&
        dedupe_add(s->dedupe, p->msg_id, p->msg_id_len, seq, ts) == ST_OK) {
        stream_tick_at(s, clock_after(js_now(s->js), s->cfg->duplicates));
    }
    if (p->msg_id_len > 0 || s->last_msg_id != NULL) {
        mem_free(s->last_msg_id);
        s->last_msg_id = p->msg_id_len > 0 ? mem_strndup(p->msg_id, p->msg_id_len) : NULL;
    }
    if (p->ttl > 0 && theap_push(&s->ttl, clock_after(ts, p->ttl * CLOCK_S), seq) == ST_OK) {
        stream_tick_at(s, clock_after(js_now(s->js) + (ts - js_wall(s->js)), p->ttl * CLOCK_S));
    }
    if (s->schedules != NULL) {
        schedules_note(s, p, seq);
    }
    if (s->cfg->max_age > 0) {
        stream_tick_at(s, clock_after(js_now(s->js), s->cfg->max_age));
    }
}

enum status
ingest_append(struct stream *s, struct list_node *puts, const struct pub *v, size_t n)
{
    int64_t ts = v[0].ts > 0 ? v[0].ts : js_wall(s->js);
    int64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += (int64_t)mlog_size(s->memory, v[i].subject_len, v[i].hdr_len, v[i].data_len);
    }
    uint64_t first = mlog_last_seq(s->log) + 1;
    enum status st = ST_OK;
    if (v[0].seq > first) {
        st = mlog_skip_to(s->log, v[0].seq);
        first = v[0].seq;
    }
    for (size_t i = 0; i < n; i++) {
        stream_ref(s);
    }
    if (st == ST_OK) {
        st = mlog_append(s->log, puts, ts);
    }
    if (st != ST_OK) {
        struct list_node *node;
        while ((node = list_pop_front(puts)) != NULL) {
            put_free(LIST_ENTRY(node, struct put, p.op.node));
            stream_unref(s);
        }
        return st;
    }
    js_account_use(s->acc, s->memory, bytes);
    for (size_t i = 0; i < n; i++) {
        note(s, &v[i], first + i, ts);
    }
    return ST_OK;
}

/* ---- one message ---- */

/* Interest retention without interest: the sequence goes by, nothing is kept. */
static enum js_error
skip_one(struct stream *s, struct pub *p, struct js_fail *f)
{
    uint64_t seq = mlog_last_seq(s->log) + 1;
    enum status st = mlog_pass(s->log, js_wall(s->js));
    if (st != ST_OK) {
        return js_fail_status(f, st);
    }
    if (p->msg_id_len > 0 && s->dedupe != NULL &&
        dedupe_add(s->dedupe, p->msg_id, p->msg_id_len, seq, js_wall(s->js)) == ST_OK) {
        stream_tick_at(s, clock_after(js_now(s->js), s->cfg->duplicates));
    }
    if (p->rollup_subject || p->rollup_all) {
        struct stream_purge all = {.filter = p->rollup_subject ? p->subject : NULL};
        uint64_t n;
        st = stream_purge_locked(s, &all, &n);
        if (st != ST_OK) {
            return js_fail_status(f, st);
        }
    }
    if (!s->cfg->no_ack && !p->inner && *p->reply != '\0') {
        ingest_reply_ack(s, p->loop, p->reply, seq, p->tail);
    }
    return JS_OK;
}

/* A repeated message: its acknowledgement waits for the first one's commit. */
static enum js_error
answer_duplicate(struct stream *s, const struct pub *p)
{
    if (*p->reply == '\0' || s->cfg->no_ack) {
        return JS_OK;
    }
    if (p->dup_seq <= mlog_committed(s->log)) {
        ingest_reply_ack(s, p->loop, p->reply, p->dup_seq, ",\"duplicate\": true");
        return JS_OK;
    }
    size_t n = strlen(p->reply);
    struct put *u = mem_alloc(sizeof *u + n + 1);
    if (u != NULL) {
        memcpy(u->reply, p->reply, n);
        u->loop = p->loop;
        u->seq = p->dup_seq;
        list_push_back(&s->late_dups, &u->late);
    }
    return JS_OK;
}

static bool
wants_transform(const struct stream *s, const struct pub *p)
{
    return s->intake != NULL && p->seq == 0 &&
           transform_matches(s->intake, p->subject, p->subject_len);
}

enum js_error
ingest_one(struct stream *s, struct pub *p, struct js_fail *f)
{
    enum js_error e = JS_OK;
    if (wants_transform(s, p)) {
        transform_apply(s->intake, p->subject, p->subject_len, &p->new_subject);
        p->subject = p->new_subject.data;
        p->subject_len = p->new_subject.len;
        e = buf_status(&p->new_subject) == ST_OK ? JS_OK : js_fail_status(f, ST_NOMEM);
    }
    if (e == JS_OK) {
        e = ingest_check(s, p, f);
    }
    if (e == JS_OK && p->dup_seq > 0) {
        return p->fast_id != NULL ? JS_OK : answer_duplicate(s, p);
    }
    if (e == JS_OK && s->cfg->retention == RETENTION_INTEREST &&
        !consumers_want(s, p->subject, p->subject_len) &&
        !stream_links_want(s, p->subject, p->subject_len)) {
        return skip_one(s, p, f);
    }
    if (e == JS_OK) {
        e = ingest_check_room(s, p, f);
    }
    if (e != JS_OK) {
        return e;
    }
    struct put *u = put_new(s, p);
    if (u == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    struct list_node one;
    list_init(&one);
    list_push_back(&one, &u->p.op.node);
    enum status st = ingest_append(s, &one, p, 1);
    return st == ST_OK ? JS_OK : js_fail_status(f, st);
}

static bool
is_backlogged(struct stream *s)
{
    uint64_t msgs, bytes;
    const struct js_opts *o = &s->js->opts;
    mlog_backlog(s->log, &msgs, &bytes);
    int64_t most = o->max_buffered_msgs > 0 ? o->max_buffered_msgs : DEFAULT_BACKLOG;
    int64_t size = o->max_buffered_size > 0 ? o->max_buffered_size : DEFAULT_BACKLOG_BYTES;
    return msgs >= (uint64_t)most || bytes >= (uint64_t)size;
}

/* A block whose first line has a status ("NATS/1.0 503\r\n") loses it. */
static void
plain_headers(struct pub *p)
{
    static const char plain[] = "NATS/1.0\r\n";
    const size_t n = sizeof plain - 1;
    if (p->hdr_len >= n && memcmp(p->hdr, plain, n) == 0) {
        return;
    }
    const char *nl = p->hdr_len > 0 ? memchr(p->hdr, '\n', p->hdr_len) : NULL;
    size_t first = nl != NULL ? (size_t)(nl - p->hdr) + 1 : p->hdr_len;
    if (p->hdr_len - first > 2) {
        buf_append(&p->new_hdr, plain, n);
        buf_append(&p->new_hdr, p->hdr + first, p->hdr_len - first);
    }
    p->hdr = p->new_hdr.data;
    p->hdr_len = p->new_hdr.len;
}

void
ingest_receive(void *stream, const struct js_in *in)
{
    struct stream *s = stream;
    struct pub p = {.subject = in->subject,
                    .subject_len = in->subject_len,
                    .hdr = in->hdr,
                    .hdr_len = in->hdr_len,
                    .data = in->data,
                    .data_len = in->data_len,
                    .reply = in->reply != NULL ? in->reply : "",
                    .loop = in->loop,
                    .in_turn = in->in_turn};
    struct js_fail f = {0};
    plain_headers(&p);
    stream_lock(s);
    if (!s->deleted && s->is_active) {
        enum js_error e;
        if (is_backlogged(s)) {
            e = js_fail_plain(&f, JS_ERR_STREAM_TOO_MANY_REQUESTS);
        } else if (!ingest_batch_takes(s, &p, &e, &f)) {
            e = ingest_one(s, &p, &f);
        }
        if (e != JS_OK) {
            ingest_reply_error(s, &p, &f);
        }
    }
    stream_unlock(s);
    pub_fini(&p);
}

enum status
ingest_inner(struct stream *s, const struct ingest_inner *in)
{
    struct pub p = {.subject = in->subject,
                    .subject_len = strlen(in->subject),
                    .hdr = in->hdr,
                    .hdr_len = in->hdr_len,
                    .data = in->data,
                    .data_len = in->data_len,
                    .reply = "",
                    .inner = true,
                    .seq = in->seq,
                    .ts = in->ts};
    struct js_fail f = {0};
    stream_lock(s);
    enum js_error e = s->deleted ? JS_ERR_STREAM_NOT_FOUND : ingest_one(s, &p, &f);
    stream_unlock(s);
    pub_fini(&p);
    return e == JS_OK ? ST_OK : ST_INVAL;
}

/* ---- after the commit ---- */

static void
finish_one(struct stream *s, struct put *u, enum status st)
{
    const struct msg *m = u->p.op.msg;
    if (st == ST_OK) {
        if (u->fast_id != NULL) {
            ingest_fast_stored(s, u, m->seq);
        } else if (u->ack) {
            ingest_reply_ack(s, u->loop, u->reply, m->seq, u->tail);
        }
        if (s->republish != NULL) {
            republish_one(s, u->p.op.msg, u->prev);
        }
        return;
    }
    const char *id;
    size_t n;
    if (s->dedupe != NULL && hdr_find(msg_hdr(m), m->hdr_len, "Nats-Msg-Id", &id, &n)) {
        dedupe_forget(s->dedupe, id, n, m->seq);
    }
    struct js_fail f = {0};
    struct pub p = {.reply = u->ack ? u->reply : "", .loop = u->loop};
    js_fail_status(&f, st);
    ingest_reply_error(s, &p, &f);
}

/* Duplicates of what is committed or has failed by now. */
static void
answer_late(struct stream *s, enum status st)
{
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &s->late_dups)
    {
        struct put *u = LIST_ENTRY(it, struct put, late);
        if (st == ST_OK && u->seq > mlog_committed(s->log)) {
            continue;
        }
        list_remove(it);
        if (st == ST_OK) {
            ingest_reply_ack(s, u->loop, u->reply, u->seq, ",\"duplicate\": true");
        } else {
            struct js_fail f = {0};
            struct pub p = {.reply = u->reply, .loop = u->loop};
            js_fail_status(&f, st);
            ingest_reply_error(s, &p, &f);
        }
        mem_free(u);
    }
}

void
ingest_done(struct store_op *first, struct list_node *more, enum status st)
{
    struct stream *s = first->group;
    uint32_t n = 1;
    stream_lock(s);
    mlog_commit(s->log, first, more, st);
    if (mlog_committed(s->log) == mlog_last_seq(s->log)) {
        slab_close(&s->put_slab);
    }
    struct list_node all;
    list_init(&all);
    list_push_back(&all, &first->node);
    list_splice_back(&all, more);
    if (!s->deleted) {
        for (struct list_node *it = all.next; it != &all; it = it->next) {
            finish_one(s, LIST_ENTRY(it, struct put, p.op.node), st);
        }
        answer_late(s, st);
        if (st == ST_OK) {
            consumers_on_commit(s);
            for (struct list_node *it = all.next; it != &all; it = it->next) {
                ingest_settle(s, LIST_ENTRY(it, struct put, p.op.node));
            }
            ingest_enforce_limits(s);
        }
    }
    if (st == ST_OK) {
        stream_links_notify(s);
    } else {
        stream_sources_rewind(s);
    }
    stream_unlock(s);
    struct list_node *it;
    for (n = 0; (it = list_pop_front(&all)) != NULL; n++) {
        put_free(LIST_ENTRY(it, struct put, p.op.node));
    }
    while (n-- > 0) {
        stream_unref(s);
    }
}
