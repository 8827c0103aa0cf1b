/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/vopts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/gojson.h"
#include "server/base/failure.h"
#include "server/monitor/text.h"

enum status
vopts_fail(struct vopts *o, enum status st, const char *fmt, ...)
{
    if (o->st != ST_OK) {
        return o->st;
    }
    va_list ap;
    va_start(ap, fmt);
    o->st = vfailure(&o->err, st, fmt, ap);
    va_end(ap);
    return o->st;
}

static const char *
kind_of(const json_t *v)
{
    return json_is_null(v) ? "null" : gojson_type(v);
}

void
vopts_init(struct vopts *o, const json_t *json, const char *type)
{
    *o = (struct vopts){.type = type};
    if (json == NULL || json_is_null(json)) {
        return;
    }
    if (!json_is_object(json)) {
        const char *dot = strchr(type, '.');
        int n = dot != NULL ? (int)(dot - type) : (int)strlen(type);
        vopts_fail(o, ST_SYNTAX, "json: cannot unmarshal %s into Go value of type server.%.*s",
                   kind_of(json), n, type);
        return;
    }
    o->json = json;
}

static const json_t *
find(const struct vopts *o, const char *key)
{
    if (o->json == NULL || o->st != ST_OK) {
        return NULL;
    }
    const json_t *v = json_object_get(o->json, key);
    if (v == NULL) {
        const char *name;
        json_t *val;
        /* NB: the macro only reads, jansson has no form of it for const. */
        json_object_foreach((json_t *)o->json, name, val)
        {
            if (strcasecmp(name, key) == 0) {
                v = val;
            }
        }
    }
    return v != NULL && !json_is_null(v) ? v : NULL;
}

static void
fail_type(struct vopts *o, const json_t *v, const char *key, const char *go_type)
{
    bool is_int = strcmp(go_type, "int") == 0 || strncmp(go_type, "uint", 4) == 0;
    char number[TEXT_LEN] = "";
    if (is_int && json_is_real(v)) {
        snprintf(number, sizeof number, " %.15g", json_real_value(v));
    } else if (is_int && json_is_integer(v)) {
        snprintf(number, sizeof number, " %" JSON_INTEGER_FORMAT, json_integer_value(v));
    }
    vopts_fail(o, ST_SYNTAX, "json: cannot unmarshal %s%s into Go struct field %s.%s of type %s",
               kind_of(v), number, o->type, key, go_type);
}

bool
vopts_bool(struct vopts *o, const char *key)
{
    const json_t *v = find(o, key);
    if (v != NULL && !json_is_boolean(v)) {
        fail_type(o, v, key, "bool");
        return false;
    }
    return json_is_true(v);
}

int64_t
vopts_int(struct vopts *o, const char *key, const char *go_type)
{
    const json_t *v = find(o, key);
    if (v != NULL && !json_is_integer(v)) {
        fail_type(o, v, key, go_type);
        return 0;
    }
    return v != NULL ? json_integer_value(v) : 0;
}

uint64_t
vopts_uint(struct vopts *o, const char *key)
{
    const json_t *v = find(o, key);
    if (v != NULL && (!json_is_integer(v) || json_integer_value(v) < 0)) {
        fail_type(o, v, key, "uint64");
        return 0;
    }
    return v != NULL ? (uint64_t)json_integer_value(v) : 0;
}

const char *
vopts_str(struct vopts *o, const char *key, const char *go_type)
{
    const json_t *v = find(o, key);
    if (v != NULL && !json_is_string(v)) {
        fail_type(o, v, key, go_type);
        return "";
    }
    return v != NULL ? json_string_value(v) : "";
}

const json_t *
vopts_strings(struct vopts *o, const char *key)
{
    const json_t *v = find(o, key);
    if (v == NULL) {
        return NULL;
    }
    if (!json_is_array(v)) {
        fail_type(o, v, key, "[]string");
        return NULL;
    }
    size_t i;
    json_t *item;
    json_array_foreach(v, i, item)
    {
        if (!json_is_string(item)) {
            fail_type(o, item, key, "string");
            return NULL;
        }
    }
    return v;
}
