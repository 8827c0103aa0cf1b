/* SPDX-License-Identifier: Apache-2.0 */
/* ConsumerInfo, and putting a consumer back. */
#include <inttypes.h>
#include <stdio.h>

#include "server/base/mem.h"
#include "server/base/version.h"
#include "stream/consumer_priv.h"
#include "stream/rfc3339.h"

/* Adds a member to *o; what fails makes it NULL. Takes v. */
static void
put(json_t **o, const char *key, json_t *v)
{
    if (*o == NULL) {
        json_decref(v);
    } else if (json_object_set_new(*o, key, v) != 0) {
        json_decref(*o);
        *o = NULL;
    }
}

static json_t *
number(uint64_t v)
{
    return json_integer((json_int_t)(v <= INT64_MAX ? v : INT64_MAX));
}

static json_t *
time_text(int64_t wall)
{
    char text[40];
    return json_string(rfc3339_format(wall, text));
}

/* With what only answers have. */
static json_t *
config_json(const struct consumer *c)
{
    json_t *o = consumer_config_to_json(c->cfg);
    json_t *old = c->cfg->metadata;
    json_t *m = old != NULL ? json_copy(old) : json_object();
    char level[8];
    snprintf(level, sizeof level, "%d", JS_API_LEVEL);
    put(&m, "_nats.ver", json_string(SERVER_VERSION));
    put(&m, "_nats.level", json_string(level));
    put(&o, "metadata", m);
    return o;
}

static json_t *
place(uint64_t dseq, uint64_t seq, int64_t last)
{
    json_t *o = json_object();
    put(&o, "consumer_seq", number(dseq));
    put(&o, "stream_seq", number(seq));
    if (last != 0) {
        put(&o, "last_active", time_text(last));
    }
    return o;
}

static json_t *
groups_json(const struct consumer *c)
{
    json_t *o = json_object();
    put(&o, "group", json_string(c->cfg->priority_groups[0]));
    if (c->pull.pin[0] != '\0') {
        put(&o, "pinned_client_id", json_string(c->pull.pin));
    }
    put(&o, "pinned_ts", time_text(c->pull.pinned_wall != 0 ? c->pull.pinned_wall : RFC3339_ZERO));
    json_t *a = json_array();
    if (a == NULL || json_array_append_new(a, o) != 0) {
        json_decref(a);
        return NULL;
    }
    return a;
}

static void
put_counts(struct consumer *c, json_t **o)
{
    int64_t wanted;
    size_t waiting = c->is_push ? 0 : pull_count(c, &wanted);
    put(o, "num_ack_pending", number(c->unacked.n_pending));
    put(o, "num_redelivered", number(c->cfg->max_deliver == 1 ? 0 : c->unacked.n_redelivered));
    put(o, "num_waiting", number(waiting));
    put(o, "num_pending", number(consumer_num_pending(c)));
}

static json_t *
info(struct consumer *c)
{
    int64_t now = js_wall(consumer_js(c));
    json_t *o = json_object();
    put(&o, "stream_name", json_string(c->stream->name));
    put(&o, "name", json_string(c->name));
    put(&o, "created", time_text(c->created));
    put(&o, "config", config_json(c));
    put(&o, "delivered", place(c->delivered_dseq, c->delivered, c->last_delivered));
    put(&o, "ack_floor", place(c->floor_dseq, c->floor, c->last_acked));
    put_counts(c, &o);
    if (c->is_push && c->push.active) {
        put(&o, "push_bound", json_true());
    }
    if (consumer_is_paused(c)) {
        put(&o, "paused", json_true());
        put(&o, "pause_remaining", json_integer(c->cfg->pause_until - now));
    }
    put(&o, "ts", time_text(now));
    if (c->cfg->n_priority_groups > 0) {
        put(&o, "priority_groups", groups_json(c));
    }
    return o;
}

json_t *
consumer_info_json(struct consumer *c)
{
    stream_lock(c->stream);
    json_t *o = c->deleted ? NULL : info(c);
    stream_unlock(c->stream);
    return o;
}

/* ---- reset ---- */

static const char *
refuse_reset(const struct consumer *c, uint64_t seq)
{
    switch (c->cfg->deliver) {
    case DELIVER_ALL:
        return NULL;
    case DELIVER_BY_START_SEQUENCE:
        return seq < c->cfg->opt_start_seq ? "below start seq" : NULL;
    case DELIVER_BY_START_TIME:
        return seq < mlog_seq_at(c->stream->log, c->cfg->opt_start_time) ? "below start time"
                                                                         : NULL;
    case DELIVER_LAST:
    case DELIVER_NEW:
    case DELIVER_LAST_PER_SUBJECT:
    default:
        return "not allowed";
    }
}

static void
reset(struct consumer *c, uint64_t seq)
{
    unacked_clear(&c->unacked);
    mem_free(c->skip);
    c->skip = NULL;
    c->n_skip = c->at_skip = 0;
    c->next = seq;
    c->dseq = 1;
    c->delivered = c->floor = seq - 1;
    c->delivered_dseq = c->floor_dseq = 0;
    c->last_delivered = c->last_acked = 0;
    c->hold.seq = 0;
    consumer_recount(c);
    consumer_touch(c);
    if (c->stream->cfg->retention == RETENTION_INTEREST) {
        retention_sweep(c->stream, mlog_first_seq(c->stream->log));
    }
    consumer_pump(c);
}

enum js_error
consumer_reset(struct consumer *c, uint64_t seq, uint64_t *reset_to, struct js_fail *f)
{
    enum js_error e = JS_OK;
    stream_lock(c->stream);
    const char *why = seq != 0 ? refuse_reset(c, seq) : NULL;
    if (c->deleted) {
        e = js_fail_text(f, JS_ERR_CONSUMER_INVALID_RESET, "consumer closed");
    } else if (why != NULL) {
        e = js_fail_text(f, JS_ERR_CONSUMER_INVALID_RESET, why);
    } else if (c->stored && js_check_writes(consumer_js(c), false, f) != JS_OK) {
        e = f->e;
    } else {
        *reset_to = seq != 0 ? seq : c->floor + 1;
        reset(c, *reset_to);
    }
    stream_unlock(c->stream);
    return e;
}
