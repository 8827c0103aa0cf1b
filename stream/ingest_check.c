/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of one message, in nats-server's order. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "stream/consumer_text.h"
#include "stream/dedupe.h"
#include "stream/hdr.h"
#include "stream/ingest_priv.h"
#include "stream/stream_inner.h"

enum { MAX_HDR = 65535 };

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
is(const struct value *v, const char *text)
{
    return v->n == strlen(text) && memcmp(v->s, text, v->n) == 0;
}

/* As nats-server reads a sequence: what is no number is as the largest. */
static uint64_t
sequence(const struct value *v)
{
    uint64_t x = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (v->s[i] < '0' || v->s[i] > '9' || x > (uint64_t)INT64_MAX / 10) {
            return UINT64_MAX;
        }
        x = x * 10 + (uint64_t)(v->s[i] - '0');
    }
    return x;
}

enum status
ttl_parse(const char *v, size_t n, int64_t *out)
{
    int64_t ns;
    if (n == 5 && strncasecmp(v, "never", 5) == 0) {
        *out = -1;
        return ST_OK;
    }
    struct value plain = {v, n};
    uint64_t x = sequence(&plain);
    if (x <= INT64_MAX) {
        /* "0" is a duration to Go, and too short; so is no other number without a unit. */
        *out = x < INT64_MAX / CLOCK_S ? (int64_t)x : -1;
        return x == 0 ? ST_INVAL : ST_OK;
    }
    if (duration_parse(v, n, &ns) != ST_OK || ns < CLOCK_S) {
        return ST_INVAL;
    }
    *out = ns / CLOCK_S;
    return ST_OK;
}

static bool
is_too_large(const struct stream *s, const struct pub *p)
{
    int64_t most = s->cfg->max_msg_size;
    return most >= 0 && p->hdr_len + p->data_len > (uint64_t)most;
}

static enum js_error
check_size(const struct stream *s, const struct pub *p, struct js_fail *f)
{
    if (is_too_large(s, p)) {
        return js_fail_plain(f, JS_ERR_STREAM_MESSAGE_EXCEEDS_MAXIMUM);
    }
    if (p->hdr_len > MAX_HDR) {
        return js_fail_plain(f, JS_ERR_STREAM_HEADER_EXCEEDS_MAXIMUM);
    }
    return JS_OK;
}

static enum js_error
check_incr(const struct stream *s, const struct pub *p, struct js_fail *f)
{
    static const char *const unfit[] = {"Nats-Rollup",
                                        "Nats-Expected-Stream",
                                        "Nats-Expected-Last-Msg-Id",
                                        "Nats-Expected-Last-Subject-Sequence-Subject",
                                        "Nats-Expected-Last-Sequence",
                                        "Nats-Expected-Last-Subject-Sequence"};
    struct value v;
    if (!find(p, "Nats-Incr", &v)) {
        return JS_OK;
    }
    size_t at = *v.s == '-' || *v.s == '+' ? 1 : 0;
    bool number = at < v.n;
    for (size_t i = at; i < v.n && number; i++) {
        number = v.s[i] >= '0' && v.s[i] <= '9';
    }
    if (!number) {
        return js_fail_plain(f, JS_ERR_MESSAGE_INCR_INVALID);
    }
    if (!s->cfg->allow_msg_counter) {
        return js_fail_plain(f, JS_ERR_MESSAGE_INCR_DISABLED);
    }
    if (p->data_len > 0) {
        return js_fail_plain(f, JS_ERR_MESSAGE_INCR_PAYLOAD);
    }
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        if (find(p, unfit[i], &v)) {
            return js_fail_plain(f, JS_ERR_MESSAGE_INCR_INVALID);
        }
    }
    return JS_OK;
}

static enum js_error
check_last_of_subject(struct stream *s, const struct pub *p, struct js_fail *f)
{
    struct value want, subject;
    bool other = find(p, "Nats-Expected-Last-Subject-Sequence-Subject", &subject);
    if (!find(p, "Nats-Expected-Last-Subject-Sequence", &want)) {
        return other ? js_fail_plain(f, JS_ERR_STREAM_EXPECTED_LAST_SEQ_PER_SUBJECT_INVALID)
                     : JS_OK;
    }
    if (!other) {
        subject = (struct value){p->subject, p->subject_len};
    }
    uint64_t last = 0;
    char text[512];
    if (subject.n < sizeof text) {
        memcpy(text, subject.s, subject.n);
        text[subject.n] = '\0';
        enum status st = stream_last_seq(s, text, subject.n, &last);
        if (st != ST_OK && st != ST_NOTFOUND) {
            return js_fail_status(f, st);
        }
    }
    return last == sequence(&want) ? JS_OK
                                   : js_fail_num(f, JS_ERR_STREAM_WRONG_LAST_SEQUENCE, last);
}

static enum js_error
check_expected(struct stream *s, const struct pub *p, struct js_fail *f)
{
    struct value v;
    int64_t ttl = 0;
    if (find(p, "Nats-Expected-Stream", &v) && !is(&v, s->name)) {
        return js_fail_plain(f, JS_ERR_STREAM_NOT_MATCH);
    }
    if (find(p, "Nats-TTL", &v) && !s->cfg->allow_msg_ttl && ttl_parse(v.s, v.n, &ttl) == ST_OK &&
        ttl != 0) {
        return js_fail_plain(f, JS_ERR_MESSAGE_TTL_DISABLED);
    }
    enum js_error e = check_last_of_subject(s, p, f);
    if (e != JS_OK) {
        return e;
    }
    uint64_t last = mlog_last_seq(s->log);
    if (find(p, "Nats-Expected-Last-Sequence", &v) && sequence(&v) != last) {
        return js_fail_num(f, JS_ERR_STREAM_WRONG_LAST_SEQUENCE, last);
    }
    e = ingest_check_schedule(s, (struct pub *)(uintptr_t)p, f);
    if (e == JS_OK && find(p, "Nats-Stream-Source", &v)) {
        return js_fail_plain(f, JS_ERR_MESSAGE_SOURCE_HDR_NOT_ALLOWED);
    }
    return e;
}

static enum js_error
check_ids(struct stream *s, struct pub *p, struct js_fail *f)
{
    struct value v;
    if (find(p, "Nats-Msg-Id", &v)) {
        p->msg_id = v.s;
        p->msg_id_len = v.n;
        if (s->dedupe != NULL && s->cfg->mirror == NULL && !p->in_batch) {
            p->dup_seq = dedupe_find(s->dedupe, v.s, v.n, js_wall(s->js));
            if (p->dup_seq > 0) {
                return JS_OK;
            }
        }
    }
    if (!p->inner && find(p, "Nats-Expected-Last-Msg-Id", &v)) {
        const char *last = s->last_msg_id != NULL ? s->last_msg_id : "";
        if (!is(&v, last)) {
            return js_fail_text(f, JS_ERR_STREAM_WRONG_LAST_MSG_ID, last);
        }
    }
    return JS_OK;
}

static enum js_error
check_rollup(const struct stream *s, struct pub *p, struct js_fail *f)
{
    struct value v;
    if (!find(p, "Nats-Rollup", &v)) {
        return JS_OK;
    }
    bool allowed = s->cfg->allow_rollup && !s->cfg->deny_purge;
    if (!allowed && !p->inner) {
        return js_fail_text(f, JS_ERR_STREAM_ROLLUP_FAILED, "rollup not permitted");
    }
    p->rollup_subject = v.n == 3 && strncasecmp(v.s, "sub", 3) == 0;
    p->rollup_all = v.n == 3 && strncasecmp(v.s, "all", 3) == 0;
    if (!p->rollup_subject && !p->rollup_all && !p->inner) {
        char text[128];
        snprintf(text, sizeof text, "rollup value invalid: \"%.*s\"", (int)(v.n < 64 ? v.n : 64),
                 v.s);
        for (char *c = text + 22; *c != '\0'; c++) {
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
        }
        return js_fail_text(f, JS_ERR_STREAM_ROLLUP_FAILED, text);
    }
    if (!allowed) {
        p->rollup_subject = p->rollup_all = false;
    }
    return JS_OK;
}

/* A TTL below that of delete markers is raised to it, or a marker could be missed. */
static enum js_error
check_ttl(const struct stream *s, struct pub *p, struct js_fail *f)
{
    struct value v;
    if (!find(p, "Nats-TTL", &v)) {
        return JS_OK;
    }
    if (ttl_parse(v.s, v.n, &p->ttl) != ST_OK) {
        return p->inner ? JS_OK : js_fail_plain(f, JS_ERR_MESSAGE_TTL_INVALID);
    }
    int64_t least = s->cfg->subject_delete_marker_ttl / CLOCK_S;
    if (p->ttl > 0 && p->ttl < least && s->cfg->max_msgs_per != 1) {
        char text[24];
        struct buf b;
        buf_init(&b);
        snprintf(text, sizeof text, "%" PRId64, least);
        hdr_copy_without(&b, p->hdr, p->hdr_len, "Nats-TTL");
        hdr_add(&b, "Nats-TTL", text);
        if (buf_status(&b) != ST_OK) {
            buf_fini(&b);
            return js_fail_status(f, ST_NOMEM);
        }
        pub_set_hdr(p, &b);
        p->ttl = least;
    }
    if (!s->cfg->allow_msg_ttl) {
        p->ttl = 0;
    }
    return JS_OK;
}

/* msg_id points into the block: it is found again in the new one. */
void
pub_set_hdr(struct pub *p, struct buf *b)
{
    struct value v;
    buf_fini(&p->new_hdr);
    p->new_hdr = *b;
    buf_init(b);
    p->hdr = p->new_hdr.data;
    p->hdr_len = p->new_hdr.len;
    if (p->msg_id != NULL && find(p, "Nats-Msg-Id", &v)) {
        p->msg_id = v.s;
    }
}

static enum js_error
drop_client_info(struct pub *p, struct js_fail *f)
{
    struct value v;
    if (!find(p, "Nats-Request-Info", &v)) {
        return JS_OK;
    }
    struct buf b;
    buf_init(&b);
    hdr_copy_without(&b, p->hdr, p->hdr_len, "Nats-Request-Info");
    if (buf_status(&b) != ST_OK) {
        buf_fini(&b);
        return js_fail_status(f, ST_NOMEM);
    }
    pub_set_hdr(p, &b);
    return JS_OK;
}

static enum js_error
check_headers(struct stream *s, struct pub *p, struct js_fail *f)
{
    enum js_error e = JS_OK;
    if (!p->inner) {
        e = check_incr(s, p, f);
        if (e == JS_OK) {
            e = check_expected(s, p, f);
        }
    }
    if (e == JS_OK) {
        e = check_ids(s, p, f);
    }
    if (e != JS_OK || p->dup_seq > 0) {
        return e;
    }
    return check_rollup(s, p, f);
}

enum js_error
ingest_check(struct stream *s, struct pub *p, struct js_fail *f)
{
    if (s->cfg->sealed && !p->inner) {
        return js_fail_plain(f, JS_ERR_STREAM_SEALED);
    }
    enum js_error e = drop_client_info(p, f);
    if (e == JS_OK) {
        e = check_size(s, p, f);
    }
    if (e == JS_OK && p->hdr_len > 0) {
        e = check_headers(s, p, f);
    }
    if (e != JS_OK || p->dup_seq > 0) {
        return e;
    }
    if (s->cfg->allow_msg_counter) {
        e = ingest_count(s, p, f);
        if (e == JS_OK) {
            e = check_size(s, p, f);
        }
    }
    if (e == JS_OK && p->hdr_len > 0) {
        e = check_ttl(s, p, f);
    }
    return e;
}
