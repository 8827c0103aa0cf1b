/* SPDX-License-Identifier: Apache-2.0 */
/* The commit of an atomic batch: each message is checked as if those before it in the batch were
 * stored, then all are appended in one transaction. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/base/assert.h"
#include "server/base/mem.h"
#include "stream/consumer.h"
#include "stream/dedupe.h"
#include "stream/hdr.h"
#include "stream/ingest_batch_priv.h"
#include "stream/ntab.h"
#include "stream/stream_links.h"
#include "stream/transforms.h"

struct commit {
    struct stream *s; /* borrowed */
    struct pub *v;    /* owned */
    size_t n;
    struct list_node puts; /* owned */
    struct ntab subjects;  /* the put that was the last of each; names in their messages */
    struct ntab ids;       /* Nats-Msg-Ids; names in id_texts */
    char **id_texts;       /* owned */
    size_t n_ids;
    uint64_t bytes;
};

static bool
find(const struct pub *p, const char *name, const char **v, size_t *n)
{
    return hdr_find(p->hdr, p->hdr_len, name, v, n) && *n > 0;
}

static enum js_error
check_id(struct commit *c, const struct pub *p, struct js_fail *f)
{
    const char *id;
    size_t n;
    if (!find(p, "Nats-Msg-Id", &id, &n)) {
        return JS_OK;
    }
    if (ntab_get(&c->ids, id, n) != NULL ||
        (c->s->dedupe != NULL && dedupe_find(c->s->dedupe, id, n, js_wall(c->s->js)) > 0)) {
        return js_fail_plain(f, JS_ERR_ATOMIC_PUBLISH_CONTAINS_DUPLICATE_MESSAGE);
    }
    char *text = mem_strndup(id, n);
    if (text == NULL || ntab_put(&c->ids, text, n, text) != ST_OK) {
        mem_free(text);
        return js_fail_status(f, ST_NOMEM);
    }
    c->id_texts[c->n_ids++] = text;
    return JS_OK;
}

/* What would be wrong because of messages before it in the batch. */
static enum js_error
check_within(struct commit *c, const struct pub *p, struct js_fail *f)
{
    const char *v, *subject = p->subject;
    size_t n, len = p->subject_len;
    bool first = c->n == 0;
    if (find(p, "Nats-Expected-Last-Msg-Id", &v, &n)) {
        return js_fail_text(f, JS_ERR_ATOMIC_PUBLISH_UNSUPPORTED_HEADER_BATCH,
                            "Nats-Expected-Last-Msg-Id");
    }
    if (!first && find(p, "Nats-Expected-Last-Sequence", &v, &n)) {
        uint64_t last = mlog_last_seq(c->s->log) + c->n;
        unsigned long long want;
        return hdr_u64(p->hdr, p->hdr_len, "Nats-Expected-Last-Sequence", &want) == ST_OK &&
                       want == last
                   ? js_fail_plain(f, JS_ERR_STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
                   : js_fail_num(f, JS_ERR_STREAM_WRONG_LAST_SEQUENCE, last);
    }
    if (find(p, "Nats-Expected-Last-Subject-Sequence", &v, &n)) {
        if (find(p, "Nats-Expected-Last-Subject-Sequence-Subject", &v, &n)) {
            subject = v;
            len = n;
        }
        if (ntab_get(&c->subjects, subject, len) != NULL) {
            return js_fail_plain(f, JS_ERR_STREAM_WRONG_LAST_SEQUENCE_CONSTANT);
        }
    }
    if (find(p, "Nats-Rollup", &v, &n) && c->s->cfg->allow_rollup && !c->s->cfg->deny_purge) {
        if (n == 3 && strncasecmp(v, "sub", 3) == 0 &&
            ntab_get(&c->subjects, p->subject, p->subject_len) != NULL) {
            return js_fail_text(f, JS_ERR_STREAM_ROLLUP_FAILED, "batch rollup sub invalid");
        }
        if (n == 3 && strncasecmp(v, "all", 3) == 0 && !first) {
            return js_fail_text(f, JS_ERR_STREAM_ROLLUP_FAILED, "batch rollup all invalid");
        }
    }
    return check_id(c, p, f);
}

static enum js_error
transform(struct stream *s, struct pub *p, struct js_fail *f)
{
    if (s->intake == NULL || !transform_matches(s->intake, p->subject, p->subject_len)) {
        return JS_OK;
    }
    transform_apply(s->intake, p->subject, p->subject_len, &p->new_subject);
    p->subject = p->new_subject.data;
    p->subject_len = p->new_subject.len;
    return buf_status(&p->new_subject) == ST_OK ? JS_OK : js_fail_status(f, ST_NOMEM);
}

static enum js_error
add_put(struct commit *c, struct pub *p, struct js_fail *f)
{
    struct put *u = put_new(c->s, p);
    if (u == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    u->seq = p->ahead_subject + 1;
    list_push_back(&c->puts, &u->p.op.node);
    const struct msg *m = u->p.op.msg;
    ntab_remove(&c->subjects, msg_subject(m), m->subject_len);
    if (ntab_put(&c->subjects, msg_subject(m), m->subject_len, u) != ST_OK) {
        return js_fail_status(f, ST_NOMEM);
    }
    c->bytes += mlog_size(c->s->memory, p->subject_len, p->hdr_len, p->data_len);
    c->n++;
    return JS_OK;
}

/* The last of a batch that an extra message ends gets the header that commits. */
static void
add_commit_header(struct pub *p)
{
    struct buf b;
    buf_init(&b);
    buf_append(&b, p->hdr, p->hdr_len);
    hdr_add(&b, "Nats-Batch-Commit", "1");
    if (buf_status(&b) == ST_OK) {
        pub_set_hdr(p, &b);
    }
    buf_fini(&b);
}

static enum js_error
check_one(struct commit *c, const struct msg *m, const struct pub *ack, bool add_commit,
          struct js_fail *f)
{
    struct pub *p = &c->v[c->n];
    ASSERT(p != NULL);
    *p = (struct pub){.subject = msg_subject(m),
                      .subject_len = m->subject_len,
                      .hdr = msg_hdr(m),
                      .hdr_len = m->hdr_len,
                      .data = msg_data(m),
                      .data_len = m->data_len,
                      .reply = ack != NULL ? ack->reply : "",
                      .loop = ack != NULL ? ack->loop : 0,
                      .in_batch = true,
                      .ahead_msgs = c->n,
                      .ahead_bytes = c->bytes};
    enum js_error e = transform(c->s, p, f);
    if (e == JS_OK) {
        e = check_within(c, p, f);
    }
    struct put *before = ntab_get(&c->subjects, p->subject, p->subject_len);
    p->base = before != NULL ? before->p.op.msg : NULL;
    p->ahead_subject = before != NULL ? before->seq : 0;
    if (e == JS_OK) {
        e = ingest_check(c->s, p, f);
    }
    if (e == JS_OK) {
        e = ingest_check_room(c->s, p, f);
    }
    if (e == JS_OK && add_commit) {
        add_commit_header(p);
    }
    if (ack != NULL) {
        memcpy(p->tail, ack->tail, sizeof p->tail);
    } else {
        p->tail[0] = '\0';
    }
    if (e != JS_OK) {
        pub_fini(p);
        return e;
    }
    size_t index = c->n;
    e = add_put(c, p, f);
    if (e != JS_OK) {
        pub_fini(p);
        return e;
    }
    struct put *u = LIST_ENTRY(c->puts.prev, struct put, p.op.node);
    u->index = index;
    if (before != NULL) {
        u->prev = mlog_last_seq(c->s->log) + 1 + before->index;
    }
    return JS_OK;
}

static void
commit_fini(struct commit *c)
{
    struct list_node *it;
    while ((it = list_pop_front(&c->puts)) != NULL) {
        put_free(LIST_ENTRY(it, struct put, p.op.node));
    }
    for (size_t i = 0; i < c->n; i++) {
        pub_fini(&c->v[i]);
    }
    ntab_fini(&c->subjects);
    ntab_fini(&c->ids);
    for (size_t i = 0; i < c->n_ids; i++) {
        mem_free(c->id_texts[i]);
    }
    mem_free(c->id_texts);
    mem_free(c->v);
}

static bool
is_wanted(struct stream *s, const struct msg *m)
{
    return s->cfg->retention != RETENTION_INTEREST ||
           consumers_want(s, msg_subject(m), m->subject_len) ||
           stream_links_want(s, msg_subject(m), m->subject_len);
}

enum js_error
batch_commit(struct stream *s, struct atomic_batch *b, const struct pub *last, bool add_commit,
             struct js_fail *f)
{
    struct commit c = {.s = s};
    size_t total = 0;
    for (struct list_node *n = b->msgs.next; n != &b->msgs; n = n->next) {
        total++;
    }
    list_init(&c.puts);
    c.v = mem_alloc_array(total, sizeof *c.v);
    c.id_texts = mem_alloc_array(total, sizeof *c.id_texts);
    struct pub ack = {.reply = last->reply, .loop = last->loop};
    batch_tail(ack.tail, sizeof ack.tail, b->id, total);
    enum js_error e = c.v != NULL && c.id_texts != NULL ? JS_OK : js_fail_status(f, ST_NOMEM);
    for (struct list_node *n = b->msgs.next; n != &b->msgs && e == JS_OK; n = n->next) {
        const struct msg *m = LIST_ENTRY(n, struct staged, node)->msg;
        bool is_last = n->next == &b->msgs;
        if (is_wanted(s, m)) {
            e = check_one(&c, m, is_last ? &ack : NULL, is_last && add_commit, f);
        }
    }
    if (e == JS_OK && c.n > 0) {
        ntab_fini(&c.subjects);
        enum status st = ingest_append(s, &c.puts, c.v, c.n);
        e = st == ST_OK ? JS_OK : js_fail_status(f, st);
    } else if (e == JS_OK && !s->cfg->no_ack) {
        ingest_reply_ack(s, ack.loop, ack.reply, mlog_last_seq(s->log), ack.tail);
    }
    commit_fini(&c);
    return e;
}
