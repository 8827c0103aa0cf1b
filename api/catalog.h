/* SPDX-License-Identifier: Apache-2.0 */
/* Which workload groups are configured, and by whom: the configuration file, or an operator over
 * $WLM.API.GROUP, whose groups are kept in the store folder. Of two of one name that of the file is
 * in force. Changes come one after the other; no lock is held while one is written to disk. Any
 * thread. */
#ifndef API_CATALOG_H
#define API_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "api/group_admin.h"
#include "api/group_conf.h"
#include "server/base/status.h"

struct catalog;

/* gs: borrowed, outlives it. */
enum status catalog_new(struct catalog **out, struct groups *gs) MUST_CHECK;
void catalog_free(struct catalog *c);

/* Where groups made over the API are kept (copied; NULL: nowhere), and those that are there. What
 * cannot be read is logged, and the rest goes on without it. ST_NOMEM. */
enum status catalog_open(struct catalog *c, const char *store_dir) MUST_CHECK;

/* The groups of the configuration file, at the start and at each reload. ST_NOMEM, ST_FULL,
 * ST_CLOSED: as groups_set, nothing changed. */
enum status catalog_configure(struct catalog *c, const struct group_conf *conf,
                              size_t n) MUST_CHECK;

/* What became of a change. */
struct catalog_result {
    bool stored;      /* it survives a restart */
    const char *note; /* static: why it does not, or what else is to be said; or NULL */
};

/* All or nothing. ST_IO: it could not be written (errno); ST_NOMEM, ST_CLOSED;
 *   create  ST_EXISTS; ST_FULL: more than GROUPS_MAX
 *   update  ST_NOTFOUND. Of a group of the file: in force until the next reload
 *   remove  ST_NOTFOUND; ST_PERM: it is of the file */
enum status catalog_create(struct catalog *c, const struct group_conf *conf,
                           struct catalog_result *out) MUST_CHECK;
enum status catalog_update(struct catalog *c, const struct group_conf *conf,
                           struct catalog_result *out) MUST_CHECK;
enum status catalog_remove(struct catalog *c, const char *name,
                           struct catalog_result *out) MUST_CHECK;

/* True if a group of that name that was made over the API stands behind one of the file. */
bool catalog_is_shadowed(struct catalog *c, const char *name);

#endif
