/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/overload_drive.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"

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

struct driving {
    const struct drive *d; /* borrowed: the caller's */
    struct fault fault;
    struct meter from;
    int64_t send_end;
    int64_t told; /* the last second that on_second has heard of */
    double rate;  /* of all loads */
    bool metered;
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
fault_turn(struct driving *g, int64_t now)
{
    struct fault *f = &g->fault;

    if (now >= f->stop_at) {
        if (kill(f->pid, SIGSTOP) != 0) {
            net_fail(g->d->net, "SIGSTOP: %s", strerror(errno));
        }
        f->stop_at = INT64_MAX;
        f->cont_at = now + f->length;
    }
    if (now >= f->cont_at) {
        (void)kill(f->pid, SIGCONT);
        f->cont_at = INT64_MAX;
        for (size_t i = 0; i < g->d->n; i++) {
            g->d->load[i].resumed = now;
        }
    }
}

static void
fault_end(struct fault *f)
{
    if (f->cont_at != INT64_MAX) {
        (void)kill(f->pid, SIGCONT);
    }
}

static void
start(struct driving *g)
{
    const struct drive *d = g->d;

    meter_take(&g->from, (pid_t)d->opts->pid);
    g->send_end = g->from.at + to_ns(d->opts->seconds);
    fault_init(&g->fault, d->opts, g->from.at);
    for (size_t i = 0; i < d->n; i++) {
        d->load[i].start = g->from.at;
        d->load[i].next = g->from.at;
        d->load[i].send_end = g->send_end;
        g->rate += d->load[i].opts->rate;
    }
}

/* Nothing more can come that would change the books. */
static bool
is_settled(const struct driving *g, int64_t now)
{
    if (now < g->send_end) {
        return false;
    }
    for (size_t i = 0; i < g->d->n; i++) {
        const struct overload *v = &g->d->load[i];
        if (v->waiting > 0 ||
            (v->open > 0 && now < g->send_end + v->patience + to_ns(g->d->opts->late_wait))) {
            return false;
        }
    }
    return true;
}

static void
send_due(struct overload *v, int64_t now)
{
    while (v->next <= now && v->next < v->send_end) {
        overload_call(v, v->next, now);
        double gap = -log(1.0 - erand48(v->rand)) / v->opts->rate;
        v->next += (int64_t)(gap * (double)CLOCK_S);
    }
    for (size_t i = 0; i < v->nconn; i++) {
        conn_flush(&v->conn[i]);
    }
}

static int64_t
wait_for(const struct driving *g, int64_t now)
{
    int64_t at = now + TICK_MAX_NS;

    for (size_t i = 0; i < g->d->n; i++) {
        const struct overload *v = &g->d->load[i];
        int64_t due = overload_next(v);
        at = due < at ? due : at;
        at = v->next < at && v->next < v->send_end ? v->next : at;
    }
    at = g->fault.stop_at < at ? g->fault.stop_at : at;
    at = g->fault.cont_at < at ? g->fault.cont_at : at;
    int64_t wait = at - now;
    if (g->rate > FAST_RATE && wait < FAST_TICK_NS) {
        wait = FAST_TICK_NS;
    }
    return wait < 0 ? 0 : wait;
}

static void
report_cost(struct driving *g)
{
    const struct drive *d = g->d;
    struct meter to;
    uint64_t runs = 0;

    for (size_t i = 0; i < d->n; i++) {
        runs += d->load[i].runs;
    }
    meter_take(&to, (pid_t)d->opts->pid);
    meter_report(d->out, &g->from, &to, runs);
    g->metered = true;
}

/* Nothing is sent any more, and rates are per second until now. */
static void
end_now(struct driving *g, int64_t now)
{
    if (now >= g->send_end) {
        return;
    }
    g->send_end = now;
    for (size_t i = 0; i < g->d->n; i++) {
        g->d->load[i].send_end = now;
    }
}

static void
tell(struct driving *g, int64_t now)
{
    const struct drive *d = g->d;
    int64_t second = (now - g->from.at) / CLOCK_S;

    if (d->on_second != NULL && second > g->told) {
        g->told = second;
        d->on_second(d, now - g->from.at);
    }
    if (d->stop != NULL && *d->stop) {
        end_now(g, now);
    }
}

static enum status
turn(struct driving *g, int64_t now)
{
    const struct drive *d = g->d;

    fault_turn(g, now);
    for (size_t i = 0; i < d->n; i++) {
        overload_expire(&d->load[i], now);
        send_due(&d->load[i], now);
    }
    tell(g, now);
    if (!g->metered && now >= g->send_end) {
        report_cost(g);
    }
    return net_turn(d->net, wait_for(g, clock_mono_ns()));
}

enum status
overload_drive(const struct drive *d)
{
    struct driving g = {.d = d};
    enum status st = ST_OK;

    start(&g);
    int64_t now = g.from.at;
    while (st == ST_OK && !is_settled(&g, now)) {
        st = turn(&g, now);
        now = clock_mono_ns();
    }
    fault_end(&g.fault);
    end_now(&g, now);
    if (!g.metered) {
        report_cost(&g);
    }
    return st;
}
