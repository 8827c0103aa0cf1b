/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file in the NATS configuration language into a tree of values: includes (relative to
 * the file that names them), variables (of the blocks around, then of the environment), size
 * suffixes. What a key means is not known here. Owned by one thread.
 *
 * Where it reads more strictly than nats-server: a size suffix that does not exist, a number that
 * its suffix makes too big, a NUL byte in a string and a cycle of includes are errors. */
#ifndef SERVER_CONF_PARSE_H
#define SERVER_CONF_PARSE_H

#include <stddef.h>

#include "server/base/status.h"
#include "server/conf/tree.h"

/* Blocks and lists may stand in each other this deep. */
#define CONF_MAX_DEPTH 512

/* *out is the top-level map, everything in the arena. ST_SYNTAX: *err (in the arena too) is one
 * line in nats-server's words, without a file name where nats-server gives none. */
enum status conf_parse_file(struct arena *a, const char *path, struct conf_map **out,
                            const char **err) MUST_CHECK;

/* The same from memory; path is what messages name and includes are relative to. */
enum status conf_parse_text(struct arena *a, const char *text, size_t n, const char *path,
                            struct conf_map **out, const char **err) MUST_CHECK;

#endif
