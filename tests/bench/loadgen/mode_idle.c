/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/bench/loadgen/meter.h"
#include "tests/bench/loadgen/mode.h"

static enum status
hold(struct bench *b, double seconds)
{
    int64_t end = clock_mono_ns() + (int64_t)(seconds * (double)CLOCK_S);

    while (clock_mono_ns() < end) {
        enum status st = net_turn(&b->net, 50 * CLOCK_MS);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status
run(struct bench *b)
{
    const struct opts *o = b->opts;
    size_t n = (size_t)o->count;
    pid_t pid = (pid_t)o->pid;
    struct conn *c = mem_alloc_array(n, sizeof(*c));
    struct meter from;
    struct meter to;
    enum status st = ST_OK;

    if (c == NULL) {
        return ST_NOMEM;
    }
    int64_t before = meter_memory_kib(pid, "VmRSS");
    meter_take(&from, pid);
    for (size_t i = 0; st == ST_OK && i < n; i++) {
        st = conn_open(&c[i], &b->net, "");
    }
    meter_take(&to, pid);
    if (st == ST_OK) {
        st = hold(b, o->seconds);
    }
    if (st == ST_OK) {
        int64_t after = meter_memory_kib(pid, "VmRSS");
        meter_report(b->out, &from, &to, n);
        json_object_set_new(b->out, "rss_before_kib", json_integer(before));
        json_object_set_new(b->out, "rss_after_kib", json_integer(after));
        json_object_set_new(b->out, "kib_per_connection",
                            json_real((double)(after - before) / (double)n));
    }
    for (size_t i = 0; i < n; i++) {
        conn_close(&c[i]);
    }
    mem_free(c);
    return st;
}

const struct mode mode_idle = {
    .name = "idle",
    .doc = "opens --count connections and holds them for --seconds; unit: a connection made",
    .uses = "count",
    .run = run,
};
