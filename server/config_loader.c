/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config_loader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/conf/digest.h"
#include "server/conf/number.h"
#include "server/conf/parse.h"
#include "server/config.h"
#include "server/config_blocks.h"
#include "server/options.h"

void
config_loader_init(struct config_loader *ld, struct config *c)
{
    *ld = (struct config_loader){.c = c};
    arena_init(&ld->arena);
    buf_init(&ld->errors);
    buf_init(&ld->warnings);
}

void
config_loader_fini(struct config_loader *ld)
{
    arena_fini(&ld->arena);
    buf_fini(&ld->errors);
    buf_fini(&ld->warnings);
}

static void
put_place(struct buf *b, const struct conf_value *v)
{
    if (v != NULL) {
        buf_printf(b, "%s:%d:%d: ", v->file, v->line, v->pos);
    }
}

void
config_loader_error(struct config_loader *ld, const struct conf_value *v, const char *fmt, ...)
{
    va_list ap;
    put_place(&ld->errors, v);
    va_start(ap, fmt);
    buf_vprintf(&ld->errors, fmt, ap);
    va_end(ap);
    buf_putc(&ld->errors, '\n');
    ld->n_errors++;
}

void
config_loader_warning(struct config_loader *ld, const struct conf_value *v, const char *fmt, ...)
{
    va_list ap;
    put_place(&ld->warnings, v);
    va_start(ap, fmt);
    buf_vprintf(&ld->warnings, fmt, ap);
    va_end(ap);
    buf_putc(&ld->warnings, '\n');
}

void
config_loader_unknown(struct config_loader *ld, const struct conf_value *v, const char *key,
                      const char *hint)
{
    if (!v->used_variable) {
        config_loader_error(ld, v, "unknown field \"%s\"%s", key, hint != NULL ? hint : "");
    }
}

void
config_loader_unsupported(struct config_loader *ld, const struct conf_value *v, const char *what)
{
    config_loader_error(ld, v, "%s is not supported yet", what);
}

bool
config_loader_is(struct config_loader *ld, const struct conf_value *v, enum conf_type type)
{
    if (v->type == type) {
        return true;
    }
    config_loader_error(ld, v, "interface conversion: interface {} is %s, not %s",
                        conf_type_name(v->type), conf_type_name(type));
    return false;
}

bool
config_loader_own(struct config_loader *ld, const struct conf_value *v, enum conf_type type,
                  const char *what)
{
    static const char *const words[] = {
        [CONF_STRING] = "a text",   [CONF_BOOL] = "true or false", [CONF_INT] = "a whole number",
        [CONF_ARRAY] = "a list",    [CONF_MAP] = "a block",        [CONF_FLOAT] = "a number",
        [CONF_DATETIME] = "a date",
    };
    if (v->type == type) {
        return true;
    }
    config_loader_error(ld, v, "%s: %s is expected", what, words[type]);
    return false;
}

const char *
config_loader_string(struct config_loader *ld, const struct conf_value *v)
{
    return config_loader_is(ld, v, CONF_STRING) ? v->str : NULL;
}

void
config_loader_copy(struct config_loader *ld, char **field, const char *s)
{
    char *copy = mem_strdup(s);
    if (copy == NULL) {
        ld->nomem = true;
        return;
    }
    mem_free(*field);
    *field = copy;
}

void
config_loader_append(struct config_loader *ld, char ***list, size_t *n, const char *s)
{
    char *copy = mem_strdup(s);
    char **bigger = copy != NULL ? mem_realloc(*list, (*n + 1) * sizeof(**list)) : NULL;
    if (bigger == NULL) {
        mem_free(copy);
        ld->nomem = true;
        return;
    }
    *list = bigger;
    bigger[(*n)++] = copy;
}

/* The block's keys, for who wrote one that is not there. */
static const char *
keys_of(struct config_loader *ld, const char *block)
{
    struct buf b;
    buf_init(&b);
    size_t n = strlen(block);
    const char *glue = "";
    buf_printf(&b, ", %s { } has ", block);
    for (size_t i = 0; i < options_count; i++) {
        const char *name = options[i].name;
        if (name != NULL && strncmp(name, block, n) == 0 && name[n] == '.') {
            buf_printf(&b, "%s%s", glue, name + n + 1);
            glue = ", ";
        }
    }
    const char *text = b.data != NULL ? arena_strndup(&ld->arena, b.data, b.len) : NULL;
    ld->nomem = ld->nomem || text == NULL;
    buf_fini(&b);
    return text;
}

static bool
is_empty(const struct conf_value *v)
{
    switch (v->type) {
    case CONF_STRING:
        return v->str[0] == '\0';
    case CONF_BOOL:
        return !v->b;
    case CONF_INT:
        return v->i == 0;
    case CONF_ARRAY:
        return conf_array_len(v->array) == 0;
    case CONF_MAP:
        return conf_map_len(v->map) == 0;
    case CONF_FLOAT:
    case CONF_DATETIME:
        break;
    }
    return false;
}

/* Whether nats-server has no such option, and so no wording of its errors. */
static bool
is_own(const struct option *o)
{
    return strncmp(o->name, "api.", 4) == 0;
}

static bool
has_type(struct config_loader *ld, const struct option *o, const struct conf_value *v,
         const char *key, enum conf_type type)
{
    return is_own(o) ? config_loader_own(ld, v, type, key) : config_loader_is(ld, v, type);
}

static void
read_int(struct config_loader *ld, const struct option *o, const struct conf_value *v,
         const char *key)
{
    if (!has_type(ld, o, v, key, CONF_INT)) {
        return;
    }
    if (v->i > o->max && o->max == INT32_MAX) {
        config_loader_error(ld, v, "%s value is too big", key);
    } else if (v->i < o->min || v->i > o->max) {
        config_loader_error(ld, v, "%s: %lld is out of range, allowed is %lld to %lld", key,
                            (long long)v->i, (long long)o->min, (long long)o->max);
    } else {
        *(int64_t *)option_field(o, ld->c) = v->i;
    }
}

static void
read_float(struct config_loader *ld, const struct option *o, const struct conf_value *v,
           const char *key)
{
    double f = v->type == CONF_INT ? (double)v->i : v->f;
    char least[NUMBER_FLOAT_LEN];
    char most[NUMBER_FLOAT_LEN];
    if (v->type != CONF_INT && !has_type(ld, o, v, key, CONF_FLOAT)) {
        return;
    }
    if (f < o->fmin || f > o->fmax) {
        config_loader_error(ld, v, "%s: %g is out of range, allowed is %s to %s", key, f,
                            number_format_float(o->fmin, least),
                            number_format_float(o->fmax, most));
        return;
    }
    *(double *)option_field(o, ld->c) = f;
}

static void
read_duration(struct config_loader *ld, const struct option *o, const struct conf_value *v,
              const char *key)
{
    const char *name = strrchr(o->name, '.') != NULL ? strrchr(o->name, '.') + 1 : o->name;
    char why[NUMBER_WHY_LEN];
    int64_t d = 0;
    if (v->type == CONF_INT && (o->bits & OPTION_SECONDS) != 0) {
        config_loader_warning(
            ld, v, "invalid use of field \"%s\": %s should be converted to a duration", name, name);
        if (__builtin_mul_overflow(v->i, CLOCK_S, &d)) {
            d = -1;
        }
    } else if (is_own(o) && v->type != CONF_STRING) {
        config_loader_error(ld, v, "%s: a time is expected, such as \"5s\" or \"250ms\"", key);
        return;
    } else if (!config_loader_is(ld, v, CONF_STRING)) {
        return;
    } else if (number_parse_duration(v->str, &d, why) != ST_OK) {
        config_loader_error(ld, v, "error parsing %s: %s", name, why);
        return;
    }
    if (d < o->min || d > o->max) {
        char at_least[NUMBER_DURATION_LEN];
        char at_most[NUMBER_DURATION_LEN];
        config_loader_error(ld, v, "%s is out of range, allowed is %s to %s", key,
                            number_format_duration(o->min, at_least),
                            number_format_duration(o->max, at_most));
        return;
    }
    *(int64_t *)option_field(o, ld->c) = d;
}

static void
read_enum(struct config_loader *ld, const struct option *o, const struct conf_value *v,
          const char *key)
{
    if (!is_own(o) && !config_loader_is(ld, v, CONF_STRING)) {
        return;
    }
    for (unsigned i = 0; v->type == CONF_STRING && o->values[i] != NULL; i++) {
        if (strcmp(v->str, o->values[i]) == 0) {
            *(unsigned *)option_field(o, ld->c) = i;
            return;
        }
    }
    struct buf b;
    buf_init(&b);
    for (unsigned i = 0; o->values[i] != NULL; i++) {
        const char *glue = i == 0 ? "" : o->values[i + 1] != NULL ? ", " : " or ";
        buf_printf(&b, "%s'%s'", glue, o->values[i]);
    }
    config_loader_error(ld, v, "%s must be %s", key, b.data != NULL ? b.data : "");
    ld->nomem = ld->nomem || b.failed;
    buf_fini(&b);
}

void
config_loader_value(struct config_loader *ld, const struct option *o, const struct conf_value *v,
                    const char *key)
{
    const char *s;
    switch (o->type) {
    case OPT_INT:
        read_int(ld, o, v, key);
        break;
    case OPT_BOOL:
        if (has_type(ld, o, v, key, CONF_BOOL)) {
            *(bool *)option_field(o, ld->c) = v->b;
        }
        break;
    case OPT_STRING:
        s = config_loader_string(ld, v);
        if (s != NULL) {
            config_loader_copy(ld, option_field(o, ld->c), s);
        }
        break;
    case OPT_DURATION:
        read_duration(ld, o, v, key);
        break;
    case OPT_FLOAT:
        read_float(ld, o, v, key);
        break;
    case OPT_ENUM:
        read_enum(ld, o, v, key);
        break;
    case OPT_UNSUPPORTED:
        if (o->min != 0 || !is_empty(v)) {
            config_loader_unsupported(ld, v, key);
        }
        break;
    case OPT_BLOCK:
    case OPT_FLAG:
        break;
    }
}

void
config_loader_key(struct config_loader *ld, const char *block, const struct conf_value *v,
                  const char *key)
{
    const struct option *o = option_by_key(block, key);
    if (o == NULL) {
        bool ours = block != NULL && strcmp(block, "api") == 0;
        config_loader_unknown(ld, v, key, ours ? keys_of(ld, block) : NULL);
    } else if (o->parse != NULL) {
        o->parse(ld, o, v, key);
    } else {
        config_loader_value(ld, o, v, key);
    }
}

enum status
config_loader_apply(struct config_loader *ld, const struct conf_map *m, const char *path)
{
    enum status st = conf_digest(m, ld->c->config_digest);
    if (st == ST_LIMIT) {
        config_loader_error(ld, NULL, "%s: the variables make it too big", path);
        return ST_SYNTAX;
    }
    ld->names = st == ST_OK ? conf_map_new(&ld->arena) : NULL;
    if (ld->names == NULL) {
        return ST_NOMEM;
    }
    if (conf_map_len(m) == 0) {
        config_loader_warning(ld, NULL, "%s: config has no values or is empty", path);
    }
    for (size_t i = 0; i < conf_map_len(m); i++) {
        config_loader_key(ld, NULL, conf_map_at(m, i), conf_map_key(m, i));
    }
    config_block_gates_end(ld);
    if (ld->nomem || ld->errors.failed || ld->warnings.failed) {
        return ST_NOMEM;
    }
    return ld->n_errors > 0 ? ST_SYNTAX : ST_OK;
}

enum status
config_loader_read(struct config_loader *ld, const char *path)
{
    struct conf_map *m = NULL;
    const char *err = NULL;
    enum status st = conf_parse_file(&ld->arena, path, &m, &err);
    if (st == ST_SYNTAX) {
        config_loader_error(ld, NULL, "%s", err);
    }
    return st == ST_OK ? config_loader_apply(ld, m, path) : st;
}
