/* SPDX-License-Identifier: Apache-2.0 */
/* What the measured interval cost: time, the CPU of the server under test (by its pid) and our
 * own. The kernel's CPU clock of a process is exact to the nanosecond, unlike /proc's ticks. */
#ifndef TESTS_BENCH_LOADGEN_METER_H
#define TESTS_BENCH_LOADGEN_METER_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct meter {
    int64_t at;     /* monotonic ns */
    int64_t server; /* CPU ns of the server, 0 without a pid */
    int64_t own;    /* CPU ns of this process */
};

/* pid 0: no server to read. */
void meter_take(struct meter *m, pid_t pid);

/* Sets seconds, and per `units` messages done in [a, b]: rate, server_cpu_s,
 * server_cpu_s_per_million, loadgen_cpu_s. */
void meter_report(json_t *out, const struct meter *a, const struct meter *b, uint64_t units);

/* A line of /proc/<pid>/status ("VmRSS", "VmHWM") in KiB; 0: cannot be read. */
int64_t meter_memory_kib(pid_t pid, const char *field);

#endif
