/* SPDX-License-Identifier: Apache-2.0 */
/* A turn of a feed: messages of the origin are taken under its lock, a handful at a time, and then
 * ingested under the taker's. Its place is what the taker has: it is not stored anywhere else, and
 * where a write failed it is looked up again. */
#include "stream/stream_feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/consumer_priv.h"
#include "stream/hdr.h"
#include "stream/ingest_priv.h"
#include "stream/stream_inner.h"
#include "stream/stream_priv.h"
#include "stream/transforms.h"

enum { TURN_MSGS = 256, TURN_BYTES = 1 << 20, MAX_WAITING = 8192 };

struct feed *
feed_ref(struct feed *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void
feed_wake(struct feed *f, int64_t in)
{
    feed_ref(f);
    if (!js_timer_set_earlier(f->to->js->timers, &f->timer, js_now(f->to->js) + in)) {
        feed_unref(f);
    }
}

void
feed_end(struct feed *f)
{
    struct stream *to = f->to;
    stream_lock(to);
    f->ended = true;
    struct stream *origin = f->origin;
    f->origin = NULL;
    stream_unlock(to);
    if (origin != NULL) {
        stream_links_remove(origin, f);
        stream_unref(origin);
    }
    if (js_timer_cancel(to->js->timers, &f->timer)) {
        feed_unref(f);
    }
    feed_unref(f);
}

/* ---- where it is ---- */

static bool
tells_place(const struct feed *f, const struct msg *m, uint64_t *seq)
{
    const char *v;
    size_t n;
    char text[1024], name[300], filter[300], dest[300], orig[300], ident[16] = "";
    unsigned long long at;
    if (!hdr_find(msg_hdr(m), m->hdr_len, "Nats-Stream-Source", &v, &n) || n >= sizeof text) {
        return false;
    }
    memcpy(text, v, n);
    text[n] = '\0';
    int got = sscanf(text, "%299[^ ] %llu %299[^ ] %299[^ ] %299[^ ] %15s", name, &at, filter, dest,
                     orig, ident);
    char key[920];
    snprintf(key, sizeof key, "%s %s %s", name, filter, dest);
    if (got < 5 || strcmp(key, f->key) != 0 || (got == 6 && strcmp(ident, f->ident) != 0)) {
        return false;
    }
    *seq = at;
    return true;
}

/* The last sequence of the origin that the taker has; 0: none. Under the taker's lock. */
static uint64_t
last_taken(struct stream *to, const struct feed *f)
{
    uint64_t seq = mlog_last_seq(to->log), at;
    if (f->mirror) {
        return seq;
    }
    while (seq > 0 && (seq = mlog_prev(to->log, NULL, seq)) != 0) {
        const char *subject;
        uint32_t size;
        unsigned flags = 0;
        struct msg *m;
        if (mlog_peek(to->log, seq, &subject, &size, &flags) && (flags & MSG_HAS_HDR) != 0 &&
            mlog_get(to->log, seq, NULL, &m) == ST_OK) {
            bool found = tells_place(f, m, &at);
            msg_unref(m);
            if (found) {
                return at;
            }
        }
        seq--;
    }
    return 0;
}

/* Under the origin's lock. */
static uint64_t
first_wanted(const struct feed *f, struct stream *origin)
{
    if (f->start_seq == 0 && f->has_start_time) {
        return mlog_seq_at(origin->log, f->start_time);
    }
    return f->start_seq > 0 ? f->start_seq : 1;
}

/* A mirror has the sequences of its origin, also those of what it never gets. Where that fails the
 * next message brings the gap along. */
static void
skip_to(struct stream *to, uint64_t place)
{
    struct mlog_state state;
    uint64_t n;
    mlog_state(to->log, &state);
    enum status st =
        state.msgs == 0 ? stream_drop_before(to, place, &n) : mlog_skip_to(to->log, place);
    (void)st;
}

static void
find_place(struct feed *f, struct stream *origin)
{
    stream_lock(origin);
    uint64_t first = first_wanted(f, origin);
    uint64_t base = mlog_first_seq(origin->log);
    stream_unlock(origin);
    stream_lock(f->to);
    uint64_t last = last_taken(f->to, f);
    f->place = last > 0 ? last + 1 : first;
    f->seq = last;
    f->lost = false;
    f->took = 0;
    if (f->mirror) {
        f->place = base > f->place ? base : f->place;
        skip_to(f->to, f->place);
    }
    stream_unlock(f->to);
}

/* ---- a turn ---- */

struct turn {
    struct msg *v[TURN_MSGS]; /* a reference each */
    size_t n;
    uint64_t next; /* the place behind them */
    uint64_t end;  /* the origin's last that is committed */
    bool gone;     /* the origin is deleted */
};

static void
take_from(struct feed *f, struct stream *origin, uint64_t place, struct turn *t)
{
    size_t bytes = 0;
    t->next = place;
    stream_lock(origin);
    t->gone = origin->deleted;
    t->end = mlog_committed(origin->log);
    while (!t->gone && t->n < TURN_MSGS && bytes < TURN_BYTES) {
        uint64_t seq = mlog_next(origin->log, f->filter, t->next);
        if (seq == 0 || seq > t->end) {
            t->next = t->end >= t->next ? t->end + 1 : t->next;
            break;
        }
        if (mlog_get(origin->log, seq, f->cursor, &t->v[t->n]) != ST_OK) {
            break;
        }
        bytes += t->v[t->n]->hdr_len + t->v[t->n]->data_len;
        t->n++;
        t->next = seq + 1;
    }
    stream_unlock(origin);
}

static void
transform(const struct feed *f, const struct msg *m, struct buf *out)
{
    for (size_t i = 0; i < f->n_filters; i++) {
        const struct transform *t = f->transforms[i];
        if (t != NULL && transform_matches(t, msg_subject(m), m->subject_len)) {
            transform_apply(t, msg_subject(m), m->subject_len, out);
            return;
        }
    }
    buf_append(out, msg_subject(m), m->subject_len);
}

/* What was meant for the origin alone stays there. */
static void
mirror_headers(const struct msg *m, struct buf *out)
{
    struct buf a;
    buf_init(&a);
    hdr_copy_without_prefix(&a, msg_hdr(m), m->hdr_len, "Nats-Expected-");
    hdr_copy_without_prefix(out, a.data, a.len, "Nats-Batch-");
    out->failed |= a.failed;
    buf_fini(&a);
}

static void
source_headers(const struct feed *f, const struct msg *m, struct buf *out)
{
    char seq[24];
    struct buf a, v;
    buf_init(&a);
    buf_init(&v);
    mirror_headers(m, &a);
    hdr_copy_without(out, a.data, a.len, "Nats-Stream-Source");
    const char *rest = strchr(f->key, ' ');
    snprintf(seq, sizeof seq, " %" PRIu64, m->seq);
    buf_append(&v, f->key, (size_t)(rest - f->key));
    buf_puts(&v, seq);
    buf_puts(&v, rest);
    buf_putc(&v, ' ');
    buf_append(&v, msg_subject(m), m->subject_len);
    buf_putc(&v, ' ');
    buf_puts(&v, f->ident);
    hdr_add_n(out, "Nats-Stream-Source", v.data, v.len);
    out->failed |= a.failed || v.failed;
    buf_fini(&a);
    buf_fini(&v);
}

/* Under the taker's lock. */
static enum status
give_one(struct feed *f, const struct msg *m)
{
    struct buf subject, hdr;
    struct js_fail why = {0};
    if (f->mirror && m->seq <= mlog_last_seq(f->to->log)) {
        return ST_OK;
    }
    buf_init(&subject);
    buf_init(&hdr);
    transform(f, m, &subject);
    if (f->mirror) {
        mirror_headers(m, &hdr);
    } else {
        source_headers(f, m, &hdr);
    }
    struct pub p = {.subject = subject.data,
                    .subject_len = subject.len,
                    .hdr = hdr.data,
                    .hdr_len = hdr.len,
                    .data = msg_data(m),
                    .data_len = m->data_len,
                    .reply = "",
                    .inner = true,
                    .seq = f->mirror ? m->seq : 0,
                    .ts = f->mirror ? m->ts : 0};
    enum status st = subject.failed || hdr.failed ? ST_NOMEM : ST_OK;
    if (st == ST_OK && ingest_one(f->to, &p, &why) != JS_OK) {
        st = ST_AGAIN;
    }
    pub_fini(&p);
    buf_fini(&subject);
    buf_fini(&hdr);
    return st;
}

/* Returns when to look again, in ns; -1: when there is something new. */
static int64_t
give(struct feed *f, const struct turn *t)
{
    struct stream *to = f->to;
    int64_t again = -1;
    uint64_t waiting, bytes;
    stream_lock(to);
    mlog_backlog(to->log, &waiting, &bytes);
    if (f->ended || to->deleted || f->lost) {
        stream_unlock(to);
        return f->lost ? CLOCK_S : -1;
    }
    if (waiting > MAX_WAITING) {
        stream_unlock(to);
        return 5 * CLOCK_MS;
    }
    size_t i;
    for (i = 0; i < t->n; i++) {
        if (give_one(f, t->v[i]) != ST_OK) {
            again = CLOCK_S;
            break;
        }
        f->seq = t->v[i]->seq;
    }
    f->place = i < t->n ? t->v[i]->seq : t->next;
    f->lag = t->end >= f->place ? t->end - f->place + 1 : 0;
    f->heard = js_wall(to->js);
    f->took = f->place;
    f->stored = mlog_last_seq(to->log);
    if (again < 0 && f->lag > 0) {
        again = 0;
    }
    stream_unlock(to);
    return again;
}

/* True: nothing more waits for the taker's commit. */
static bool
release_taken(struct feed *f, struct stream *origin)
{
    stream_lock(f->to);
    bool committed = mlog_committed(f->to->log) >= f->stored && !f->lost;
    uint64_t took = f->took;
    stream_unlock(f->to);
    stream_lock(origin);
    uint64_t from = f->freed;
    bool done = from >= took;
    if (!done && committed) {
        f->freed = took;
        retention_release(origin, f->filter, from, took);
        done = true;
    }
    stream_unlock(origin);
    return done;
}

/* ---- the origin comes and goes ---- */

static void
identify(struct feed *f, const struct stream *origin)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t h = UINT64_C(14695981039346656037);
    for (int i = 0; i < 8; i++) {
        h = (h ^ (uint64_t)((origin->created >> (i * 8)) & 0xff)) * UINT64_C(1099511628211);
    }
    for (int i = 0; i < 8; i++) {
        f->ident[i] = digits[h % 62];
        h /= 62;
    }
}

static struct stream *
attach(struct feed *f)
{
    struct stream *origin =
        f->is_here ? js_account_stream(f->to->acc, f->name, strlen(f->name)) : NULL;
    stream_lock(f->to);
    f->missing = origin == NULL && f->is_here;
    stream_unlock(f->to);
    if (origin == NULL) {
        return NULL;
    }
    struct mfilter *filter = NULL;
    struct mcursor *cursor = NULL;
    enum status st = mfilter_new(&filter, (const char *const *)f->filters, f->n_filters);
    if (st == ST_OK) {
        st = mcursor_new(&cursor);
    }
    mfilter_free(f->filter);
    mcursor_free(f->cursor);
    f->filter = filter;
    f->cursor = cursor;
    if (st == ST_OK) {
        st = stream_links_add(origin, f);
    }
    if (st != ST_OK) {
        stream_unref(origin);
        return NULL;
    }
    identify(f, origin);
    stream_lock(f->to);
    bool ended = f->ended;
    if (!ended) {
        f->origin = stream_ref(origin);
    }
    stream_unlock(f->to);
    if (ended) {
        stream_links_remove(origin, f);
        stream_unref(origin);
        return NULL;
    }
    find_place(f, origin);
    return origin;
}

static void
detach(struct feed *f, struct stream *origin)
{
    stream_links_remove(origin, f);
    f->freed = 0;
    stream_lock(f->to);
    bool had = f->origin == origin;
    if (had) {
        f->origin = NULL;
    }
    stream_unlock(f->to);
    if (had) {
        stream_unref(origin);
    }
}

/* Takes and gives once. */
static void
take_turn(struct feed *f, struct stream *origin, struct turn *t)
{
    int64_t again = 0;
    take_from(f, origin, f->place, t);
    if (t->gone) {
        detach(f, origin);
    } else {
        again = give(f, t);
        if (!release_taken(f, origin) && again < 0) {
            again = 5 * CLOCK_MS;
        }
    }
    if (again >= 0) {
        feed_wake(f, again);
    }
    for (size_t i = 0; i < t->n; i++) {
        msg_unref(t->v[i]);
    }
}

static void
run(struct feed *f)
{
    stream_lock(f->to);
    bool ended = f->ended || f->to->deleted;
    struct stream *origin = f->origin != NULL ? stream_ref(f->origin) : NULL;
    bool lost = f->lost;
    stream_unlock(f->to);
    if (!ended && origin == NULL) {
        origin = attach(f);
    } else if (!ended && lost) {
        find_place(f, origin);
    }
    struct turn *t = mem_alloc(sizeof *t);
    if (t == NULL) {
        feed_wake(f, CLOCK_S);
    } else if (!ended && origin != NULL) {
        take_turn(f, origin, t);
    }
    mem_free(t);
    stream_unref(origin);
}

void
feed_on_timer(struct js_timer *timer)
{
    struct feed *f = LIST_ENTRY(timer, struct feed, timer);
    if (!js_is_stopping(f->to->js)) {
        run(f);
    }
    feed_unref(f);
}
