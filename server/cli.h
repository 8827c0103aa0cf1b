/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, read once: `-flag value`, `--flag=value`, in the manner of Go's flag package,
 * by the option table. Immutable and counted: every snapshot of the configuration keeps the flags
 * that it was made with. Any thread. */
#ifndef SERVER_CLI_H
#define SERVER_CLI_H

#include <stdio.h>

#include "server/base/status.h"

struct cli;
struct config;

/* The name that messages begin with. */
#define CLI_NAME "sluice"

enum cli_command {
    CLI_RUN,
    CLI_TEST,   /* -t */
    CLI_SIGNAL, /* --signal */
    CLI_HELP,
    CLI_VERSION
};

/* argv[0] is the program. ST_SYNTAX: *err is the line for standard error (mem_free). */
enum status cli_parse(int argc, char *const *argv, struct cli **out, char **err) MUST_CHECK;
/* Covers the values of --user, --pass and --auth with stars, where `ps` and /proc show them. */
void cli_redact(int argc, char **argv);
struct cli *cli_ref(struct cli *cli);
void cli_unref(struct cli *cli);

enum cli_command cli_command(const struct cli *cli);
const char *cli_config_file(const struct cli *cli); /* NULL: none */
const char *cli_signal(const struct cli *cli);      /* the value of --signal */

/* Puts the flags' values over those in c. ST_NOMEM. */
enum status cli_apply(const struct cli *cli, struct config *c) MUST_CHECK;

void cli_print_help(FILE *to);
/* One line in nats-server's form, exactly, with the NATS level that this server matches: test
 * suites of clients take it apart. Who looks at a terminal also gets this program's own version. */
void cli_print_version(void);

#endif
