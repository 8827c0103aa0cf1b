/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/loadgen/mode.h"

static void
help(void)
{
    (void)puts("usage: loadgen MODE --seconds S --rate R|max [options]\n\n"
               "Loads a NATS server on this machine over the raw protocol, on one thread, and\n"
               "prints what it measured as JSON. Exit code 0: measured; 1: the run failed (the\n"
               "JSON has \"error\"); 2: wrong arguments.\n\nModes:");
    for (size_t i = 0; modes[i] != NULL; i++) {
        (void)printf("  %-10s %s\n             [%s]\n", modes[i]->name, modes[i]->doc,
                     modes[i]->uses);
    }
    (void)puts("\nOptions:");
    opts_help(stdout);
}

static const struct mode *
find(const char *name)
{
    for (size_t i = 0; modes[i] != NULL; i++) {
        if (strcmp(modes[i]->name, name) == 0) {
            return modes[i];
        }
    }
    return NULL;
}

static int
usage(const char *what, const char *arg)
{
    (void)fprintf(stderr, "loadgen: %s%s (loadgen --help)\n", what, arg);
    return 2;
}

static int
run(const struct mode *mode, const struct opts *o)
{
    struct bench b = {.opts = o};
    char host[64] = "";
    const char *port = strrchr(o->server, ':');
    enum status st = ST_INVAL;

    if (port != NULL && (size_t)(port - o->server) < sizeof(host)) {
        memcpy(host, o->server, (size_t)(port - o->server));
        st = net_init(&b.net, host, port + 1, NET_LOOPBACK);
    }
    if (st != ST_OK) {
        return usage("--server must be HOST:PORT on loopback, not ", o->server);
    }
    b.net.user = o->user;
    b.net.pass = o->pass;
    b.out = json_pack("{s:s}", "mode", mode->name);
    if (b.out == NULL) {
        net_fini(&b.net);
        return usage("out of memory", "");
    }
    st = mode->run(&b);
    if (st != ST_OK) {
        const char *why = b.net.failure[0] != '\0' ? b.net.failure : status_text(st);
        json_object_set_new(b.out, "error", json_string(why));
    }
    if (json_dumpf(b.out, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0) {
        st = ST_IO;
    }
    (void)putchar('\n');
    json_decref(b.out);
    net_fini(&b.net);
    return st == ST_OK ? 0 : 1;
}

int
main(int argc, char **argv)
{
    struct opts o;
    const char *why = "";

    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help();
        return argc < 2 ? 2 : 0;
    }
    const struct mode *mode = find(argv[1]);
    if (mode == NULL) {
        return usage("there is no mode ", argv[1]);
    }
    if (opts_parse(&o, argc - 1, argv + 1, &why) != ST_OK) {
        return usage("wrong option or value at ", why);
    }
    if (!o.seconds_given) {
        return usage("--seconds is required: no load without an end", "");
    }
    if (mode->needs_rate && !o.rate_given) {
        return usage("--rate is required (a number, or max)", "");
    }
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
        return 1;
    }
    return run(mode, &o);
}
