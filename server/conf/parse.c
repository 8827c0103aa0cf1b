/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conf/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/assert.h"
#include "server/base/buf.h"
#include "server/base/errtext.h"
#include "server/base/mem.h"
#include "server/conf/lex.h"
#include "server/conf/number.h"
#include "server/conf/path.h"

#define MAX_INCLUDES  64
#define MAX_FILE_SIZE (64u << 20)

/* A file (or an environment variable) that is being read, and what asked for it. */
struct source {
    const struct source *parent; /* borrowed: up the stack */
    const char *env;             /* borrowed: the variable's name; NULL: a file */
    dev_t dev;
    ino_t ino;
    int depth;
};

struct input {
    const char *text; /* borrowed: for the call */
    size_t n;
    const char *file; /* borrowed: in the arena, or static */
};

struct key {
    const char *name; /* borrowed: in the arena */
    int line, pos;
};

struct parser {
    struct arena *a;             /* borrowed: the caller's */
    struct conf_lex *lx;         /* owned */
    const char *file;            /* borrowed: in the arena */
    const struct source *source; /* borrowed: up the stack */
    const char *err;             /* borrowed: in the arena */
    struct key *keys;            /* borrowed: in the arena; keys whose value has not come yet */
    size_t n_keys, cap_keys;
    size_t depth;
    struct conf_value *open[CONF_MAX_DEPTH]; /* borrowed: in the arena; the blocks around */
};

static enum status parse_file(struct arena *a, const char *path, const struct source *parent,
                              struct conf_map **out, const char **err) MUST_CHECK;
static enum status parse_input(struct arena *a, const struct input *in, const struct source *source,
                               struct conf_map **out, const char **err) MUST_CHECK;

static enum status set_error(struct arena *a, const char **err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static enum status
set_error(struct arena *a, const char **err, const char *fmt, ...)
{
    struct buf b;
    buf_init(&b);
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    *err = buf_status(&b) == ST_OK ? arena_strndup(a, b.data, b.len) : NULL;
    buf_fini(&b);
    return *err != NULL ? ST_SYNTAX : ST_NOMEM;
}

static struct conf_value *
new_value(struct parser *p, const struct conf_item *item, enum conf_type type)
{
    struct conf_value *v = arena_alloc(p->a, sizeof(*v));
    if (v != NULL) {
        v->type = type;
        v->line = item->line;
        v->pos = item->pos;
        v->file = p->file;
    }
    return v;
}

static enum status
push_key(struct parser *p, const char *name, int line, int pos)
{
    if (p->n_keys == p->cap_keys) {
        size_t cap = p->cap_keys > 0 ? p->cap_keys * 2 : 16;
        struct key *keys = arena_alloc(p->a, cap * sizeof(*keys));
        if (keys == NULL) {
            return ST_NOMEM;
        }
        if (p->n_keys > 0) {
            memcpy(keys, p->keys, p->n_keys * sizeof(*keys));
        }
        p->keys = keys;
        p->cap_keys = cap;
    }
    p->keys[p->n_keys++] = (struct key){.name = name, .line = line, .pos = pos};
    return ST_OK;
}

/* Puts v into the innermost open list, or under the key that was read last. */
static enum status
set_value(struct parser *p, struct conf_value *v)
{
    struct conf_value *into = p->open[p->depth - 1];
    if (into->type == CONF_ARRAY) {
        return conf_array_add(p->a, into->array, v);
    }
    ASSERT(p->n_keys > 0);
    const struct key *key = &p->keys[--p->n_keys];
    v->line = key->line;
    v->pos = key->pos;
    return conf_map_put(p->a, into->map, key->name, v);
}

static enum status
add_string(struct parser *p, const struct conf_item *item, enum conf_type type)
{
    struct conf_value *v = new_value(p, item, type);
    char *s = arena_strndup(p->a, item->val, item->len);
    if (v == NULL || s == NULL) {
        return ST_NOMEM;
    }
    if (memchr(s, '\0', item->len) != NULL) {
        return set_error(p->a, &p->err, "Parse error on line %d: 'a string holds a NUL byte'",
                         item->line);
    }
    v->str = s;
    return set_value(p, v);
}

static enum status
add_number(struct parser *p, const struct conf_item *item)
{
    struct conf_value *v = new_value(p, item, item->type == ITEM_FLOAT ? CONF_FLOAT : CONF_INT);
    if (v == NULL) {
        return ST_NOMEM;
    }
    enum status st = item->type == ITEM_FLOAT ? number_parse_float(item->val, &v->f)
                                              : number_parse_size(item->val, &v->i);
    const char *kind = item->type == ITEM_FLOAT ? "float" : "integer";
    if (st == ST_LIMIT) {
        return set_error(p->a, &p->err, "%s '%s' is out of the range", kind, item->val);
    }
    if (st != ST_OK) {
        return set_error(p->a, &p->err, "expected %s, but got '%s'", kind, item->val);
    }
    return set_value(p, v);
}

static enum status
add_bool(struct parser *p, const struct conf_item *item)
{
    struct conf_value *v = new_value(p, item, CONF_BOOL);
    if (v == NULL) {
        return ST_NOMEM;
    }
    v->b = strcasecmp(item->val, "true") == 0 || strcasecmp(item->val, "yes") == 0 ||
           strcasecmp(item->val, "on") == 0;
    return set_value(p, v);
}

static enum status
add_datetime(struct parser *p, const struct conf_item *item)
{
    if (!number_is_datetime(item->val)) {
        return set_error(p->a, &p->err, "expected Zulu formatted DateTime, but got '%s'",
                         item->val);
    }
    return add_string(p, item, CONF_DATETIME);
}

static enum status
open_block(struct parser *p, const struct conf_item *item, enum conf_type type)
{
    if (p->depth == CONF_MAX_DEPTH) {
        return set_error(p->a, &p->err, "Parse error on line %d: 'blocks are nested too deeply'",
                         item->line);
    }
    struct conf_value *v = new_value(p, item, type);
    if (v == NULL) {
        return ST_NOMEM;
    }
    if (type == CONF_ARRAY) {
        v->array = conf_array_new(p->a);
    } else {
        v->map = conf_map_new(p->a);
    }
    if (type == CONF_ARRAY ? v->array == NULL : v->map == NULL) {
        return ST_NOMEM;
    }
    p->open[p->depth++] = v;
    return ST_OK;
}

static enum status
close_block(struct parser *p, const struct conf_item *item)
{
    ASSERT(p->depth > 1);
    struct conf_value *v = p->open[--p->depth];
    v->line = item->line;
    v->pos = item->pos;
    return set_value(p, v);
}

/* The value of an environment variable, read as if it stood in the file. *out stays NULL where
 * there is no such variable. */
static enum status
lookup_env(struct parser *p, const char *name, struct conf_value **out, const char **err)
{
    ASSERT(p->source != NULL);
    for (const struct source *s = p->source; s != NULL && s->env != NULL; s = s->parent) {
        if (strcmp(s->env, name) == 0) {
            return set_error(p->a, err, "variable reference cycle for '%s'", name);
        }
    }
    /* Nobody writes the environment. */
    const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe) */
    if (text == NULL) {
        return ST_OK;
    }
    if (p->source->depth == MAX_INCLUDES) {
        return set_error(p->a, err, "variables are nested too deeply");
    }
    struct buf b;
    buf_init(&b);
    buf_printf(&b, "pk=%s", text);
    struct source source = {.parent = p->source, .env = name, .depth = p->source->depth + 1};
    struct input in = {.text = b.data, .n = b.len, .file = ""};
    struct conf_map *m = NULL;
    enum status st = buf_status(&b);
    if (st == ST_OK) {
        st = parse_input(p->a, &in, &source, &m, err);
    }
    if (st == ST_OK) {
        *out = conf_map_get(m, "pk");
    }
    buf_fini(&b);
    return st;
}

static enum status
lookup(struct parser *p, const char *name, struct conf_value **out, const char **err)
{
    for (size_t i = p->depth; i > 0; i--) {
        struct conf_value *block = p->open[i - 1];
        if (block->type == CONF_MAP) {
            *out = conf_map_get(block->map, name);
            if (*out != NULL) {
                (*out)->used_variable = true;
                return ST_OK;
            }
        }
    }
    return lookup_env(p, name, out, err);
}

static enum status
add_variable(struct parser *p, const struct conf_item *item)
{
    /* A bcrypt hash begins with a dollar and need not be quoted. */
    static const char bcrypt[] = "2a$";
    struct conf_value *v = new_value(p, item, CONF_STRING);
    char *name = arena_alloc(p->a, item->len + 2);
    if (v == NULL || name == NULL) {
        return ST_NOMEM;
    }
    name[0] = '$';
    memcpy(name + 1, item->val, item->len);
    if (strncmp(name + 1, bcrypt, sizeof(bcrypt) - 1) == 0) {
        v->str = name;
        return set_value(p, v);
    }
    struct conf_value *found = NULL;
    const char *why = NULL;
    enum status st = lookup(p, name + 1, &found, &why);
    if (st == ST_SYNTAX) {
        return set_error(p->a, &p->err,
                         "variable reference for '%s' on line %d could not be parsed: %s", name + 1,
                         item->line, why);
    }
    if (st != ST_OK) {
        return st;
    }
    if (found == NULL) {
        return set_error(p->a, &p->err, "variable reference for '%s' on line %d can not be found",
                         name + 1, item->line);
    }
    struct conf_value at = *v;
    *v = *found;
    v->used_variable = false;
    v->line = at.line;
    v->pos = at.pos;
    v->file = at.file;
    return set_value(p, v);
}

/* The keys of the other file stand as if they were written here. */
static enum status
include(struct parser *p, const struct conf_item *item)
{
    char *name = arena_strndup(p->a, item->val, item->len);
    char *dir = path_dir(p->a, p->file);
    char *path = name != NULL && dir != NULL ? path_join(p->a, dir, name) : NULL;
    if (path == NULL) {
        return ST_NOMEM;
    }
    struct conf_map *m = NULL;
    const char *why = NULL;
    enum status st = parse_file(p->a, path, p->source, &m, &why);
    if (st == ST_SYNTAX) {
        return set_error(p->a, &p->err, "error parsing include file '%s', %s", name, why);
    }
    for (size_t i = 0; st == ST_OK && i < conf_map_len(m); i++) {
        struct conf_value *v = conf_map_get(m, conf_map_key(m, i));
        st = push_key(p, conf_map_key(m, i), v->line, v->pos);
        if (st == ST_OK) {
            st = set_value(p, v);
        }
    }
    return st;
}

static enum status
add_key(struct parser *p, const struct conf_item *item)
{
    char *name = arena_strndup(p->a, item->val, item->len);
    return name != NULL ? push_key(p, name, item->line, item->pos) : ST_NOMEM;
}

static enum status
process(struct parser *p, const struct conf_item *item)
{
    switch (item->type) {
    case ITEM_ERROR:
        return set_error(p->a, &p->err, "Parse error on line %d: '%s'", item->line, item->val);
    case ITEM_KEY:
        return add_key(p, item);
    case ITEM_STRING:
        return add_string(p, item, CONF_STRING);
    case ITEM_BOOL:
        return add_bool(p, item);
    case ITEM_INTEGER:
    case ITEM_FLOAT:
        return add_number(p, item);
    case ITEM_DATETIME:
        return add_datetime(p, item);
    case ITEM_ARRAY_START:
        return open_block(p, item, CONF_ARRAY);
    case ITEM_MAP_START:
        return open_block(p, item, CONF_MAP);
    case ITEM_ARRAY_END:
    case ITEM_MAP_END:
        return close_block(p, item);
    case ITEM_VARIABLE:
        return add_variable(p, item);
    case ITEM_INCLUDE:
        return include(p, item);
    case ITEM_EOF:
        break;
    }
    return ST_OK;
}

static enum status
run(struct parser *p)
{
    struct conf_item item;
    /* A lone brace may end the file, as where JSON is pasted without its beginning. */
    bool after_key = false;
    for (;;) {
        enum status st = conf_lex_next(p->lx, &item);
        if (st != ST_OK) {
            return st;
        }
        if (item.type == ITEM_EOF) {
            break;
        }
        after_key = item.type == ITEM_KEY && strcmp(item.val, "}") != 0;
        st = process(p, &item);
        if (st != ST_OK) {
            return st;
        }
    }
    if (after_key) {
        return set_error(p->a, &p->err, "config is invalid (%s:%d:%d)", p->file, item.line,
                         item.pos);
    }
    return ST_OK;
}

static enum status
parse_input(struct arena *a, const struct input *in, const struct source *source,
            struct conf_map **out, const char **err)
{
    struct parser *p = arena_alloc(a, sizeof(*p));
    if (p == NULL) {
        return ST_NOMEM;
    }
    p->a = a;
    p->file = in->file;
    p->source = source;
    enum status st = conf_lex_new(&p->lx, in->text, in->n);
    if (st != ST_OK) {
        return st;
    }
    const struct conf_item begin = {.type = ITEM_MAP_START, .line = 1};
    st = open_block(p, &begin, CONF_MAP);
    if (st == ST_OK) {
        *out = p->open[0]->map;
        st = run(p);
    }
    conf_lex_free(p->lx);
    *err = p->err;
    return st;
}

static enum status
read_whole(int fd, struct buf *text)
{
    for (;;) {
        if (buf_reserve(text, 65536) != ST_OK) {
            return ST_NOMEM;
        }
        ssize_t n = read(fd, text->data + text->len, 65536);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return ST_IO;
        }
        if (n == 0) {
            return ST_OK;
        }
        text->len += (size_t)n;
        if (text->len > MAX_FILE_SIZE) {
            errno = EFBIG;
            return ST_IO;
        }
    }
}

static enum status
io_error(struct arena *a, const char **err, const char *op, const char *path)
{
    char text[ERRTEXT_LEN];
    return set_error(a, err, "%s %s: %s", op, path, errtext(errno, text));
}

static enum status
parse_fd(struct arena *a, int fd, const struct input *file, const struct source *source,
         struct conf_map **out, const char **err)
{
    struct buf text;
    buf_init(&text);
    enum status st = read_whole(fd, &text);
    if (st == ST_IO) {
        st = io_error(a, err, "read", file->file);
    } else if (st == ST_OK) {
        struct input in = {.text = text.data, .n = text.len, .file = file->file};
        st = parse_input(a, &in, source, out, err);
    }
    buf_fini(&text);
    return st;
}

static enum status
parse_file(struct arena *a, const char *path, const struct source *parent, struct conf_map **out,
           const char **err)
{
    struct input file = {.file = arena_strndup(a, path, strlen(path))};
    if (file.file == NULL) {
        return ST_NOMEM;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat sb;
    if (fd < 0 || fstat(fd, &sb) != 0) {
        enum status st = io_error(a, err, "open", path);
        if (fd >= 0) {
            close(fd);
        }
        return st;
    }
    struct source source = {.parent = parent,
                            .dev = sb.st_dev,
                            .ino = sb.st_ino,
                            .depth = parent != NULL ? parent->depth + 1 : 0};
    enum status st = ST_OK;
    for (const struct source *s = parent; s != NULL && st == ST_OK; s = s->parent) {
        if (s->env == NULL && s->dev == sb.st_dev && s->ino == sb.st_ino) {
            st = set_error(a, err, "include cycle: %s includes itself", path);
        }
    }
    if (st == ST_OK && source.depth > MAX_INCLUDES) {
        st = set_error(a, err, "includes are nested too deeply");
    }
    if (st == ST_OK) {
        st = parse_fd(a, fd, &file, &source, out, err);
    }
    close(fd);
    return st;
}

enum status
conf_parse_file(struct arena *a, const char *path, struct conf_map **out, const char **err)
{
    return parse_file(a, path, NULL, out, err);
}

enum status
conf_parse_text(struct arena *a, const char *text, size_t n, const char *path,
                struct conf_map **out, const char **err)
{
    const struct source source = {.depth = 0};
    struct input in = {.text = text, .n = n, .file = arena_strndup(a, path, strlen(path))};
    return in.file != NULL ? parse_input(a, &in, &source, out, err) : ST_NOMEM;
}
