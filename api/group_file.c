/* SPDX-License-Identifier: Apache-2.0 */
#include "api/group_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/group_admin.h"
#include "api/jobj.h"
#include "server/base/buf.h"
#include "server/base/errtext.h"
#include "server/base/log.h"
#include "server/base/mem.h"

#define VERSION 1

/* "dir/NAME" with that ending. */
static enum status
path_of(const char *dir, const char *ending, struct buf *out)
{
    buf_init(out);
    buf_printf(out, "%s/%s%s", dir, GROUP_FILE_NAME, ending);
    return buf_status(out);
}

static int
on_dump(const char *data, size_t n, void *arg)
{
    buf_append(arg, data, n);
    return 0;
}

static enum status
dump(const struct group_conf *conf, size_t n, struct buf *out)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *o = json_object();
        jobj_str(&o, "name", conf[i].name);
        jobj_put(&o, "config", group_conf_json(&conf[i]));
        jarr_add(&list, o);
    }
    json_t *all = json_object();
    jobj_int(&all, "version", VERSION);
    jobj_put(&all, "groups", list);
    buf_init(out);
    int rc = all == NULL ? -1 : json_dump_callback(all, on_dump, out, JSON_INDENT(2));
    json_decref(all);
    buf_putc(out, '\n');
    return rc == 0 ? buf_status(out) : ST_NOMEM;
}

/* Of the whole path, as far as it is missing. */
static enum status
make_dir(const char *dir)
{
    char *path = mem_strdup(dir);
    if (path == NULL) {
        return ST_NOMEM;
    }
    int rc = 0;
    for (char *p = path + 1; rc == 0 && *p != '\0'; p++) {
        if (*p == '/') {
            *p = '\0';
            rc = mkdir(path, 0750) == 0 || errno == EEXIST ? 0 : -1;
            *p = '/';
        }
    }
    if (rc == 0) {
        rc = mkdir(path, 0750) == 0 || errno == EEXIST ? 0 : -1;
    }
    mem_free(path);
    return rc == 0 ? ST_OK : ST_IO;
}

static enum status
write_all(int fd, const struct buf *text)
{
    for (size_t done = 0; done < text->len;) {
        ssize_t k = write(fd, text->data + done, text->len - done);
        if (k < 0 && errno != EINTR) {
            return ST_IO;
        }
        done += k > 0 ? (size_t)k : 0;
    }
    return fsync(fd) == 0 ? ST_OK : ST_IO;
}

static enum status
write_to(const char *path, const struct buf *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd < 0) {
        return ST_IO;
    }
    enum status st = write_all(fd, text);
    int saved = errno;
    if (close(fd) != 0 && st == ST_OK) {
        return ST_IO;
    }
    errno = saved;
    return st;
}

static enum status
sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return ST_IO;
    }
    int rc = fsync(fd);
    int saved = errno;
    close(fd);
    errno = saved;
    return rc == 0 ? ST_OK : ST_IO;
}

static enum status
replace(const char *dir, const char *path, const char *tmp, const struct buf *text)
{
    enum status st = make_dir(dir);
    if (st == ST_OK) {
        st = write_to(tmp, text);
    }
    if (st == ST_OK && rename(tmp, path) != 0) {
        st = ST_IO;
    }
    if (st == ST_OK) {
        return sync_dir(dir);
    }
    int saved = errno;
    (void)unlink(tmp); /* on a full disk it takes what others need */
    errno = saved;
    return st;
}

enum status
group_file_write(const char *dir, const struct group_conf *conf, size_t n)
{
    struct buf path;
    struct buf tmp;
    struct buf text;
    enum status st = dump(conf, n, &text);
    enum status st_path = path_of(dir, "", &path);
    enum status st_tmp = path_of(dir, ".new", &tmp);
    if (st == ST_OK && st_path == ST_OK && st_tmp == ST_OK) {
        st = replace(dir, path.data, tmp.data, &text);
    } else {
        st = ST_NOMEM;
    }
    int saved = errno;
    buf_fini(&path);
    buf_fini(&tmp);
    buf_fini(&text);
    errno = saved;
    return st;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static bool
is_taken(const struct group_conf *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether all were well-formed. */
static bool
read_groups(const json_t *list, struct group_conf *out, size_t *n)
{
    size_t i;
    bool all = true;
    json_t *o;
    char err[256];
    json_array_foreach(list, i, o)
    {
        const char *name = json_string_value(json_object_get(o, "name"));
        const json_t *conf = json_object_get(o, "config");
        struct group_conf *c = &out[*n];
        if (name == NULL || !json_is_object(conf)) {
            all = false;
            log_error("%s: entry %zu has no name or no config", GROUP_FILE_NAME, i);
        } else if (group_conf_init(c, name, err, sizeof(err)) != ST_OK ||
                   group_conf_parse(c, conf, err, sizeof(err)) != ST_OK) {
            all = false;
            log_error("%s: workload group \"%.64s\": %s", GROUP_FILE_NAME, name, err);
        } else if (is_taken(out, *n, name) || *n == GROUPS_MAX) {
            all = false;
            log_error("%s: workload group \"%s\" is there twice, or one of more than %u",
                      GROUP_FILE_NAME, name, GROUPS_MAX);
        } else {
            ++*n;
        }
    }
    return all;
}

/* What was left out is gone from the file with the next change: a second name keeps it, since a
 * change replaces the file. */
static void
keep_copy(const char *dir, const char *path)
{
    struct buf bad;
    if (path_of(dir, ".bad", &bad) == ST_OK) {
        (void)unlink(bad.data);
        if (link(path, bad.data) == 0) {
            log_warn("%s: what is not in force of it stays in %s", GROUP_FILE_NAME, bad.data);
        }
    }
    buf_fini(&bad);
}

/* The folder of a file that is none. */
static enum status
set_aside(const char *dir, const char *path, const char *why, char *err, size_t size)
{
    struct buf bad;
    bool moved = path_of(dir, ".bad", &bad) == ST_OK && rename(path, bad.data) == 0;
    (void)snprintf(err, size, "%s: %s%s", path, why, moved ? "; it was renamed to .bad" : "");
    buf_fini(&bad);
    return ST_SYNTAX;
}

static enum status
parse(const char *dir, const char *path, struct group_conf *out, size_t *n, char *err, size_t size)
{
    json_error_t e = {.line = 0};
    json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
    const json_t *list = json_object_get(all, "groups");
    enum status st = ST_OK;
    if (json_is_array(list)) {
        if (!read_groups(list, out, n)) {
            keep_copy(dir, path);
        }
    } else if (all == NULL && json_error_code(&e) == json_error_cannot_open_file) {
        (void)snprintf(err, size, "%s: %s", path, e.text);
        st = ST_IO;
    } else {
        st = set_aside(dir, path, all == NULL ? e.text : "it holds no groups", err, size);
    }
    json_decref(all);
    return st;
}

enum status
group_file_read(const char *dir, struct group_conf **out, size_t *n, char *err, size_t err_size)
{
    struct buf path;
    *n = 0;
    *out = mem_alloc_array(GROUPS_MAX + 1, sizeof(**out));
    enum status st = path_of(dir, "", &path);
    st = *out == NULL ? ST_NOMEM : st;
    if (st == ST_OK && access(path.data, F_OK) == 0) {
        st = parse(dir, path.data, *out, n, err, err_size);
    }
    buf_fini(&path);
    if (st != ST_OK) {
        mem_free(*out);
        *out = NULL;
    }
    return st;
}
