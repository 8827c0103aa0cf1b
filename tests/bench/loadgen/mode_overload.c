/* SPDX-License-Identifier: Apache-2.0 */
/* Open loop: Poisson arrivals from a fixed seed; sends never wait for replies, for a closed loop
 * hides the collapse. Optionally the server is stopped and continued in the middle. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/bench/loadgen/overload.h"

/* Above this rate a turn for each arrival would cost more than it tells. */
#define FAST_RATE    5000
#define FAST_TICK_NS (100 * CLOCK_US)
#define TICK_MAX_NS  (5 * CLOCK_MS)

struct fault {
    pid_t pid;
    int64_t stop_at; /* INT64_MAX: none, or over */
    int64_t cont_at; /* INT64_MAX: not stopped */
    int64_t length;
};

static int64_t
to_ns(double s)
{
    return (int64_t)(s * (double)CLOCK_S);
}

static void
fault_init(struct fault *f, const struct opts *o, int64_t start)
{
    f->pid = (pid_t)o->pid;
    f->length = to_ns(o->pause_for);
    f->cont_at = INT64_MAX;
    f->stop_at = o->pause_for > 0 && o->pid > 0 ? start + to_ns(o->pause_at) : INT64_MAX;
}

static void
fault_turn(struct fault *f, struct overload *v, int64_t now)
{
    if (now >= f->stop_at) {
        if (kill(f->pid, SIGSTOP) != 0) {
            net_fail(&v->b->net, "SIGSTOP: %s", strerror(errno));
        }
        f->stop_at = INT64_MAX;
        f->cont_at = now + f->length;
    }
    if (now >= f->cont_at) {
        (void)kill(f->pid, SIGCONT);
        f->cont_at = INT64_MAX;
        v->resumed = now;
    }
}

static void
fault_end(struct fault *f)
{
    if (f->cont_at != INT64_MAX) {
        (void)kill(f->pid, SIGCONT);
    }
}

/* Nothing more can come that would change the books. */
static bool
is_settled(const struct overload *v, int64_t now)
{
    if (now < v->send_end) {
        return false;
    }
    if (v->waiting > 0) {
        return false;
    }
    return v->open == 0 || now >= v->send_end + v->patience + to_ns(v->b->opts->late_wait);
}

static void
send_due(struct overload *v, unsigned short rand[3], int64_t *next, int64_t now)
{
    while (*next <= now && *next < v->send_end) {
        overload_call(v, *next, now);
        double gap = -log(1.0 - erand48(rand)) / v->b->opts->rate;
        *next += (int64_t)(gap * (double)CLOCK_S);
    }
    for (size_t i = 0; i < v->nconn; i++) {
        conn_flush(&v->conn[i]);
    }
}

static int64_t
wait_for(const struct overload *v, const struct fault *f, int64_t next, int64_t now)
{
    int64_t at = overload_next(v);

    at = next < at && next < v->send_end ? next : at;
    at = f->stop_at < at ? f->stop_at : at;
    at = f->cont_at < at ? f->cont_at : at;
    int64_t wait = at > now + TICK_MAX_NS ? TICK_MAX_NS : at - now;
    if (v->b->opts->rate > FAST_RATE && wait < FAST_TICK_NS) {
        wait = FAST_TICK_NS;
    }
    return wait < 0 ? 0 : wait;
}

static enum status
drive(struct overload *v)
{
    const struct opts *o = v->b->opts;
    unsigned short rand[3] = {0x330e, (unsigned short)o->seed, (unsigned short)(o->seed >> 16)};
    struct fault fault;
    struct meter from;
    struct meter to;
    enum status st = ST_OK;
    bool metered = false;

    meter_take(&from, (pid_t)o->pid);
    v->start = from.at;
    v->send_end = v->start + to_ns(o->seconds);
    fault_init(&fault, o, v->start);
    int64_t next = v->start;
    int64_t now = v->start;
    while (st == ST_OK && !is_settled(v, now)) {
        fault_turn(&fault, v, now);
        overload_expire(v, now);
        send_due(v, rand, &next, now);
        if (!metered && now >= v->send_end) {
            meter_take(&to, (pid_t)o->pid);
            meter_report(v->b->out, &from, &to, v->runs);
            metered = true;
        }
        st = net_turn(&v->b->net, wait_for(v, &fault, next, clock_mono_ns()));
        now = clock_mono_ns();
    }
    fault_end(&fault);
    if (!metered) {
        meter_take(&to, (pid_t)o->pid);
        meter_report(v->b->out, &from, &to, v->runs);
    }
    return st;
}

static enum status
run(struct bench *b)
{
    struct overload *v = mem_alloc(sizeof(*v));
    enum status st;

    if (v == NULL) {
        return ST_NOMEM;
    }
    st = overload_init(v, b);
    if (st == ST_OK) {
        st = drive(v);
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
