/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a parsed configuration. All of a tree lives in one arena and dies with it; values
 * may be shared between places of the tree (variables), so they are only read after parsing.
 * Strings are NUL-terminated and contain no other NUL. Owned by one thread. */
#ifndef SERVER_CONF_TREE_H
#define SERVER_CONF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "server/conf/arena.h"

enum conf_type {
    CONF_STRING,
    CONF_BOOL,
    CONF_INT,
    CONF_FLOAT,
    CONF_DATETIME, /* str holds it as written: 2006-01-02T15:04:05Z */
    CONF_ARRAY,
    CONF_MAP
};

struct conf_array;
struct conf_map;

struct conf_value {
    enum conf_type type;
    bool repeated;      /* its key stood in the map before: the last one wins */
    bool used_variable; /* another place refers to it: unknown keys of this kind are allowed */
    int line, pos;    /* where its key (or, in an array, it itself) begins, as nats-server counts */
    const char *file; /* borrowed: in the arena; "" for a value of the environment */
    union {
        const char *str; /* borrowed: in the arena */
        bool b;
        int64_t i;
        double f;
        struct conf_array *array; /* borrowed: in the arena */
        struct conf_map *map;     /* borrowed: in the arena */
    };
};

struct conf_array *conf_array_new(struct arena *a) MUST_CHECK;
enum status conf_array_add(struct arena *a, struct conf_array *v,
                           const struct conf_value *item) MUST_CHECK;
size_t conf_array_len(const struct conf_array *v);
const struct conf_value *conf_array_at(const struct conf_array *v, size_t i);

/* Keys in the order of their first appearance; a key that comes again replaces the value. */
struct conf_map *conf_map_new(struct arena *a) MUST_CHECK;
/* The key is borrowed: it lives in the arena. */
enum status conf_map_put(struct arena *a, struct conf_map *m, const char *key,
                         struct conf_value *value) MUST_CHECK;
/* NULL: no such key (exact case). */
struct conf_value *conf_map_get(const struct conf_map *m, const char *key);
size_t conf_map_len(const struct conf_map *m);
/* The key came more than once. */
bool conf_map_is_repeated(const struct conf_map *m, size_t i);
const char *conf_map_key(const struct conf_map *m, size_t i);
const struct conf_value *conf_map_at(const struct conf_map *m, size_t i);

/* The name that nats-server's messages give the type: "string", "int64", "[]interface {}", … */
const char *conf_type_name(enum conf_type type);

/* A single value as Go prints it, for messages; a list or a map as its type. out is a buffer. */
#define CONF_TEXT_LEN 128
const char *conf_value_text(const struct conf_value *v, char out[CONF_TEXT_LEN]);

#endif
