/* SPDX-License-Identifier: Apache-2.0 */
/* Asks every loop something and waits for all answers. Any thread but a loop. */
#ifndef SERVER_GATHER_H
#define SERVER_GATHER_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct loop;
struct server;

/* ask runs once on each loop, with part[i] of its own (part_size zeroed bytes): no lock is needed
 * in it. Then finish runs on the calling thread, once for each part, and takes what is in it.
 * ST_CLOSED: the loops do not run. ST_TIMEOUT: one did not answer in time; all parts are freed by
 * drop once it does. */
struct gather_spec {
    size_t part_size;
    void (*ask)(struct loop *l, void *part, void *query);
    void (*finish)(void *part, void *arg);
    void (*drop)(void *part);
    const void *query; /* copied */
    size_t query_size;
    int64_t patience; /* ns; 0: 5 s */
};
enum status gather_run(struct server *s, const struct gather_spec *spec, void *arg) MUST_CHECK;

#endif
