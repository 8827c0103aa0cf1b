/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/healthz.h"

#include <stdio.h>
#include <string.h>

#include "server/monitor/jput.h"
#include "server/monitor/vopts.h"
#include "server/server.h"
#include "stream/consumer.h"
#include "stream/js.h"
#include "stream/js_account.h"
#include "stream/stream.h"

enum { TEXT_LEN = 1024 };

/* What is asked, and what is wrong. On the stack. */
struct health {
    const char *account, *stream, *consumer; /* borrowed: of the request; "" */
    bool server_only;                        /* nothing of JetStream is looked at */
    int code;
    const char *status;  /* static */
    const char *type;    /* static */
    char text[TEXT_LEN]; /* "": healthy */
};

static void
fail(struct health *h, int code, const char *status, const char *type)
{
    h->code = code;
    h->status = status;
    h->type = type;
}

static void
check_server(struct server *s, struct health *h)
{
    if (h->account[0] == '\0' && h->stream[0] != '\0') {
        fail(h, 400, "error", "BAD_REQUEST");
        snprintf(h->text, TEXT_LEN, "\"account\" must not be empty when checking stream health");
    } else if (h->stream[0] == '\0' && h->consumer[0] != '\0') {
        fail(h, 400, "error", "BAD_REQUEST");
        snprintf(h->text, TEXT_LEN, "\"stream\" must not be empty when checking consumer health");
    } else if (server_port(s) <= 0 || server_is_lame_duck(s)) {
        fail(h, 500, "error", "CONNECTION");
        snprintf(h->text, TEXT_LEN, "failed to be ready for connections after 1ms: server");
    }
}

static void
check_consumer(struct stream *s, struct health *h)
{
    struct consumer *c = h->consumer[0] != '\0' ? consumer_find(s, h->consumer) : NULL;
    if (c == NULL && h->consumer[0] != '\0') {
        fail(h, 404, "unavailable", "CONSUMER");
        snprintf(h->text, TEXT_LEN,
                 "JetStream consumer \"%s\" not found for stream \"%s\" on account \"%s\"",
                 h->consumer, h->stream, h->account);
    }
    consumer_unref(c);
}

static void
check_stream(struct js_account *a, struct health *h)
{
    struct stream *s = h->stream[0] != '\0' ? stream_find(a, h->stream) : NULL;
    if (s != NULL) {
        check_consumer(s, h);
        stream_unref(s);
    } else if (h->stream[0] != '\0') {
        fail(h, 404, "unavailable", "STREAM");
        snprintf(h->text, TEXT_LEN, "JetStream stream \"%s\" not found on account \"%s\"",
                 h->stream, h->account);
    }
}

static void
check_jetstream(struct js *js, struct health *h)
{
    struct js_account *a = NULL;
    if (js == NULL || h->server_only || h->account[0] == '\0') {
        return;
    }
    while ((a = js_account_next(js, a)) != NULL && strcmp(a->name, h->account) != 0) {
    }
    if (a == NULL) {
        fail(h, 404, "unavailable", "ACCOUNT");
        snprintf(h->text, TEXT_LEN, "JetStream account \"%s\" not found", h->account);
    } else {
        check_stream(a, h);
    }
}

/* One store has the streams of all: what fails for one fails for each. */
static void
check_store(struct js *js, struct health *h)
{
    const char *why = js != NULL && !h->server_only ? js_trouble(js) : NULL;
    if (why != NULL) {
        fail(h, 503, "unavailable", "JETSTREAM");
        snprintf(h->text, TEXT_LEN, "JetStream store write error: %s", why);
    }
}

static void
put_details(struct jput *p, json_t *root, const struct health *h)
{
    json_t *e = jput_add_obj(p, jput_arr(p, root, "errors"));
    jput_str(p, e, "type", h->type);
    if (h->code == 404) {
        jput_str_opt(p, e, "account", h->account);
        jput_str_opt(p, e, "stream", strcmp(h->type, "ACCOUNT") != 0 ? h->stream : "");
        jput_str_opt(p, e, "consumer", strcmp(h->type, "CONSUMER") == 0 ? h->consumer : "");
    }
    jput_str(p, e, "error", h->text);
}

enum status
healthz_build(struct server *s, struct vopts *o, json_t **out)
{
    struct health h = {.code = 200, .status = "ok"};
    h.server_only = vopts_bool(o, "js-enabled");
    h.server_only |= vopts_bool(o, "js-enabled-only");
    h.server_only |= vopts_bool(o, "js-server-only");
    vopts_bool(o, "js-meta-only");
    h.account = vopts_str(o, "account", "string");
    h.stream = vopts_str(o, "stream", "string");
    h.consumer = vopts_str(o, "consumer", "string");
    bool details = vopts_bool(o, "details");
    if (o->st != ST_OK) {
        return o->st;
    }
    check_server(s, &h);
    if (h.text[0] == '\0') {
        check_jetstream(server_js(s), &h);
    }
    if (h.text[0] == '\0') {
        check_store(server_js(s), &h);
    }
    struct jput p = {0};
    json_t *root = jput_new(&p);
    bool bad = h.text[0] != '\0';
    jput_str(&p, root, "status", bad && details ? "error" : h.status);
    jput_int(&p, root, "status_code", h.code);
    if (bad && details) {
        put_details(&p, root, &h);
    } else if (bad) {
        jput_str(&p, root, "error", h.text);
    }
    return jput_end(&p, root, out);
}
