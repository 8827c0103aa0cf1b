/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/mem.h"
#include "tests/bench/loadgen/mode.h"
#include "tests/bench/loadgen/overload_drive.h"

static enum status
run(struct bench *b)
{
    const struct overload_plan plan = {.net = &b->net, .opts = b->opts, .out = b->out};
    struct overload *v = mem_alloc(sizeof(*v));
    enum status st;

    if (v == NULL) {
        return ST_NOMEM;
    }
    st = overload_init(v, &plan);
    if (st == ST_OK) {
        const struct drive d = {.net = &b->net, .load = v, .n = 1, .opts = b->opts, .out = b->out};
        st = overload_drive(&d);
        if (v->ncall > 0) {
            overload_report(v);
        }
    }
    overload_fini(v);
    mem_free(v);
    return st;
}

const struct mode mode_overload = {
    .name = "overload",
    .doc = "open loop of requests, Poisson; calls counted once, at the time they were due; "
           "success is a reply without error within --patience; unit: a reply without error",
    .uses = "subject, payload, conns, patience, late-wait, timeout-header, retry, retries, seed, "
            "pid, pause-at, pause-for, held",
    .needs_rate = true,
    .run = run,
};
