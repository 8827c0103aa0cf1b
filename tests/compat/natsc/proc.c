/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/compat/natsc/proc.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 10000

/* The path of the file in `dir` whose name ends in ".ports"; false if there is none. */
static int
find_ports_file(const char *dir, char *path, size_t cap)
{
    DIR *d = opendir(dir);
    if (d == NULL) {
        err(2, "%s", dir);
    }
    int found = 0;
    for (struct dirent *e = readdir(d); e != NULL && !found; e = readdir(d)) {
        size_t len = strlen(e->d_name);
        if (len > 6 && strcmp(e->d_name + len - 6, ".ports") == 0) {
            found = snprintf(path, cap, "%s/%s", dir, e->d_name) < (int)cap;
        }
    }
    closedir(d);
    return found;
}

/* The client port from the ports file, which it removes, so that the next start's is told from this
 * one's; 0 while it is not written whole. */
static int
take_port(const char *path)
{
    char text[4096];
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        err(2, "%s", path);
    }
    size_t got = fread(text, 1, sizeof text - 1, f);
    text[got] = '\0';
    fclose(f);
    const char *url = strstr(text, "nats://");
    const char *end = url != NULL ? strchr(url, '"') : NULL;
    const char *colon = end;
    while (colon != NULL && colon > url && *colon != ':') {
        colon--;
    }
    if (colon == NULL) {
        return 0;
    }
    unlink(path);
    return (int)strtol(colon + 1, NULL, 10);
}

static void
exec_server(const struct proc *p, const char *binary)
{
    char conf[80];
    char port[16];
    char log[80];
    snprintf(conf, sizeof conf, "%s/conf", p->dir);
    snprintf(log, sizeof log, "%s/log", p->dir);
    snprintf(port, sizeof port, "%d", p->port > 0 ? p->port : -1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    execlp(binary, binary, "-a", "127.0.0.1", "-p", port, "-c", conf, "--ports_file_dir", p->dir,
           (char *)NULL);
    _exit(127);
}

static void
write_conf(const struct proc *p, const char *conf)
{
    char path[80];
    snprintf(path, sizeof path, "%s/conf", p->dir);
    FILE *f = fopen(path, "w");
    if (f == NULL || fputs(conf, f) == EOF || fclose(f) != 0) {
        err(2, "%s", path);
    }
}

void
proc_start(struct proc *p, const char *binary, const char *conf)
{
    if (p->dir[0] == '\0') {
        strcpy(p->dir, "/tmp/natsc-XXXXXX");
        if (mkdtemp(p->dir) == NULL) {
            err(2, "%s", p->dir);
        }
    }
    write_conf(p, conf);
    int watch = inotify_init1(IN_CLOEXEC);
    if (watch < 0 || inotify_add_watch(watch, p->dir, IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
        err(2, "inotify");
    }
    p->pid = fork();
    if (p->pid == 0) {
        exec_server(p, binary);
    }
    int end = p->pid > 0 ? (int)syscall(SYS_pidfd_open, p->pid, 0) : -1;
    char path[512];
    int port = 0;
    while (!find_ports_file(p->dir, path, sizeof path) || (port = take_port(path)) == 0) {
        struct pollfd news[] = {{.fd = watch, .events = POLLIN}, {.fd = end, .events = POLLIN}};
        char skip[4096];
        if (end < 0 || poll(news, 2, PATIENCE_MS) <= 0 || news[1].revents != 0 ||
            read(watch, skip, sizeof skip) < 0) {
            errx(2, "%s does not get ready; its log is in %s", binary, p->dir);
        }
    }
    close(end);
    close(watch);
    p->port = port;
    snprintf(p->url, sizeof p->url, "nats://127.0.0.1:%d", p->port);
}

void
proc_stop(struct proc *p)
{
    int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    if (fd < 0) {
        err(2, "pidfd_open");
    }
    kill(p->pid, SIGTERM);
    if (poll(&end, 1, PATIENCE_MS) <= 0) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
        errx(1, "the server did not end within %d ms; its log is in %s", PATIENCE_MS, p->dir);
    }
    close(fd);
    int status = 0;
    waitpid(p->pid, &status, 0);
    p->pid = 0;
    /* nats-server ends with 1 after SIGTERM, a clean end is 0. */
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
        errx(1, "the server crashed (status %#x); its log is in %s", (unsigned)status, p->dir);
    }
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

void
proc_fini(struct proc *p)
{
    if (p->pid > 0) {
        proc_stop(p);
    }
    nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    *p = (struct proc){0};
}
