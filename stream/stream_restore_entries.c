/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a copy, as they come in. */
#include <string.h>

#include "server/base/mem.h"
#include "stream/hdr.h"
#include "stream/js_advisory.h"
#include "stream/snapshot_format.h"
#include "stream/stream_priv.h"
#include "stream/stream_restore_priv.h"

#define CONSUMERS "consumers/"

/* One message on its way into the store. */
struct rput {
    struct mlog_put p;
    struct restore *v; /* ref, once it is appended */
    char *reply;       /* owned: answered when this is committed; or NULL */
    uint64_t seq;
    int64_t ts;
};

/* ---- entries; v->lock is held ---- */

static enum status
make_stream(struct restore *v, const json_t *state)
{
    int64_t first = json_integer_value(json_object_get(state, "first_seq"));
    struct js_account *a = v->a;
    struct stream_make m = {.acc = a,
                            .cfg = v->cfg,
                            .id = store_new_id(js_store(a->js, stream_config_is_memory(v->cfg))),
                            .created = js_wall(a->js)};
    v->last_seq = (uint64_t)json_integer_value(json_object_get(state, "last_seq"));
    v->cfg = NULL;
    enum status st = stream_new(&v->s, &m);
    if (st != ST_OK) {
        return st;
    }
    uint64_t n;
    stream_lock(v->s);
    v->s->restoring = true;
    st = stream_save(v->s);
    if (st == ST_OK && first > 1) {
        st = mlog_purge_to(v->s->log, (uint64_t)first, &n);
    }
    advise_snapshot(v->s, "restore_create", v->client, v->wall, 0);
    stream_unlock(v->s);
    return st;
}

static void
on_state(struct restore *v, const struct snapshot_entry *e)
{
    json_t *o = json_loadb(e->data, e->data_len, 0, NULL);
    if (!json_is_object(o) || e->hdr_len > 0) {
        restore_fail(v, "error in state.json");
    } else if (make_stream(v, o) != ST_OK) {
        restore_fail(v, "error adding stream");
    }
    json_decref(o);
}

static void
on_stored(struct store_op *first, struct list_node *more, enum status st)
{
    struct stream *s = first->group;
    struct list_node all, *it;
    stream_lock(s);
    mlog_commit(s->log, first, more, st);
    stream_unlock(s);
    list_init(&all);
    list_push_back(&all, &first->node);
    list_splice_back(&all, more);
    while ((it = list_pop_front(&all)) != NULL) {
        struct rput *u = LIST_ENTRY(it, struct rput, p.op.node);
        struct restore *v = u->v;
        if (st != ST_OK) {
            pthread_mutex_lock(&v->lock);
            restore_fail(v, "a message could not be written");
            pthread_mutex_unlock(&v->lock);
        }
        if (u->reply != NULL && st == ST_OK) {
            restore_answer(v->a, u->reply, "", 0);
        } else if (u->reply != NULL) {
            restore_answer_error(v->a, u->reply, "a message could not be written");
        }
        msg_unref(u->p.op.msg);
        mem_free(u->reply);
        mem_free(u);
        restore_unref(v);
        stream_unref(s);
    }
}

static enum status
append(struct restore *v, struct rput *u)
{
    struct stream *s = v->s;
    struct list_node one;
    const struct msg *m = u->p.op.msg;
    uint64_t size = mlog_size(s->memory, m->subject_len, m->hdr_len, m->data_len);
    list_init(&one);
    list_push_back(&one, &u->p.op.node);
    stream_lock(s);
    enum status st = u->seq > mlog_last_seq(s->log) ? ST_OK : ST_INVAL;
    if (st == ST_OK && u->seq > mlog_last_seq(s->log) + 1) {
        st = mlog_skip_to(s->log, u->seq);
    }
    if (st == ST_OK) {
        st = mlog_append(s->log, &one, u->ts);
    }
    if (st == ST_OK) {
        js_account_use(s->acc, s->memory, (int64_t)size);
    }
    stream_unlock(s);
    return st;
}

static void
rput_free(struct rput *u)
{
    msg_unref(u->p.op.msg);
    mem_free(u->reply);
    mem_free(u);
}

/* The message that was held back goes to the store. reply: to be answered when it is committed, or
 * NULL. True: it will be. */
static bool
push_held(struct restore *v, const char *reply)
{
    struct rput *u = v->held;
    v->held = NULL;
    if (u == NULL) {
        return false;
    }
    if (v->why[0] != '\0') {
        rput_free(u);
        return false;
    }
    u->reply = reply != NULL ? mem_strdup(reply) : NULL;
    u->v = restore_ref(v);
    u->p.op.done = on_stored;
    u->p.op.group = stream_ref(v->s);
    if (append(v, u) != ST_OK) {
        restore_fail(v, "a message could not be stored");
        rput_free(u);
        stream_unref(v->s);
        restore_unref(v);
        return false;
    }
    return reply != NULL;
}

/* It is held back until the next one comes: the last of a chunk takes the chunk's answer along. */
static void
on_msg(struct restore *v, const struct snapshot_entry *e)
{
    const char *value;
    size_t n;
    struct msg_spec spec = {.subject = e->name,
                            .subject_len = e->name_len,
                            .hdr = e->hdr_len > 0 ? e->data : NULL,
                            .hdr_len = e->hdr_len,
                            .data = e->data + e->hdr_len,
                            .data_len = e->data_len};
    bool marked = hdr_find(spec.hdr, spec.hdr_len, "Nats-TTL", &value, &n) ||
                  hdr_find(spec.hdr, spec.hdr_len, "Nats-Schedule", &value, &n);
    spec.flags = marked ? MSG_MARKED : 0;
    (void)push_held(v, NULL);
    if (e->seq == 0) {
        restore_fail(v, "a message without a sequence");
        return;
    }
    struct rput *u = mem_alloc(sizeof *u);
    if (u == NULL || msg_new(&u->p.op.msg, &spec) != ST_OK) {
        mem_free(u);
        restore_fail(v, "out of memory");
        return;
    }
    u->seq = e->seq;
    u->ts = e->ts;
    v->held = u;
}

static void
on_consumer(struct restore *v, const struct snapshot_entry *e)
{
    size_t skip = strlen(CONSUMERS), nlen = e->name_len - skip;
    struct kept *k = mem_alloc(sizeof *k + nlen + 1 + e->data_len);
    if (k == NULL) {
        restore_fail(v, "out of memory");
        return;
    }
    k->name_len = nlen;
    k->len = e->data_len;
    memcpy(k->bytes, e->name + skip, nlen);
    memcpy(k->bytes + nlen + 1, e->data, e->data_len);
    list_push_back(&v->kept, &k->node);
}

static bool
is_named(const struct snapshot_entry *e, const char *name)
{
    return e->name_len == strlen(name) && memcmp(e->name, name, e->name_len) == 0;
}

static bool
is_consumer(const struct snapshot_entry *e)
{
    size_t n = strlen(CONSUMERS);
    return e->seq == 0 && e->hdr_len == 0 && e->name_len > n && memcmp(e->name, CONSUMERS, n) == 0;
}

static void
on_entry(struct restore *v, const struct snapshot_entry *e)
{
    if (v->whole) {
        restore_fail(v, "there is something behind the end");
    } else if (v->s == NULL) {
        if (is_named(e, "state.json")) {
            on_state(v, e);
        } else {
            restore_fail(v, "expected state.json first");
        }
    } else if (e->name_len == 0) {
        v->whole = true;
    } else if (is_consumer(e)) {
        on_consumer(v, e);
    } else {
        on_msg(v, e);
    }
}

bool
restore_digest(struct restore *v, const void *data, size_t len, const char *reply)
{
    struct snapshot_entry e;
    enum status st = snapshot_feed(&v->in, data, len);
    while (st == ST_OK && v->why[0] == '\0' && (st = snapshot_next(&v->in, &e)) == ST_OK) {
        on_entry(v, &e);
    }
    if (st == ST_UNSUPPORTED) {
        restore_fail(v, "the copy is of a server before 2.15, which is not supported");
    } else if (st == ST_NOMEM) {
        restore_fail(v, "out of memory");
    } else if (st != ST_AGAIN && st != ST_OK) {
        restore_fail(v, "the copy is damaged");
    }
    return push_held(v, reply);
}
