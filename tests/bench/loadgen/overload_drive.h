/* SPDX-License-Identifier: Apache-2.0 */
/* Drives open-loop loads side by side, on the caller's thread: Poisson arrivals from a fixed seed;
 * sends never wait for replies, for a closed loop hides the collapse. Optionally the server is
 * stopped and continued in the middle. */
#ifndef TESTS_BENCH_LOADGEN_OVERLOAD_DRIVE_H
#define TESTS_BENCH_LOADGEN_OVERLOAD_DRIVE_H

#include <signal.h>

#include "tests/bench/loadgen/overload.h"

struct drive {
    struct net *net;       /* borrowed: all loads go through it */
    struct overload *load; /* borrowed: n of them, initialised */
    size_t n;
    const struct opts *opts; /* borrowed: seconds, late_wait, pid, pause_at, pause_for */
    json_t *out;             /* borrowed: time and CPU of the whole run are set in it */
    /* Both may be NULL. Once *stop is set, nothing more is sent; what is open is awaited. */
    const volatile sig_atomic_t *stop;
    void (*on_second)(const struct drive *d, int64_t since_start);
};

/* Returns when the books cannot change any more. The caller reports each load. */
enum status overload_drive(const struct drive *d) MUST_CHECK;

#endif
