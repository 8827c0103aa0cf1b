/* SPDX-License-Identifier: Apache-2.0 */
/* The load of the overload lab, to be aimed at any NATS server by its URL. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/base/mem.h"
#include "tests/bench/tool/options.h"
#include "tests/bench/tool/owner.h"
#include "tests/bench/tool/show.h"
#include "tests/bench/tool/target.h"

struct tool {
    struct options o;
    struct target target;
    struct net net;
    size_t n; /* loads: one for each tenant, else one */
    struct tenant tenant[OPT_LIST_MAX];
    struct opts opts[OPT_LIST_MAX]; /* of each load */
    char *login[OPT_LIST_MAX];      /* owned */
    json_t *result[OPT_LIST_MAX];   /* borrowed: out holds them */
    struct overload *load;          /* owned */
    json_t *out;                    /* ref */
    char why[512];                  /* why it cannot be, in one line */
};

static volatile sig_atomic_t stop;
static volatile sig_atomic_t pausing; /* pid of a server that is to be paused, or 0 */

/* The first one ends the sending; the second ends all, and leaves no server stopped. */
static void
on_signal(int signo)
{
    if (stop != 0) {
        if (pausing > 0) {
            (void)kill((pid_t)pausing, SIGCONT);
        }
        (void)signal(signo, SIG_DFL);
        (void)raise(signo);
    }
    stop = 1;
}

static enum status
fail(struct tool *t, enum status st, const char *text)
{
    (void)snprintf(t->why, sizeof(t->why), "%s", text);
    return st;
}

static enum status
find_server(struct tool *t)
{
    enum status st = target_parse(&t->target, t->o.load.server);

    if (st == ST_UNSUPPORTED) {
        return fail(t, st, "--server: only nats:// (plain TCP) is spoken here");
    }
    if (st != ST_OK) {
        return fail(t, st, "--server is nats://[USER[:PASSWORD]@]HOST[:PORT]");
    }
    st = net_init(&t->net, t->target.host, t->target.port, NET_ANYWHERE);
    if (st != ST_OK) {
        (void)snprintf(t->why, sizeof(t->why), "%.256s: %s", t->target.host,
                       st == ST_NOTFOUND ? "no such host" : status_text(st));
    }
    return st;
}

/* A pid that is read, and perhaps stopped for a while, is that of the server and no other. */
static enum status
check_pid(struct tool *t)
{
    long pid = t->o.load.pid;
    enum status st = pid == 0 ? ST_OK : owner_listens((pid_t)pid, t->target.port);

    if (st == ST_OK) {
        pausing = t->o.load.pause_for > 0 ? (sig_atomic_t)pid : 0;
        return ST_OK;
    }
    if (st == ST_INVAL) {
        (void)snprintf(t->why, sizeof(t->why),
                       "--pid: process %ld does not listen on port %s, so it is not the server",
                       pid, t->target.port);
    } else {
        (void)snprintf(t->why, sizeof(t->why), "--pid: process %ld: %s", pid, status_text(st));
    }
    return st;
}

/* Who the requests of load i come from. */
static enum status
make_login(struct tool *t, size_t i)
{
    const struct options *o = &t->o;
    const char *user = o->load.user;
    const char *pass = o->load.pass == NULL ? "" : o->load.pass;

    if (o->tenants.n > 0) {
        enum status st = tenant_parse(&t->tenant[i], o->tenants.item[i], OPTIONS_RATE_MAX);
        if (st != ST_OK) {
            return fail(t, st, "--tenant is USER:PASSWORD@RATE, with a rate of 0.1 to 1,000,000");
        }
        t->opts[i].rate = t->tenant[i].rate;
        user = t->tenant[i].user;
        pass = t->tenant[i].pass;
    } else if (o->token != NULL) {
        user = o->token;
        pass = NULL;
    } else if (user == NULL) {
        user = t->target.user;
        pass = t->target.pass;
    }
    t->login[i] = target_login(user, pass);
    return t->login[i] == NULL ? fail(t, ST_INVAL, "user or password is not UTF-8") : ST_OK;
}

static enum status
make_result(struct tool *t, size_t i)
{
    t->result[i] = json_object();
    if (json_array_append_new(json_object_get(t->out, "tenants"), t->result[i]) != 0) {
        return fail(t, ST_NOMEM, "out of memory");
    }
    if (t->o.tenants.n > 0) {
        json_object_set_new(t->result[i], "user", json_string(t->tenant[i].user));
    }
    return ST_OK;
}

/* Connects everybody. */
static enum status
prepare(struct tool *t)
{
    t->n = t->o.tenants.n > 0 ? t->o.tenants.n : 1;
    t->load = mem_alloc_array(t->n, sizeof(*t->load));
    t->out = json_pack("{s:s, s:s, s:f, s:s, s:[]}", "host", t->target.host, "subject",
                       t->o.load.subject, "patience_s", t->o.load.patience, "retry",
                       t->o.load.retry, "tenants");
    if (t->load == NULL || t->out == NULL) {
        return fail(t, ST_NOMEM, "out of memory, or a subject that is not UTF-8");
    }
    for (size_t i = 0; i < t->n; i++) {
        t->opts[i] = t->o.load;
        enum status st = make_login(t, i);
        if (st == ST_OK) {
            st = make_result(t, i);
        }
        if (st != ST_OK) {
            return st;
        }
        const struct overload_plan plan = {.net = &t->net,
                                           .opts = &t->opts[i],
                                           .out = t->result[i],
                                           .login = t->login[i],
                                           .index = (unsigned)i};
        st = overload_init(&t->load[i], &plan);
        if (st != ST_OK) {
            return fail(t, st, t->net.failure[0] != '\0' ? t->net.failure : status_text(st));
        }
    }
    return ST_OK;
}

static enum status
drive(struct tool *t)
{
    struct drive d = {.net = &t->net,
                      .load = t->load,
                      .n = t->n,
                      .opts = &t->o.load,
                      .out = t->out,
                      .stop = &stop};

    if (!t->o.quiet && (t->o.progress || isatty(STDERR_FILENO) != 0)) {
        d.on_second = show_second;
    }
    enum status st = overload_drive(&d);
    if (st != ST_OK) {
        (void)fail(t, st, t->net.failure[0] != '\0' ? t->net.failure : status_text(st));
        json_object_set_new(t->out, "error", json_string(t->why));
    }
    return st;
}

static void
report(struct tool *t)
{
    double got[OPT_LIST_MAX];
    double asked[OPT_LIST_MAX];

    for (size_t i = 0; i < t->n; i++) {
        overload_report(&t->load[i]);
        got[i] = json_number_value(json_object_get(t->result[i], "goodput"));
        asked[i] = json_number_value(json_object_get(t->result[i], "offered"));
    }
    if (t->n > 1) {
        json_object_set_new(t->out, "jain", json_real(show_jain(got, asked, t->n)));
    }
    if (t->o.json) {
        (void)json_dumpf(t->out, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
        (void)putchar('\n');
        return;
    }
    (void)printf("%s:%s  %s  patience %g s, retry %s\n", t->target.host, t->target.port,
                 t->o.load.subject, t->o.load.patience, t->o.load.retry);
    show_table(t->out);
}

static enum status
run(struct tool *t)
{
    enum status st = find_server(t);

    if (st != ST_OK) {
        return st;
    }
    st = check_pid(t);
    if (st == ST_OK) {
        st = prepare(t);
    }
    if (st == ST_OK) {
        st = drive(t);
        report(t);
    }
    for (size_t i = 0; t->load != NULL && i < t->n; i++) {
        overload_fini(&t->load[i]);
    }
    for (size_t i = 0; i < t->n; i++) {
        mem_free(t->login[i]);
        tenant_fini(&t->tenant[i]);
    }
    mem_free(t->load);
    json_decref(t->out);
    net_fini(&t->net);
    return st;
}

int
main(int argc, char **argv)
{
    static struct tool t;
    const struct sigaction end = {.sa_handler = on_signal};
    enum status st = ST_OK;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        options_help();
        return 0;
    }
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || sigaction(SIGINT, &end, NULL) != 0 ||
        sigaction(SIGTERM, &end, NULL) != 0 || sigaction(SIGHUP, &end, NULL) != 0) {
        return 1;
    }
    st = options_parse(&t.o, argc, argv, t.why, sizeof(t.why));
    if (st == ST_OK) {
        st = run(&t);
    }
    target_fini(&t.target);
    if (st != ST_OK) {
        (void)fprintf(stderr, "overload: %s\n", t.why);
        return 1;
    }
    return 0;
}
