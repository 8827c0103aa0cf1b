/* SPDX-License-Identifier: Apache-2.0 */
/* The file that keeps the workload groups made over the API, in the store folder. Written whole to
 * another name, synced and renamed: after a crash it is the old one or the new one. */
#ifndef API_GROUP_FILE_H
#define API_GROUP_FILE_H

#include <stddef.h>

#include "api/group_conf.h"
#include "server/base/status.h"

#define GROUP_FILE_NAME "workload_groups.json"

/* Makes the folder where it is missing. ST_IO: errno says why. ST_NOMEM. */
enum status group_file_write(const char *dir, const struct group_conf *conf, size_t n) MUST_CHECK;

/* *out: owned by the caller (mem_free); *n may be 0, also where there is no file. A group in it
 * that is malformed, there twice or one too many is logged and left out, and NAME.bad keeps the
 * whole as it was. ST_SYNTAX: the
 * file is no such file: it was renamed to NAME.bad, and err says so; ST_IO: it cannot be read, and
 * err says why. */
enum status group_file_read(const char *dir, struct group_conf **out, size_t *n, char *err,
                            size_t err_size) MUST_CHECK;

#endif
