/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/tool/options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(f) offsetof(struct options, f)
#define SECTION(text)                                                                              \
    {                                                                                              \
        "", OPT_FLAG, 0, 0, 0, NULL, text                                                          \
    }

static const struct opt table[] = {
    SECTION("Which server"),
    {"server", OPT_TEXT, FIELD(load.server), 0, 0, "nats://127.0.0.1:4222",
     "nats://[USER[:PASSWORD]@]HOST[:PORT]; without TLS"},
    {"user", OPT_TEXT, FIELD(load.user), 0, 0, NULL, "user, if not in the URL"},
    {"pass", OPT_TEXT, FIELD(load.pass), 0, 0, NULL, "its password"},
    {"token", OPT_TEXT, FIELD(token), 0, 0, NULL, "token, instead of a user"},
    {"pid", OPT_LONG, FIELD(load.pid), 1, 4194304, "0",
     "pid of the server, if it runs on this machine: its CPU is measured. Only of a\n"
     "                    process that listens on the port of --server"},

    SECTION("What is asked, how often, for how long (all but the payload required)"),
    {"subject", OPT_TEXT, FIELD(load.subject), 0, 0, NULL, "of the requests"},
    {"payload", OPT_TEXT, FIELD(load.payload), 0, 0, "", "of the requests"},
    {"rate", OPT_REAL, FIELD(load.rate), 0.1, OPTIONS_RATE_MAX, "0",
     "requests a second, 0.1 to 1,000,000; sent whether or not the last were answered"},
    {"seconds", OPT_REAL, FIELD(load.seconds), 0.05, 600, "0", "for how long, 0.05 to 600"},

    SECTION("How the clients behave"),
    {"patience", OPT_REAL, FIELD(load.patience), 0.01, 60, "2",
     "seconds that a client waits for a reply; one after that is late"},
    {"timeout-header", OPT_TEXT, FIELD(load.timeout_header), 0, 0, NULL,
     "send Nats-Request-Timeout with this value (1s, 500ms); stock clients send none"},
    {"retry", OPT_TEXT, FIELD(load.retry), 0, 0, "none",
     "none | timeout: at once when patience ends | hint: obey Nats-Retry-After |\n"
     "                    error: at once when told of an error, the worst a client can do"},
    {"retries", OPT_LONG, FIELD(load.retries), 0, 1000, "2", "further attempts of a call at most"},
    {"conns", OPT_LONG, FIELD(load.conns), 1, 10000, "8", "connections, of each tenant"},
    {"seed", OPT_LONG, FIELD(load.seed), 0, 2147483647, "42", "of the Poisson arrivals"},
    {"late-wait", OPT_REAL, FIELD(load.late_wait), 0, 60, "5",
     "seconds after the last request in which late replies are still counted"},

    SECTION("Several tenants"),
    {"tenant", OPT_LIST, FIELD(tenants), 0, 0, NULL,
     "USER:PASSWORD@RATE; once for each of up to 32, in place of --rate and --user"},

    SECTION("A pause of the server (with --pid)"),
    {"pause-at", OPT_REAL, FIELD(load.pause_at), 0, 600, "0", "second in which it gets SIGSTOP"},
    {"pause-for", OPT_REAL, FIELD(load.pause_for), 0, 60, "0", "seconds until SIGCONT"},

    SECTION("What is printed"),
    {"json", OPT_FLAG, FIELD(json), 0, 0, NULL, "JSON instead of the table"},
    {"progress", OPT_FLAG, FIELD(progress), 0, 0, NULL,
     "a line a second on stderr; without it, only where stderr is a terminal"},
    {"quiet", OPT_FLAG, FIELD(quiet), 0, 0, NULL, "no such line"},
    {NULL, OPT_TEXT, 0, 0, 0, NULL, NULL},
};

void
options_help(void)
{
    (void)puts(
        "usage: overload --server URL --subject S --rate N --seconds N [options]\n\n"
        "Asks a NATS server at a set rate, whether or not it keeps up (open loop, Poisson\n"
        "arrivals), and tells what became of each call: in time, refused, late or never. A call\n"
        "counts once, at the time it was due; in time is a reply without error within the\n"
        "patience of its last attempt. THIS LOADS WHAT IT IS AIMED AT: use it on servers that\n"
        "are yours. Ctrl-C ends the sending and prints what was measured; a second one ends "
        "all.\n\n"
        "  overload --server nats://127.0.0.1:4222 --subject '$JS.API.STREAM.INFO.ORDERS' \\\n"
        "           --rate 20000 --seconds 10");
    optab_help(stdout, table);
    (void)puts("\nExit code 0: measured; 1: not, and why in one line on stderr.");
}

static enum status
say(char *why, size_t n, const char *text)
{
    (void)snprintf(why, n, "%s", text);
    return ST_INVAL;
}

static enum status
take_all(struct options *o, int argc, char **argv, char *why, size_t n)
{
    const struct opt *row = NULL;
    int used = 0;

    for (int i = 1; i < argc; i += used) {
        enum status st = optab_take(o, table, argc - i, argv + i, &row, &used);
        if (st == ST_FULL) {
            return say(why, n, "more than 32 tenants");
        }
        if (st != ST_OK && row == NULL) {
            (void)snprintf(why, n, "there is no option %s (overload --help)", argv[i]);
            return ST_INVAL;
        }
        if (st != ST_OK) {
            (void)snprintf(why, n, "--%s: %s", row->name,
                           i + 1 < argc ? "not a value that it takes (overload --help)"
                                        : "its value is missing");
            return ST_INVAL;
        }
    }
    return ST_OK;
}

static bool
is_literal_subject(const char *s)
{
    size_t len = strlen(s);

    if (len == 0 || len > 100 || s[0] == '.' || s[len - 1] == '.' || strstr(s, "..") != NULL) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        bool alone = (i == 0 || s[i - 1] == '.') && (s[i + 1] == '\0' || s[i + 1] == '.');
        if (s[i] <= ' ' || s[i] == 127 || ((s[i] == '*' || s[i] == '>') && alone)) {
            return false;
        }
    }
    return true;
}

static bool
is_retry(const char *text)
{
    return strcmp(text, "none") == 0 || strcmp(text, "timeout") == 0 || strcmp(text, "hint") == 0 ||
           strcmp(text, "error") == 0;
}

static enum status
check(const struct options *o, char *why, size_t n)
{
    const struct opts *l = &o->load;

    if (l->seconds <= 0) {
        return say(why, n, "--seconds is required: no load without an end");
    }
    if (l->rate <= 0 && o->tenants.n == 0) {
        return say(why, n, "--rate (or --tenant) is required: no load without a bound");
    }
    if (o->tenants.n > 0 && (l->rate > 0 || l->user != NULL || o->token != NULL)) {
        return say(why, n, "--tenant goes without --rate, --user and --token: each has its own");
    }
    if (o->token != NULL && l->user != NULL) {
        return say(why, n, "--token or --user, not both");
    }
    if (l->pass != NULL && l->user == NULL) {
        return say(why, n, "--pass without --user");
    }
    if (l->subject == NULL || !is_literal_subject(l->subject)) {
        return say(why, n, "--subject is required: without wildcards, at most 100 characters");
    }
    if (!is_retry(l->retry)) {
        return say(why, n, "--retry is none, timeout, hint or error");
    }
    if (l->timeout_header != NULL && strpbrk(l->timeout_header, "\r\n") != NULL) {
        return say(why, n, "--timeout-header has a line break");
    }
    if (l->pause_for > 0 && l->pid == 0) {
        return say(why, n, "--pause-for needs the --pid of the server");
    }
    if (l->pause_at > 0 && l->pause_for <= 0) {
        return say(why, n, "--pause-at needs --pause-for: how long");
    }
    return ST_OK;
}

enum status
options_parse(struct options *o, int argc, char **argv, char *why, size_t n)
{
    memset(o, 0, sizeof(*o));
    optab_defaults(o, table);
    enum status st = take_all(o, argc, argv, why, n);
    return st == ST_OK ? check(o, why, n) : st;
}
