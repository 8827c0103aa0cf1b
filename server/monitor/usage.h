/* SPDX-License-Identifier: Apache-2.0 */
/* What the process uses of the machine, read from /proc. */
#ifndef SERVER_MONITOR_USAGE_H
#define SERVER_MONITOR_USAGE_H

#include <jansson.h>
#include <stdint.h>

struct jput;

/* CPU use between samples. Owned by the thread that samples; percent is read by any. */
struct usage_cpu {
    int64_t last_wall; /* monotonic ns */
    int64_t last_cpu;  /* ns of CPU, all threads */
    _Atomic int64_t permille;
};

void usage_cpu_sample(struct usage_cpu *u);
/* 100 is one core fully used; one decimal. */
double usage_cpu_percent(const struct usage_cpu *u);
/* ns of CPU that the process has used. Any thread. */
int64_t usage_cpu_ns(void);

/* Resident memory in bytes, 0 if it cannot be read. Any thread. */
int64_t usage_rss(void);
/* Gives freed memory back to the system where it is more than what is in use, and worth it: the
 * allocator keeps the peak of a bad hour otherwise, for the sake of a few live blocks. May hold up
 * other threads that allocate for some milliseconds: to be called every few seconds. Any thread. */
void usage_trim(void);
/* Cores that the process may run on, at least 1. Any thread. */
int usage_cores(void);

/* The members cmdline and memstats of /debug/vars: the names of Go's expvar, with the figures of
 * the C library's allocator where they have a meaning here, else 0. Any thread. */
void usage_put_expvar(struct jput *p, json_t *o);

#endif
