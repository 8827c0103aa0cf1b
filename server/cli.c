/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cli.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "server/base/assert.h"
#include "server/base/buf.h"
#include "server/base/failure.h"
#include "server/base/mem.h"
#include "server/conf/number.h"
#include "server/config.h"
#include "server/options.h"
#include "server/server.h"

struct given {
    const struct option *option; /* borrowed: static */
    char *flag;                  /* owned; as written, without dashes */
    char *value;                 /* owned; "true" or "false" for a bare flag */
};

struct cli {
    _Atomic int refs;
    struct given *v; /* owned */
    size_t n;
    enum cli_command command; /* by a word in place of a flag */
};

static bool
is_bare(const struct option *o)
{
    return o->type == OPT_BOOL || (o->bits & OPTION_BARE_FLAG) != 0;
}

/* The spellings that Go's ParseBool takes. */
static bool
parse_bool(const char *s, bool *out)
{
    *out = option_has_word("1 t T true TRUE True", s, false);
    return *out || option_has_word("0 f F false FALSE False", s, false);
}

/* The last value of a flag, NULL if it was not given. */
static const char *
last_of(const struct cli *cli, const char *flag)
{
    const struct option *o = option_by_flag(flag);
    for (size_t i = cli->n; i > 0; i--) {
        if (cli->v[i - 1].option == o) {
            return cli->v[i - 1].value;
        }
    }
    return NULL;
}

static bool
is_on(const struct cli *cli, const char *flag)
{
    const char *value = last_of(cli, flag);
    return value != NULL && strcmp(value, "true") == 0;
}

static enum status
check_value(const struct option *o, const char *flag, const char *value, char **err)
{
    int64_t i;
    if (o->type == OPT_UNSUPPORTED && !option_has_word("0 false", value, false) &&
        value[0] != '\0') {
        return failure(err, ST_SYNTAX, "%s: --%s is not supported yet", CLI_NAME, flag);
    }
    if (o->type != OPT_INT) {
        return ST_OK;
    }
    enum status st = number_parse_flag(value, &i);
    if (st == ST_SYNTAX) {
        return failure(err, ST_SYNTAX, "invalid value \"%s\" for flag -%s: parse error", value,
                       flag);
    }
    if (st != ST_OK || i < o->min || i > o->max) {
        return failure(err, ST_SYNTAX, "invalid value \"%s\" for flag -%s: value out of range",
                       value, flag);
    }
    return ST_OK;
}

static enum status
add(struct cli *cli, const struct option *o, const char *flag, const char *value)
{
    struct given *v = mem_realloc(cli->v, (cli->n + 1) * sizeof(*v));
    if (v == NULL) {
        return ST_NOMEM;
    }
    cli->v = v;
    v[cli->n] = (struct given){.option = o, .flag = mem_strdup(flag), .value = mem_strdup(value)};
    cli->n++;
    return v[cli->n - 1].flag != NULL && v[cli->n - 1].value != NULL ? ST_OK : ST_NOMEM;
}

/* One flag: name is what stands behind the dashes, value what stands behind its `=` or NULL, and
 * next the word that follows or NULL. *used: next was the value. */
static enum status
read_flag(struct cli *cli, const char *name, const char *value, const char *next, bool *used,
          char **err)
{
    const struct option *o = option_by_flag(name);
    bool on = true;
    *used = false;
    if (o == NULL) {
        return failure(err, ST_SYNTAX, "flag provided but not defined: -%s", name);
    }
    if (is_bare(o)) {
        if (value != NULL && !parse_bool(value, &on)) {
            return failure(err, ST_SYNTAX, "invalid boolean value \"%s\" for -%s: parse error",
                           value, name);
        }
        value = on ? "true" : "false";
    } else if (value == NULL) {
        if (next == NULL) {
            return failure(err, ST_SYNTAX, "flag needs an argument: -%s", name);
        }
        value = next;
        *used = true;
    }
    enum status st = check_value(o, name, value, err);
    return st == ST_OK ? add(cli, o, name, value) : st;
}

static enum status
read_word(struct cli *cli, const char *word, char **err)
{
    if (strcasecmp(word, "version") == 0) {
        cli->command = CLI_VERSION;
    } else if (strcasecmp(word, "help") == 0) {
        cli->command = CLI_HELP;
    } else {
        return failure(err, ST_SYNTAX, "%s: unrecognized command: \"%s\"", CLI_NAME, word);
    }
    return ST_OK;
}

static enum status
read_all(struct cli *cli, int argc, char *const *argv, char **err)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0') {
        const char *arg = argv[i++];
        if (strcmp(arg, "--") == 0) {
            break;
        }
        const char *name = arg + (arg[1] == '-' ? 2 : 1);
        if (name[0] == '-' || name[0] == '=') {
            return failure(err, ST_SYNTAX, "bad flag syntax: %s", arg);
        }
        const char *eq = strchr(name, '=');
        char *bare = mem_strndup(name, eq != NULL ? (size_t)(eq - name) : strlen(name));
        bool used;
        if (bare == NULL) {
            return ST_NOMEM;
        }
        enum status st =
            read_flag(cli, bare, eq != NULL ? eq + 1 : NULL, i < argc ? argv[i] : NULL, &used, err);
        mem_free(bare);
        if (st != ST_OK) {
            return st;
        }
        i += used ? 1 : 0;
    }
    bool shows = is_on(cli, "v") || is_on(cli, "h");
    return i < argc && !shows ? read_word(cli, argv[i], err) : ST_OK;
}

enum status
cli_parse(int argc, char *const *argv, struct cli **out, char **err)
{
    struct cli *cli = mem_alloc(sizeof(*cli));
    if (cli == NULL) {
        return ST_NOMEM;
    }
    cli->refs = 1;
    cli->command = CLI_RUN;
    enum status st = read_all(cli, argc, argv, err);
    if (st != ST_OK) {
        cli_unref(cli);
        return st;
    }
    *out = cli;
    return ST_OK;
}

void
cli_redact(int argc, char **argv)
{
    for (int i = 1; i < argc && argv[i] != NULL; i++) {
        const char *name = argv[i] + strspn(argv[i], "-");
        size_t n = strcspn(name, "=");
        char flag[16];
        if (name == argv[i] || n >= sizeof(flag)) {
            continue;
        }
        memcpy(flag, name, n);
        flag[n] = '\0';
        const struct option *o = option_by_flag(flag);
        if (o == NULL || (o->bits & OPTION_SECRET) == 0) {
            continue;
        }
        char *value = strchr(argv[i], '=');
        value = value != NULL ? value + 1 : i + 1 < argc ? argv[i + 1] : NULL;
        if (value != NULL) {
            memset(value, '*', strlen(value));
        }
    }
}

struct cli *
cli_ref(struct cli *cli)
{
    if (cli != NULL) {
        atomic_fetch_add(&cli->refs, 1);
    }
    return cli;
}

void
cli_unref(struct cli *cli)
{
    if (cli == NULL || atomic_fetch_sub(&cli->refs, 1) > 1) {
        return;
    }
    for (size_t i = 0; i < cli->n; i++) {
        mem_free(cli->v[i].flag);
        mem_free(cli->v[i].value);
    }
    mem_free(cli->v);
    mem_free(cli);
}

enum cli_command
cli_command(const struct cli *cli)
{
    const char *text = last_of(cli, "sl");
    if (is_on(cli, "v")) {
        return CLI_VERSION;
    }
    if (is_on(cli, "h")) {
        return CLI_HELP;
    }
    if (cli->command != CLI_RUN) {
        return cli->command;
    }
    if (text != NULL && text[0] != '\0') {
        return CLI_SIGNAL;
    }
    return is_on(cli, "t") ? CLI_TEST : CLI_RUN;
}

const char *
cli_config_file(const struct cli *cli)
{
    const char *file = last_of(cli, "c");
    return file != NULL && file[0] != '\0' ? file : NULL;
}

const char *
cli_signal(const struct cli *cli)
{
    return last_of(cli, "sl");
}

static enum status
apply_value(const struct given *g, struct config *c)
{
    const struct option *o = g->option;
    void *field = option_field(o, c);
    if (o->type == OPT_INT) {
        enum status st = number_parse_flag(g->value, field);
        ASSERT(st == ST_OK);
    } else if (o->type == OPT_BOOL) {
        *(bool *)field = strcmp(g->value, "true") == 0;
    } else if (o->type == OPT_STRING) {
        char *copy = mem_strdup(g->value);
        if (copy == NULL) {
            return ST_NOMEM;
        }
        mem_free(*(char **)field);
        *(char **)field = copy;
    }
    return ST_OK;
}

/* The flags that stand for several: they win over the single ones. */
static void
apply_trace(const struct given *g, struct config *c)
{
    bool on = strcmp(g->value, "true") == 0;
    bool debug = strcmp(g->flag, "DV") == 0 || strcmp(g->flag, "DVV") == 0;
    bool verbose = strcmp(g->flag, "VV") == 0 || strcmp(g->flag, "DVV") == 0;
    if (debug) {
        c->debug = on;
    }
    if (verbose) {
        c->trace_verbose = on;
    }
    if (debug || verbose) {
        c->trace = on;
    }
}

enum status
cli_apply(const struct cli *cli, struct config *c)
{
    for (size_t i = 0; i < cli->n; i++) {
        enum status st = apply_value(&cli->v[i], c);
        if (st != ST_OK) {
            return st;
        }
    }
    for (size_t i = 0; i < cli->n; i++) {
        apply_trace(&cli->v[i], c);
    }
    return ST_OK;
}

/* "-p, --port <port>" */
static void
put_flags(struct buf *b, const struct option *o)
{
    const char *glue = "    ";
    for (const char *p = o->flags; *p != '\0';) {
        size_t n = strcspn(p, " ");
        bool is_short = n <= 2 || (p[0] >= 'A' && p[0] <= 'Z');
        if (p == o->flags && !is_short) {
            glue = "        ";
        }
        buf_printf(b, "%s%s%.*s", glue, is_short ? "-" : "--", (int)n, p);
        glue = ", ";
        p += n + strspn(p + n, " ");
    }
    if (o->arg != NULL) {
        buf_printf(b, " %s", o->arg);
    }
}

static void
put_help_line(FILE *to, const struct option *o)
{
    struct buf b;
    char text[OPTION_TEXT_LEN];
    const char *def = o->type == OPT_UNSUPPORTED ? "" : option_default_text(o, text);
    bool shows_default = def[0] != '\0' && strcmp(def, "false") != 0 && strcmp(def, "0") != 0;
    buf_init(&b);
    put_flags(&b, o);
    fprintf(to, "%-36s %s", b.data != NULL ? b.data : "", o->doc);
    if (o->type == OPT_UNSUPPORTED) {
        fputs(" (not supported yet)", to);
    } else if (shows_default) {
        fprintf(to, " (default: %s)", def);
    }
    fputc('\n', to);
    buf_fini(&b);
}

void
cli_print_help(FILE *to)
{
    static const char *const titles[GROUP_COUNT_] = {
        [GROUP_SERVER] = "Server",
        [GROUP_LOGGING] = "Logging",
        [GROUP_JETSTREAM] = "JetStream",
        [GROUP_AUTHORIZATION] = "Authorization",
        [GROUP_TLS] = "TLS",
        [GROUP_CLUSTER] = "Cluster",
        [GROUP_PROFILING] = "Profiling",
        [GROUP_COMMON] = "Common",
    };
    fprintf(to, "\nUsage: %s [options]\n", CLI_NAME);
    for (int group = GROUP_SERVER; group < GROUP_COUNT_; group++) {
        fprintf(to, "\n%s Options:\n", titles[group]);
        for (size_t i = 0; i < options_count; i++) {
            if (options[i].flags != NULL && (int)options[i].group == group) {
                put_help_line(to, &options[i]);
            }
        }
    }
    fputc('\n', to);
}

void
cli_print_version(void)
{
    printf("nats-server: v%s\n", SERVER_VERSION);
    if (isatty(STDERR_FILENO) == 1) {
        fprintf(stderr, "%s: v%s\n", CLI_NAME, SLUICE_VERSION);
    }
}
