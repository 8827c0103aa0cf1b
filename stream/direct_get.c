/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/direct_get.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/mem.h"
#include "stream/hdr.h"
#include "stream/jtidy.h"
#include "stream/rfc3339.h"
#include "stream/stream_inner.h"
#include "stream/stream_priv.h"

enum { MAX_MULTI = 1024, DEFAULT_MAX_BYTES = 64 << 20, API_LEVEL = 5 };

struct request {
    uint64_t seq, up_to_seq;
    const char *last_for, *next_for; /* borrowed from json, or the request's subject; NULL: none */
    json_t *multi;                   /* borrowed from json, or NULL */
    int64_t batch, max_bytes, start_time, up_to_time;
    bool has_start_time, has_up_to_time, no_headers;
    json_t *json; /* owned or NULL */
};

struct answer {
    struct stream *s; /* borrowed */
    uint32_t loop;
    const char *reply; /* borrowed */
    uint64_t pending, last;
    uint64_t sent_bytes;
};

static void
send_status(const struct answer *a, const char *status)
{
    struct js_out *o;
    struct js_out_spec spec = {.account = a->s->acc->acc,
                               .loop = a->loop,
                               .to = a->reply,
                               .hdr = status,
                               .hdr_len = strlen(status)};
    if (js_out_new(&o, &spec) == ST_OK) {
        stream_emit(a->s, o);
    }
}

/* ---- the request ---- */

static bool
read_u64(const json_t *o, const char *key, uint64_t *out)
{
    const json_t *v = json_object_get(o, key);
    return v == NULL || json_is_null(v) || jtidy_uint(v, out);
}

static bool
read_int(const json_t *o, const char *key, int64_t *out)
{
    const json_t *v = json_object_get(o, key);
    return v == NULL || json_is_null(v) || jtidy_int(v, out);
}

static bool
read_bool(const json_t *o, const char *key, bool *out)
{
    const json_t *v = json_object_get(o, key);
    *out = json_is_true(v);
    return v == NULL || json_is_null(v) || json_is_boolean(v);
}

/* A text, and not a number that jtidy has written as one. */
static bool
is_text(const json_t *v)
{
    return json_is_string(v) && jtidy_number(v) == NULL;
}

static bool
read_str(const json_t *o, const char *key, const char **out)
{
    const json_t *v = json_object_get(o, key);
    *out = json_string_length(v) > 0 ? json_string_value(v) : NULL;
    return v == NULL || json_is_null(v) || is_text(v);
}

static bool
read_time(const json_t *o, const char *key, int64_t *out, bool *has)
{
    const json_t *v = json_object_get(o, key);
    *has = v != NULL && !json_is_null(v);
    return !*has || (json_is_string(v) &&
                     rfc3339_parse(json_string_value(v), json_string_length(v), out) == ST_OK);
}

static bool
read_multi(const json_t *o, json_t **out)
{
    json_t *v = json_object_get(o, "multi_last");
    size_t i;
    const json_t *e;
    json_array_foreach(v, i, e)
    {
        if (!is_text(e)) {
            return false;
        }
    }
    *out = json_array_size(v) > 0 ? v : NULL;
    return v == NULL || json_is_null(v) || json_is_array(v);
}

static bool
is_folded(const json_t *o)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        if (strpbrk(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL) {
            return false;
        }
    }
    return true;
}

/* The same with names in lower case: Go finds them in any. Takes o. NULL without memory. */
static json_t *
fold(json_t *o)
{
    const char *key;
    json_t *v, *out = json_object();
    json_object_foreach(o, key, v)
    {
        char name[64];
        size_t n = 0;
        for (; key[n] != '\0' && n + 1 < sizeof name; n++) {
            name[n] = key[n] >= 'A' && key[n] <= 'Z' ? (char)(key[n] - 'A' + 'a') : key[n];
        }
        name[n] = '\0';
        if (json_object_set(out, name, v) != 0) {
            json_decref(out);
            out = NULL;
        }
    }
    json_decref(o);
    return out;
}

static bool
read_request(struct request *r, const struct js_in *in)
{
    r->json = jtidy_load(in->data, in->data_len, JSON_DECODE_ANY, NULL);
    if (json_is_null(r->json)) {
        return true;
    }
    if (!is_folded(r->json)) {
        r->json = fold(r->json);
    }
    const json_t *o = r->json;
    return json_is_object(o) && read_bool(o, "no_hdr", &r->no_headers) &&
           read_u64(o, "seq", &r->seq) && read_u64(o, "up_to_seq", &r->up_to_seq) &&
           read_str(o, "last_by_subj", &r->last_for) && read_str(o, "next_by_subj", &r->next_for) &&
           read_multi(o, &r->multi) && read_int(o, "batch", &r->batch) &&
           read_int(o, "max_bytes", &r->max_bytes) &&
           read_time(o, "start_time", &r->start_time, &r->has_start_time) &&
           read_time(o, "up_to_time", &r->up_to_time, &r->has_up_to_time);
}

static bool
is_empty(const struct request *r)
{
    return r->seq == 0 && r->last_for == NULL && r->next_for == NULL && r->multi == NULL &&
           !r->has_start_time;
}

static bool
is_contradictory(const struct request *r)
{
    bool last = r->last_for != NULL, next = r->next_for != NULL, multi = r->multi != NULL;
    return (r->seq > 0 && last) || (r->seq > 0 && r->has_start_time) ||
           (r->has_start_time && last) || (last && next) || (last && r->batch > 0) ||
           (last && multi) || (next && multi) || (r->up_to_seq > 0 && r->has_up_to_time);
}

/* The subject behind "….DIRECT.GET.<stream>."; NULL: none there. */
static const char *
key_of(const struct js_in *in)
{
    const char *get = strstr(in->subject, ".DIRECT.GET.");
    const char *dot = get != NULL ? strchr(get + strlen(".DIRECT.GET."), '.') : NULL;
    return dot != NULL ? dot + 1 : NULL;
}

/* NULL: fine; else the status. */
static const char *
parse(struct request *r, const struct js_in *in)
{
    unsigned long long level;
    const char *v;
    size_t n;
    if (hdr_find(in->hdr, in->hdr_len, "Nats-Required-Api-Level", &v, &n) && n > 0 &&
        (hdr_u64(in->hdr, in->hdr_len, "Nats-Required-Api-Level", &level) != ST_OK ||
         level > API_LEVEL)) {
        return "NATS/1.0 412 Required Api Level\r\n\r\n";
    }
    const char *key = key_of(in);
    if (in->data_len == 0 && key == NULL) {
        return "NATS/1.0 408 Empty Request\r\n\r\n";
    }
    if (in->data_len > 0 && !read_request(r, in)) {
        return "NATS/1.0 408 Malformed Request\r\n\r\n";
    }
    if (key != NULL) {
        if (*key == '\0' || !is_empty(r) || r->batch != 0 || r->up_to_seq != 0 ||
            r->has_up_to_time) {
            return "NATS/1.0 408 Bad Request\r\n\r\n";
        }
        r->last_for = key;
        return NULL;
    }
    if (is_empty(r)) {
        return "NATS/1.0 408 Empty Request\r\n\r\n";
    }
    return is_contradictory(r) ? "NATS/1.0 408 Bad Request\r\n\r\n" : NULL;
}

/* ---- messages ---- */

static void
add_u64(struct buf *b, const char *name, uint64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, v);
    hdr_add(b, name, text);
}

static void
send_msg(struct answer *a, struct msg *m, bool no_headers, bool counts)
{
    struct buf b;
    char ts[40];
    buf_init(&b);
    if (!no_headers) {
        buf_append(&b, msg_hdr(m), m->hdr_len);
        hdr_add(&b, "Nats-Stream", a->s->name);
        hdr_add_n(&b, "Nats-Subject", msg_subject(m), m->subject_len);
        add_u64(&b, "Nats-Sequence", m->seq);
        hdr_add(&b, "Nats-Time-Stamp", rfc3339_format(m->ts, ts));
        if (counts) {
            add_u64(&b, "Nats-Num-Pending", a->pending);
            add_u64(&b, "Nats-Last-Sequence", a->last);
        }
    }
    struct js_out_spec spec = {.account = a->s->acc->acc,
                               .loop = a->loop,
                               .to = a->reply,
                               .hdr = b.data,
                               .hdr_len = b.len,
                               .data = msg_data(m),
                               .data_len = m->data_len};
    struct js_out *o;
    if (buf_status(&b) == ST_OK && js_out_new(&o, &spec) == ST_OK) {
        stream_emit(a->s, o);
    }
    buf_fini(&b);
    a->last = m->seq;
    a->sent_bytes += m->subject_len + m->hdr_len + m->data_len;
}

static void
send_end(const struct answer *a, uint64_t up_to)
{
    char text[160];
    int n = snprintf(text, sizeof text,
                     "NATS/1.0 204 EOB\r\nNats-Num-Pending: %" PRIu64
                     "\r\nNats-Last-Sequence: %" PRIu64 "\r\n",
                     a->pending, a->last);
    if (up_to > 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, "Nats-UpTo-Sequence: %" PRIu64 "\r\n",
                      up_to);
    }
    snprintf(text + n, sizeof text - (size_t)n, "\r\n");
    send_status(a, text);
}

static uint64_t
most_bytes(const struct request *r)
{
    return r->max_bytes > 0 ? (uint64_t)r->max_bytes : DEFAULT_MAX_BYTES;
}

/* ---- multi_last ---- */

static int
ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct lasts {
    struct stream *s; /* borrowed */
    uint64_t up_to, from;
    uint64_t v[MAX_MULTI + 1];
    size_t n;
    size_t found; /* those below `from` too */
};

static bool
add_last(void *arg, const struct mlog_subject *ms)
{
    struct lasts *l = arg;
    uint64_t seq = ms->last;
    if (ms->first > l->up_to) {
        return true;
    }
    if (seq > l->up_to) {
        struct mfilter *one;
        char *name = mem_strndup(ms->subject, ms->len);
        const char *subject = name;
        seq = 0;
        if (name != NULL && mfilter_new(&one, &subject, 1) == ST_OK) {
            seq = mlog_prev(l->s->log, one, l->up_to);
            mfilter_free(one);
        }
        mem_free(name);
    }
    l->found += seq > 0;
    if (seq > 0 && seq >= l->from) {
        l->v[l->n++] = seq;
    }
    return l->found <= MAX_MULTI;
}

static enum status
collect_lasts(struct lasts *l, const struct request *r)
{
    size_t n = json_array_size(r->multi);
    const char **subjects = mem_alloc_array(n, sizeof *subjects);
    struct mfilter *f;
    bool all = false;
    if (subjects == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        subjects[i] = json_string_value(json_array_get(r->multi, i));
        all |= strcmp(subjects[i], ">") == 0;
    }
    enum status st = mfilter_new(&f, subjects, all ? 0 : n);
    if (st == ST_OK) {
        mlog_each_subject(l->s->log, f, add_last, l);
        mfilter_free(f);
        qsort(l->v, l->n, sizeof *l->v, ascending);
    }
    mem_free(subjects);
    return st;
}

static void
get_multi(struct answer *a, const struct request *r)
{
    struct stream *s = a->s;
    uint64_t up_to = r->up_to_seq;
    if (r->has_up_to_time) {
        up_to = mlog_seq_at(s->log, r->up_to_time);
        if (up_to <= mlog_first_seq(s->log)) {
            send_status(a, "NATS/1.0 404 No Results\r\n\r\n");
            return;
        }
        up_to--;
    }
    uint64_t end = mlog_committed(s->log);
    up_to = up_to == 0 ? end : up_to;
    struct lasts *l = mem_alloc(sizeof *l);
    if (l == NULL) {
        return;
    }
    l->s = s;
    l->up_to = up_to < end ? up_to : end;
    l->from = r->seq;
    enum status st = collect_lasts(l, r);
    if (st != ST_OK) {
        send_status(a, "NATS/1.0 500 out of memory\r\n\r\n");
    } else if (l->found > MAX_MULTI) {
        send_status(a, "NATS/1.0 413 Too Many Results\r\n\r\n");
    } else if (l->found == 0) {
        send_status(a, "NATS/1.0 404 No Results\r\n\r\n");
    } else {
        a->pending = l->n;
        for (size_t i = 0; i < l->n; i++) {
            struct msg *m;
            if (mlog_get(s->log, l->v[i], NULL, &m) != ST_OK) {
                continue;
            }
            a->pending--;
            send_msg(a, m, false, true);
            msg_unref(m);
            if (a->sent_bytes >= most_bytes(r) || (r->batch > 0 && i + 1 >= (uint64_t)r->batch)) {
                break;
            }
        }
        send_end(a, up_to);
    }
    mem_free(l);
}

/* ---- one, or a batch ---- */

static void
get_last(struct answer *a, const struct request *r)
{
    struct msg *m;
    uint64_t seq;
    if (stream_last_visible(a->s, r->last_for, &seq) != ST_OK ||
        mlog_get(a->s->log, seq, NULL, &m) != ST_OK) {
        send_status(a, "NATS/1.0 404 Message Not Found\r\n\r\n");
        return;
    }
    send_msg(a, m, r->no_headers, false);
    msg_unref(m);
}

static void
get_batch(struct answer *a, const struct request *r, struct mfilter *f, uint64_t seq)
{
    struct stream *s = a->s;
    uint64_t end = mlog_committed(s->log);
    bool is_batch = r->batch != 0;
    int64_t batch = is_batch ? r->batch : 1;
    bool exact = !is_batch && r->next_for == NULL;
    if (is_batch) {
        a->pending = mlog_count(s->log, f, seq, end);
    }
    for (int64_t i = 0; i < batch; i++) {
        struct msg *m;
        uint64_t at = exact ? seq : mlog_next(s->log, f, seq);
        if (at == 0 || at > end || mlog_get(s->log, at, NULL, &m) != ST_OK) {
            if (i > 0) {
                break;
            }
            send_status(a, "NATS/1.0 404 Message Not Found\r\n\r\n");
            return;
        }
        a->pending -= a->pending > 0 ? 1 : 0;
        send_msg(a, m, r->no_headers, is_batch);
        msg_unref(m);
        seq = at + 1;
        if (a->sent_bytes >= most_bytes(r)) {
            break;
        }
    }
    if (is_batch) {
        send_end(a, 0);
    }
}

static void
get(struct answer *a, const struct request *r)
{
    struct mfilter *f;
    if (r->multi != NULL) {
        get_multi(a, r);
        return;
    }
    if (r->last_for != NULL) {
        get_last(a, r);
        return;
    }
    uint64_t seq = r->has_start_time ? mlog_seq_at(a->s->log, r->start_time) : r->seq;
    bool all = r->next_for == NULL || strcmp(r->next_for, ">") == 0;
    if (mfilter_new(&f, &r->next_for, all ? 0 : 1) != ST_OK) {
        return;
    }
    get_batch(a, r, f, seq);
    mfilter_free(f);
}

/* A mirror answers for its origin only where that is not here to do it itself. */
static bool
is_for_another(struct stream *s, const struct js_in *in)
{
    const char *get = strstr(in->subject, ".DIRECT.GET.");
    const char *name = get != NULL ? get + strlen(".DIRECT.GET.") : "";
    size_t n = strcspn(name, ".");
    if (n == strlen(s->name) && memcmp(name, s->name, n) == 0) {
        return false;
    }
    struct stream *o = js_account_stream(s->acc, name, n);
    if (o == NULL) {
        return false;
    }
    stream_lock(o);
    bool serves = o->cfg->allow_direct && !o->deleted;
    stream_unlock(o);
    stream_unref(o);
    return serves;
}

void
direct_get_receive(void *stream, const struct js_in *in)
{
    struct stream *s = stream;
    struct request r = {0};
    if (in->reply == NULL || *in->reply == '\0' || is_for_another(s, in)) {
        return;
    }
    struct answer a = {.s = s, .loop = in->loop, .reply = in->reply};
    const char *bad = parse(&r, in);
    stream_lock(s);
    if (!s->deleted) {
        if (bad != NULL) {
            send_status(&a, bad);
        } else {
            get(&a, &r);
        }
    }
    stream_unlock(s);
    json_decref(r.json);
}
