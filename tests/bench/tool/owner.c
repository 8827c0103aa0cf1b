/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/tool/owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH = 64, INODES = 64, TCP_LISTEN = 0x0A };

struct listeners {
    size_t n;
    unsigned long inode[INODES];
};

/* Those of one table of the kernel's, as /proc/net/tcp; one that is not there has none. */
static enum status
collect(struct listeners *l, const char *path, unsigned long port)
{
    FILE *f = fopen(path, "re");
    char line[512];
    enum status st = ST_OK;

    if (f == NULL) {
        return ST_OK;
    }
    while (st == ST_OK && fgets(line, sizeof(line), f) != NULL) {
        char at[8] = "";
        char state[4] = "";
        char inode[24] = "";
        int got = sscanf(line, "%*s %*[^:]:%7s %*s %3s %*s %*s %*s %*s %*s %23s", at, state, inode);
        if (got != 3 || strtoul(at, NULL, 16) != port ||
            strtoul(state, NULL, 16) != (unsigned long)TCP_LISTEN) {
            continue;
        }
        if (l->n == INODES) {
            st = ST_FULL;
        } else {
            l->inode[l->n++] = strtoul(inode, NULL, 10);
        }
    }
    (void)fclose(f);
    return st;
}

static bool
is_one_of(const struct listeners *l, int dir, const char *name)
{
    char what[PATH];
    unsigned long inode = 0;
    ssize_t len = readlinkat(dir, name, what, sizeof(what) - 1);

    if (len <= 0) {
        return false;
    }
    what[len] = '\0';
    if (sscanf(what, "socket:[%lu]", &inode) != 1) {
        return false;
    }
    for (size_t i = 0; i < l->n; i++) {
        if (l->inode[i] == inode) {
            return true;
        }
    }
    return false;
}

static enum status
has_one(const struct listeners *l, const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;
    bool found = false;

    if (d == NULL) {
        return errno == ENOENT ? ST_NOTFOUND : ST_PERM;
    }
    while (!found && (e = readdir(d)) != NULL) {
        found = is_one_of(l, dirfd(d), e->d_name);
    }
    (void)closedir(d);
    return found ? ST_OK : ST_INVAL;
}

enum status
owner_listens(pid_t pid, const char *port)
{
    static const char *const tables[] = {"tcp", "tcp6"};
    struct listeners l = {0};
    char path[PATH];

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        (void)snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, tables[i]);
        enum status st = collect(&l, path, strtoul(port, NULL, 10));
        if (st != ST_OK) {
            return st;
        }
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    return has_one(&l, path);
}
