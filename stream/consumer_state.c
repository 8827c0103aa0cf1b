/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a consumer in the store: one line of JSON with the configuration and the state,
 * then what was delivered and is not done with, one line each: "seq dseq ts redelivered", a "-"
 * in front of those that are dead. It is written at once when the consumer is made or changed, and
 * lazily, at most every SAVE_EVERY, as it works: a start after a crash delivers a little anew.
 *
 * A consumer in memory has a record from an orderly stop to the next start alone. Its client, back
 * within the time that it may be idle, goes on as if nothing had been, where else thousands would
 * first miss heartbeats and then make their consumers anew all at once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/consumer_priv.h"

#define SAVE_EVERY (200 * CLOCK_MS)

/* An operation with what it writes. Owned by the store once it is pushed. */
struct record {
    struct store_op op;
    char *data;            /* owned or NULL */
    struct consumer *born; /* ref or NULL: it begins to deliver when this is committed */
    char name[];
};

static void
record_done(struct store_op *op, struct list_node *more, enum status st)
{
    (void)more;
    (void)st; /* the store tries again by itself; at the stop there is nobody to tell */
    struct record *r = LIST_ENTRY(op, struct record, op);
    if (r->born != NULL) {
        consumer_open(r->born);
    }
    mem_free(r->data);
    mem_free(r);
}

static enum status
push_record(struct consumer *c, enum store_kind kind, char *data, size_t len)
{
    size_t n = strlen(c->name);
    struct record *r = mem_alloc(sizeof *r + n + 1);
    if (r == NULL) {
        mem_free(data);
        return ST_NOMEM;
    }
    memcpy(r->name, c->name, n + 1);
    r->born = kind == STORE_PUT_CONSUMER && !c->open ? consumer_ref(c) : NULL;
    r->data = data;
    r->op = (struct store_op){.kind = kind,
                              .stream = c->stream->id,
                              .name = r->name,
                              .name_len = n,
                              .data = data,
                              .data_len = len,
                              .when = r->born != NULL ? STORE_NOW : STORE_LAZILY,
                              .done = record_done};
    store_push(js_store(consumer_js(c), false), &r->op);
    return ST_OK;
}

static void
put_head(const struct consumer *c, struct buf *b)
{
    buf_printf(b, "{\"config\":%s,\"created\":%" PRId64, c->record_config, c->created);
    buf_printf(b, ",\"next\":%" PRIu64 ",\"dseq\":%" PRIu64, c->next, c->dseq);
    buf_printf(b, ",\"delivered\":[%" PRIu64 ",%" PRIu64 "]", c->delivered_dseq, c->delivered);
    buf_printf(b, ",\"ack_floor\":[%" PRIu64 ",%" PRIu64 "]", c->floor_dseq, c->floor);
    if (c->skip != NULL) {
        buf_printf(b, ",\"resume\":%" PRIu64 ",\"skip\":[", c->resume);
        for (size_t i = c->at_skip; i < c->n_skip; i++) {
            buf_printf(b, "%s%" PRIu64, i > c->at_skip ? "," : "", c->skip[i]);
        }
        buf_puts(b, "]");
    }
    buf_puts(b, "}\n");
}

static void
put_unacked(const struct consumer *c, struct buf *b)
{
    const struct list_node *head = &c->unacked.pending;
    for (struct list_node *it = head->next; it != head; it = it->next) {
        const struct unacked *u = LIST_ENTRY(it, struct unacked, node);
        buf_printf(b, "%" PRIu64 " %" PRIu64 " %" PRId64 " %u\n", u->seq, u->dseq, u->ts,
                   u->redelivered);
    }
    if (c->unacked.n == c->unacked.n_pending) {
        return;
    }
    for (size_t i = 0; i < c->unacked.n_buckets; i++) {
        for (const struct unacked *u = c->unacked.buckets[i]; u != NULL; u = u->next) {
            if (u->dead) {
                buf_printf(b, "-%" PRIu64 " %" PRIu64 " %" PRId64 " %u\n", u->seq, u->dseq, u->ts,
                           u->redelivered);
            }
        }
    }
}

static enum status
put_record(struct consumer *c)
{
    struct buf b;
    buf_init(&b);
    put_head(c, &b);
    put_unacked(c, &b);
    size_t len;
    char *data = buf_detach(&b, &len);
    if (data == NULL) {
        buf_fini(&b);
        return ST_NOMEM;
    }
    return push_record(c, STORE_PUT_CONSUMER, data, len);
}

enum status
consumer_save_new(struct consumer *c)
{
    return c->stored ? put_record(c) : ST_OK;
}

void
consumer_touch(struct consumer *c)
{
    if (c->stored && !c->dirty) {
        c->dirty = true;
        c->save_at = consumer_now(c) + SAVE_EVERY;
        consumer_arm(c, c->save_at);
    }
}

void
consumer_save(struct consumer *c)
{
    if (!c->dirty) {
        return;
    }
    if (consumer_save_new(c) == ST_OK) {
        c->dirty = false;
    } else {
        c->save_at = consumer_now(c) + SAVE_EVERY;
        consumer_arm(c, c->save_at);
    }
}

void
consumer_save_lazily(struct consumer *c)
{
    /* NB: what a failing store is given it keeps, record after record. */
    if (c->stored && store_failing(consumer_js(c)->file, NULL) != ST_OK) {
        c->save_at = consumer_now(c) + SAVE_EVERY;
        consumer_arm(c, c->save_at);
        return;
    }
    consumer_save(c);
}

void
consumer_save_last(struct consumer *c)
{
    consumer_save(c);
    if (c->stored || c->stream->memory || c->cfg->direct) {
        return;
    }
    if (put_record(c) != ST_OK) {
        log_error("JetStream: no memory to keep consumer '%s > %s' over the restart",
                  c->stream->name, c->name);
    }
}

void
consumer_erase(struct consumer *c)
{
    c->dirty = false;
    if (c->stored && push_record(c, STORE_DEL_CONSUMER, NULL, 0) != ST_OK) {
        log_error("JetStream: no memory to delete the record of consumer '%s > %s'",
                  c->stream->name, c->name);
    }
}

/* ---- a start ---- */

static uint64_t
number_of(const json_t *o, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(o, key));
    return v > 0 ? (uint64_t)v : 0;
}

static uint64_t
member_of(const json_t *o, const char *key, size_t i)
{
    json_int_t v = json_integer_value(json_array_get(json_object_get(o, key), i));
    return v > 0 ? (uint64_t)v : 0;
}

static enum status
read_skip(struct consumer *c, const json_t *o)
{
    const json_t *skip = json_object_get(o, "skip");
    size_t n = json_array_size(skip);
    if (n == 0) {
        return ST_OK;
    }
    c->skip = mem_alloc_array(n, sizeof *c->skip);
    if (c->skip == NULL) {
        return ST_NOMEM;
    }
    for (c->n_skip = 0; c->n_skip < n; c->n_skip++) {
        c->skip[c->n_skip] = (uint64_t)json_integer_value(json_array_get(skip, c->n_skip));
    }
    c->resume = number_of(o, "resume");
    return ST_OK;
}

static enum status
read_head(struct consumer *c, const json_t *o)
{
    c->next = number_of(o, "next");
    c->dseq = number_of(o, "dseq");
    c->delivered_dseq = member_of(o, "delivered", 0);
    c->delivered = member_of(o, "delivered", 1);
    c->floor_dseq = member_of(o, "ack_floor", 0);
    c->floor = member_of(o, "ack_floor", 1);
    c->next = c->next > 0 ? c->next : 1;
    c->dseq = c->dseq > 0 ? c->dseq : 1;
    return read_skip(c, o);
}

/* What is no longer in the stream is done with. */
static enum status
read_unacked(struct consumer *c, const char *line)
{
    bool dead = line[0] == '-';
    uint64_t seq, dseq;
    int64_t ts;
    unsigned again;
    if (sscanf(line + dead, "%" SCNu64 " %" SCNu64 " %" SCNd64 " %u", &seq, &dseq, &ts, &again) !=
        4) {
        return ST_SYNTAX;
    }
    if (!consumer_stream_has(c, seq) || unacked_find(&c->unacked, seq) != NULL) {
        return ST_OK;
    }
    struct unacked *u;
    enum status st = unacked_add(&c->unacked, seq, dseq, &u);
    if (st != ST_OK) {
        return st;
    }
    u->ts = ts;
    unacked_set_redelivered(&c->unacked, u, again);
    if (dead) {
        unacked_kill(&c->unacked, u);
    } else if (c->cfg->ack_wait > 0) {
        int64_t left = clock_after(ts - js_wall(consumer_js(c)), consumer_ack_wait(c, u));
        unacked_wait(&c->unacked, u, consumer_now(c) + (left > 0 ? left : 0));
    }
    return ST_OK;
}

/* The stream may have lost its last messages, where their commit was deferred. */
static void
clamp(struct consumer *c)
{
    uint64_t last = mlog_last_seq(c->stream->log);
    if (c->next > last + 1 && c->delivered > last) {
        log_warn("JetStream consumer '%s > %s > %s' delivered sequence %" PRIu64
                 " past last stream sequence of %" PRIu64,
                 c->stream->acc->name, c->stream->name, c->name, c->delivered, last);
        c->next = last + 1;
        c->delivered = last;
        c->floor = c->floor > last ? last : c->floor;
    }
}

static enum status
read_lines(struct consumer *c, const char *p, const char *end)
{
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        if (nl == NULL) {
            return ST_SYNTAX;
        }
        char line[120];
        size_t n = (size_t)(nl - p);
        if (n >= sizeof line) {
            return ST_SYNTAX;
        }
        memcpy(line, p, n);
        line[n] = '\0';
        enum status st = read_unacked(c, line);
        if (st != ST_OK) {
            return st;
        }
        p = nl + 1;
    }
    return ST_OK;
}

enum status
consumer_recover(struct stream *s, const char *name, const char *record, size_t len)
{
    const char *nl = memchr(record, '\n', len);
    json_t *o = nl != NULL ? json_loadb(record, (size_t)(nl - record), 0, NULL) : NULL;
    if (o == NULL) {
        return ST_INVAL;
    }
    struct consumer_config *cfg;
    struct consumer *c;
    enum status st = ST_INVAL;
    if (consumer_config_from_json(json_object_get(o, "config"), false, &cfg, NULL) == JS_OK) {
        st = consumer_revive(s, cfg, name, (int64_t)number_of(o, "created"), &c);
    }
    if (st != ST_OK) {
        json_decref(o);
        return st;
    }
    stream_lock(s);
    st = read_head(c, o);
    if (st == ST_OK) {
        st = read_lines(c, nl + 1, record + len);
    }
    if (st == ST_OK) {
        clamp(c);
        st = consumer_resume(c);
        if (st == ST_OK && !c->stored && !s->memory) {
            st = push_record(c, STORE_DEL_CONSUMER, NULL, 0);
        }
    } else {
        consumer_free(c);
    }
    stream_unlock(s);
    json_decref(o);
    return st == ST_SYNTAX ? ST_INVAL : st;
}
