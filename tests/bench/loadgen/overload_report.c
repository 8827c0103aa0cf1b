/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/base/clock.h"
#include "tests/bench/loadgen/overload.h"

#define WINDOW_NS CLOCK_S
#define STEP_NS   (100 * CLOCK_MS)
#define RECOVERED 0.99

struct second {
    uint32_t due;
    uint32_t ok;
    uint32_t refused;
    uint32_t late;
    uint32_t never;
    uint32_t done; /* replies in time that came in this second, whenever they were due */
};

static double
real_s(int64_t ns)
{
    return (double)ns / (double)CLOCK_S;
}

/* Success of the calls due in [from, from + WINDOW_NS); 1 where there are none. */
static double
window_success(const struct overload *v, size_t *first, int64_t from)
{
    uint64_t due = 0;
    uint64_t ok = 0;

    while (*first < v->ncall && v->call[*first].due < from) {
        (*first)++;
    }
    for (size_t i = *first; i < v->ncall && v->call[i].due < from + WINDOW_NS; i++) {
        due++;
        ok += v->call[i].outcome == CALL_OK;
    }
    return due == 0 ? 1 : (double)ok / (double)due;
}

/* Seconds from the resume until 99 % of the sends of a second succeed: at first, and for good
 * (every later second too). -1: not in this run. */
static void
report_recovery(const struct overload *v)
{
    size_t first = 0;
    double at_first = -1;
    double for_good = -1;

    for (int64_t t = v->resumed; t + WINDOW_NS <= v->send_end; t += STEP_NS) {
        if (window_success(v, &first, t) < RECOVERED) {
            for_good = -1;
            continue;
        }
        double s = real_s(t - v->resumed);
        at_first = at_first < 0 ? s : at_first;
        for_good = for_good < 0 ? s : for_good;
    }
    json_object_set_new(v->out, "recovery_first_s", json_real(at_first));
    json_object_set_new(v->out, "recovery_s", json_real(for_good));
}

static json_t *
row(const struct second *s, int second, int64_t oldest)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f}", "t", second, "due", (int)s->due,
                     "ok", (int)s->ok, "refused", (int)s->refused, "late", (int)s->late, "never",
                     (int)s->never, "done", (int)s->done, "oldest_s", real_s(oldest));
}

static void
report_series(const struct overload *v)
{
    static struct second sec[OVERLOAD_SECONDS_MAX];
    json_t *list = json_array();
    int last = 0;

    memset(sec, 0, sizeof(sec));
    for (size_t i = 0; i < v->ncall; i++) {
        const struct call *c = &v->call[i];
        struct second *s = &sec[(c->due - v->start) / CLOCK_S];
        last = (int)((c->due - v->start) / CLOCK_S);
        s->due++;
        s->ok += c->outcome == CALL_OK;
        s->refused += c->outcome == CALL_REFUSED || c->outcome == CALL_TOLD_LATE;
        s->late += c->outcome == CALL_LATE;
        s->never += c->outcome == CALL_TIMEOUT || c->outcome == CALL_OPEN;
        if (c->outcome == CALL_OK) {
            sec[(c->due + c->took - v->start) / CLOCK_S].done++;
        }
    }
    for (int t = 0; t <= last; t++) {
        json_array_append_new(list, row(&sec[t], t, v->oldest_by_second[t]));
    }
    json_object_set_new(v->out, "series", list);
}

static void
report_outcomes(const struct overload *v)
{
    uint64_t n[CALL_TOLD_LATE + 1] = {0};
    uint64_t refused[ANSWER_COUNT] = {0};
    json_t *out = v->out;
    json_t *told = json_object();
    double sent = (double)v->ncall;
    double ok;
    double done = 0; /* in time, and while load was offered: what is served after it is no gain */

    for (size_t i = 0; i < v->ncall; i++) {
        done += v->call[i].outcome == CALL_OK && v->call[i].due + v->call[i].took <= v->send_end;
        n[v->call[i].outcome]++;
        if (v->call[i].outcome == CALL_REFUSED || v->call[i].outcome == CALL_TOLD_LATE) {
            refused[v->call[i].answer]++;
        }
    }
    ok = (double)n[CALL_OK];
    for (int a = ANSWER_OK + 1; a < ANSWER_COUNT; a++) {
        json_object_set_new(told, answer_name((enum answer)a),
                            json_integer((json_int_t)refused[a]));
    }
    json_object_set_new(out, "calls", json_integer((json_int_t)v->ncall));
    json_object_set_new(out, "attempts", json_integer((json_int_t)v->nattempt));
    json_object_set_new(out, "ok", json_integer((json_int_t)n[CALL_OK]));
    json_object_set_new(out, "refused", json_integer((json_int_t)n[CALL_REFUSED]));
    json_object_set_new(out, "told_late", json_integer((json_int_t)n[CALL_TOLD_LATE]));
    json_object_set_new(out, "late", json_integer((json_int_t)n[CALL_LATE]));
    n[CALL_TIMEOUT] += n[CALL_OPEN];
    json_object_set_new(out, "never", json_integer((json_int_t)n[CALL_TIMEOUT]));
    json_object_set_new(out, "refused_as", told);
    json_object_set_new(out, "success", json_real(ok / sent));
    json_object_set_new(out, "goodput", json_real(done / real_s(v->send_end - v->start)));
    json_object_set_new(out, "offered", json_real(sent / real_s(v->send_end - v->start)));
}

static void
report_attempts(const struct overload *v)
{
    json_t *out = v->out;
    json_t *answers = json_object();
    double runs = (double)v->offered_runs;

    for (int a = 0; a < ANSWER_COUNT; a++) {
        json_object_set_new(answers, answer_name((enum answer)a),
                            json_integer((json_int_t)v->answers[a]));
    }
    json_object_set_new(out, "answers", answers);
    json_object_set_new(out, "unanswered_attempts", json_integer((json_int_t)v->open));
    json_object_set_new(out, "duplicates", json_integer((json_int_t)v->duplicates));
    json_object_set_new(out, "runs", json_integer((json_int_t)v->runs));
    json_object_set_new(out, "wasted",
                        json_real(v->offered_runs == 0 ? 0 : (double)v->late_runs / runs));
    json_object_set_new(out, "oldest_served_s", json_real(real_s(v->oldest_served)));
    json_object_set_new(out, "latency", hist_json(&v->ok));
    json_object_set_new(out, "told_after", hist_json(&v->told));
    json_object_set_new(out, "send_lag", hist_json(&v->lag));
    if (v->evicted_at != NULL) {
        json_object_set_new(out, "evictions", json_integer((json_int_t)v->evictions));
        json_object_set_new(out, "told_early", json_integer((json_int_t)v->told_early));
        json_object_set_new(out, "told_lag", hist_json(&v->told_lag));
    }
}

void
overload_report(struct overload *v)
{
    report_outcomes(v);
    report_attempts(v);
    report_series(v);
    if (v->resumed != 0) {
        report_recovery(v);
    }
}
