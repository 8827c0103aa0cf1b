/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_conf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/header.h"
#include "api/jobj.h"
#include "server/base/clock.h"
#include "server/base/subject.h"

/* Where a message is said to be wrong. */
struct complaint {
    char *text; /* borrowed: the caller's */
    size_t size;
};

static enum status wrong(const struct complaint *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static enum status
wrong(const struct complaint *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(e->text, e->size, fmt, ap);
    va_end(ap);
    return ST_INVAL;
}

static bool
is_name(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n <= GATE_NAME_MAX &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == n;
}

enum status
gate_conf_init(struct gate_conf *c, const char *name, char *err, size_t err_size)
{
    if (!is_name(name)) {
        (void)snprintf(err, err_size,
                       "\"%.80s\" is no name of a gate: 1 to %d letters, digits, '-', '_'", name,
                       GATE_NAME_MAX);
        return ST_INVAL;
    }
    *c = (struct gate_conf){.account = "$G",
                            .discipline = APIQ_ADAPTIVE,
                            .request_queue_limit = 10000,
                            .request_deadline = 5 * CLOCK_S};
    memcpy(c->name, name, strlen(name) + 1);
    return ST_OK;
}

/* What one key of a gate may hold; put writes it into the gate. */
struct member;
typedef enum status put_fn(struct gate_conf *c, const struct member *m, const struct gate_value *v,
                           const struct complaint *e);
struct member {
    const char *key;
    put_fn *put;
    size_t field;
    int64_t min, max;
};

static enum status
put_text(struct gate_conf *c, const struct member *m, const struct gate_value *v,
         const struct complaint *e)
{
    if (v->type != GATE_VALUE_STRING || *v->s == '\0') {
        return wrong(e, "%s: a text is expected", m->key);
    }
    if (strlen(v->s) > GATE_TEXT_MAX) {
        return wrong(e, "%s: longer than %d", m->key, GATE_TEXT_MAX);
    }
    memcpy((char *)c + m->field, v->s, strlen(v->s) + 1);
    return ST_OK;
}

/* Subjects that the server or the requesters' replies live on. */
static const char *
reserved_by(const char *subject)
{
    static const char *const reserved[] = {"$JS.>", "$SYS.>", "$WLM.>", "_INBOX.>"};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (subject_overlaps(subject, strlen(subject), reserved[i], strlen(reserved[i]))) {
            return reserved[i];
        }
    }
    return NULL;
}

static enum status
put_subject(struct gate_conf *c, const struct member *m, const struct gate_value *v,
            const struct complaint *e)
{
    struct gate_conf next = *c;
    if (put_text(&next, m, v, e) != ST_OK) {
        return ST_INVAL;
    }
    if (!subject_is_valid(v->s, strlen(v->s))) {
        return wrong(e, "subject: \"%s\" is no subject", v->s);
    }
    const char *other = reserved_by(v->s);
    if (other != NULL) {
        return wrong(e, "subject: \"%s\" overlaps %s, where no gate may be", v->s, other);
    }
    *c = next;
    return ST_OK;
}

static enum status
put_int(struct gate_conf *c, const struct member *m, const struct gate_value *v,
        const struct complaint *e)
{
    if (v->type != GATE_VALUE_INT) {
        return wrong(e, "%s: a whole number is expected", m->key);
    }
    if (v->i < m->min || v->i > m->max) {
        return wrong(e, "%s: %lld is out of range, allowed is %lld to %lld", m->key,
                     (long long)v->i, (long long)m->min, (long long)m->max);
    }
    *(int64_t *)(void *)((char *)c + m->field) = v->i;
    return ST_OK;
}

static enum status
put_time(struct gate_conf *c, const struct member *m, const struct gate_value *v,
         const struct complaint *e)
{
    int64_t ns = 0;
    if (v->type == GATE_VALUE_INT && v->i == 0) {
        ns = 0;
    } else if (v->type != GATE_VALUE_STRING || header_duration(v->s, strlen(v->s), &ns) != ST_OK) {
        return wrong(e, "%s: a time is expected, such as \"5s\" or \"250ms\"", m->key);
    }
    if (ns < m->min || ns > m->max) {
        return wrong(e, "%s: \"%.40s\" is out of range, allowed is 0 to 24h", m->key, v->s);
    }
    *(int64_t *)(void *)((char *)c + m->field) = ns;
    return ST_OK;
}

static enum status
put_discipline(struct gate_conf *c, const struct member *m, const struct gate_value *v,
               const struct complaint *e)
{
    if (v->type != GATE_VALUE_STRING || apiq_order_parse(v->s, &c->discipline) != ST_OK) {
        return wrong(e, "%s: 'fifo', 'lifo' or 'adaptive' is expected", m->key);
    }
    return ST_OK;
}

static const char *const refusals[] = {
    [GATE_REFUSE_SERVICE_ERROR] = "service_error", [GATE_REFUSE_NO_RESPONDERS] = "no_responders"};

static enum status
put_refuse(struct gate_conf *c, const struct member *m, const struct gate_value *v,
           const struct complaint *e)
{
    for (unsigned i = 0; v->type == GATE_VALUE_STRING && i < 2; i++) {
        if (strcmp(v->s, refusals[i]) == 0) {
            c->refuse = (enum gate_refuse)i;
            return ST_OK;
        }
    }
    return wrong(e, "%s: 'service_error' or 'no_responders' is expected", m->key);
}

static enum status
put_group(struct gate_conf *c, const struct member *m, const struct gate_value *v,
          const struct complaint *e)
{
    if (v->type != GATE_VALUE_STRING) {
        return wrong(e, "%s: a text is expected", m->key);
    }
    if (*v->s != '\0' && !is_name(v->s)) {
        return wrong(e, "%s: \"%.80s\" is no name of a workload group", m->key, v->s);
    }
    memcpy(c->group, v->s, strlen(v->s) + 1);
    return ST_OK;
}

static const struct member members[] = {
    {"account", put_text, offsetof(struct gate_conf, account), 0, 0},
    {"subject", put_subject, offsetof(struct gate_conf, subject), 0, 0},
    {"limit", put_int, offsetof(struct gate_conf, limit), 1, GATE_LIMIT_MAX},
    {"discipline", put_discipline, 0, 0, 0},
    {"request_queue_limit", put_int, offsetof(struct gate_conf, request_queue_limit), 1,
     GATE_QUEUE_MAX},
    {"request_deadline", put_time, offsetof(struct gate_conf, request_deadline), 0, GATE_TIME_MAX},
    {"reply_timeout", put_time, offsetof(struct gate_conf, reply_timeout), 0, GATE_TIME_MAX},
    {"refuse", put_refuse, 0, 0, 0},
    {"group", put_group, 0, 0, 0},
};

enum status
gate_conf_put(struct gate_conf *c, const char *key, const struct gate_value *v, char *err,
              size_t err_size)
{
    struct complaint e = {err, err_size};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (strcmp(members[i].key, key) == 0) {
            return members[i].put(c, &members[i], v, &e);
        }
    }
    int n = snprintf(err, err_size, "unknown key: %.64s, there are", key);
    for (size_t i = 0; n > 0 && (size_t)n < err_size && i < sizeof(members) / sizeof(members[0]);
         i++) {
        n += snprintf(err + n, err_size - (size_t)n, "%s %s", i == 0 ? "" : ",", members[i].key);
    }
    return ST_NOTFOUND;
}

enum status
gate_conf_check(const struct gate_conf *c, char *err, size_t err_size)
{
    const char *missing = c->subject[0] == '\0' ? "subject" : c->limit == 0 ? "limit" : NULL;
    if (missing != NULL) {
        (void)snprintf(err, err_size, "%s: missing", missing);
    }
    return missing == NULL ? ST_OK : ST_INVAL;
}

enum status
gate_conf_parse(struct gate_conf *c, const json_t *o, char *err, size_t err_size)
{
    struct gate_conf next = *c;
    const char *key;
    json_t *j;
    json_object_foreach((json_t *)(uintptr_t)o, key, j)
    {
        struct gate_value v = {.type = GATE_VALUE_OTHER, .s = ""};
        if (json_is_string(j)) {
            v = (struct gate_value){.type = GATE_VALUE_STRING, .s = json_string_value(j)};
        } else if (json_is_integer(j)) {
            v = (struct gate_value){.type = GATE_VALUE_INT, .s = "", .i = json_integer_value(j)};
        }
        if (gate_conf_put(&next, key, &v, err, err_size) != ST_OK) {
            return ST_INVAL;
        }
    }
    *c = next;
    return ST_OK;
}

bool
gate_conf_overlaps(const struct gate_conf *a, const struct gate_conf *b)
{
    return strcmp(a->account, b->account) == 0 &&
           subject_overlaps(a->subject, strlen(a->subject), b->subject, strlen(b->subject));
}

bool
gate_conf_equal(const struct gate_conf *a, const struct gate_conf *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->account, b->account) == 0 &&
           strcmp(a->subject, b->subject) == 0 && a->limit == b->limit &&
           a->discipline == b->discipline && a->request_queue_limit == b->request_queue_limit &&
           a->request_deadline == b->request_deadline && a->reply_timeout == b->reply_timeout &&
           a->refuse == b->refuse && strcmp(a->group, b->group) == 0;
}

static void
put_ns(json_t **o, const char *key, int64_t ns)
{
    char text[40];
    if (ns % CLOCK_S == 0) {
        (void)snprintf(text, sizeof(text), "%llds", (long long)(ns / CLOCK_S));
    } else if (ns % CLOCK_MS == 0) {
        (void)snprintf(text, sizeof(text), "%lldms", (long long)(ns / CLOCK_MS));
    } else {
        (void)snprintf(text, sizeof(text), "%lldns", (long long)ns);
    }
    jobj_str(o, key, text);
}

json_t *
gate_conf_json(const struct gate_conf *c)
{
    json_t *o = json_object();
    jobj_str(&o, "name", c->name);
    jobj_str(&o, "account", c->account);
    jobj_str(&o, "subject", c->subject);
    jobj_int(&o, "limit", (uint64_t)c->limit);
    jobj_str(&o, "discipline", apiq_order_name(c->discipline));
    jobj_int(&o, "request_queue_limit", (uint64_t)c->request_queue_limit);
    put_ns(&o, "request_deadline", c->request_deadline);
    put_ns(&o, "reply_timeout", c->reply_timeout);
    jobj_str(&o, "refuse", refusals[c->refuse]);
    if (c->group[0] != '\0') {
        jobj_str(&o, "group", c->group);
    }
    return o;
}
