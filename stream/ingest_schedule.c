/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a message with Nats-Schedule… headers, in nats-server's order. */
#include <string.h>
#include <strings.h>

#include "server/base/subject.h"
#include "stream/hdr.h"
#include "stream/ingest_priv.h"
#include "stream/schedules.h"
#include "stream/stream_inner.h"

struct value {
    const char *s; /* borrowed: in the headers */
    size_t n;
};

static bool
find(const struct pub *p, const char *name, struct value *v)
{
    v->s = NULL;
    v->n = 0;
    return hdr_find(p->hdr, p->hdr_len, name, &v->s, &v->n) && v->n > 0;
}

static bool
same(const struct value *v, const char *s, size_t n)
{
    return v->n == n && memcmp(v->s, s, n) == 0;
}

static bool
is_taken(const struct stream *s, const struct value *v)
{
    for (size_t i = 0; i < s->cfg->n_subjects; i++) {
        const char *p = s->cfg->subjects[i];
        if (subject_overlaps(p, strlen(p), v->s, v->n)) {
            return true;
        }
    }
    return false;
}

static enum js_error
check_target(const struct stream *s, const struct pub *p, struct js_fail *f)
{
    struct value target, source;
    bool any = find(p, "Nats-Schedule-Target", &target);
    if (!any || !subject_is_literal(target.s, target.n) ||
        same(&target, p->subject, p->subject_len)) {
        return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_TARGET_INVALID);
    }
    bool has_source = find(p, "Nats-Schedule-Source", &source);
    if (has_source &&
        (same(&source, target.s, target.n) || same(&source, p->subject, p->subject_len) ||
         !subject_is_literal(source.s, source.n))) {
        return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_SOURCE_INVALID);
    }
    if (!is_taken(s, &target)) {
        return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_TARGET_INVALID);
    }
    if (has_source && !is_taken(s, &source)) {
        return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_SOURCE_INVALID);
    }
    return JS_OK;
}

/* A schedule replaces the one before it. */
static enum js_error
add_rollup(struct pub *p, struct js_fail *f)
{
    struct value v;
    if (find(p, "Nats-Rollup", &v)) {
        return v.n == 3 && strncasecmp(v.s, "sub", 3) == 0
                   ? JS_OK
                   : js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_ROLLUP_INVALID);
    }
    struct buf b;
    buf_init(&b);
    buf_append(&b, p->hdr, p->hdr_len);
    hdr_add(&b, "Nats-Rollup", "sub");
    if (buf_status(&b) != ST_OK) {
        buf_fini(&b);
        return js_fail_status(f, ST_NOMEM);
    }
    pub_set_hdr(p, &b);
    return JS_OK;
}

static enum js_error
check_pattern(struct stream *s, struct pub *p, struct js_fail *f)
{
    struct value v;
    int64_t ttl;
    bool has_ttl = find(p, "Nats-Schedule-TTL", &v);
    if (has_ttl && ttl_parse(v.s, v.n, &ttl) != ST_OK) {
        return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_TTL_INVALID);
    }
    if (find(p, "Nats-Schedule-Rollup", &v) && !same(&v, "sub", 3)) {
        return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_ROLLUP_INVALID);
    }
    if (has_ttl && !s->cfg->allow_msg_ttl) {
        return js_fail_plain(f, JS_ERR_MESSAGE_TTL_DISABLED);
    }
    enum js_error e = check_target(s, p, f);
    return e == JS_OK ? add_rollup(p, f) : e;
}

/* Nats-Schedule-Next and Nats-Scheduler: a client may only end a schedule with them. */
static enum js_error
check_next(struct stream *s, const struct pub *p, struct js_fail *f)
{
    struct value next, who, v;
    bool has_who = find(p, "Nats-Scheduler", &who);
    if (!find(p, "Nats-Schedule-Next", &next)) {
        return has_who ? js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_SCHEDULER_INVALID) : JS_OK;
    }
    if (!same(&next, "purge", 5) || !has_who || same(&who, p->subject, p->subject_len) ||
        !subject_is_literal(who.s, who.n)) {
        return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_SCHEDULER_INVALID);
    }
    if (!s->cfg->allow_msg_schedules) {
        return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_DISABLED);
    }
    struct msg *m;
    char subject[512];
    if (who.n >= sizeof subject) {
        return JS_OK;
    }
    memcpy(subject, who.s, who.n);
    subject[who.n] = '\0';
    if (stream_last_of(s, subject, who.n, &m) != ST_OK) {
        return JS_OK;
    }
    struct pub other = {.hdr = msg_hdr(m), .hdr_len = m->hdr_len};
    bool is_schedule = find(&other, "Nats-Schedule", &v);
    msg_unref(m);
    return is_schedule ? JS_OK : js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_SCHEDULER_INVALID);
}

enum js_error
ingest_check_schedule(struct stream *s, struct pub *p, struct js_fail *f)
{
    struct value zone, pattern;
    bool has_zone = hdr_find(p->hdr, p->hdr_len, "Nats-Schedule-Time-Zone", &zone.s, &zone.n);
    bool has = find(p, "Nats-Schedule", &pattern);
    if (has || has_zone) {
        struct schedule_spec spec = {.pattern = has ? pattern.s : "",
                                     .pattern_len = has ? pattern.n : 0,
                                     .zone = has_zone ? zone.s : NULL,
                                     .zone_len = has_zone ? zone.n : 0,
                                     .ts = js_wall(s->js),
                                     .now = js_wall(s->js)};
        bool repeats;
        enum status st = schedule_next(&spec, &p->schedule_at, &repeats);
        if (has && !s->cfg->allow_msg_schedules) {
            return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_DISABLED);
        }
        if (st == ST_NOTFOUND) {
            return js_fail_plain(f, s->cfg->allow_msg_schedules
                                        ? JS_ERR_MESSAGE_SCHEDULES_TIME_ZONE_INVALID
                                        : JS_ERR_MESSAGE_SCHEDULES_DISABLED);
        }
        if (has && st != ST_OK) {
            return js_fail_plain(f, JS_ERR_MESSAGE_SCHEDULES_PATTERN_INVALID);
        }
    }
    if (has) {
        p->is_schedule = true;
        enum js_error e = check_pattern(s, p, f);
        if (e != JS_OK) {
            return e;
        }
    }
    return check_next(s, p, f);
}
