/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a stream goes out in chunks, so many at a time as the receiver's window has room for:
 * it answers each chunk to the chunk's reply subject. The engine's thread fills and sends them; the
 * stream goes on meanwhile, and what comes after the start is not in the copy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/base/assert.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/consumer_copy.h"
#include "stream/consumer_priv.h"
#include "stream/consumer_text.h"
#include "stream/js_advisory.h"
#include "stream/snapshot_format.h"
#include "stream/stream_priv.h"

enum { DEFAULT_CHUNK = 128 << 10, MAX_CHUNK = 1 << 20, DEFAULT_WINDOW = 8 << 20 };
enum { MAX_WINDOW = 32 << 20, MIN_SIZE = 1024, TURN = 4 };
#define ACK_TIMEOUT   (5 * CLOCK_S)
#define START_TIMEOUT (2 * CLOCK_S)

/* The stream's lock guards slots and heard; the rest is the engine's thread's. References: the
 * armed timer, the service. */
struct snapshot {
    _Atomic uint32_t refs;
    struct js_timer timer;
    struct stream *s;       /* ref */
    struct mcursor *cursor; /* owned */
    char *to;               /* owned */
    json_t *client;         /* owned, or NULL: who asked, for advisories */
    char ack[600];          /* the subject of acknowledgements, up to its last two tokens */
    struct js_service *service;
    uint64_t next, end, index, bytes;
    size_t chunk;
    int64_t slots, heard, started; /* monotonic */
    int64_t wall;                  /* of the start */
    bool no_consumers, had_interest, all;
    struct snapshot_out out; /* made, but not sent */
};

static void
snapshot_unref(struct snapshot *v)
{
    if (atomic_fetch_sub(&v->refs, 1) != 1) {
        return;
    }
    if (js_timers_reserve(v->s->js->timers, -1) != ST_OK) {
        ASSERT(false);
    }
    mcursor_free(v->cursor);
    snapshot_out_fini(&v->out);
    mem_free(v->to);
    json_decref(v->client);
    stream_unref(v->s);
    mem_free(v);
}

static void
wake(struct snapshot *v, int64_t in)
{
    struct js *js = v->s->js;
    atomic_fetch_add(&v->refs, 1);
    if (!js_timer_set_earlier(js->timers, &v->timer, js_now(js) + in)) {
        snapshot_unref(v);
    }
}

static void
release(void *arg)
{
    snapshot_unref(arg);
}

static void
on_ack(void *arg, const struct js_in *in)
{
    struct snapshot *v = arg;
    (void)in;
    stream_lock(v->s);
    v->slots++;
    v->heard = js_now(v->s->js);
    stream_unlock(v->s);
    wake(v, 0);
}

/* ---- filling ---- */

/* Under the stream's lock. */
static enum status
add_consumer(struct snapshot *v, const struct consumer *c)
{
    char name[600];
    struct buf text;
    int n = snprintf(name, sizeof name, "consumers/%s", c->name);
    buf_init(&text);
    consumer_copy_out(c, &text);
    enum status st = buf_status(&text);
    if (st == ST_OK) {
        snapshot_put(&v->out, name, (size_t)n, v->wall, text.data, text.len);
        st = snapshot_out_status(&v->out);
    }
    buf_fini(&text);
    return st;
}

/* Under the stream's lock, up to a chunk. */
static void
fill(struct snapshot *v)
{
    struct stream *s = v->s;
    while (v->out.framed.len < v->chunk && v->next != 0 && v->next <= v->end &&
           snapshot_out_status(&v->out) == ST_OK) {
        struct msg *m;
        uint64_t seq = mlog_next(s->log, NULL, v->next);
        if (seq == 0 || seq > v->end) {
            v->next = 0;
            break;
        }
        if (mlog_get(s->log, seq, v->cursor, &m) == ST_OK) {
            snapshot_put_msg(&v->out, m);
            msg_unref(m);
        }
        v->next = seq + 1;
    }
}

/* ---- sending; under the lock ---- */

static void
emit(struct snapshot *v, const char *reply, const char *hdr, size_t n)
{
    struct js_out *o;
    struct js_out_spec spec = {.account = v->s->acc->acc,
                               .to = v->to,
                               .reply = reply,
                               .hdr = hdr,
                               .hdr_len = hdr != NULL ? strlen(hdr) : 0,
                               .data = v->out.framed.data,
                               .data_len = n};
    if (js_out_new(&o, &spec) == ST_OK) {
        stream_emit(v->s, o);
    }
}

static void
send_chunk(struct snapshot *v)
{
    char reply[700];
    size_t n = v->out.framed.len < v->chunk ? v->out.framed.len : v->chunk;
    snprintf(reply, sizeof reply, "%s.%zu.%" PRIu64, v->ack, n, ++v->index);
    emit(v, reply, NULL, n);
    v->bytes += n;
    v->slots--;
    memmove(v->out.framed.data, v->out.framed.data + n, v->out.framed.len - n);
    v->out.framed.len -= n;
}

/* NULL: it goes on. */
static const char *
trouble(struct snapshot *v)
{
    struct js *js = v->s->js;
    int64_t now = js_now(js);
    bool interest = js->host->has_interest(js->host->ctx, v->s->acc->acc, v->to);
    v->had_interest |= interest;
    if (v->s->deleted) {
        return "NATS/1.0 500 stream closed\r\n\r\n";
    }
    if (snapshot_out_status(&v->out) != ST_OK) {
        return "NATS/1.0 500 out of memory\r\n\r\n";
    }
    if (!interest && (v->had_interest || now - v->started > START_TIMEOUT)) {
        return "NATS/1.0 408 No Interest\r\n\r\n";
    }
    if (v->slots <= 0 && now - v->heard > ACK_TIMEOUT) {
        return "NATS/1.0 408 No Flow Response\r\n\r\n";
    }
    return NULL;
}

static void
end(struct snapshot *v)
{
    struct js *js = v->s->js;
    if (v->service != NULL) {
        js->host->unsubscribe(js->host->ctx, v->s->acc->acc, v->service);
        v->service = NULL;
    }
}

/* True: it is over. */
static bool
turn(struct snapshot *v)
{
    stream_lock(v->s);
    const char *status = trouble(v);
    for (int i = 0; status == NULL && v->had_interest && i < TURN && v->slots > 0; i++) {
        fill(v);
        if (!v->all && (v->next == 0 || v->next > v->end)) {
            snapshot_put_end(&v->out);
            v->all = true;
        }
        if (v->out.framed.len < v->chunk) {
            break;
        }
        send_chunk(v);
        v->heard = js_now(v->s->js);
    }
    bool last = status == NULL && v->all && v->slots > 0 && v->out.framed.len < v->chunk;
    if (last) {
        status = "NATS/1.0 204\r\n\r\n";
        if (v->out.framed.len > 0) {
            emit(v, NULL, NULL, v->out.framed.len);
            v->bytes += v->out.framed.len;
        }
    }
    if (status != NULL) {
        emit(v, NULL, status, 0);
        advise_snapshot(v->s, "snapshot_complete", v->client, v->wall, v->bytes);
    }
    bool more = v->slots > 0 && v->had_interest;
    stream_unlock(v->s);
    if (status == NULL) {
        wake(v, more ? 0 : 100 * CLOCK_MS);
    }
    return status != NULL;
}

static void
on_timer(struct js_timer *t)
{
    struct snapshot *v = LIST_ENTRY(t, struct snapshot, timer);
    if (js_is_stopping(v->s->js) || (v->service != NULL && turn(v))) {
        end(v);
    }
    snapshot_unref(v);
}

/* ---- the beginning ---- */

static int64_t
clamp(int64_t v, int64_t otherwise, int64_t most)
{
    v = v > 0 ? v : otherwise;
    v = v < MIN_SIZE ? MIN_SIZE : v;
    return v > most ? most : v;
}

static size_t
count_consumers(const struct snapshot *v)
{
    size_t n = 0;
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &v->s->consumer_order)
    {
        n += consumer_is_copied(LIST_ENTRY(it, struct consumer, node));
    }
    return v->no_consumers ? 0 : n;
}

/* state.json, then the consumers, as many as it says. Under the stream's lock. */
static enum status
put_head(struct snapshot *v, json_t *state)
{
    json_t *own = json_copy(state);
    size_t left = count_consumers(v);
    char *text = NULL;
    size_t n = 0;
    if (own != NULL &&
        json_object_set_new(own, "consumer_count", json_integer((json_int_t)left)) == 0) {
        n = json_dumpb(own, NULL, 0, JSON_COMPACT);
        text = mem_alloc_raw(n + 1);
    }
    if (text == NULL) {
        json_decref(own);
        return ST_NOMEM;
    }
    json_dumpb(own, text, n, JSON_COMPACT);
    json_decref(own);
    snapshot_put(&v->out, "state.json", strlen("state.json"), v->wall, text, n);
    mem_free(text);
    enum status st = snapshot_out_status(&v->out);
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &v->s->consumer_order)
    {
        const struct consumer *c = LIST_ENTRY(it, struct consumer, node);
        if (left > 0 && st == ST_OK && consumer_is_copied(c)) {
            st = add_consumer(v, c);
            left--;
        }
    }
    return st;
}

static enum status
snapshot_new(struct snapshot **out, struct stream *s, const struct stream_snapshot_rq *rq)
{
    char id[23];
    struct snapshot *v = mem_alloc(sizeof *v);
    if (v == NULL || js_timers_reserve(s->js->timers, 1) != ST_OK) {
        mem_free(v);
        return ST_NOMEM;
    }
    v->refs = 1;
    v->timer.fn = on_timer;
    v->s = stream_ref(s);
    v->no_consumers = rq->no_consumers;
    v->chunk = (size_t)clamp(rq->chunk_size, DEFAULT_CHUNK, MAX_CHUNK);
    int64_t window = clamp(rq->window_size, DEFAULT_WINDOW, MAX_WINDOW);
    v->slots = window / (int64_t)v->chunk > 0 ? window / (int64_t)v->chunk : 1;
    v->started = v->heard = js_now(s->js);
    v->wall = js_wall(s->js);
    v->client = s->js->host->client_info(s->js->host->ctx, rq->cid);
    v->to = mem_strdup(rq->deliver_subject);
    snprintf(v->ack, sizeof v->ack, "$JS.SNAPSHOT.ACK.%s.%s", s->name,
             random_name(id, sizeof id - 1));
    if (v->to == NULL || mcursor_new(&v->cursor) != ST_OK) {
        snapshot_unref(v);
        return ST_NOMEM;
    }
    *out = v;
    return ST_OK;
}

static enum status
subscribe(struct snapshot *v)
{
    char subject[620];
    const struct js_host *h = v->s->js->host;
    snprintf(subject, sizeof subject, "%s.>", v->ack);
    atomic_fetch_add(&v->refs, 1);
    enum status st = h->subscribe(h->ctx, v->s->acc->acc, subject, on_ack, release, v, &v->service);
    if (st != ST_OK) {
        snapshot_unref(v);
    }
    return st;
}

/* As it is stored: without what tells of this server. New reference, or NULL without memory. */
static json_t *
stored_config(const json_t *shown)
{
    json_t *config = json_deep_copy(shown);
    json_t *metadata = json_object_get(config, "metadata");
    (void)json_object_del(metadata, "_nats.level");
    (void)json_object_del(metadata, "_nats.ver");
    return config;
}

enum js_error
stream_snapshot(struct stream *s, const struct stream_snapshot_rq *rq, json_t **answer,
                struct js_fail *f)
{
    struct snapshot *v;
    enum status rc = snapshot_new(&v, s, rq);
    if (rc != ST_OK) {
        return js_fail_status(f, rc);
    }
    stream_lock(s);
    v->next = mlog_first_seq(s->log);
    v->end = mlog_committed(s->log);
    advise_snapshot(s, "snapshot_create", v->client, v->wall, 0);
    stream_unlock(s);
    json_t *info = stream_info_json(s, NULL, NULL, f);
    json_t *state = json_object_get(info, "state");
    json_t *config = stored_config(json_object_get(info, "config"));
    *answer = config != NULL ? json_pack("{s:o,s:O}", "config", config, "state", state) : NULL;
    rc = ST_NOMEM;
    if (*answer != NULL) {
        stream_lock(s);
        rc = put_head(v, state);
        stream_unlock(s);
    }
    json_decref(info);
    if (rc == ST_OK) {
        rc = subscribe(v);
    }
    if (rc == ST_OK) {
        /* The answer goes first. */
        wake(v, 20 * CLOCK_MS);
    }
    snapshot_unref(v);
    if (rc != ST_OK) {
        json_decref(*answer);
        *answer = NULL;
        return js_fail_status(f, rc);
    }
    return JS_OK;
}
