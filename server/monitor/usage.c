/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/usage.h"

#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/monitor/jput.h"

enum { TRIM_FROM = 64 * 1024 * 1024 };

int64_t
usage_cpu_ns(void)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) != 0) {
        return 0;
    }
    return (int64_t)ts.tv_sec * CLOCK_S + ts.tv_nsec;
}

void
usage_cpu_sample(struct usage_cpu *u)
{
    int64_t now = clock_mono_ns();
    int64_t cpu = usage_cpu_ns();
    if (u->last_wall != 0 && now > u->last_wall) {
        atomic_store(&u->permille, (cpu - u->last_cpu) * 1000 / (now - u->last_wall));
    }
    u->last_wall = now;
    u->last_cpu = cpu;
}

double
usage_cpu_percent(const struct usage_cpu *u)
{
    return (double)atomic_load(&u->permille) / 10.0;
}

static ssize_t
read_file(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t n = read(fd, out, cap - 1);
    close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n;
}

int64_t
usage_rss(void)
{
    char text[256];
    long size;
    long resident;
    if (read_file("/proc/self/statm", text, sizeof text) <= 0 ||
        sscanf(text, "%ld %ld", &size, &resident) != 2) {
        return 0;
    }
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

void
usage_trim(void)
{
    int64_t resident = usage_rss();
    if (resident < TRIM_FROM) {
        return;
    }
    struct mallinfo2 mi = mallinfo2();
    if (resident > TRIM_FROM + 2 * (int64_t)(mi.uordblks + mi.hblkhd)) {
        malloc_trim(0);
    }
}

int
usage_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        return n > 0 ? (int)n : 1;
    }
    return CPU_COUNT(&set);
}

static void
put_memstats(struct jput *p, json_t *o)
{
    struct mallinfo2 mi = mallinfo2();
    int64_t held = (int64_t)(mi.arena + mi.hblkhd);
    int64_t used = (int64_t)(mi.uordblks + mi.hblkhd);
    const struct {
        const char *name;
        int64_t val;
    } rows[] = {
        {"Alloc", used},     {"TotalAlloc", 0},   {"Sys", held},
        {"Lookups", 0},      {"Mallocs", 0},      {"Frees", 0},
        {"HeapAlloc", used}, {"HeapSys", held},   {"HeapIdle", (int64_t)mi.fordblks},
        {"HeapInuse", used}, {"HeapReleased", 0}, {"HeapObjects", 0},
        {"StackInuse", 0},   {"StackSys", 0},     {"NextGC", 0},
        {"LastGC", 0},       {"PauseTotalNs", 0}, {"NumGC", 0},
        {"NumForcedGC", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        jput_int(p, o, rows[i].name, rows[i].val);
    }
    jput_real(p, o, "GCCPUFraction", 0);
    jput_bool(p, o, "EnableGC", false);
    jput_bool(p, o, "DebugGC", false);
}

/* Secrets on the command line ("--pass x", "--auth x") are not repeated. */
static bool
is_secret_flag(const char *arg)
{
    while (*arg == '-') {
        arg++;
    }
    return strcmp(arg, "pass") == 0 || strcmp(arg, "auth") == 0;
}

static void
put_cmdline(struct jput *p, json_t *o)
{
    json_t *arr = jput_arr(p, o, "cmdline");
    char text[8192];
    ssize_t n = read_file("/proc/self/cmdline", text, sizeof text);
    bool hide = false;
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1) {
        char *eq = strchr(text + at, '=');
        if (eq != NULL && text[at] == '-') {
            *eq = '\0';
            bool secret = is_secret_flag(text + at);
            *eq = '=';
            /* The text stays as long as it was, the walk goes by its length. */
            if (secret) {
                memset(eq + 1, '*', strlen(eq + 1));
            }
        }
        jput_add_str(p, arr, hide ? "***" : text + at);
        hide = text[at] == '-' && is_secret_flag(text + at);
    }
}

void
usage_put_expvar(struct jput *p, json_t *o)
{
    put_cmdline(p, o);
    put_memstats(p, jput_obj(p, o, "memstats"));
}
