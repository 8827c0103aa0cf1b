/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/log_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/mem.h"

static void
swap(struct log_file *f, int fd, char *path, int64_t size)
{
    if (f->fd != STDERR_FILENO) {
        close(f->fd);
    }
    if (f->path != path) {
        mem_free(f->path);
    }
    f->fd = fd;
    f->path = path;
    f->size = size;
}

static enum status
open_by_name(const char *path, int *fd, int64_t *size)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (*fd < 0) {
        return ST_IO;
    }
    struct stat st;
    *size = fstat(*fd, &st) == 0 ? (int64_t)st.st_size : 0;
    return ST_OK;
}

enum status
log_file_open(struct log_file *f, const char *path)
{
    if (path == NULL || path[0] == '\0') {
        log_file_close(f);
        return ST_OK;
    }
    char *copy = mem_strdup(path);
    if (copy == NULL) {
        return ST_NOMEM;
    }
    int fd;
    int64_t size;
    if (open_by_name(copy, &fd, &size) != ST_OK) {
        int saved = errno;
        mem_free(copy);
        errno = saved;
        return ST_IO;
    }
    swap(f, fd, copy, size);
    return ST_OK;
}

enum status
log_file_reopen(struct log_file *f)
{
    int fd;
    int64_t size;
    if (f->path == NULL) {
        return ST_OK;
    }
    enum status st = open_by_name(f->path, &fd, &size);
    if (st == ST_OK) {
        swap(f, fd, f->path, size);
    }
    return st;
}

void
log_file_close(struct log_file *f)
{
    swap(f, STDERR_FILENO, NULL, 0);
}

/* Is `name` the file's own name with a time stamp as rotate writes it: digits and dots? */
static bool
is_backup(const char *name, const char *base)
{
    size_t len = strlen(base);
    if (strncmp(name, base, len) != 0 || name[len] != '.') {
        return false;
    }
    size_t dots = 0;
    const char *p = name + len;
    for (; *p == '.' || isdigit((unsigned char)*p) != 0; p++) {
        dots += *p == '.';
    }
    return *p == '\0' && dots == 7;
}

/* The oldest backup and how many there are; names sort by time. */
static size_t
find_backups(DIR *dir, const char *base, char *oldest, size_t cap)
{
    size_t n = 0;
    rewinddir(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) { /* NOLINT(concurrency-*) */
        if (!is_backup(e->d_name, base)) {
            continue;
        }
        if (n == 0 || strcmp(e->d_name, oldest) < 0) {
            snprintf(oldest, cap, "%s", e->d_name);
        }
        n++;
    }
    return n;
}

static void
purge(const struct log_file *f)
{
    const char *slash = strrchr(f->path, '/');
    const char *base = slash == NULL ? f->path : slash + 1;
    char folder[PATH_MAX] = ".";
    char oldest[NAME_MAX + 1];
    if (slash != NULL) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - f->path + 1), f->path);
    }
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return;
    }
    while (find_backups(dir, base, oldest, sizeof oldest) > (size_t)f->max_files - 1 &&
           unlinkat(dirfd(dir), oldest, 0) == 0) {
    }
    closedir(dir);
}

static void
rotate(struct log_file *f)
{
    char name[PATH_MAX];
    char stamp[32];
    struct tm tm;
    int64_t now = clock_wall_ns();
    time_t sec = (time_t)(now / CLOCK_S);
    localtime_r(&sec, &tm);
    strftime(stamp, sizeof stamp, "%Y.%m.%d.%H.%M.%S", &tm);
    int n = snprintf(name, sizeof name, "%s.%s.%09ld", f->path, stamp, (long)(now % CLOCK_S));
    if (n < 0 || (size_t)n >= sizeof name || rename(f->path, name) != 0 ||
        log_file_reopen(f) != ST_OK) {
        /* Not at every line from now on. */
        f->size_limit *= 2;
        return;
    }
    if (f->max_files > 0) {
        purge(f);
    }
}

void
log_file_write(struct log_file *f, const char *line, size_t len)
{
    ssize_t wrote = write(f->fd, line, len);
    f->size += wrote > 0 ? wrote : 0;
    if (f->path != NULL && f->size_limit > 0 && f->size > f->size_limit) {
        rotate(f);
    }
}
