/* SPDX-License-Identifier: Apache-2.0 */
/* Counters: Nats-Incr is added to the subject's last value. What comes from a source brings its
 * total, which is remembered in Nats-Counter-Sources, so that only the difference counts. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/decimal.h"
#include "stream/hdr.h"
#include "stream/ingest_priv.h"
#include "stream/stream_inner.h"

struct count {
    struct buf value, incr; /* owned: the new total, what is added */
    json_t *sources;        /* owned or NULL */
};

static enum js_error
broken(struct js_fail *f)
{
    return js_fail_plain(f, JS_ERR_MESSAGE_COUNTER_BROKEN);
}

/* {"val":"N"} */
static bool
read_value(const char *data, size_t len, struct buf *out)
{
    json_t *o = json_loadb(data, len, 0, NULL);
    const char *v = json_string_value(json_object_get(o, "val"));
    bool ok = json_is_object(o);
    buf_reset(out);
    buf_puts(out, v != NULL && decimal_is_valid(v, strlen(v)) ? v : "0");
    json_decref(o);
    return ok;
}

static enum js_error
load(struct stream *s, const struct pub *p, struct count *c, struct js_fail *f)
{
    struct msg *m;
    enum status st = p->base != NULL ? ST_OK : stream_last_of(s, p->subject, p->subject_len, &m);
    if (st == ST_NOTFOUND) {
        buf_puts(&c->value, "0");
        return JS_OK;
    }
    if (st != ST_OK) {
        return js_fail_status(f, st);
    }
    if (p->base != NULL) {
        m = msg_ref(p->base);
    }
    const char *v;
    size_t n;
    bool ok = read_value(msg_data(m), m->data_len, &c->value);
    if (ok && hdr_find(msg_hdr(m), m->hdr_len, "Nats-Counter-Sources", &v, &n) && n > 0) {
        c->sources = json_loadb(v, n, 0, NULL);
        ok = json_is_object(c->sources);
    }
    msg_unref(m);
    return ok ? JS_OK : broken(f);
}

/* The k-th word of a header's value, copied. */
static char *
word(const char *v, size_t n, unsigned k)
{
    size_t at = 0;
    while (at < n) {
        const char *blank = memchr(v + at, ' ', n - at);
        size_t end = blank != NULL ? (size_t)(blank - v) : n;
        if (k-- == 0) {
            return mem_strndup(v + at, end - at);
        }
        at = end + 1;
    }
    return NULL;
}

/* incr becomes the source's total less what it was. */
static enum js_error
from_source(const struct pub *p, const char *src, size_t n, struct count *c, struct js_fail *f)
{
    enum js_error e = JS_OK;
    struct buf total;
    buf_init(&total);
    char *stream = word(src, n, 0);
    char *subject = word(src, n, 4);
    if (subject == NULL) {
        subject = mem_strndup(p->subject, p->subject_len);
    }
    if (stream == NULL || subject == NULL) {
        e = js_fail_status(f, ST_NOMEM);
    } else if (!read_value(p->data, p->data_len, &total)) {
        e = broken(f);
    } else {
        if (c->sources == NULL) {
            c->sources = json_object();
        }
        json_t *of = json_object_get(c->sources, stream);
        if (of == NULL) {
            of = json_object();
            json_object_set_new(c->sources, stream, of);
        }
        const char *before = json_string_value(json_object_get(of, subject));
        bool ok = before != NULL && decimal_is_valid(before, strlen(before));
        decimal_add(&c->incr, total.data, ok ? before : "0", true);
        if (json_object_set_new(of, subject, json_string(total.data)) != 0) {
            e = js_fail_status(f, ST_NOMEM);
        }
    }
    mem_free(stream);
    mem_free(subject);
    buf_fini(&total);
    return e;
}

static void
write_headers(const struct pub *p, const struct count *c, bool sourced, struct buf *out)
{
    struct buf a;
    buf_init(&a);
    if (sourced) {
        hdr_put(&a, p->hdr, p->hdr_len, "Nats-Incr", c->incr.data);
    } else {
        buf_append(&a, p->hdr, p->hdr_len);
    }
    size_t n = json_dumpb(c->sources, NULL, 0, JSON_COMPACT);
    char *text = mem_alloc_raw(n + 1);
    if (text != NULL) {
        json_dumpb(c->sources, text, n, JSON_COMPACT);
        text[n] = '\0';
        hdr_put(out, a.data, a.len, "Nats-Counter-Sources", text);
    }
    out->failed |= a.failed || text == NULL;
    mem_free(text);
    buf_fini(&a);
}

static enum js_error
finish(struct stream *s, struct pub *p, struct count *c, bool sourced, struct js_fail *f)
{
    struct buf sum, hdr;
    buf_init(&sum);
    buf_init(&hdr);
    decimal_add(&sum, c->value.data, c->incr.data, false);
    buf_reset(&p->new_data);
    buf_printf(&p->new_data, "{\"val\":\"%s\"}", sum.data);
    snprintf(p->tail, sizeof p->tail, ",\"val\":\"%.200s\"", sum.data);
    if (json_object_size(c->sources) > 0) {
        write_headers(p, c, sourced, &hdr);
    }
    bool ok = !sum.failed && !hdr.failed && buf_status(&p->new_data) == ST_OK;
    if (ok && hdr.len > 0) {
        pub_set_hdr(p, &hdr);
    }
    p->data = p->new_data.data;
    p->data_len = p->new_data.len;
    buf_fini(&sum);
    buf_fini(&hdr);
    if (!ok) {
        return js_fail_status(f, ST_NOMEM);
    }
    if (p->hdr_len + p->data_len > (uint64_t)s->js->host->max_payload) {
        return js_fail_plain(f, JS_ERR_STREAM_MESSAGE_EXCEEDS_MAXIMUM);
    }
    return JS_OK;
}

enum js_error
ingest_count(struct stream *s, struct pub *p, struct js_fail *f)
{
    const char *incr, *src;
    size_t n, sn;
    if (!hdr_find(p->hdr, p->hdr_len, "Nats-Incr", &incr, &n) || n == 0) {
        return js_fail_plain(f, JS_ERR_MESSAGE_INCR_MISSING);
    }
    struct count c = {.sources = NULL};
    buf_init(&c.value);
    buf_init(&c.incr);
    buf_append(&c.incr, incr, n);
    enum js_error e = load(s, p, &c, f);
    bool sourced = hdr_find(p->hdr, p->hdr_len, "Nats-Stream-Source", &src, &sn) && sn > 0;
    if (e == JS_OK && sourced) {
        e = from_source(p, src, sn, &c, f);
    }
    if (e == JS_OK) {
        e = finish(s, p, &c, sourced, f);
    }
    json_decref(c.sources);
    buf_fini(&c.value);
    buf_fini(&c.incr);
    return e;
}
