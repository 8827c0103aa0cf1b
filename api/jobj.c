/* SPDX-License-Identifier: Apache-2.0 */
#include "api/jobj.h"

#include <math.h>

#include "server/base/clock.h"
#include "server/base/mem.h"

static void
checked(json_t **o, int rc)
{
    if (rc != 0) {
        json_decref(*o);
        *o = NULL;
    }
}

void
jobj_put(json_t **o, const char *key, json_t *v)
{
    checked(o, json_object_set_new(*o, key, v));
}

void
jobj_int(json_t **o, const char *key, uint64_t v)
{
    jobj_put(o, key, json_integer((json_int_t)v));
}

void
jobj_bool(json_t **o, const char *key, bool v)
{
    jobj_put(o, key, json_boolean(v));
}

void
jobj_real(json_t **o, const char *key, double v)
{
    jobj_put(o, key, json_real(isfinite(v) ? round(v * 1e3) / 1e3 : 0));
}

/* NB: clients choose subjects and names, which need not be UTF-8. */
static json_t *
readable(const char *v)
{
    char *copy = mem_strdup(v);
    for (char *p = copy; p != NULL && *p != '\0'; p++) {
        *p = (unsigned char)*p < 0x80 ? *p : '?';
    }
    json_t *s = json_string(copy);
    mem_free(copy);
    return s;
}

void
jobj_str(json_t **o, const char *key, const char *v)
{
    json_t *s = json_string(v);
    jobj_put(o, key, s == NULL && v != NULL ? readable(v) : s);
}

void
jobj_ms(json_t **o, const char *key, int64_t ns)
{
    jobj_real(o, key, (double)ns / 1e6);
}

void
jobj_time(json_t **o, const char *key, int64_t wall_ns)
{
    char text[CLOCK_RFC3339_LEN];
    if (wall_ns != 0) {
        jobj_str(o, key, clock_rfc3339(wall_ns, text));
    }
}

void
jarr_add(json_t **a, json_t *v)
{
    checked(a, json_array_append_new(*a, v));
}
