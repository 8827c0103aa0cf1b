/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/jfield.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/base/mem.h"
#include "stream/jtidy.h"
#include "stream/rfc3339.h"

enum { NUMBER_LEN = 200 };

/* A text, and not the number that jtidy has written as one. */
static bool
is_text(const json_t *v)
{
    return json_is_string(v) && jtidy_number(v) == NULL;
}

static void *
at(void *base, size_t off)
{
    return (char *)base + off;
}

static const void *
cat(const void *base, size_t off)
{
    return (const char *)base + off;
}

static const char *
kind_text(const json_t *v, bool number_with_text, char *buf, size_t n)
{
    const char *number = jtidy_number(v);
    if (number != NULL) {
        snprintf(buf, n, "number %s", number);
        return number_with_text ? buf : "number";
    }
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        snprintf(buf, n, "number %" JSON_INTEGER_FORMAT, json_integer_value(v));
        return number_with_text ? buf : "number";
    case JSON_REAL:
        snprintf(buf, n, "number %.17g", json_real_value(v));
        return number_with_text ? buf : "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "bool";
    case JSON_NULL:
    default:
        return "null";
    }
}

static enum status
mismatch(struct jread *r, const char *what, const char *key, const char *type)
{
    snprintf(r->err, sizeof r->err,
             "json: cannot unmarshal %s into Go struct field %s.%s%s of type %s", what, r->type,
             r->path, key, type);
    r->failed = true;
    return ST_SYNTAX;
}

enum status
jfield_mismatch(struct jread *r, const json_t *v, const char *key, const char *type)
{
    char buf[NUMBER_LEN];
    return mismatch(r, kind_text(v, false, buf, sizeof buf), key, type);
}

enum status
jfield_no_integer(struct jread *r, const json_t *v, const char *key, const char *type)
{
    char buf[NUMBER_LEN];
    return mismatch(r, kind_text(v, true, buf, sizeof buf), key, type);
}

static enum status
read_str(struct jread *r, const struct jfield *f, const json_t *v, void *base)
{
    if (!is_text(v)) {
        return jfield_mismatch(r, v, f->key, "string");
    }
    char **out = at(base, f->off);
    mem_free(*out);
    *out = NULL;
    if (json_string_length(v) == 0) {
        return ST_OK;
    }
    *out = mem_strdup(json_string_value(v));
    return *out != NULL ? ST_OK : ST_NOMEM;
}

static enum status
read_bool(struct jread *r, const struct jfield *f, const json_t *v, void *base)
{
    if (!json_is_boolean(v)) {
        return jfield_mismatch(r, v, f->key, "bool");
    }
    *(bool *)at(base, f->off) = json_is_true(v);
    return ST_OK;
}

static const char *
int_type(const struct jfield *f)
{
    if (f->type != NULL) {
        return f->type;
    }
    switch ((int)f->kind) {
    case JF_INT32:
        return "int32";
    case JF_UINT:
        return "uint64";
    case JF_DURATION:
        return "time.Duration";
    default:
        return "int64";
    }
}

static enum status
read_int(struct jread *r, const struct jfield *f, const json_t *v, void *base)
{
    int64_t i = 0;
    uint64_t u = 0;
    bool fits = f->kind == JF_UINT ? jtidy_uint(v, &u) : jtidy_int(v, &i);
    if (f->kind == JF_INT32) {
        fits = fits && i >= INT32_MIN && i <= INT32_MAX;
    }
    /* In a record a number past 63 bits is read as a real one. */
    double d = json_real_value(v);
    if (f->kind == JF_UINT && json_is_real(v) && d >= 9.2e18 && d <= 18446744073709551615.0) {
        *(uint64_t *)at(base, f->off) = d >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)d;
        return ST_OK;
    }
    if (!fits) {
        return jfield_no_integer(r, v, f->key, int_type(f));
    }
    if (f->kind == JF_UINT) {
        *(uint64_t *)at(base, f->off) = u;
    } else {
        *(int64_t *)at(base, f->off) = i;
    }
    return ST_OK;
}

static enum status
read_time(struct jread *r, const struct jfield *f, const json_t *v, void *base)
{
    if (!is_text(v)) {
        snprintf(r->err, sizeof r->err, "Time.UnmarshalJSON: input is not a JSON string");
        r->failed = true;
        return ST_SYNTAX;
    }
    int64_t *out = at(base, f->off);
    const char *s = json_string_value(v);
    if (rfc3339_parse(s, strlen(s), out) != ST_OK) {
        snprintf(
            r->err, sizeof r->err,
            "parsing time \"%.80s\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"%.80s\" as "
            "\"2006\"",
            s, s);
        r->failed = true;
        return ST_SYNTAX;
    }
    *(bool *)at(base, f->off2) = true;
    return ST_OK;
}

static enum status
read_strs(struct jread *r, const struct jfield *f, const json_t *v, void *base)
{
    if (!json_is_array(v)) {
        return jfield_mismatch(r, v, f->key, "[]string");
    }
    size_t n = json_array_size(v);
    char **out = mem_alloc_array(n, sizeof *out);
    if (out == NULL) {
        return ST_NOMEM;
    }
    *(char ***)at(base, f->off) = out;
    size_t *count = at(base, f->off2);
    for (*count = 0; *count < n; (*count)++) {
        const json_t *e = json_array_get(v, *count);
        if (!is_text(e) && !json_is_null(e)) {
            return jfield_mismatch(r, e, f->key, "string");
        }
        out[*count] = mem_strdup(json_is_string(e) ? json_string_value(e) : "");
        if (out[*count] == NULL) {
            return ST_NOMEM;
        }
    }
    return ST_OK;
}

static enum status
bad_enum(struct jread *r, const json_t *v)
{
    char text[128], again[280];
    size_t n = json_dumpb(v, text, sizeof text, JSON_ENCODE_ANY | JSON_COMPACT);
    json_t *quoted = json_stringn(text, n < sizeof text ? n : sizeof text);
    n = quoted != NULL ? json_dumpb(quoted, again, sizeof again, JSON_ENCODE_ANY) : 0;
    json_decref(quoted);
    snprintf(r->err, sizeof r->err, "can not unmarshal %.*s",
             (int)(n < sizeof again ? n : sizeof again), again);
    r->failed = true;
    return ST_SYNTAX;
}

/* A text that ends with a colon is followed by what came. */
static enum status
bad_named_enum(struct jread *r, const char *text, const json_t *v)
{
    char came[128] = "";
    size_t n = strlen(text);
    size_t len = 0;
    if (n > 0 && text[n - 1] == ':') {
        len = json_dumpb(v, came, sizeof came, JSON_ENCODE_ANY | JSON_COMPACT);
        len = len < sizeof came ? len : sizeof came;
    }
    snprintf(r->err, sizeof r->err, "%s%s%.*s", text, len > 0 ? " " : "", (int)len, came);
    r->failed = true;
    return ST_SYNTAX;
}

static enum status
read_enum(struct jread *r, const struct jfield *f, const json_t *v, void *base)
{
    for (int i = 0; json_is_string(v) && f->names[i] != NULL; i++) {
        if (strcmp(json_string_value(v), f->names[i]) == 0) {
            *(int *)at(base, f->off) = i;
            return ST_OK;
        }
    }
    if (f->type != NULL) {
        return bad_named_enum(r, f->type, v);
    }
    return bad_enum(r, v);
}

static enum status
read_object(struct jread *r, const struct jfield *f, const json_t *v, void *base)
{
    if (!json_is_object(v)) {
        return jfield_mismatch(r, v, f->key, f->kind == JF_TEXTS ? "map[string]string" : f->type);
    }
    const char *key;
    json_t *e;
    json_object_foreach((json_t *)(uintptr_t)v, key, e)
    {
        if (f->kind == JF_TEXTS && !is_text(e) && !json_is_null(e)) {
            return jfield_mismatch(r, e, f->key, "string");
        }
    }
    json_t **out = at(base, f->off);
    json_decref(*out);
    *out = json_deep_copy(v);
    if (*out == NULL) {
        return ST_NOMEM;
    }
    json_object_foreach(*out, key, e)
    {
        if (f->kind == JF_TEXTS && json_is_null(e) &&
            json_object_set_new(*out, key, json_string("")) != 0) {
            return ST_NOMEM;
        }
    }
    return ST_OK;
}

static enum status
read_one(struct jread *r, const struct jfield *f, const json_t *v, void *base)
{
    switch (f->kind) {
    case JF_STR:
        return read_str(r, f, v, base);
    case JF_BOOL:
        return read_bool(r, f, v, base);
    case JF_INT:
    case JF_INT32:
    case JF_UINT:
    case JF_DURATION:
        return read_int(r, f, v, base);
    case JF_TIME:
        return read_time(r, f, v, base);
    case JF_STRS:
        return read_strs(r, f, v, base);
    case JF_ENUM:
        return read_enum(r, f, v, base);
    case JF_OBJECT:
    case JF_TEXTS:
        return read_object(r, f, v, base);
    case JF_CUSTOM:
        return f->read(r, v, base);
    case JF_IGNORED:
    default:
        return ST_OK;
    }
}

/* As Go finds it: the very name, or else one that differs in case. */
static const struct jfield *
find_field(const struct jfield *fields, const char *key)
{
    const struct jfield *f = fields;
    while (f->key != NULL && strcmp(f->key, key) != 0) {
        f++;
    }
    if (f->key == NULL) {
        f = fields;
        while (f->key != NULL && strcasecmp(f->key, key) != 0) {
            f++;
        }
    }
    return f;
}

enum status
jfield_read(struct jread *r, const json_t *o, void *base)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        const struct jfield *f = find_field(r->fields, key);
        if (f->key == NULL) {
            if (r->strict) {
                snprintf(r->err, sizeof r->err, "json: unknown field \"%.200s\"", key);
                r->failed = true;
                return ST_SYNTAX;
            }
            continue;
        }
        if (json_is_null(v) && f->kind != JF_ENUM && !f->nulls) {
            continue;
        }
        enum status st = read_one(r, f, v, base);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

/* ---- writing ---- */

static bool
is_left_out(const struct jfield *f, const void *base)
{
    const void *p = cat(base, f->off);
    switch (f->kind) {
    case JF_STR:
        return *(char *const *)p == NULL;
    case JF_BOOL:
        return !*(const bool *)p;
    case JF_INT:
    case JF_INT32:
    case JF_DURATION:
        return *(const int64_t *)p == 0;
    case JF_UINT:
        return *(const uint64_t *)p == 0;
    case JF_TIME:
        return !*(const bool *)cat(base, f->off2);
    case JF_STRS:
        return *(const size_t *)cat(base, f->off2) == 0;
    case JF_ENUM:
        return *(const int *)p == 0;
    case JF_OBJECT:
    case JF_TEXTS:
        return *(json_t *const *)p == NULL;
    case JF_CUSTOM:
        return false;
    case JF_IGNORED:
    default:
        return true;
    }
}

static json_t *
write_strs(const struct jfield *f, const void *base)
{
    char *const *v = *(char *const *const *)cat(base, f->off);
    size_t n = *(const size_t *)cat(base, f->off2);
    json_t *a = json_array();
    for (size_t i = 0; a != NULL && i < n; i++) {
        if (json_array_append_new(a, json_string(v[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static json_t *
write_uint(uint64_t u)
{
    return u <= INT64_MAX ? json_integer((json_int_t)u) : json_real((double)u);
}

static json_t *
write_one(const struct jfield *f, const void *base)
{
    const void *p = cat(base, f->off);
    const char *s;
    char buf[40];
    switch (f->kind) {
    case JF_STR:
        s = *(char *const *)p;
        return json_string(s != NULL ? s : "");
    case JF_BOOL:
        return json_boolean(*(const bool *)p);
    case JF_INT:
    case JF_INT32:
    case JF_DURATION:
        return json_integer(*(const int64_t *)p);
    case JF_UINT:
        return write_uint(*(const uint64_t *)p);
    case JF_TIME:
        return json_string(rfc3339_format(*(const int64_t *)p, buf));
    case JF_STRS:
        return write_strs(f, base);
    case JF_ENUM:
        return json_string(f->names[*(const int *)p]);
    case JF_OBJECT:
    case JF_TEXTS:
        return json_incref(*(json_t *const *)p);
    case JF_CUSTOM:
    case JF_IGNORED:
    default:
        return NULL;
    }
}

json_t *
jfield_write(const struct jfield *fields, const void *base)
{
    json_t *o = json_object();
    for (const struct jfield *f = fields; o != NULL && f->key != NULL; f++) {
        if (!f->always && is_left_out(f, base)) {
            continue;
        }
        bool failed = false;
        json_t *v = f->kind == JF_CUSTOM ? f->write(base, &failed) : write_one(f, base);
        if (v == NULL && f->kind == JF_CUSTOM && !failed) {
            continue;
        }
        if (v == NULL || json_object_set_new(o, f->key, v) != 0) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}
