/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/cli.h"
#include "server/config_check.h"
#include "server/config_groups.h"
#include "server/config_loader.h"
#include "server/options.h"
#include "server/signals_cli.h"

struct config *
config_ref(struct config *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

static void
free_lists(struct config *c)
{
    for (size_t i = 0; i < c->n_tags; i++) {
        mem_free(c->tags[i]);
    }
    for (size_t i = 0; i < c->n_metadata; i++) {
        mem_free(c->metadata[i].key);
        mem_free(c->metadata[i].value);
    }
    for (size_t i = 0; i < c->n_users; i++) {
        config_user_free(c->users[i]);
    }
    for (size_t i = 0; i < c->n_accounts; i++) {
        config_account_free(c->accounts[i]);
    }
    for (size_t i = 0; i < c->n_gates; i++) {
        mem_free(c->gates[i].conf);
        mem_free(c->gates[i].place);
    }
    mem_free(c->gates);
    mem_free(c->tags);
    mem_free(c->metadata);
    mem_free(c->users);
    mem_free(c->accounts);
}

void
config_unref(struct config *c)
{
    if (c == NULL || atomic_fetch_sub(&c->refs, 1) > 1) {
        return;
    }
    for (size_t i = 0; i < options_count; i++) {
        if (options[i].type == OPT_STRING) {
            mem_free(*(char **)option_field(&options[i], c));
        }
    }
    free_lists(c);
    config_groups_free(c);
    config_perms_free(c->default_perms);
    mem_free(c->http_host);
    mem_free(c->config_file);
    cli_unref(c->cli);
    mem_free(c);
}

/* *err: text of what is wrong, perhaps several lines. */
static enum status
read_file(struct config_loader *ld, const char *path, char **err)
{
    ld->c->config_file = mem_strdup(path);
    if (ld->c->config_file == NULL) {
        return ST_NOMEM;
    }
    enum status st = config_loader_read(ld, path);
    if (st == ST_SYNTAX) {
        buf_append(&ld->warnings, ld->errors.data, ld->errors.len);
        *err = buf_detach(&ld->warnings, NULL);
        return *err != NULL ? ST_SYNTAX : ST_NOMEM;
    }
    return st;
}

/* A snapshot of file and flags. *warnings may be set with ST_OK, *err otherwise (mem_free). */
static enum status
build(struct cli *cli, bool only_file, struct config **out, char **warnings, char **err)
{
    struct config *c = mem_alloc(sizeof(*c));
    if (c == NULL) {
        return ST_NOMEM;
    }
    c->refs = 1;
    c->cli = cli_ref(cli);
    struct config_loader ld;
    config_loader_init(&ld, c);
    enum status st = config_check_defaults(c);
    if (st == ST_OK && cli_config_file(cli) != NULL) {
        st = read_file(&ld, cli_config_file(cli), err);
    }
    if (st == ST_OK && !only_file) {
        st = cli_apply(cli, c);
        if (st == ST_OK) {
            st = config_check_finish(c, &ld, err);
        }
    }
    if (st == ST_OK && ld.warnings.len > 0) {
        *warnings = buf_detach(&ld.warnings, NULL);
        st = *warnings != NULL ? ST_OK : ST_NOMEM;
    }
    config_loader_fini(&ld);
    if (st != ST_OK) {
        config_unref(c);
        return st;
    }
    *out = c;
    return ST_OK;
}

/* A line on standard error behind the program's name; text may end with a newline. */
static enum status
complain(enum status st, const char *text)
{
    size_t n = text != NULL ? strlen(text) : 0;
    while (n > 0 && text[n - 1] == '\n') {
        n--;
    }
    if (n > 0) {
        fprintf(stderr, "%s: %.*s\n", CLI_NAME, (int)n, text);
    } else {
        fprintf(stderr, "%s: %s\n", CLI_NAME, status_text(st));
    }
    return st;
}

/* -t: reads the file and says what it thinks of it. A warning is a failure here. */
static enum status
test_file(struct cli *cli)
{
    struct config *c = NULL;
    char *err = NULL;
    char *warnings = NULL;
    if (cli_config_file(cli) == NULL) {
        return complain(ST_INVAL,
                        "must specify [-c, --config] option to check configuration file syntax");
    }
    enum status st = build(cli, true, &c, &warnings, &err);
    if (st != ST_OK) {
        complain(st, err);
    } else if (warnings != NULL) {
        st = complain(ST_SYNTAX, warnings);
    } else {
        fprintf(stderr, "%s: configuration file %s is valid (%s)\n", CLI_NAME, c->config_file,
                c->config_digest);
    }
    config_unref(c);
    mem_free(err);
    mem_free(warnings);
    return st;
}

static enum status
load(struct cli *cli, struct config **out)
{
    char *err = NULL;
    char *warnings = NULL;
    enum status st = build(cli, false, out, &warnings, &err);
    if (st != ST_OK) {
        complain(st, err);
    } else if (warnings != NULL) {
        fputs(warnings, stderr);
    }
    mem_free(err);
    mem_free(warnings);
    return st;
}

static enum status
send_signal(const char *spec)
{
    char *err = NULL;
    enum status st = signals_cli_send(spec, &err);
    if (st != ST_OK) {
        complain(st, err);
    }
    mem_free(err);
    return st;
}

enum status
config_load(int argc, char **argv, struct config **out, enum config_action *action)
{
    struct cli *cli = NULL;
    char *err = NULL;
    *out = NULL;
    *action = CONFIG_EXIT;
    enum status st = cli_parse(argc, argv, &cli, &err);
    if (st != ST_OK) {
        fprintf(stderr, "%s\n", err != NULL ? err : status_text(st));
        mem_free(err);
        return st;
    }
    cli_redact(argc, argv);
    switch (cli_command(cli)) {
    case CLI_HELP:
        cli_print_help(stdout);
        break;
    case CLI_VERSION:
        cli_print_version();
        break;
    case CLI_SIGNAL:
        st = send_signal(cli_signal(cli));
        break;
    case CLI_TEST:
        st = test_file(cli);
        break;
    case CLI_RUN:
        *action = CONFIG_RUN;
        st = load(cli, out);
        break;
    }
    cli_unref(cli);
    return st;
}

enum status
config_reload(const struct config *old, struct config **out, char **err)
{
    char *warnings = NULL;
    *err = NULL;
    if (old->config_file == NULL) {
        *err = mem_strdup("can only reload config when a file is provided using -c or --config");
        return *err != NULL ? ST_INVAL : ST_NOMEM;
    }
    enum status st = build(old->cli, false, out, &warnings, err);
    mem_free(warnings);
    return st;
}
