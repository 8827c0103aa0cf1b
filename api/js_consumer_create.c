/* SPDX-License-Identifier: Apache-2.0 */
/* CONSUMER.CREATE in its three forms:
 *   CREATE.<stream>                    the oldest: an ephemeral, with a name or without
 *   DURABLE.CREATE.<stream>.<durable>  the older one for durables
 *   CREATE.<stream>.<name>[.<filter>]  the present one */
#include <stdio.h>
#include <string.h>

#include "api/js_consumer.h"
#include "api/js_req.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/consumer.h"
#include "stream/hdr.h"
#include "stream/stream.h"

struct ask {
    char *stream;   /* owned */
    json_t *config; /* owned or NULL */
    int action;
    bool pedantic;
};

static enum status
read_action(struct jread *in, const json_t *v, void *base)
{
    static const char *const actions[] = {"", "create", "update"};
    struct ask *ask = base;
    for (int i = 0; i < 3; i++) {
        if (json_is_string(v) && strcmp(json_string_value(v), actions[i]) == 0) {
            ask->action = i;
            return ST_OK;
        }
    }
    char text[64];
    size_t n = json_dumpb(v, text, sizeof(text), JSON_ENCODE_ANY | JSON_COMPACT);
    (void)snprintf(in->err, sizeof(in->err), "unknown consumer action: %.*s",
                   (int)(n < sizeof(text) ? n : sizeof(text)), text);
    in->failed = true;
    return ST_SYNTAX;
}

static const struct jfield fields[] = {
    {.key = "stream_name", .kind = JF_STR, .off = offsetof(struct ask, stream)},
    {.key = "config",
     .kind = JF_OBJECT,
     .type = "server.ConsumerConfig",
     .off = offsetof(struct ask, config)},
    {.key = "action", .kind = JF_CUSTOM, .nulls = true, .read = read_action},
    {.key = "pedantic", .kind = JF_BOOL, .off = offsetof(struct ask, pedantic)},
    {0}};

enum form { FORM_EPHEMERAL, FORM_DURABLE, FORM_NAMED };

struct target {
    enum form form;
    char stream[JS_REQ_NAME], consumer[JS_REQ_NAME];
    const char *filter; /* borrowed: of the subject; NULL: none */
};

static void
read_subject(const struct js_req *q, struct target *t)
{
    const char *subject = q->r->subject;
    size_t n = subject_count_tokens(subject, strlen(subject));
    char word[16];
    bool durable = strcmp(js_req_token(q, 4, word, sizeof(word)), "DURABLE") == 0;
    unsigned at = durable ? 6 : 5;
    t->form = durable ? FORM_DURABLE : n > 5 ? FORM_NAMED : FORM_EPHEMERAL;
    js_req_token(q, at, t->stream, sizeof(t->stream));
    js_req_token(q, at + 1, t->consumer, sizeof(t->consumer));
    t->filter = NULL;
    if (t->form == FORM_NAMED && n > 6) {
        t->filter = subject;
        for (int i = 0; i < 6; i++) {
            t->filter = strchr(t->filter, '.') + 1;
        }
    }
}

static bool
is(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static enum js_error
check_durable(const struct target *t, const struct consumer_config *cfg)
{
    if (cfg->durable == NULL) {
        return JS_ERR_CONSUMER_DURABLE_NAME_NOT_SET;
    }
    return is(t->consumer, cfg->durable) ? JS_OK : JS_ERR_CONSUMER_DURABLE_NAME_NOT_MATCH_SUBJECT;
}

static enum js_error
check(const struct target *t, const struct ask *ask, const struct consumer_config *cfg)
{
    enum js_error e = JS_OK;
    const char *name = t->form == FORM_EPHEMERAL ? cfg->name : t->consumer;
    if (!is(t->stream, ask->stream)) {
        return JS_ERR_STREAM_MISMATCH;
    }
    if (name != NULL && strpbrk(name, "\\/") != NULL) {
        return JS_ERR_CONSUMER_NAME_CONTAINS_PATH_SEPARATORS;
    }
    if (t->form == FORM_DURABLE) {
        e = check_durable(t, cfg);
    } else if (t->form == FORM_NAMED && cfg->durable != NULL && !is(t->consumer, cfg->durable)) {
        e = JS_ERR_CONSUMER_DURABLE_NAME_NOT_MATCH_SUBJECT;
    } else if (t->form == FORM_EPHEMERAL && cfg->durable != NULL) {
        e = JS_ERR_CONSUMER_EPHEMERAL_WITH_DURABLE_NAME;
    }
    if (e == JS_OK && t->filter != NULL && cfg->n_filter_subjects > 0) {
        e = JS_ERR_CONSUMER_MULTIPLE_FILTERS_NOT_ALLOWED;
    } else if (e == JS_OK && t->filter != NULL && !is(t->filter, cfg->filter_subject)) {
        e = JS_ERR_CONSUMER_CREATE_FILTER_SUBJECT_MISMATCH;
    } else if (e == JS_OK && cfg->replicas > 1) {
        e = JS_ERR_STREAM_REPLICAS_NOT_SUPPORTED;
    }
    return e;
}

/* The name in the subject holds, but for the oldest form. */
static bool
take_name(struct js_req *q, const struct target *t, struct consumer_config *cfg)
{
    if (t->form == FORM_EPHEMERAL) {
        return true;
    }
    mem_free(cfg->name);
    cfg->name = mem_strdup(t->consumer);
    return cfg->name != NULL || js_req_nomem(q);
}

static void
create_in(struct js_req *q, struct stream *s, const struct ask *ask, struct consumer_config *cfg)
{
    struct consumer *c;
    struct consumer_request rq = {.action = (enum consumer_action)ask->action,
                                  .pedantic = ask->pedantic,
                                  .cid = q->r->origin.cid};
    uint64_t ticket = js_ticket(q->js);
    if (consumer_create(s, cfg, &rq, &c, &q->fail) != JS_OK) {
        q->failed = true;
        return;
    }
    js_req_answer_committed(q, ticket, consumer_is_memory(c), js_consumer_answer(q, c));
    consumer_unref(c);
}

static void
create(struct js_req *q, const struct ask *ask)
{
    struct target t;
    struct consumer_config *cfg;
    json_t *empty = ask->config == NULL ? json_object() : NULL;
    enum js_error e = consumer_config_from_json(ask->config != NULL ? ask->config : empty,
                                                js_opts(q->js)->strict, &cfg, &q->fail);
    json_decref(empty);
    if (e != JS_OK) {
        q->failed = true;
        return;
    }
    read_subject(q, &t);
    e = check(&t, ask, cfg);
    struct stream *s = NULL;
    if (e != JS_OK) {
        js_req_fail(q, e);
    } else if (take_name(q, &t, cfg)) {
        s = js_req_stream(q, t.form == FORM_DURABLE ? 6 : 5);
    }
    if (s == NULL) {
        consumer_config_free(cfg);
        return;
    }
    create_in(q, s, ask, cfg);
    stream_unref(s);
}

enum status
js_consumer_create_run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    struct ask ask = {0};
    if (js_req_begin(&q, a, r, out, JS_BODY_ANY) &&
        js_req_read(&q, fields, "CreateConsumerRequest", &ask)) {
        create(&q, &ask);
    }
    mem_free(ask.stream);
    json_decref(ask.config);
    return js_req_end(&q);
}
