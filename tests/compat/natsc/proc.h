/* SPDX-License-Identifier: Apache-2.0 */
/* A server process under test: started with a configuration file, ready when start returns, on a
 * port of its own. Used by one thread. Whatever goes wrong ends the program with a message: there
 * is no test without it. */
#ifndef TESTS_COMPAT_NATSC_PROC_H
#define TESTS_COMPAT_NATSC_PROC_H

#include <sys/types.h>

/* Lives on the stack of the caller; all zero means not running. */
struct proc {
    pid_t pid;    /* 0: not running */
    int port;     /* 0 at the first start: any; later starts take the same again */
    char dir[64]; /* configuration, log, ports file and what the caller puts there; "": made anew */
    char url[64]; /* of the client port, without credentials */
};

/* Starts `binary` with `conf` as its configuration file and waits until it accepts, 10 s at most.
 */
void proc_start(struct proc *p, const char *binary, const char *conf);

/* Ends it with SIGTERM and waits; a server that crashed or does not end within 10 s is a failure.
 */
void proc_stop(struct proc *p);

/* Stops it if it runs and removes its folder. */
void proc_fini(struct proc *p);

#endif
