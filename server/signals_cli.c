/* SPDX-License-Identifier: Apache-2.0 */
#include "server/signals_cli.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/buf.h"
#include "server/base/errtext.h"
#include "server/base/failure.h"
#include "server/base/mem.h"
#include "server/cli.h"
#include "server/conf/number.h"

#define PID_LEN 64

struct pids {
    pid_t *v; /* owned */
    size_t n;
};

/* Reads a small file as text. False: it is not there. */
static bool
read_small(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, out, size - 1);
    close(fd);
    if (n < 0) {
        return false;
    }
    out[n] = '\0';
    return true;
}

static enum status
add_pid(struct pids *pids, pid_t pid)
{
    pid_t *v = mem_realloc(pids->v, (pids->n + 1) * sizeof(*v));
    if (v == NULL) {
        return ST_NOMEM;
    }
    pids->v = v;
    v[pids->n++] = pid;
    return ST_OK;
}

/* All processes of this program's name but this one. */
static enum status
running(struct pids *pids, char **err)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL) {
        return failure(err, ST_INVAL, "unable to resolve pid, try providing one");
    }
    enum status st = ST_OK;
    const struct dirent *e;
    while (st == ST_OK && (e = readdir(proc)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        char path[sizeof("/proc//comm") + sizeof(e->d_name)];
        char name[32];
        int64_t pid;
        if (number_parse_int(e->d_name, &pid) != ST_OK || pid == getpid()) {
            continue;
        }
        snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
        if (read_small(path, name, sizeof(name)) && strcmp(name, CLI_NAME "\n") == 0) {
            st = add_pid(pids, (pid_t)pid);
        }
    }
    closedir(proc);
    return st;
}

static int
number_of(const char *command, size_t n)
{
    static const struct {
        const char *command;
        int number;
    } signals[] = {{"stop", SIGKILL},  {"quit", SIGINT}, {"reopen", SIGUSR1},
                   {"reload", SIGHUP}, {"ldm", SIGUSR2}, {"term", SIGTERM}};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (strlen(signals[i].command) == n && strncmp(signals[i].command, command, n) == 0) {
            return signals[i].number;
        }
    }
    return 0;
}

/* Sends to those whose pid is `text` or, with glob, begins with it; to all if it is empty. */
static enum status
send_all(const struct pids *pids, const char *spec, const char *text, bool glob, char **err)
{
    int number = number_of(spec, strcspn(spec, "="));
    struct buf failed;
    buf_init(&failed);
    for (size_t i = 0; i < pids->n; i++) {
        char pid[24];
        snprintf(pid, sizeof(pid), "%d", (int)pids->v[i]);
        bool meant = text[0] == '\0' || strcmp(pid, text) == 0 ||
                     (glob && strncmp(pid, text, strlen(text)) == 0);
        if (meant && kill(pids->v[i], number) != 0) {
            char reason[ERRTEXT_LEN];
            buf_printf(&failed, "%ssignal \"%.*s\" %s: %s", failed.len > 0 ? "\n" : "",
                       (int)strcspn(spec, "="), spec, pid, errtext(errno, reason));
        }
    }
    enum status st =
        failed.len > 0 ? failure(err, ST_INVAL, "%s", failed.data) : buf_status(&failed);
    buf_fini(&failed);
    return st;
}

static enum status
choose_and_send(const char *spec, char *pid, char **err)
{
    struct pids pids = {0};
    size_t n = strlen(pid);
    bool glob = n > 0 && pid[n - 1] == '*';
    int64_t one = 0;
    enum status st = ST_OK;
    if (glob) {
        pid[n - 1] = '\0';
    }
    if (pid[0] != '\0' && (number_parse_int(pid, &one) != ST_OK || one <= 0 || one > INT32_MAX)) {
        return failure(err, ST_INVAL, "invalid pid: %s", pid);
    }
    st = pid[0] == '\0' || glob ? running(&pids, err) : add_pid(&pids, (pid_t)one);
    if (st == ST_OK && pids.n > 1 && !glob) {
        struct buf b;
        buf_init(&b);
        buf_printf(&b, "multiple %s processes running:", CLI_NAME);
        for (size_t i = 0; i < pids.n; i++) {
            buf_printf(&b, "\n%d", (int)pids.v[i]);
        }
        st = failure(err, ST_INVAL, "%s", b.data != NULL ? b.data : "");
        buf_fini(&b);
    } else if (st == ST_OK && pids.n == 0) {
        st = failure(err, ST_INVAL, "no %s processes running", CLI_NAME);
    } else if (st == ST_OK) {
        st = send_all(&pids, spec, pid, glob, err);
    }
    mem_free(pids.v);
    return st;
}

enum status
signals_cli_send(const char *spec, char **err)
{
    char pid[PID_LEN] = "";
    const char *eq = strchr(spec, '=');
    size_t n = eq != NULL ? (size_t)(eq - spec) : strlen(spec);
    if (eq != NULL && strchr(eq + 1, '=') != NULL) {
        return failure(err, ST_INVAL, "invalid signal parameters: [%s]", strchr(eq + 1, '=') + 1);
    }
    if (eq != NULL && !read_small(eq + 1, pid, sizeof(pid))) {
        if (strlen(eq + 1) >= sizeof(pid)) {
            return failure(err, ST_INVAL, "invalid pid: %s", eq + 1);
        }
        snprintf(pid, sizeof(pid), "%s", eq + 1);
    }
    /* A pid file that another program wrote may end with a newline. */
    for (size_t len = strlen(pid); len > 0 && isspace((unsigned char)pid[len - 1]); len--) {
        pid[len - 1] = '\0';
    }
    if (number_of(spec, n) == 0) {
        return failure(err, ST_INVAL, "unknown signal \"%.*s\"", (int)n, spec);
    }
    return choose_and_send(spec, pid, err);
}
