/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/tool/show.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/base/clock.h"

void
show_second(const struct drive *d, int64_t since_start)
{
    static uint64_t last_sent;
    static uint64_t last_ok;
    uint64_t sent = 0;
    uint64_t ok = 0;
    uint64_t told = 0;
    uint64_t waiting = 0;

    for (size_t i = 0; i < d->n; i++) {
        const struct overload *v = &d->load[i];
        sent += v->ncall;
        ok += v->ok.count;
        told += v->told.count;
        waiting += v->waiting;
    }
    (void)fprintf(stderr,
                  "%4lld s: %" PRIu64 " calls (+%" PRIu64 "), %" PRIu64 " in time (+%" PRIu64
                  "), told of an error %" PRIu64 " times, %" PRIu64 " waiting\n",
                  (long long)(since_start / CLOCK_S), sent, sent - last_sent, ok, ok - last_ok,
                  told, waiting);
    last_sent = sent;
    last_ok = ok;
}

static double
real_of(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void
show_row(const char *name, const json_t *t)
{
    const json_t *latency = json_object_get(t, "latency");

    (void)printf("%-16.16s %10.0f %9.2f %% %11.0f %9.0f %9.0f %9.0f %9.2f %9.2f\n", name,
                 real_of(t, "offered"), 100 * real_of(t, "success"), real_of(t, "goodput"),
                 real_of(t, "refused") + real_of(t, "told_late"), real_of(t, "late"),
                 real_of(t, "never"), real_of(latency, "p50_ms"), real_of(latency, "p99_ms"));
}

/* How those who were refused were told. */
static void
show_refusals(const json_t *tenants)
{
    static const struct {
        const char *key;
        const char *what;
    } kinds[] = {
        {"refused_429", "429, over a limit of its own"},
        {"refused_503", "503, evicted from a full queue"},
        {"refused_408", "408, not within its time"},
        {"no_responders", "nobody answers on that subject"},
        {"error", "another error"},
    };
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        double n = 0;
        size_t i;
        const json_t *t;
        json_array_foreach(tenants, i, t)
        {
            n += real_of(json_object_get(t, "refused_as"), kinds[k].key);
        }
        if (n > 0) {
            (void)printf("  %.0f told: %s\n", n, kinds[k].what);
        }
    }
}

void
show_table(const json_t *out)
{
    const json_t *tenants = json_object_get(out, "tenants");
    size_t i;
    const json_t *t;

    (void)printf("%-16s %10s %11s %11s %9s %9s %9s %9s %9s\n", "", "offered/s", "in time",
                 "goodput/s", "told no", "late", "never", "p50 ms", "p99 ms");
    json_array_foreach(tenants, i, t)
    {
        const char *user = json_string_value(json_object_get(t, "user"));
        show_row(user == NULL ? "calls" : user, t);
    }
    show_refusals(tenants);
    if (json_object_get(out, "jain") != NULL) {
        (void)printf("  Jain's index over the tenants, in parts of their max-min share: %.3f\n",
                     real_of(out, "jain"));
    }
    const json_t *first = json_array_get(tenants, 0);
    if (json_object_get(first, "recovery_s") != NULL) {
        double s = real_of(first, "recovery_s");
        (void)printf(s < 0 ? "  after the pause: no recovery within the run\n"
                           : "  after the pause: 99 %% in time from %.1f s on\n",
                     s);
    }
    if (json_object_get(out, "server_cpu_s") != NULL) {
        (void)printf("  the server took %.2f s of CPU\n", real_of(out, "server_cpu_s"));
    }
    double lag = real_of(json_object_get(first, "send_lag"), "p99_ms");
    if (lag > 20) {
        (void)printf("  NB: a hundredth of the calls left %.0f ms late or more: this machine was "
                     "too busy to keep the pace\n",
                     lag);
    }
}

/* Max-min: what everybody gets at most, so that the sum of min(asked, that) is `all`. */
static double
level_of(const double *asked, size_t n, double all)
{
    double low = 0;
    double high = all;

    for (int step = 0; step < 100; step++) {
        double mid = (low + high) / 2;
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += asked[i] < mid ? asked[i] : mid;
        }
        *(sum < all ? &low : &high) = mid;
    }
    return high;
}

double
show_jain(const double *got, const double *asked, size_t n)
{
    double all = 0;
    double sum = 0;
    double squares = 0;

    for (size_t i = 0; i < n; i++) {
        all += got[i];
    }
    if (all <= 0) {
        return 0;
    }
    double level = level_of(asked, n, all);
    for (size_t i = 0; i < n; i++) {
        double x = got[i] / (asked[i] < level ? asked[i] : level);
        sum += x;
        squares += x * x;
    }
    return sum * sum / ((double)n * squares);
}
