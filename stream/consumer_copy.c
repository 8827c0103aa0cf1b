/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/consumer_copy.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer_priv.h"

bool
consumer_is_copied(const struct consumer *c)
{
    return c->stored || (c->stream->memory && !c->cfg->direct);
}

/* ---- out ---- */

static void
put_pair(struct buf *b, const char *key, uint64_t dseq, uint64_t seq)
{
    buf_printf(b, "\"%s\":{\"consumer_seq\":%" PRIu64 ",\"stream_seq\":%" PRIu64 "}", key, dseq,
               seq);
}

static void
put_pending(const struct consumer *c, struct buf *b)
{
    const struct list_node *head = &c->unacked.pending;
    for (struct list_node *it = head->next; it != head; it = it->next) {
        const struct unacked *u = LIST_ENTRY(it, struct unacked, node);
        buf_printf(b, "%s\"%" PRIu64 "\":{\"Sequence\":%" PRIu64 ",\"Timestamp\":%" PRId64 "}",
                   it == head->next ? ",\"pending\":{" : ",", u->seq, u->dseq, u->ts);
    }
    if (head->next != head) {
        buf_putc(b, '}');
    }
}

static void
put_redelivered(const struct consumer *c, struct buf *b)
{
    bool any = false;
    for (size_t i = 0; i < c->unacked.n_buckets; i++) {
        for (const struct unacked *u = c->unacked.buckets[i]; u != NULL; u = u->next) {
            if (u->redelivered > 0) {
                buf_printf(b, "%s\"%" PRIu64 "\":%u", any ? "," : ",\"redelivered\":{", u->seq,
                           u->redelivered);
                any = true;
            }
        }
    }
    if (any) {
        buf_putc(b, '}');
    }
}

void
consumer_copy_out(const struct consumer *c, struct buf *out)
{
    json_t *o = json_loads(c->record_config, 0, NULL);
    size_t n = 0;
    char *config = NULL;
    if (o != NULL && json_object_set_new(o, "name", json_string(c->name)) == 0) {
        n = json_dumpb(o, NULL, 0, JSON_COMPACT);
        config = mem_alloc_raw(n + 1);
    }
    if (config == NULL) {
        json_decref(o);
        out->failed = true;
        return;
    }
    (void)json_dumpb(o, config, n, JSON_COMPACT);
    json_decref(o);
    buf_puts(out, "{\"config\":");
    buf_append(out, config, n);
    mem_free(config);
    buf_puts(out, ",\"state\":{");
    put_pair(out, "delivered", c->dseq - 1, c->delivered);
    buf_putc(out, ',');
    put_pair(out, "ack_floor", c->floor_dseq, c->floor);
    put_pending(c, out);
    put_redelivered(c, out);
    buf_printf(out, "},\"sluice\":{\"created\":%" PRId64 ",\"next\":%" PRIu64, c->created, c->next);
    if (c->skip != NULL) {
        buf_printf(out, ",\"resume\":%" PRIu64 ",\"skip\":[", c->resume);
        for (size_t i = c->at_skip; i < c->n_skip; i++) {
            buf_printf(out, "%s%" PRIu64, i > c->at_skip ? "," : "", c->skip[i]);
        }
        buf_putc(out, ']');
    }
    buf_puts(out, "}}");
}

/* ---- in ---- */

struct entry {
    uint64_t seq, dseq, again;
    int64_t ts;
    bool dead;
};

static uint64_t
number(const json_t *o, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(o, key));
    return v > 0 ? (uint64_t)v : 0;
}

static int
by_seq(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* What is pending, and what was delivered again and is no longer pending: that is done with. */
static struct entry *
entries(const json_t *state, size_t *n)
{
    const json_t *pending = json_object_get(state, "pending");
    const json_t *again = json_object_get(state, "redelivered");
    size_t most = json_object_size(pending) + json_object_size(again);
    struct entry *v = mem_alloc_array(most + 1, sizeof *v);
    const char *key;
    json_t *o;
    *n = 0;
    if (v == NULL) {
        return NULL;
    }
    json_object_foreach((json_t *)(uintptr_t)pending, key, o)
    {
        v[(*n)++] = (struct entry){.seq = strtoull(key, NULL, 10),
                                   .dseq = number(o, "Sequence"),
                                   .ts = json_integer_value(json_object_get(o, "Timestamp")),
                                   .again = number(again, key)};
    }
    json_object_foreach((json_t *)(uintptr_t)again, key, o)
    {
        if (json_object_get(pending, key) == NULL) {
            json_int_t count = json_integer_value(o);
            v[(*n)++] = (struct entry){.seq = strtoull(key, NULL, 10),
                                       .again = count > 0 ? (uint64_t)count : 1,
                                       .dead = true};
        }
    }
    qsort(v, *n, sizeof *v, by_seq);
    return v;
}

static json_t *
head(const json_t *o, const json_t *state, int64_t now)
{
    const json_t *own = json_object_get(o, "sluice");
    const json_t *delivered = json_object_get(state, "delivered");
    const json_t *floor = json_object_get(state, "ack_floor");
    uint64_t seq = number(delivered, "stream_seq"), dseq = number(delivered, "consumer_seq");
    uint64_t following = dseq + 1;
    uint64_t next = number(own, "next"), created = number(own, "created");
    if (next == 0) {
        next = seq + 1;
    }
    json_t *h = json_pack(
        "{s:O, s:I, s:I, s:I, s:[I,I], s:[I,I]}", "config", json_object_get(o, "config"), "created",
        created > 0 ? (json_int_t)created : (json_int_t)now, "next", (json_int_t)next, "dseq",
        (json_int_t)following, "delivered", (json_int_t)dseq, (json_int_t)seq, "ack_floor",
        (json_int_t)number(floor, "consumer_seq"), (json_int_t)number(floor, "stream_seq"));
    json_t *skip = json_object_get(own, "skip");
    if (h != NULL && skip != NULL &&
        (json_object_set(h, "skip", skip) != 0 ||
         json_object_set_new(h, "resume", json_integer((json_int_t)number(own, "resume"))) != 0)) {
        json_decref(h);
        return NULL;
    }
    return h;
}

/* The text becomes a record as the store has it. */
static enum status
to_record(const json_t *o, const json_t *state, int64_t now, struct buf *out)
{
    json_t *h = head(o, state, now);
    size_t n = h != NULL ? json_dumpb(h, NULL, 0, JSON_COMPACT) : 0;
    size_t n_entries;
    struct entry *v = entries(state, &n_entries);
    enum status st = n > 0 && v != NULL ? buf_reserve(out, n + 1) : ST_NOMEM;
    if (st == ST_OK) {
        out->len += json_dumpb(h, out->data + out->len, n, JSON_COMPACT);
        buf_putc(out, '\n');
        for (size_t i = 0; i < n_entries; i++) {
            const struct entry *e = &v[i];
            buf_printf(out, "%s%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64 "\n",
                       e->dead ? "-" : "", e->seq, e->dseq, e->ts, e->again);
        }
        st = buf_status(out);
    }
    json_decref(h);
    mem_free(v);
    return st;
}

enum status
consumer_copy_in(struct stream *s, const char *name, const char *text, size_t len)
{
    json_t *o = json_loadb(text, len, JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *state = json_object_get(o, "state");
    if (!json_is_object(json_object_get(o, "config"))) {
        json_decref(o);
        return ST_INVAL;
    }
    if (!json_is_object(state)) {
        json_decref(o);
        return consumer_recover(s, name, text, len);
    }
    struct buf record;
    buf_init(&record);
    enum status st = to_record(o, state, js_wall(s->js), &record);
    json_decref(o);
    if (st == ST_OK) {
        st = consumer_recover(s, name, record.data, record.len);
    }
    buf_fini(&record);
    return st;
}
