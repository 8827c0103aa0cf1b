/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a server --count times: from exec to the first accepted connection and to the first
 * PONG, and its memory --seconds later. The server's port must be that of --server. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "tests/bench/loadgen/meter.h"
#include "tests/bench/loadgen/mode.h"

#define POLL_NS   (50 * CLOCK_US)
#define UP_NS     (10 * CLOCK_S)
#define DOWN_NS   (10 * CLOCK_S)
#define COUNT_MAX 100

static void
nap(int64_t ns)
{
    struct timespec ts = {.tv_sec = ns / CLOCK_S, .tv_nsec = ns % CLOCK_S};
    (void)nanosleep(&ts, NULL);
}

static bool
accepts(const struct net *n)
{
    int fd = socket(n->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok;

    if (fd < 0) {
        return false;
    }
    ok = connect(fd, (const struct sockaddr *)&n->addr, n->addr_len) == 0;
    (void)close(fd);
    return ok;
}

/* Ends the child that we started, and waits for it. */
static void
stop(pid_t pid)
{
    int64_t end = clock_mono_ns() + DOWN_NS;

    (void)kill(pid, SIGTERM);
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (clock_mono_ns() > end) {
            (void)kill(pid, SIGKILL);
        }
        nap(CLOCK_MS);
    }
}

static enum status
spawn(pid_t *pid, char **argv)
{
    extern char **environ;
    posix_spawn_file_actions_t fa;

    if (posix_spawn_file_actions_init(&fa) != 0) {
        return ST_NOMEM;
    }
    int err = posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (err == 0) {
        err = posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (err == 0) {
        err = posix_spawn(pid, argv[0], &fa, NULL, argv, environ);
    }
    (void)posix_spawn_file_actions_destroy(&fa);
    return err == 0 ? ST_OK : ST_IO;
}

static enum status
start_once(struct bench *b, json_t *accept_ms, json_t *pong_ms, json_t *rss_kib)
{
    struct conn c = {0};
    pid_t pid;

    if (accepts(&b->net)) {
        net_fail(&b->net, "something else listens on that port");
        return ST_EXISTS;
    }
    int64_t from = clock_mono_ns();
    enum status st = spawn(&pid, b->opts->rest);
    if (st != ST_OK) {
        net_fail(&b->net, "cannot run %s", b->opts->rest[0]);
        return st;
    }
    while (!accepts(&b->net)) {
        if (clock_mono_ns() - from > UP_NS || waitpid(pid, NULL, WNOHANG) == pid) {
            net_fail(&b->net, "%s does not accept", b->opts->rest[0]);
            stop(pid);
            return ST_TIMEOUT;
        }
        nap(POLL_NS);
    }
    int64_t up = clock_mono_ns();
    st = conn_open(&c, &b->net, "");
    int64_t pong = clock_mono_ns();
    conn_close(&c);
    nap((int64_t)(b->opts->seconds * (double)CLOCK_S));
    json_array_append_new(accept_ms, json_real((double)(up - from) / (double)CLOCK_MS));
    json_array_append_new(pong_ms, json_real((double)(pong - from) / (double)CLOCK_MS));
    json_array_append_new(rss_kib, json_integer(meter_memory_kib(pid, "VmRSS")));
    stop(pid);
    return st;
}

static enum status
run(struct bench *b)
{
    json_t *accept_ms = json_array();
    json_t *pong_ms = json_array();
    json_t *rss_kib = json_array();
    enum status st = ST_OK;

    if (b->opts->rest == NULL || b->opts->rest[0] == NULL || b->opts->count > COUNT_MAX) {
        net_fail(&b->net, "start: the command goes behind --, and --count is at most %d",
                 COUNT_MAX);
        st = ST_INVAL;
    }
    for (long i = 0; st == ST_OK && i < b->opts->count; i++) {
        st = start_once(b, accept_ms, pong_ms, rss_kib);
    }
    json_object_set_new(b->out, "accept_ms", accept_ms);
    json_object_set_new(b->out, "pong_ms", pong_ms);
    json_object_set_new(b->out, "rss_kib", rss_kib);
    return st;
}

const struct mode mode_start = {
    .name = "start",
    .doc = "starts the command behind -- --count times; --seconds is how long each runs before "
           "its memory is read",
    .uses = "count, server",
    .run = run,
};
