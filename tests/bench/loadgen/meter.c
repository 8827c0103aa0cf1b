/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/meter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/base/clock.h"

static int64_t
cpu_ns(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) != 0) {
        return 0;
    }
    return ts.tv_sec * CLOCK_S + ts.tv_nsec;
}

void
meter_take(struct meter *m, pid_t pid)
{
    clockid_t id;

    m->at = clock_mono_ns();
    m->own = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    m->server = 0;
    if (pid > 0 && clock_getcpuclockid(pid, &id) == 0) {
        m->server = cpu_ns(id);
    }
}

static double
seconds(int64_t ns)
{
    return (double)ns / (double)CLOCK_S;
}

void
meter_report(json_t *out, const struct meter *a, const struct meter *b, uint64_t units)
{
    double t = seconds(b->at - a->at);
    double cpu = seconds(b->server - a->server);
    double own = seconds(b->own - a->own);
    double n = (double)units;

    json_object_set_new(out, "seconds", json_real(t));
    json_object_set_new(out, "units", json_integer((json_int_t)units));
    json_object_set_new(out, "rate", json_real(t > 0 ? n / t : 0));
    json_object_set_new(out, "loadgen_cpu_s", json_real(own));
    if (b->server > 0) {
        json_object_set_new(out, "server_cpu_s", json_real(cpu));
        json_object_set_new(out, "server_cpu_s_per_million",
                            json_real(units > 0 ? cpu * 1e6 / n : 0));
    }
}

int64_t
meter_memory_kib(pid_t pid, const char *field)
{
    char path[64];
    char line[256];
    size_t len = strlen(field);
    int64_t kib = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return 0;
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, field, len) == 0 && line[len] == ':') {
            kib = strtoll(line + len + 1, NULL, 10);
            break;
        }
    }
    (void)fclose(f);
    return kib;
}
