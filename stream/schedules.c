/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/schedules.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/consumer_text.h"
#include "stream/cron.h"
#include "stream/hdr.h"
#include "stream/ingest_priv.h"
#include "stream/ntab.h"
#include "stream/rfc3339.h"
#include "stream/stream_inner.h"
#include "stream/theap.h"
#include "stream/tzone.h"

enum { RUN_SLICE = 1024 };

/* One subject's schedule: its message, and when it is due. */
struct entry {
    uint64_t seq;
    int64_t at;
    bool sent; /* and the next time is not known yet */
    size_t len;
    char subject[];
};

struct schedules {
    struct ntab by_subject; /* owned */
    struct theap due;       /* an entry holds if seq and at are those of its subject */
};

/* ---- patterns ---- */

static int64_t
round_to_second(int64_t ns)
{
    return (ns + CLOCK_S / 2) / CLOCK_S * CLOCK_S;
}

static bool
begins(const struct schedule_spec *p, const char *prefix)
{
    size_t n = strlen(prefix);
    return p->pattern_len > n && memcmp(p->pattern, prefix, n) == 0;
}

static enum status
next_interval(const struct schedule_spec *p, int64_t *at)
{
    int64_t every;
    size_t n = strlen("@every ");
    if (p->zone != NULL || duration_parse(p->pattern + n, p->pattern_len - n, &every) != ST_OK ||
        every < CLOCK_S) {
        return ST_SYNTAX;
    }
    *at = round_to_second(p->ts) + every;
    if (*at < p->now) {
        *at = round_to_second(p->now) + every;
    }
    return ST_OK;
}

static const char *
by_name(const struct schedule_spec *p)
{
    static const struct {
        const char *name, *pattern;
    } known[] = {{"@yearly", "0 0 0 1 1 *"},  {"@annually", "0 0 0 1 1 *"},
                 {"@monthly", "0 0 0 1 * *"}, {"@weekly", "0 0 0 * * 0"},
                 {"@daily", "0 0 0 * * *"},   {"@midnight", "0 0 0 * * *"},
                 {"@hourly", "0 0 * * * *"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) == p->pattern_len &&
            memcmp(known[i].name, p->pattern, p->pattern_len) == 0) {
            return known[i].pattern;
        }
    }
    return NULL;
}

static enum status
next_cron(const struct schedule_spec *p, int64_t *at)
{
    struct tzone *z = NULL;
    const char *named = by_name(p);
    const char *pattern = named != NULL ? named : p->pattern;
    size_t len = named != NULL ? strlen(named) : p->pattern_len;
    enum status st = p->zone != NULL ? tzone_load(&z, p->zone, p->zone_len) : ST_OK;
    int64_t t = 0;
    if (st == ST_OK) {
        st = cron_next(pattern, len, z, p->ts / CLOCK_S, &t);
    }
    if (st == ST_OK && t * CLOCK_S < p->now) {
        st = cron_next(pattern, len, z, round_to_second(p->now) / CLOCK_S, &t);
    }
    tzone_free(z);
    *at = t * CLOCK_S;
    return st;
}

enum status
schedule_next(const struct schedule_spec *p, int64_t *at, bool *repeats)
{
    *repeats = true;
    if (p->zone != NULL && p->zone_len == 0) {
        return ST_NOTFOUND;
    }
    if (begins(p, "@at ")) {
        *repeats = false;
        if (p->zone != NULL) {
            struct tzone *z;
            enum status st = tzone_load(&z, p->zone, p->zone_len);
            if (st == ST_OK) {
                tzone_free(z);
            }
            return st == ST_OK ? ST_SYNTAX : st;
        }
        return rfc3339_parse(p->pattern + 4, p->pattern_len - 4, at);
    }
    return begins(p, "@every ") ? next_interval(p, at) : next_cron(p, at);
}

/* ---- the set ---- */

enum status
schedules_new(struct schedules **out)
{
    *out = mem_alloc(sizeof **out);
    return *out != NULL ? ST_OK : ST_NOMEM;
}

void
schedules_free(struct schedules *v)
{
    if (v == NULL) {
        return;
    }
    size_t at = 0;
    void *e;
    while ((e = ntab_next(&v->by_subject, &at)) != NULL) {
        mem_free(e);
    }
    ntab_fini(&v->by_subject);
    theap_fini(&v->due);
    mem_free(v);
}

static void
forget(struct schedules *v, const char *subject, size_t len)
{
    mem_free(ntab_remove(&v->by_subject, subject, len));
}

static enum status
put(struct schedules *v, const char *subject, size_t len, uint64_t seq, int64_t at)
{
    forget(v, subject, len);
    struct entry *e = mem_alloc(sizeof *e + len + 1);
    if (e == NULL) {
        return ST_NOMEM;
    }
    e->seq = seq;
    e->at = at;
    e->len = len;
    memcpy(e->subject, subject, len);
    enum status st = theap_push(&v->due, at, seq);
    if (st == ST_OK) {
        st = ntab_put(&v->by_subject, e->subject, len, e);
    }
    if (st != ST_OK) {
        mem_free(e);
    }
    return st;
}

static enum status
postpone(struct schedules *v, const char *subject, size_t len, int64_t at)
{
    struct entry *e = ntab_get(&v->by_subject, subject, len);
    if (e == NULL) {
        return ST_OK;
    }
    e->at = at;
    e->sent = false;
    return theap_push(&v->due, at, e->seq);
}

/* The pattern of a block of headers, and its zone. */
static bool
spec_of(const char *hdr, size_t len, struct schedule_spec *p)
{
    p->zone = NULL;
    p->zone_len = 0;
    (void)hdr_find(hdr, len, "Nats-Schedule-Time-Zone", &p->zone, &p->zone_len);
    return hdr_find(hdr, len, "Nats-Schedule", &p->pattern, &p->pattern_len) && p->pattern_len > 0;
}

/* A message of `subject` with those headers has come. */
static enum status
note(struct stream *s, const struct pub *p, uint64_t seq, int64_t ts, int64_t *due)
{
    struct schedules *v = s->schedules;
    struct schedule_spec spec = {.ts = ts, .now = js_wall(s->js)};
    const char *who, *next;
    size_t wn, nn;
    bool repeats,
        by_scheduler = hdr_find(p->hdr, p->hdr_len, "Nats-Scheduler", &who, &wn) && wn > 0;
    enum status st = ST_OK;
    *due = INT64_MAX;
    if (spec_of(p->hdr, p->hdr_len, &spec) && schedule_next(&spec, due, &repeats) == ST_OK) {
        st = put(v, p->subject, p->subject_len, seq, *due);
    } else if (!by_scheduler) {
        *due = INT64_MAX;
        forget(v, p->subject, p->subject_len);
    }
    if (st == ST_OK && by_scheduler &&
        hdr_find(p->hdr, p->hdr_len, "Nats-Schedule-Next", &next, &nn) &&
        rfc3339_parse(next, nn, due) == ST_OK) {
        st = postpone(v, who, wn, *due);
    }
    return st;
}

void
schedules_note(struct stream *s, const struct pub *p, uint64_t seq)
{
    int64_t due, now = js_wall(s->js);
    if (note(s, p, seq, p->ts > 0 ? p->ts : now, &due) != ST_OK) {
        log_warn("JetStream: no memory for a schedule of stream '%s > %s'", s->acc->name, s->name);
    }
    if (due != INT64_MAX) {
        stream_tick_at(s, js_now(s->js) + (due > now ? due - now : 0));
    }
}

enum status
schedules_load(struct stream *s, const struct msg *m)
{
    int64_t due;
    struct pub p = {.subject = msg_subject(m),
                    .subject_len = m->subject_len,
                    .hdr = msg_hdr(m),
                    .hdr_len = m->hdr_len};
    return note(s, &p, m->seq, m->ts, &due);
}

/* ---- sending ---- */

static void
strip(struct buf *out, const struct msg *m)
{
    static const char *const prefixes[] = {"Nats-Schedule", "Nats-Expected-", NULL};
    static const char *const names[] = {"Nats-Msg-Id", "Nats-TTL", "Nats-Rollup", NULL};
    struct buf a;
    buf_init(&a);
    buf_append(&a, msg_hdr(m), m->hdr_len);
    for (int i = 0; prefixes[i] != NULL; i++) {
        buf_reset(out);
        hdr_copy_without_prefix(out, a.data, a.len, prefixes[i]);
        buf_reset(&a);
        buf_append(&a, out->data, out->len);
    }
    for (int i = 0; names[i] != NULL; i++) {
        buf_reset(out);
        hdr_copy_without(out, a.data, a.len, names[i]);
        buf_reset(&a);
        buf_append(&a, out->data, out->len);
    }
    out->failed |= a.failed;
    buf_fini(&a);
}

static void
copy_header(struct buf *out, const struct msg *m, const char *from, const char *to)
{
    const char *v;
    size_t n;
    if (hdr_find(msg_hdr(m), m->hdr_len, from, &v, &n) && n > 0) {
        hdr_add_n(out, to, v, n);
    }
}

/* What the schedule sends: its own content, or that of the last message of another subject. */
static enum status
content(struct stream *s, struct msg *m, struct msg **out)
{
    const char *v;
    size_t n;
    char subject[512];
    *out = NULL;
    if (hdr_find(msg_hdr(m), m->hdr_len, "Nats-Schedule-Source", &v, &n) && n > 0 &&
        n < sizeof subject) {
        memcpy(subject, v, n);
        subject[n] = '\0';
        enum status st = stream_last_of(s, subject, n, out);
        if (st != ST_OK && st != ST_NOTFOUND) {
            return st;
        }
    }
    if (*out == NULL) {
        *out = msg_ref(m);
    }
    return ST_OK;
}

static enum status
send_one(struct stream *s, struct msg *m, bool repeats, int64_t next)
{
    const char *target;
    size_t n;
    char to[512], ts[40];
    struct msg *what;
    if (!hdr_find(msg_hdr(m), m->hdr_len, "Nats-Schedule-Target", &target, &n) || n == 0 ||
        n >= sizeof to) {
        return ST_INVAL;
    }
    memcpy(to, target, n);
    to[n] = '\0';
    enum status st = content(s, m, &what);
    if (st != ST_OK) {
        return st;
    }
    struct buf hdr;
    buf_init(&hdr);
    strip(&hdr, what);
    hdr_add_n(&hdr, "Nats-Scheduler", msg_subject(m), m->subject_len);
    hdr_add(&hdr, "Nats-Schedule-Next", repeats ? rfc3339_format(next, ts) : "purge");
    copy_header(&hdr, m, "Nats-Schedule-TTL", "Nats-TTL");
    copy_header(&hdr, m, "Nats-Schedule-Rollup", "Nats-Rollup");
    struct pub p = {.subject = to,
                    .subject_len = n,
                    .hdr = hdr.data,
                    .hdr_len = hdr.len,
                    .data = msg_data(what),
                    .data_len = what->data_len,
                    .reply = "",
                    .inner = true};
    struct js_fail f = {0};
    st = buf_status(&hdr);
    if (st == ST_OK && ingest_one(s, &p, &f) != JS_OK) {
        st = ST_NOMEM;
    }
    pub_fini(&p);
    buf_fini(&hdr);
    msg_unref(what);
    return st;
}

static enum status
run_one(struct stream *s, const struct theap_entry *t, int64_t now)
{
    struct schedules *v = s->schedules;
    struct msg *m;
    enum status st = mlog_get(s->log, t->seq, NULL, &m);
    if (st != ST_OK) {
        return st;
    }
    struct entry *e = ntab_get(&v->by_subject, msg_subject(m), m->subject_len);
    struct schedule_spec spec = {.ts = t->at, .now = now};
    int64_t next = 0;
    bool repeats;
    if (e != NULL && e->seq == t->seq && e->at == t->at && !e->sent) {
        if (spec_of(msg_hdr(m), m->hdr_len, &spec) &&
            schedule_next(&spec, &next, &repeats) == ST_OK) {
            e->sent = true;
            st = send_one(s, m, repeats, next);
            e = ntab_get(&v->by_subject, msg_subject(m), m->subject_len);
            if (st == ST_NOMEM && e != NULL) {
                e->sent = false;
                st = theap_push(&v->due, e->at, e->seq);
            }
        } else {
            forget(v, msg_subject(m), m->subject_len);
        }
    }
    msg_unref(m);
    return st;
}

int64_t
schedules_run(struct stream *s, int64_t now)
{
    struct theap_entry t;
    for (unsigned n = 0; n < RUN_SLICE && theap_pop(&s->schedules->due, now, &t); n++) {
        enum status st = run_one(s, &t, now);
        if (st == ST_NOMEM || st == ST_IO) {
            return now + CLOCK_S;
        }
    }
    return theap_next(&s->schedules->due);
}
