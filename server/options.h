/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of options. A row drives the key in the file, the flags, --help, the reference in
 * docs/configuration.md and what a reload compares. Immutable; any thread.
 *
 * To add an option: a field in struct config, a row in options.c, a line in
 * docs/configuration.md (`make check-docs` tells), and code that reads the field. */
#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct conf_value;
struct config;
struct config_loader;

enum option_type {
    OPT_INT,         /* int64_t */
    OPT_BOOL,        /* bool */
    OPT_STRING,      /* char *, owned */
    OPT_DURATION,    /* int64_t ns; a string with a unit */
    OPT_FLOAT,       /* double */
    OPT_ENUM,        /* enum; `values` in its order */
    OPT_BLOCK,       /* no field of its own: `parse` reads it */
    OPT_UNSUPPORTED, /* nats-server has it, this server not yet: refused unless it is empty */
    OPT_FLAG         /* only on the command line */
};

enum option_group {
    GROUP_NONE, /* not in --help */
    GROUP_SERVER,
    GROUP_LOGGING,
    GROUP_JETSTREAM,
    GROUP_AUTHORIZATION,
    GROUP_TLS,
    GROUP_CLUSTER,
    GROUP_PROFILING,
    GROUP_COMMON,
    GROUP_COUNT_
};

enum option_bits {
    OPTION_RELOADABLE = 1,   /* a reload may change it */
    OPTION_ZERO_DEFAULT = 2, /* 0 (or "") in the file means the default */
    OPTION_SECONDS = 4,      /* OPT_DURATION: a bare number is seconds, with a warning */
    OPTION_SECRET = 8,       /* the value is not written to logs */
    OPTION_BARE_FLAG = 16    /* the flag takes no value of its own */
};

struct option {
    const char *name;    /* the key, "block.key" inside a block; NULL: flags only */
    const char *aliases; /* other keys of the same meaning, blank-separated; or NULL */
    const char *flags;   /* without dashes, blank-separated; or NULL */
    const char *arg;     /* the flag's value in --help: "<port>" */
    enum option_group group;
    enum option_type type;
    unsigned bits;
    size_t field; /* offset in struct config */
    int64_t min, max, def;
    double fmin, fmax, fdef;
    const char *sdef;
    const char *const *values; /* OPT_ENUM; ends with NULL */
    /* Reads it from the file, where it is not read by its type alone. key: as written. */
    void (*parse)(struct config_loader *ld, const struct option *o, const struct conf_value *v,
                  const char *key);
    const char *reload_name; /* as the log names it: the reload's text, else nats-server's field */
    const char *doc;         /* one sentence, without a full stop */
};

extern const struct option options[];
extern const size_t options_count;

/* The row of a key, in any case; block is NULL or as "api". NULL: no such option. */
const struct option *option_by_key(const char *block, const char *key);
/* The row of a flag, in its exact case. */
const struct option *option_by_flag(const char *flag);

/* True if `word` is one of the blank-separated words of `list` (NULL: no). */
bool option_has_word(const char *list, const char *word, bool any_case);

void *option_field(const struct option *o, struct config *c);
const void *option_field_const(const struct option *o, const struct config *c);

/* Sets the field to the row's default. ST_NOMEM. */
enum status option_set_default(const struct option *o, struct config *c) MUST_CHECK;

/* The default as it would be written in a file, "" for none; out is a buffer for it. */
#define OPTION_TEXT_LEN 64
const char *option_default_text(const struct option *o, char out[OPTION_TEXT_LEN]);

#endif
