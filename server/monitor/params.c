/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/params.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/base/buf.h"
#include "server/base/mem.h"
#include "server/monitor/jput.h"
#include "server/monitor/text.h"

static int
hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: a malformed escape; nats-server drops such a pair. */
static bool
decode(const char *s, size_t n, struct buf *out)
{
    buf_reset(out);
    buf_puts(out, "");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == ';') {
            return false;
        }
        if (s[i] != '%') {
            buf_putc(out, s[i] == '+' ? ' ' : s[i]);
            continue;
        }
        int hi = i + 2 < n ? hex_value(s[i + 1]) : -1;
        int lo = hi >= 0 ? hex_value(s[i + 2]) : -1;
        if (i + 2 >= n || lo < 0) {
            return false;
        }
        buf_putc(out, (char)(hi * 16 + lo));
        i += 2;
    }
    return true;
}

/* Finds the first pair of that name and decodes its value into *val ("" where there is none). */
static void
find(const char *query, const char *name, struct buf *key, struct buf *val)
{
    while (query != NULL && *query != '\0') {
        size_t pair = strcspn(query, "&");
        const char *eq = memchr(query, '=', pair);
        size_t key_len = eq != NULL ? (size_t)(eq - query) : pair;
        const char *v = eq != NULL ? eq + 1 : query + pair;
        if (decode(query, key_len, key) && !key->failed && strcmp(key->data, name) == 0 &&
            decode(v, (size_t)(query + pair - v), val)) {
            return;
        }
        query += pair + (query[pair] == '&');
    }
    buf_reset(val);
    buf_puts(val, "");
}

struct parse {
    struct jput put;
    json_t *options; /* owned until it is given out */
    struct buf err;  /* the text of the first error */
};

static void
fail_number(struct parse *p, const char *name, const char *kind, const char *func, const char *val,
            const char *why)
{
    buf_printf(&p->err, "Error decoding %s for '%s': strconv.%s: parsing \"", kind, name, func);
    for (; *val != '\0'; val++) {
        if (*val == '"' || *val == '\\') {
            buf_putc(&p->err, '\\');
        }
        buf_putc(&p->err, *val);
    }
    buf_printf(&p->err, "\": %s", why);
}

static void
set_bool(struct parse *p, const struct param *m, const char *val)
{
    bool b = false;
    const char *why;
    if (!text_parse_bool(val, &b, &why)) {
        fail_number(p, m->name, "boolean", "ParseBool", val, why);
        return;
    }
    jput_bool(&p->put, p->options, m->option, b);
}

static void
set_int(struct parse *p, const struct param *m, const char *val)
{
    int64_t i = 0;
    const char *why;
    if (!text_parse_int(val, &i, &why)) {
        fail_number(p, m->name, "int", "Atoi", val, why);
        return;
    }
    jput_int(&p->put, p->options, m->option, i);
}

static void
set_uint(struct parse *p, const struct param *m, const char *val)
{
    uint64_t u = 0;
    const char *why;
    if (!text_parse_uint(val, &u, &why)) {
        fail_number(p, m->name, "uint64", "ParseUint", val, why);
        return;
    }
    /* JSON integers here are signed; an id that large does not exist either way. */
    jput_int(&p->put, p->options, m->option, u > INT64_MAX ? INT64_MAX : (int64_t)u);
}

static void
set_state(struct parse *p, const struct param *m, const char *val)
{
    static const char *const names[] = {"open", "closed", "all", "any"};
    for (int i = 0; i < 4; i++) {
        if (strcasecmp(val, names[i]) == 0) {
            jput_int(&p->put, p->options, m->option, i < 2 ? i : 2);
            return;
        }
    }
    buf_printf(&p->err, "Error decoding state for %s", val);
}

static void
set_subs(struct parse *p, const struct param *m, const char *val)
{
    if (strcasecmp(val, "detail") != 0) {
        set_bool(p, m, val);
        return;
    }
    char option[64];
    snprintf(option, sizeof option, "%s_detail", m->option);
    jput_bool(&p->put, p->options, option, true);
}

static void
set(struct parse *p, const struct param *m, const char *val)
{
    switch (m->kind) {
    case PARAM_STR:
        jput_str(&p->put, p->options, m->option, val);
        break;
    case PARAM_BOOL:
        set_bool(p, m, val);
        break;
    case PARAM_INT:
        set_int(p, m, val);
        break;
    case PARAM_UINT:
        set_uint(p, m, val);
        break;
    case PARAM_STATE:
        set_state(p, m, val);
        break;
    case PARAM_SUBS:
        set_subs(p, m, val);
        break;
    }
}

enum status
params_parse(const char *query, const struct param *params, size_t n, json_t **out, char **err)
{
    struct parse p = {0};
    struct buf key = {0};
    struct buf val = {0};
    p.options = jput_new(&p.put);
    *err = NULL;
    for (size_t i = 0; i < n && p.err.len == 0; i++) {
        find(query, params[i].name, &key, &val);
        if (buf_status(&key) != ST_OK || buf_status(&val) != ST_OK) {
            p.put.failed = true;
            break;
        }
        if (val.len > 0) {
            set(&p, &params[i], val.data);
        }
    }
    buf_fini(&key);
    buf_fini(&val);
    bool is_bad = p.err.len > 0 && buf_status(&p.err) == ST_OK;
    p.put.failed |= buf_status(&p.err) != ST_OK;
    enum status st = jput_end(&p.put, p.options, out);
    if (st == ST_OK && is_bad) {
        json_decref(*out);
        *out = NULL;
        *err = buf_detach(&p.err, NULL);
        return *err != NULL ? ST_INVAL : ST_NOMEM;
    }
    buf_fini(&p.err);
    return st;
}
