/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/jput.h"

#include <math.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/clock.h"

json_t *
jput_new(struct jput *p)
{
    json_t *o = json_object();
    p->failed |= o == NULL;
    return o;
}

enum status
jput_end(struct jput *p, json_t *root, json_t **out)
{
    if (p->failed || root == NULL) {
        json_decref(root);
        *out = NULL;
        return ST_NOMEM;
    }
    *out = root;
    return ST_OK;
}

/* Length of the well-formed UTF-8 sequence at s, 0 if there is none. */
static size_t
utf8_len(const unsigned char *s)
{
    if (s[0] < 0x80) {
        return 1;
    }
    size_t n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xED && s[1] >= 0xA0;
    bool beyond = s[0] == 0xF4 && s[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

static json_t *
replaced_string(const char *val)
{
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "");
    for (const char *s = val; *s != '\0';) {
        size_t n = utf8_len((const unsigned char *)s);
        if (n == 0) {
            buf_puts(&b, "\xEF\xBF\xBD");
            s++;
        } else {
            buf_append(&b, s, n);
            s += n;
        }
    }
    json_t *j = buf_status(&b) == ST_OK ? json_string(b.data) : NULL;
    buf_fini(&b);
    return j;
}

static json_t *
any_string(const char *val)
{
    if (val == NULL) {
        return json_string("");
    }
    json_t *j = json_string(val); /* NULL also where val is no UTF-8 */
    return j != NULL ? j : replaced_string(val);
}

void
jput_val(struct jput *p, json_t *o, const char *key, json_t *val)
{
    if (o == NULL) {
        json_decref(val);
        return;
    }
    p->failed |= json_object_set_new_nocheck(o, key, val) != 0;
}

void
jput_str(struct jput *p, json_t *o, const char *key, const char *val)
{
    jput_val(p, o, key, any_string(val));
}

void
jput_str_opt(struct jput *p, json_t *o, const char *key, const char *val)
{
    if (val != NULL && val[0] != '\0') {
        jput_str(p, o, key, val);
    }
}

void
jput_int(struct jput *p, json_t *o, const char *key, int64_t val)
{
    jput_val(p, o, key, json_integer(val));
}

void
jput_int_opt(struct jput *p, json_t *o, const char *key, int64_t val)
{
    if (val != 0) {
        jput_int(p, o, key, val);
    }
}

void
jput_bool(struct jput *p, json_t *o, const char *key, bool val)
{
    jput_val(p, o, key, json_boolean(val));
}

void
jput_bool_opt(struct jput *p, json_t *o, const char *key, bool val)
{
    if (val) {
        jput_bool(p, o, key, val);
    }
}

void
jput_real(struct jput *p, json_t *o, const char *key, double val)
{
    if (!isfinite(val)) {
        val = 0;
    }
    bool whole = fabs(val) < 1e15 && floor(val) == val;
    jput_val(p, o, key, whole ? json_integer((json_int_t)val) : json_real(val));
}

void
jput_time(struct jput *p, json_t *o, const char *key, int64_t wall_ns)
{
    char text[CLOCK_RFC3339_LEN];
    jput_str(p, o, key, clock_rfc3339(wall_ns, text));
}

static json_t *
attach(struct jput *p, json_t *o, const char *key, json_t *child)
{
    jput_val(p, o, key, child);
    return o != NULL && !p->failed ? child : NULL;
}

json_t *
jput_obj(struct jput *p, json_t *o, const char *key)
{
    return attach(p, o, key, json_object());
}

json_t *
jput_arr(struct jput *p, json_t *o, const char *key)
{
    return attach(p, o, key, json_array());
}

static void
append(struct jput *p, json_t *arr, json_t *val)
{
    if (arr == NULL) {
        json_decref(val);
        return;
    }
    p->failed |= json_array_append_new(arr, val) != 0;
}

json_t *
jput_add_obj(struct jput *p, json_t *arr)
{
    json_t *o = json_object();
    append(p, arr, o);
    return arr != NULL && !p->failed ? o : NULL;
}

void
jput_add_str(struct jput *p, json_t *arr, const char *val)
{
    append(p, arr, any_string(val));
}
