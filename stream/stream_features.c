/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream has beside its messages: made by its configuration, filled from the log at a start
 * and when an update turns it on. And what the clock takes away. */
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer_text.h"
#include "stream/dedupe.h"
#include "stream/hdr.h"
#include "stream/ingest_batch.h"
#include "stream/ingest_priv.h"
#include "stream/schedules.h"
#include "stream/stream_inner.h"
#include "stream/stream_priv.h"
#include "stream/transforms.h"

enum { EXPIRE_SLICE = 4096 };

static enum status
make_transform(const struct subject_transform *t, struct transform **slot)
{
    char err[TRANSFORM_ERR_LEN];
    struct transform *made = NULL;
    enum status st = t != NULL ? transform_new(&made, t->src, t->dest, err) : ST_OK;
    if (st == ST_OK) {
        transform_free(*slot);
        *slot = made;
    }
    return st;
}

/* ---- de-duplication ---- */

/* The ids of the window, oldest first. */
static enum status
fill_dedupe(struct stream *s)
{
    int64_t since = js_wall(s->js) - s->cfg->duplicates;
    uint64_t last = mlog_last_seq(s->log);
    uint64_t seq = mlog_seq_at(s->log, since);
    while ((seq = mlog_next(s->log, NULL, seq)) != 0 && seq <= last) {
        const char *subject, *id = NULL;
        uint32_t size;
        unsigned flags = 0;
        struct msg *m;
        size_t n = 0;
        if (mlog_peek(s->log, seq, &subject, &size, &flags) && (flags & MSG_HAS_HDR) != 0 &&
            mlog_get(s->log, seq, NULL, &m) == ST_OK) {
            enum status st = ST_OK;
            if (hdr_find(msg_hdr(m), m->hdr_len, "Nats-Msg-Id", &id, &n) && n > 0) {
                st = dedupe_add(s->dedupe, id, n, seq, m->ts);
            }
            if (seq == last) {
                mem_free(s->last_msg_id);
                s->last_msg_id = n > 0 ? mem_strndup(id, n) : NULL;
            }
            msg_unref(m);
            if (st != ST_OK) {
                return st;
            }
        }
        seq++;
    }
    if (dedupe_count(s->dedupe) > 0) {
        stream_tick_at(s, clock_after(js_now(s->js), s->cfg->duplicates));
    }
    return ST_OK;
}

static enum status
update_dedupe(struct stream *s)
{
    if (s->cfg->duplicates <= 0) {
        dedupe_free(s->dedupe);
        s->dedupe = NULL;
        return ST_OK;
    }
    if (s->dedupe != NULL) {
        dedupe_set_window(s->dedupe, s->cfg->duplicates);
        return ST_OK;
    }
    enum status st = dedupe_new(&s->dedupe, s->cfg->duplicates);
    return st == ST_OK ? fill_dedupe(s) : st;
}

/* ---- TTLs and schedules ---- */

static enum status
note_marked(struct stream *s, const struct msg *m)
{
    const char *v;
    size_t n;
    int64_t ttl;
    if (s->cfg->allow_msg_ttl && hdr_find(msg_hdr(m), m->hdr_len, "Nats-TTL", &v, &n) &&
        ttl_parse(v, n, &ttl) == ST_OK && ttl > 0) {
        enum status st = theap_push(&s->ttl, clock_after(m->ts, ttl * CLOCK_S), m->seq);
        if (st != ST_OK) {
            return st;
        }
    }
    return s->schedules != NULL ? schedules_load(s, m) : ST_OK;
}

static enum status
fill_marked(struct stream *s)
{
    uint64_t seq = mlog_first_seq(s->log);
    while ((seq = mlog_next(s->log, NULL, seq)) != 0) {
        const char *subject;
        uint32_t size;
        unsigned flags = 0;
        struct msg *m;
        if (mlog_peek(s->log, seq, &subject, &size, &flags) && (flags & MSG_MARKED) != 0 &&
            mlog_get(s->log, seq, NULL, &m) == ST_OK) {
            enum status st = note_marked(s, m);
            msg_unref(m);
            if (st != ST_OK) {
                return st;
            }
        }
        seq++;
    }
    stream_tick_at(s, js_now(s->js));
    return ST_OK;
}

static enum status
update_marked(struct stream *s)
{
    bool want_ttl = s->cfg->allow_msg_ttl && !s->has_ttl;
    bool want_schedules = s->cfg->allow_msg_schedules && s->schedules == NULL;
    if (want_schedules) {
        enum status st = schedules_new(&s->schedules);
        if (st != ST_OK) {
            return st;
        }
    }
    s->has_ttl = s->cfg->allow_msg_ttl;
    return want_ttl || want_schedules ? fill_marked(s) : ST_OK;
}

enum status
stream_features_update(struct stream *s)
{
    enum status st = make_transform(s->cfg->transform, &s->intake);
    if (st == ST_OK) {
        st = make_transform(s->cfg->republish, &s->republish);
    }
    if (st == ST_OK) {
        st = update_dedupe(s);
    }
    if (st == ST_OK) {
        st = update_marked(s);
    }
    if (st == ST_OK && s->cfg->max_age > 0) {
        stream_tick_at(s, js_now(s->js));
    }
    return st;
}

void
stream_features_fini(struct stream *s)
{
    struct list_node *it;
    transform_free(s->intake);
    transform_free(s->republish);
    dedupe_free(s->dedupe);
    theap_fini(&s->ttl);
    schedules_free(s->schedules);
    ingest_batches_free(s->batches);
    mem_free(s->last_msg_id);
    while ((it = list_pop_front(&s->late_dups)) != NULL) {
        mem_free(LIST_ENTRY(it, struct put, late));
    }
}

enum status
stream_features_reset(struct stream *s)
{
    s->intake = s->republish = NULL;
    s->dedupe = NULL;
    s->schedules = NULL;
    s->batches = NULL;
    s->last_msg_id = NULL;
    s->has_ttl = false;
    return stream_features_update(s);
}

/* ---- time ---- */

static bool
is_marker(const struct msg *m)
{
    const char *v;
    size_t n;
    return hdr_find(msg_hdr(m), m->hdr_len, "Nats-Marker-Reason", &v, &n) ||
           (hdr_find(msg_hdr(m), m->hdr_len, "KV-Operation", &v, &n) && n == 5 &&
            memcmp(v, "PURGE", 5) == 0);
}

static bool
never_ends(const struct msg *m)
{
    const char *v;
    size_t n;
    int64_t ttl;
    return hdr_find(msg_hdr(m), m->hdr_len, "Nats-TTL", &v, &n) && ttl_parse(v, n, &ttl) == ST_OK &&
           ttl < 0;
}

/* The last message of its subject is followed by a marker, which rolls it up. */
static enum status
put_marker(struct stream *s, const struct msg *m)
{
    char hdr[160], ttl[DURATION_TEXT];
    duration_text(s->cfg->subject_delete_marker_ttl / CLOCK_S * CLOCK_S, ttl);
    int n = snprintf(hdr, sizeof hdr,
                     "NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\nNats-TTL: %s\r\n"
                     "Nats-Rollup: sub\r\n\r\n",
                     ttl);
    struct pub p = {.subject = msg_subject(m),
                    .subject_len = m->subject_len,
                    .hdr = hdr,
                    .hdr_len = (size_t)n,
                    .data = "",
                    .reply = "",
                    .inner = true};
    struct js_fail f = {0};
    enum js_error e = ingest_one(s, &p, &f);
    pub_fini(&p);
    return e == JS_OK ? ST_OK : ST_NOMEM;
}

/* One message's time is over. */
static enum status
expire_one(struct stream *s, uint64_t seq)
{
    struct msg *m;
    struct mlog_subject ms;
    if (s->cfg->subject_delete_marker_ttl <= 0) {
        return stream_remove(s, seq);
    }
    enum status st = mlog_get(s->log, seq, NULL, &m);
    if (st != ST_OK) {
        return st;
    }
    bool last = mlog_subject(s->log, msg_subject(m), m->subject_len, &ms) && ms.last == seq;
    if (!last || is_marker(m)) {
        st = stream_remove(s, seq);
    } else {
        st = put_marker(s, m);
    }
    msg_unref(m);
    return st;
}

/* Messages may live longer than the stream's age says, or leave a marker: one by one. */
static int64_t
expire_each(struct stream *s, int64_t now)
{
    uint64_t seq = mlog_first_seq(s->log), committed = mlog_committed(s->log);
    unsigned n = 0;
    while ((seq = mlog_next(s->log, NULL, seq)) != 0 && seq <= committed) {
        struct msg *m;
        if (n++ == EXPIRE_SLICE) {
            return now;
        }
        if (mlog_get(s->log, seq, NULL, &m) == ST_OK) {
            int64_t at = clock_after(m->ts, s->cfg->max_age);
            bool keep = never_ends(m);
            msg_unref(m);
            if (!keep && at > now) {
                return at;
            }
            if (!keep && expire_one(s, seq) != ST_OK) {
                return now + CLOCK_S;
            }
        }
        seq++;
    }
    return INT64_MAX;
}

static int64_t
expire_age(struct stream *s, int64_t now)
{
    struct mlog_state state;
    uint64_t n;
    mlog_state(s->log, &state);
    if (s->cfg->max_age <= 0 || state.msgs == 0) {
        return INT64_MAX;
    }
    if (clock_after(state.first_ts, s->cfg->max_age) > now) {
        return clock_after(state.first_ts, s->cfg->max_age);
    }
    if (s->cfg->allow_msg_ttl) {
        return expire_each(s, now);
    }
    uint64_t keep = mlog_seq_at(s->log, now - s->cfg->max_age + 1);
    uint64_t end = mlog_committed(s->log) + 1;
    if (stream_drop_before(s, keep < end ? keep : end, &n) != ST_OK) {
        return now + CLOCK_S;
    }
    mlog_state(s->log, &state);
    return state.msgs > 0 ? clock_after(state.first_ts, s->cfg->max_age) : INT64_MAX;
}

static int64_t
expire_ttl(struct stream *s, int64_t now)
{
    struct theap_entry e;
    for (unsigned n = 0; n < EXPIRE_SLICE && theap_pop(&s->ttl, now, &e); n++) {
        enum status st = expire_one(s, e.seq);
        if (st != ST_OK && st != ST_NOTFOUND) {
            return theap_push(&s->ttl, now + CLOCK_S, e.seq) == ST_OK ? now + CLOCK_S : now;
        }
    }
    return theap_next(&s->ttl);
}

static int64_t
earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t
stream_expire(struct stream *s, int64_t now)
{
    int64_t next = expire_age(s, now);
    next = earlier(next, expire_ttl(s, now));
    if (s->dedupe != NULL) {
        next = earlier(next, dedupe_expire(s->dedupe, now));
    }
    if (s->schedules != NULL) {
        next = earlier(next, schedules_run(s, now));
    }
    if (s->batches != NULL) {
        next = earlier(next, ingest_batches_expire(s, now));
    }
    return next;
}
