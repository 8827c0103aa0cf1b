/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_conf.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/header.h"
#include "api/jobj.h"
#include "api/match.h"
#include "server/base/clock.h"

#define BYTES_DEFAULT (INT64_C(64) << 20)

static const char *const attributes[] = {
    [GROUP_BY_GROUP] = "group",   [GROUP_BY_ACCOUNT] = "account", [GROUP_BY_USER] = "user",
    [GROUP_BY_CLIENT] = "client", [GROUP_BY_SUBJECT] = "subject", [GROUP_BY_SUBJECT + 1] = NULL,
};
static const char *const modes[] = {
    [GROUP_ENFORCED] = "enforced", [GROUP_MONITOR] = "monitor", [GROUP_MONITOR + 1] = NULL};

enum kind { KIND_TEXT, KIND_SUBJECT, KIND_INT, KIND_TIME, KIND_NAME };

static const struct row {
    const char *block; /* NULL: of the group itself */
    const char *key;
    enum kind kind;
    size_t offset; /* in struct group_conf */
    int64_t min, max;
    const char *const *names; /* KIND_NAME */
} rows[] = {
#define ROW(block, key, kind, field, ...)                                                          \
    {                                                                                              \
        block, key, kind, offsetof(struct group_conf, field), __VA_ARGS__                          \
    }
    ROW("match", "account", KIND_TEXT, account, 1, GROUP_TEXT_MAX, NULL),
    ROW("match", "user", KIND_TEXT, user, 1, GROUP_TEXT_MAX, NULL),
    ROW("match", "client", KIND_TEXT, client, 1, GROUP_TEXT_MAX, NULL),
    ROW("match", "subject", KIND_SUBJECT, subject, 1, GROUP_TEXT_MAX, NULL),
    ROW("throttling", "limit", KIND_INT, limit, 1, GROUP_LIMIT_MAX, NULL),
    ROW("throttling", "attribute", KIND_NAME, attribute, 0, 0, attributes),
    ROW("throttling", "mode", KIND_NAME, mode, 0, 0, modes),
    ROW("queue", "size", KIND_INT, size, 0, GROUP_SIZE_MAX, NULL),
    ROW("queue", "max_bytes", KIND_INT, max_bytes, 1, GROUP_BYTES_MAX, NULL),
    ROW(NULL, "cancel_after", KIND_TIME, cancel_after, 0, GROUP_CANCEL_MAX, NULL),
#undef ROW
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const char *const blocks[] = {"match", "throttling", "queue"};
#define N_BLOCKS (sizeof(blocks) / sizeof(blocks[0]))

const char *
group_attribute_name(enum group_attribute a)
{
    return attributes[a];
}

const char *
group_mode_name(enum group_mode m)
{
    return modes[m];
}

/* A struct group_conf is a plain value; its fields are reached by their place in it. */
static void
set_int(struct group_conf *c, size_t offset, int64_t v)
{
    memcpy((char *)c + offset, &v, sizeof(v));
}

static int64_t
get_int(const struct group_conf *c, size_t offset)
{
    int64_t v;
    memcpy(&v, (const char *)c + offset, sizeof(v));
    return v;
}

static unsigned
get_name(const struct group_conf *c, size_t offset)
{
    unsigned v;
    memcpy(&v, (const char *)c + offset, sizeof(v));
    return v;
}

enum status
group_conf_init(struct group_conf *c, const char *name, char *err, size_t err_size)
{
    size_t n = strlen(name);
    bool ok = n > 0 && n <= GROUP_NAME_MAX;
    for (size_t i = 0; ok && i < n; i++) {
        ok = isalnum((unsigned char)name[i]) || name[i] == '-' || name[i] == '_';
    }
    if (!ok) {
        (void)snprintf(err, err_size,
                       "invalid name of a workload group: must be 1 to %d letters, digits, '-' and "
                       "'_'",
                       GROUP_NAME_MAX);
        return ST_INVAL;
    }
    *c = (struct group_conf){.max_bytes = BYTES_DEFAULT};
    memcpy(c->name, name, n + 1);
    return ST_OK;
}

bool
group_conf_is_block(const char *key)
{
    for (size_t i = 0; i < N_BLOCKS; i++) {
        if (strcmp(blocks[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static bool
is_of_block(const struct row *r, const char *block)
{
    return r->block == NULL || block == NULL ? r->block == block : strcmp(r->block, block) == 0;
}

void
group_conf_reset_block(struct group_conf *c, const char *block)
{
    static const struct group_conf none = {.max_bytes = BYTES_DEFAULT};
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct row *r = &rows[i];
        if (!is_of_block(r, block)) {
            continue;
        }
        size_t size = r->kind == KIND_INT || r->kind == KIND_TIME ? sizeof(int64_t)
                      : r->kind == KIND_NAME                      ? sizeof(unsigned)
                                                                  : GROUP_TEXT_MAX + 1;
        memcpy((char *)c + r->offset, (const char *)&none + r->offset, size);
    }
}

/* Where the error is: "throttling.limit". */
static const char *
where(const struct row *r, char out[64])
{
    (void)snprintf(out, 64, "%s%s%s", r->block == NULL ? "" : r->block, r->block == NULL ? "" : ".",
                   r->key);
    return out;
}

static enum status
put_text(struct group_conf *c, const struct row *r, const struct group_value *v, char *err,
         size_t size)
{
    char at[64];
    if (v->type != GROUP_VALUE_STRING || *v->s == '\0' || strlen(v->s) > GROUP_TEXT_MAX) {
        (void)snprintf(err, size, "invalid value for %s: must be a text of 1 to %d characters",
                       where(r, at), GROUP_TEXT_MAX);
        return ST_INVAL;
    }
    if (r->kind == KIND_SUBJECT && !match_is_subject(v->s)) {
        (void)snprintf(err, size, "invalid value for %s: \"%.64s\" is no subject", where(r, at),
                       v->s);
        return ST_INVAL;
    }
    (void)snprintf((char *)c + r->offset, GROUP_TEXT_MAX + 1, "%s", v->s);
    return ST_OK;
}

static enum status
put_int(struct group_conf *c, const struct row *r, const struct group_value *v, char *err,
        size_t size)
{
    char at[64];
    if (v->type != GROUP_VALUE_INT || v->i < r->min || v->i > r->max) {
        (void)snprintf(err, size, "invalid value for %s: must be a whole number from %lld to %lld",
                       where(r, at), (long long)r->min, (long long)r->max);
        return ST_INVAL;
    }
    set_int(c, r->offset, v->i);
    return ST_OK;
}

static enum status
put_time(struct group_conf *c, const struct row *r, const struct group_value *v, char *err,
         size_t size)
{
    char at[64];
    int64_t ns = -1;
    if (v->type != GROUP_VALUE_STRING || header_duration(v->s, strlen(v->s), &ns) != ST_OK ||
        ns < r->min || ns > r->max) {
        (void)snprintf(err, size,
                       "invalid value for %s: must be a time as \"500ms\" or \"5s\", at most a day",
                       where(r, at));
        return ST_INVAL;
    }
    set_int(c, r->offset, ns);
    return ST_OK;
}

static enum status
put_name(struct group_conf *c, const struct row *r, const struct group_value *v, char *err,
         size_t size)
{
    char at[64];
    for (unsigned i = 0; v->type == GROUP_VALUE_STRING && r->names[i] != NULL; i++) {
        if (strcmp(v->s, r->names[i]) == 0) {
            memcpy((char *)c + r->offset, &i, sizeof(i));
            return ST_OK;
        }
    }
    int n = snprintf(err, size, "invalid value for %s: must be", where(r, at));
    for (unsigned i = 0; r->names[i] != NULL && n > 0 && (size_t)n < size; i++) {
        const char *glue = i == 0 ? "" : r->names[i + 1] == NULL ? " or" : ",";
        n += snprintf(err + n, size - (size_t)n, "%s \"%s\"", glue, r->names[i]);
    }
    return ST_INVAL;
}

/* Names it, and what is allowed in its place. */
static void
unknown(const char *block, const char *key, char *err, size_t size)
{
    int n = snprintf(err, size, "unknown key: %s%s%.64s, there are", block == NULL ? "" : block,
                     block == NULL ? "" : ".", key);
    const char *glue = "";
    for (size_t i = 0; block == NULL && i < N_BLOCKS && n > 0 && (size_t)n < size; i++) {
        n += snprintf(err + n, size - (size_t)n, "%s %s", glue, blocks[i]);
        glue = ",";
    }
    for (size_t i = 0; i < N_ROWS && n > 0 && (size_t)n < size; i++) {
        if (is_of_block(&rows[i], block)) {
            n += snprintf(err + n, size - (size_t)n, "%s %s", glue, rows[i].key);
            glue = ",";
        }
    }
}

enum status
group_conf_put(struct group_conf *c, const char *block, const char *key,
               const struct group_value *v, char *err, size_t err_size)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct row *r = &rows[i];
        if (!is_of_block(r, block) || strcmp(r->key, key) != 0) {
            continue;
        }
        switch (r->kind) {
        case KIND_INT:
            return put_int(c, r, v, err, err_size);
        case KIND_TIME:
            return put_time(c, r, v, err, err_size);
        case KIND_NAME:
            return put_name(c, r, v, err, err_size);
        case KIND_TEXT:
        case KIND_SUBJECT:
        default:
            return put_text(c, r, v, err, err_size);
        }
    }
    unknown(block, key, err, err_size);
    return ST_NOTFOUND;
}

enum status
group_conf_check(const struct group_conf *c, char *err, size_t err_size)
{
    if (c->limit > 0) {
        return ST_OK;
    }
    if (c->mode != GROUP_ENFORCED || c->attribute != GROUP_BY_GROUP) {
        (void)snprintf(err, err_size, "throttling.limit is missing");
        return ST_INVAL;
    }
    if (c->size > 0 || c->cancel_after > 0) {
        (void)snprintf(err, err_size,
                       "throttling.limit is missing: without it nothing is ever parked");
        return ST_INVAL;
    }
    return ST_OK;
}

static enum status
parse_member(struct group_conf *c, const char *block, const char *key, const json_t *j, char *err,
             size_t size)
{
    struct group_value v = {.type = GROUP_VALUE_OTHER};
    if (json_is_string(j)) {
        v = (struct group_value){GROUP_VALUE_STRING, json_string_value(j), 0};
    } else if (json_is_integer(j)) {
        v = (struct group_value){GROUP_VALUE_INT, NULL, json_integer_value(j)};
    }
    return group_conf_put(c, block, key, &v, err, size);
}

static enum status
parse_block(struct group_conf *c, const char *block, const json_t *o, char *err, size_t size)
{
    const char *key;
    json_t *value;
    if (!json_is_object(o)) {
        (void)snprintf(err, size, "invalid value for %s: must be an object", block);
        return ST_INVAL;
    }
    group_conf_reset_block(c, block);
    json_object_foreach((json_t *)(uintptr_t)o, key, value)
    {
        if (parse_member(c, block, key, value, err, size) != ST_OK) {
            return ST_INVAL;
        }
    }
    if (strcmp(block, "throttling") == 0 && c->limit == 0) {
        (void)snprintf(err, size, "throttling.limit is missing");
        return ST_INVAL;
    }
    return ST_OK;
}

enum status
group_conf_parse(struct group_conf *c, const json_t *o, char *err, size_t err_size)
{
    struct group_conf next = *c;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)o, key, value)
    {
        enum status st = group_conf_is_block(key)
                             ? parse_block(&next, key, value, err, err_size)
                             : parse_member(&next, NULL, key, value, err, err_size);
        if (st != ST_OK) {
            return ST_INVAL;
        }
    }
    if (group_conf_check(&next, err, err_size) != ST_OK) {
        return ST_INVAL;
    }
    *c = next;
    return ST_OK;
}

static void
put_member(json_t **o, const struct row *r, const struct group_conf *c)
{
    const char *text = (const char *)c + r->offset;
    char time[HEADER_TIME_LEN];
    switch (r->kind) {
    case KIND_INT:
        jobj_int(o, r->key, (uint64_t)get_int(c, r->offset));
        break;
    case KIND_TIME:
        if (get_int(c, r->offset) > 0) {
            jobj_str(o, r->key, header_time_text(get_int(c, r->offset), time));
        }
        break;
    case KIND_NAME:
        jobj_str(o, r->key, r->names[get_name(c, r->offset)]);
        break;
    case KIND_TEXT:
    case KIND_SUBJECT:
    default:
        if (*text != '\0') {
            jobj_str(o, r->key, text);
        }
        break;
    }
}

json_t *
group_conf_json(const struct group_conf *c)
{
    json_t *o = json_object();
    for (size_t b = 0; b < N_BLOCKS; b++) {
        if (strcmp(blocks[b], "throttling") == 0 && c->limit == 0) {
            continue;
        }
        json_t *block = json_object();
        for (size_t i = 0; i < N_ROWS; i++) {
            if (is_of_block(&rows[i], blocks[b])) {
                put_member(&block, &rows[i], c);
            }
        }
        jobj_put(&o, blocks[b], block);
    }
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].block == NULL) {
            put_member(&o, &rows[i], c);
        }
    }
    return o;
}

bool
group_conf_equal(const struct group_conf *a, const struct group_conf *b)
{
    bool same = strcmp(a->name, b->name) == 0;
    for (size_t i = 0; i < N_ROWS && same; i++) {
        const struct row *r = &rows[i];
        if (r->kind == KIND_INT || r->kind == KIND_TIME) {
            same = get_int(a, r->offset) == get_int(b, r->offset);
        } else if (r->kind == KIND_NAME) {
            same = get_name(a, r->offset) == get_name(b, r->offset);
        } else {
            same = strcmp((const char *)a + r->offset, (const char *)b + r->offset) == 0;
        }
    }
    return same;
}
