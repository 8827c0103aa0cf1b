/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of a configuration file into a snapshot that is being made. Errors are collected,
 * each with its place, and reported together. Owned by one thread; lives for one load.
 *
 * Running out of memory is remembered (`nomem`) and checked once, at the end. */
#ifndef SERVER_CONFIG_LOADER_H
#define SERVER_CONFIG_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/buf.h"
#include "server/base/status.h"
#include "server/conf/arena.h"
#include "server/conf/tree.h"

struct config;
struct option;

struct config_loader {
    struct config *c;       /* borrowed: the caller's */
    struct arena arena;     /* the trees of the files */
    struct buf errors;      /* lines */
    struct buf warnings;    /* lines */
    struct conf_map *names; /* borrowed: in the arena; the users so far, to find duplicates */
    const struct conf_value *auth_block; /* borrowed: in the arena; authorization { … } */
    size_t n_errors;
    bool system_account_set;
    bool no_system_account;
    bool nomem;
};

void config_loader_init(struct config_loader *ld, struct config *c);
void config_loader_fini(struct config_loader *ld);

/* Reads the file into ld->c, whose fields have their defaults. ST_SYNTAX: ld->errors has the
 * reasons. Warnings may be there in any case. */
enum status config_loader_read(struct config_loader *ld, const char *path) MUST_CHECK;
/* The same for what was parsed already, in ld->arena. path is for messages. */
enum status config_loader_apply(struct config_loader *ld, const struct conf_map *m,
                                const char *path) MUST_CHECK;

/* Adds a line "file:line:position: text"; v NULL: text alone. */
void config_loader_error(struct config_loader *ld, const struct conf_value *v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void config_loader_warning(struct config_loader *ld, const struct conf_value *v, const char *fmt,
                           ...) __attribute__((format(printf, 3, 4)));

/* "unknown field", unless the value only serves as a variable. hint: more to say, or NULL. */
void config_loader_unknown(struct config_loader *ld, const struct conf_value *v, const char *key,
                           const char *hint);
void config_loader_unsupported(struct config_loader *ld, const struct conf_value *v,
                               const char *what);

/* The value if it has the type; otherwise the error is added and false (or NULL) returned. */
bool config_loader_is(struct config_loader *ld, const struct conf_value *v, enum conf_type type);
/* The same for what nats-server does not have; the error names it and what is expected. */
bool config_loader_own(struct config_loader *ld, const struct conf_value *v, enum conf_type type,
                       const char *what);
const char *config_loader_string(struct config_loader *ld, const struct conf_value *v);

/* Replaces *field by a copy. */
void config_loader_copy(struct config_loader *ld, char **field, const char *s);

/* Adds a copy of s to a list of strings. */
void config_loader_append(struct config_loader *ld, char ***list, size_t *n, const char *s);

/* Reads one key of a block (NULL: the top) by its row of the table. */
void config_loader_key(struct config_loader *ld, const char *block, const struct conf_value *v,
                       const char *key);
/* Reads v into the field of the row, by type and range, not by the row's `parse`. */
void config_loader_value(struct config_loader *ld, const struct option *o,
                         const struct conf_value *v, const char *key);

#endif
