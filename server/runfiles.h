/* SPDX-License-Identifier: Apache-2.0 */
/* The files that tell others about a running server: the pid file and the ports file, in
 * nats-server's form. A ports file appears whole, by a rename, so its presence is readiness.
 * Main thread. */
#ifndef SERVER_RUNFILES_H
#define SERVER_RUNFILES_H

#include <stddef.h>

#include "server/base/status.h"

/* Where the server is to be reached; host as bound ("0.0.0.0" or "::" are all addresses). */
struct runfiles_ports {
    const char *host; /* borrowed: for the call; NULL: does not listen */
    int port;
    const char *monitor_host; /* borrowed: for the call; NULL: no monitor */
    int monitor_port;
};

/* The pid in digits, nothing else. ST_IO: errno tells. */
enum status runfiles_write_pid(const char *path) MUST_CHECK;
/* Removes it if it still holds this process's pid. */
void runfiles_remove_pid(const char *path);

/* dir/<program>_<pid>.ports; argv0 names the program. ST_IO: errno tells; ST_NOMEM. */
enum status runfiles_write_ports(const char *dir, const char *argv0,
                                 const struct runfiles_ports *ports) MUST_CHECK;
/* ST_IO: errno tells. */
enum status runfiles_remove_ports(const char *dir, const char *argv0) MUST_CHECK;

#endif
