/* SPDX-License-Identifier: Apache-2.0 */
#include "api/catalog.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "api/group_file.h"
#include "server/base/assert.h"
#include "server/base/log.h"
#include "server/base/mem.h"

static const char no_store[] =
    "no store_dir is configured: the group is not kept and ends with this server";
static const char of_the_file[] =
    "the group is of the configuration file: the change is in force until "
    "the next reload or restart";
static const char is_shadowed[] =
    "the configuration file has a group of this name, which is the one in force";

/* `lock` guards busy; the rest is of whoever set it. */
struct catalog {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool busy;
    struct groups *gs;       /* borrowed: outlives us */
    char *dir;               /* owned; NULL: nothing is kept */
    struct group_conf *file; /* owned: of the configuration */
    size_t n_file;
    struct group_conf *made; /* owned: over the API, also those shadowed; GROUPS_MAX fit */
    size_t n_made;
    struct group_conf *shown; /* owned: of these, those in force; for groups_set */
};

enum status
catalog_new(struct catalog **out, struct groups *gs)
{
    struct catalog *c = mem_alloc(sizeof(*c));
    if (c == NULL) {
        return ST_NOMEM;
    }
    ASSERT(pthread_mutex_init(&c->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&c->idle, NULL) == 0);
    c->gs = gs;
    *out = c;
    return ST_OK;
}

void
catalog_free(struct catalog *c)
{
    if (c == NULL) {
        return;
    }
    mem_free(c->dir);
    mem_free(c->file);
    mem_free(c->made);
    mem_free(c->shown);
    pthread_cond_destroy(&c->idle);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

static void
begin(struct catalog *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->busy) {
        pthread_cond_wait(&c->idle, &c->lock);
    }
    c->busy = true;
    pthread_mutex_unlock(&c->lock);
}

static enum status
end(struct catalog *c, enum status st)
{
    int saved = errno;
    pthread_mutex_lock(&c->lock);
    c->busy = false;
    pthread_cond_signal(&c->idle);
    pthread_mutex_unlock(&c->lock);
    errno = saved;
    return st;
}

static struct group_conf *
named(struct group_conf *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

/* The room for groups made over the API, as soon as there may be one. */
static enum status
reserve(struct catalog *c)
{
    if (c->made != NULL) {
        return ST_OK;
    }
    c->shown = mem_alloc_array(GROUPS_MAX, sizeof(*c->shown));
    c->made = c->shown == NULL ? NULL : mem_alloc_array(GROUPS_MAX, sizeof(*c->made));
    if (c->made == NULL) {
        mem_free(c->shown);
        c->shown = NULL;
        return ST_NOMEM;
    }
    return ST_OK;
}

/* Puts those of `made` into force that the configuration does not have, as many as fit beside it:
 * the others stay in `made`, and so in the file. */
static enum status
show(struct catalog *c)
{
    size_t n = 0;
    size_t out = 0;
    for (size_t i = 0; i < c->n_made; i++) {
        if (named(c->file, c->n_file, c->made[i].name) != NULL) {
            continue;
        }
        if (c->n_file + n < GROUPS_MAX) {
            c->shown[n++] = c->made[i];
        } else {
            out++;
        }
    }
    if (out > 0) {
        log_error("%zu workload groups made over the API are not in force: with those of the "
                  "configuration they are more than %u",
                  out, GROUPS_MAX);
    }
    return groups_set(c->gs, GROUP_FROM_API, c->shown, n);
}

static void
log_shadowed(struct catalog *c)
{
    for (size_t i = 0; i < c->n_made; i++) {
        if (named(c->file, c->n_file, c->made[i].name) != NULL) {
            log_warn("Workload group \"%s\" was made over the API and is in the configuration "
                     "file: that of the file is in force",
                     c->made[i].name);
        }
    }
}

enum status
catalog_open(struct catalog *c, const char *store_dir)
{
    char err[512] = "";
    if (store_dir == NULL || *store_dir == '\0' || c->dir != NULL) {
        return ST_OK;
    }
    begin(c);
    struct group_conf *made = NULL;
    size_t n = 0;
    c->dir = mem_strdup(store_dir);
    enum status st = c->dir == NULL ? ST_NOMEM : reserve(c);
    if (st == ST_OK) {
        st = group_file_read(c->dir, &made, &n, err, sizeof(err));
    }
    if (st == ST_SYNTAX || st == ST_IO) {
        log_error("Workload groups made over the API are not in force: %s", err);
        st = ST_OK;
    }
    for (size_t i = 0; i < n && st == ST_OK; i++) {
        if (named(c->made, c->n_made, made[i].name) == NULL) {
            c->made[c->n_made++] = made[i];
        }
    }
    mem_free(made);
    if (st == ST_OK && c->n_made > 0) {
        st = show(c);
    }
    log_shadowed(c);
    return end(c, st);
}

enum status
catalog_configure(struct catalog *c, const struct group_conf *conf, size_t n)
{
    begin(c);
    struct group_conf *copy = mem_alloc_array(n, sizeof(*copy));
    if (copy == NULL) {
        return end(c, ST_NOMEM);
    }
    if (n > 0) {
        memcpy(copy, conf, n * sizeof(*copy));
    }
    struct group_conf *was = c->file;
    size_t n_was = c->n_file;
    c->file = copy;
    c->n_file = n;
    /* What the file has now may need the places of some of the others. */
    bool crowded = n + c->n_made > GROUPS_MAX;
    enum status st = crowded ? show(c) : ST_OK;
    if (st == ST_OK) {
        st = groups_set(c->gs, GROUP_FROM_CONFIG, conf, n);
    }
    if (st != ST_OK) {
        c->file = was;
        c->n_file = n_was;
        mem_free(copy);
        if (crowded && show(c) != ST_OK) {
            log_error("Workload groups made over the API could not be set anew");
        }
        return end(c, st);
    }
    mem_free(was);
    /* NB: without memory two of one name may match; that of the file comes first all the same. */
    if (c->n_made > 0 && !crowded && show(c) != ST_OK) {
        log_error("Workload groups made over the API could not be set anew");
    }
    log_shadowed(c);
    return end(c, ST_OK);
}

/* The changed list is written and put into force, or all is as it was. before: a copy of it. */
static enum status
commit(struct catalog *c, const struct group_conf *before, size_t n_before)
{
    enum status st = ST_OK;
    if (c->dir != NULL) {
        st = group_file_write(c->dir, c->made, c->n_made);
    }
    if (st == ST_OK) {
        st = show(c);
        if (st != ST_OK && c->dir != NULL && group_file_write(c->dir, before, n_before) != ST_OK) {
            log_error("%s holds a change that is not in force", GROUP_FILE_NAME);
        }
    }
    if (st != ST_OK) {
        int saved = errno;
        memcpy(c->made, before, n_before * sizeof(*before));
        c->n_made = n_before;
        errno = saved;
    }
    return st;
}

/* A copy of the list, for the case that it must become again what it was. */
static enum status
copy_made(struct catalog *c, struct group_conf **out)
{
    enum status st = reserve(c);
    *out = st == ST_OK ? mem_alloc_array(GROUPS_MAX, sizeof(**out)) : NULL;
    if (*out == NULL) {
        return ST_NOMEM;
    }
    memcpy(*out, c->made, c->n_made * sizeof(**out));
    return ST_OK;
}

static void
say(const struct catalog *c, struct catalog_result *out)
{
    *out = (struct catalog_result){c->dir != NULL, c->dir != NULL ? NULL : no_store};
}

enum status
catalog_create(struct catalog *c, const struct group_conf *conf, struct catalog_result *out)
{
    struct group_conf *before = NULL;
    begin(c);
    say(c, out);
    if (named(c->file, c->n_file, conf->name) != NULL ||
        named(c->made, c->n_made, conf->name) != NULL) {
        return end(c, ST_EXISTS);
    }
    if (c->n_file + c->n_made >= GROUPS_MAX) {
        return end(c, ST_FULL);
    }
    enum status st = copy_made(c, &before);
    if (st == ST_OK) {
        size_t n = c->n_made;
        c->made[c->n_made++] = *conf;
        st = commit(c, before, n);
    }
    mem_free(before);
    return end(c, st);
}

enum status
catalog_update(struct catalog *c, const struct group_conf *conf, struct catalog_result *out)
{
    struct group_conf *before = NULL;
    begin(c);
    say(c, out);
    struct group_conf *of_file = named(c->file, c->n_file, conf->name);
    if (of_file != NULL) {
        *out = (struct catalog_result){false, of_the_file};
        enum status st = groups_update(c->gs, conf);
        if (st == ST_OK) {
            *of_file = *conf;
        }
        return end(c, st);
    }
    struct group_conf *made = named(c->made, c->n_made, conf->name);
    if (made == NULL) {
        return end(c, ST_NOTFOUND);
    }
    enum status st = copy_made(c, &before);
    if (st == ST_OK) {
        *made = *conf;
        st = commit(c, before, c->n_made);
    }
    mem_free(before);
    return end(c, st);
}

enum status
catalog_remove(struct catalog *c, const char *name, struct catalog_result *out)
{
    struct group_conf *before = NULL;
    begin(c);
    say(c, out);
    struct group_conf *made = named(c->made, c->n_made, name);
    bool of_file = named(c->file, c->n_file, name) != NULL;
    if (made == NULL) {
        return end(c, of_file ? ST_PERM : ST_NOTFOUND);
    }
    enum status st = copy_made(c, &before);
    if (st == ST_OK) {
        size_t n = c->n_made;
        size_t at = (size_t)(made - c->made);
        memmove(made, made + 1, (n - at - 1) * sizeof(*made));
        c->n_made--;
        st = commit(c, before, n);
    }
    out->note = of_file ? is_shadowed : out->note;
    mem_free(before);
    return end(c, st);
}

bool
catalog_is_shadowed(struct catalog *c, const char *name)
{
    begin(c);
    bool both = named(c->file, c->n_file, name) != NULL && named(c->made, c->n_made, name) != NULL;
    (void)end(c, ST_OK);
    return both;
}
