/* SPDX-License-Identifier: Apache-2.0 */
/* A struct and its JSON object, by a table of fields: read with the errors that Go's encoding/json
 * has, written in the table's order. Pure; any thread. */
#ifndef STREAM_JFIELD_H
#define STREAM_JFIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/base/status.h"

enum jfield_kind {
    JF_STR,      /* char *, owned; NULL: "" */
    JF_BOOL,     /* bool */
    JF_INT,      /* int64_t: Go's int and int64 */
    JF_INT32,    /* int64_t that holds an int32 */
    JF_UINT,     /* uint64_t */
    JF_DURATION, /* int64_t ns */
    JF_TIME,     /* int64_t wall ns, with a bool at off2 */
    JF_STRS,     /* char **, owned, with its size_t at off2 */
    JF_ENUM,     /* an enum (int), names are its texts in order, then NULL */
    JF_OBJECT,   /* json_t *, owned: an object as it came; type is Go's name */
    JF_TEXTS,    /* json_t *, owned: an object of texts */
    JF_CUSTOM,   /* read and write are the field's own */
    JF_IGNORED   /* known, of no effect */
};

struct jread;
struct jfield {
    const char *key;
    enum jfield_kind kind;
    bool always; /* is written even where it is zero */
    bool nulls;  /* read is asked about a null, too; others leave the member as it is then */
    size_t off, off2;
    const char *type;
    const char *const *names;
    enum status (*read)(struct jread *r, const json_t *v, void *base);
    /* NULL: nothing to write; ST_NOMEM by *failed. New reference. */
    json_t *(*write)(const void *base, bool *failed);
};

/* Where we are, for the texts of errors. */
struct jread {
    const struct jfield *fields; /* ends with a NULL key */
    const char *type;            /* Go's name of the struct */
    const char *path;            /* what precedes the key, with its dot */
    bool strict;                 /* unknown fields are errors */
    bool failed;                 /* err has the text; else ST_NOMEM */
    char err[400];
};

/* ST_SYNTAX: r->err. base's owned members that were set stay the caller's to free. */
enum status jfield_read(struct jread *r, const json_t *o, void *base) MUST_CHECK;
/* New reference, or NULL without memory. */
json_t *jfield_write(const struct jfield *fields, const void *base);

/* Sets the error "cannot unmarshal … into Go struct field …" and returns ST_SYNTAX. */
enum status jfield_mismatch(struct jread *r, const json_t *v, const char *key, const char *type);
/* The same of what should have been an integer. */
enum status jfield_no_integer(struct jread *r, const json_t *v, const char *key, const char *type);

#endif
