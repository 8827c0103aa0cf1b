/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process is the server that is loaded. */
#ifndef TESTS_BENCH_TOOL_OWNER_H
#define TESTS_BENCH_TOOL_OWNER_H

#include <sys/types.h>

#include "server/base/status.h"

/* ST_OK: the process listens on that TCP port (in decimal), on any address of its network
 * namespace. ST_NOTFOUND: there is no such process; ST_PERM: its files are not ours to look at;
 * ST_INVAL: it does not listen there. ST_FULL: more than 64 sockets do. */
enum status owner_listens(pid_t pid, const char *port) MUST_CHECK;

#endif
