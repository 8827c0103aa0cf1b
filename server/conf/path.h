/* SPDX-License-Identifier: Apache-2.0 */
/* Paths by their text alone, as Go's path package has them. */
#ifndef SERVER_CONF_PATH_H
#define SERVER_CONF_PATH_H

#include "server/conf/arena.h"

/* Without `.`, `//` and, as far as can be, `..`; "" becomes ".". NULL: out of memory. */
char *path_clean(struct arena *a, const char *path) MUST_CHECK;
/* The folder of a file: "." where the path has none. */
char *path_dir(struct arena *a, const char *path) MUST_CHECK;
/* name below dir, also where name begins with a slash. */
char *path_join(struct arena *a, const char *dir, const char *name) MUST_CHECK;

#endif
