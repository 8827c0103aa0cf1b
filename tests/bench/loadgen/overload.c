/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/overload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/mem.h"

#define ATTEMPTS_MAX 20000000.0
#define EVICTED_RING (1024 * 1024)
#define SYNC_NS      (10 * CLOCK_S)

static enum status
parse_retry(const char *text, enum retry *out)
{
    static const char *const names[] = {"none", "timeout", "hint", "error"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (enum retry)i;
            return ST_OK;
        }
    }
    return ST_INVAL;
}

static void send_attempt(struct overload *v, uint32_t call, int64_t from, int64_t now);

static bool
may_retry(const struct overload *v, const struct call *c)
{
    return c->attempts <= v->opts->retries;
}

static void
end_call(struct overload *v, struct call *c, enum outcome outcome)
{
    c->outcome = (uint8_t)outcome;
    v->waiting--;
}

static void
note_told(struct overload *v, enum answer a, int64_t now)
{
    if (v->evicted_at == NULL || a != ANSWER_503) {
        return;
    }
    if (v->told_evictions == v->evictions) {
        v->told_early++;
        return;
    }
    hist_add(&v->told_lag, now - v->evicted_at[v->told_evictions++ % EVICTED_RING]);
}

static void
on_refusal(struct overload *v, struct attempt *a, const struct frame *f, int64_t now)
{
    struct call *c = &v->call[a->call];
    enum answer answer = (enum answer)c->answer;
    int64_t wait = v->retry == RETRY_HINT ? answer_retry_after(f) : 0;

    note_told(v, answer, now);
    if (a->timed_out) {
        if (c->outcome == CALL_TIMEOUT) {
            c->outcome = CALL_TOLD_LATE;
        }
        return;
    }
    hist_add(&v->told, now - a->from);
    if ((v->retry == RETRY_HINT || v->retry == RETRY_ERROR) && wait >= 0 && may_retry(v, c)) {
        if (delay_push(&v->retries, now + wait, a->call) != ST_OK) {
            net_fail(v->net, "out of memory");
        }
        return;
    }
    end_call(v, c, CALL_REFUSED);
}

static void
note_age(struct overload *v, int64_t age, int64_t now)
{
    int64_t second = (now - v->start) / CLOCK_S;

    v->oldest_served = age > v->oldest_served ? age : v->oldest_served;
    if (second < OVERLOAD_SECONDS_MAX && age > v->oldest_by_second[second]) {
        v->oldest_by_second[second] = age;
    }
}

static void
on_done(struct overload *v, const struct attempt *a, int64_t now)
{
    struct call *c = &v->call[a->call];
    bool offered = now < v->send_end;

    v->runs++;
    v->offered_runs += offered;
    note_age(v, now - a->from, now);
    if (!a->timed_out) {
        c->took = now - c->due;
        hist_add(&v->ok, c->took);
        end_call(v, c, CALL_OK);
        return;
    }
    v->late_runs += offered;
    if (c->outcome == CALL_TIMEOUT) {
        c->outcome = CALL_LATE;
    }
}

static void
on_timeout(struct overload *v, struct attempt *a, int64_t now)
{
    struct call *c = &v->call[a->call];

    a->timed_out = true;
    if (v->retry == RETRY_TIMEOUT && may_retry(v, c)) {
        send_attempt(v, a->call, now, now);
        return;
    }
    end_call(v, c, CALL_TIMEOUT);
}

static void
on_reply(struct conn *conn, const struct frame *f)
{
    struct overload *v = conn->arg;
    const char *dot = memrchr(f->subject.p, '.', f->subject.n);
    size_t id = dot == NULL ? SIZE_MAX : strtoul(dot + 1, NULL, 10);
    int64_t now = clock_mono_ns();

    if (id >= v->nattempt) {
        net_fail(v->net, "a reply on a subject that no request had");
        return;
    }
    struct attempt *a = &v->attempt[id];
    enum answer answer = answer_of(f);
    if (a->answered) {
        v->duplicates++;
        return;
    }
    if (!a->timed_out && now - a->from > v->patience) {
        on_timeout(v, a, now); /* since the last look at the clock */
    }
    a->answered = true;
    v->open--;
    v->answers[answer]++;
    if (answer == ANSWER_OK) {
        on_done(v, a, now);
        return;
    }
    v->call[a->call].answer = (uint8_t)answer;
    on_refusal(v, a, f, now);
}

/* Arrivals that find the queue full evict one each. What has left by itself (done, expired)
 * made room. */
static void
note_eviction(struct overload *v, int64_t now)
{
    if (v->evicted_at == NULL) {
        return;
    }
    uint64_t left = v->runs + v->answers[ANSWER_408];
    if (v->nattempt > left + v->evictions + (uint64_t)v->opts->held) {
        v->evicted_at[v->evictions++ % EVICTED_RING] = now;
    }
}

static void
send_attempt(struct overload *v, uint32_t call, int64_t from, int64_t now)
{
    char head[256];
    size_t id = v->nattempt;

    if (id == v->attempt_max) {
        net_fail(v->net, "more attempts than the run was sized for");
        return;
    }
    struct conn *c = &v->conn[id % v->nconn];
    v->attempt[v->nattempt++] = (struct attempt){.from = from, .call = call};
    v->call[call].attempts++;
    v->open++;
    int n = snprintf(head, sizeof(head), "%s %s %s.%zu.%zu",
                     v->opts->timeout_header != NULL ? "HPUB" : "PUB", v->opts->subject, v->inbox,
                     id % v->nconn, id);
    conn_put(c, head, (size_t)n);
    conn_put(c, v->tail.data, v->tail.len);
    note_eviction(v, now);
}

void
overload_call(struct overload *v, int64_t due, int64_t now)
{
    if (v->ncall == v->call_max) {
        net_fail(v->net, "more calls than the run was sized for");
        return;
    }
    v->call[v->ncall] = (struct call){.due = due};
    v->waiting++;
    hist_add(&v->lag, now - due);
    send_attempt(v, (uint32_t)v->ncall++, due, now);
}

void
overload_expire(struct overload *v, int64_t now)
{
    while (v->unexpired < v->nattempt && v->attempt[v->unexpired].from + v->patience <= now) {
        struct attempt *a = &v->attempt[v->unexpired++];
        if (!a->answered && !a->timed_out) {
            on_timeout(v, a, now);
        }
    }
    while (delay_first(&v->retries) <= now) {
        send_attempt(v, delay_pop(&v->retries), now, now);
    }
}

int64_t
overload_next(const struct overload *v)
{
    int64_t at = delay_first(&v->retries);

    if (v->unexpired < v->nattempt) {
        int64_t end = v->attempt[v->unexpired].from + v->patience;
        at = end < at ? end : at;
    }
    return at;
}

/* What every request ends in: sizes, headers, payload. */
static void
make_tail(struct overload *v)
{
    const struct opts *o = v->opts;
    size_t size = strlen(o->payload);

    if (o->timeout_header == NULL) {
        buf_printf(&v->tail, " %zu\r\n%s\r\n", size, o->payload);
        return;
    }
    size_t hdr = strlen("NATS/1.0\r\nNats-Request-Timeout: \r\n\r\n") + strlen(o->timeout_header);
    buf_printf(&v->tail, " %zu %zu\r\nNATS/1.0\r\nNats-Request-Timeout: %s\r\n\r\n%s\r\n", hdr,
               hdr + size, o->timeout_header, o->payload);
}

static enum status
open_all(struct overload *v)
{
    for (size_t i = 0; i < v->nconn; i++) {
        enum status st = conn_open(&v->conn[i], v->net, v->login);
        if (st != ST_OK) {
            return st;
        }
        v->conn[i].arg = v;
        v->conn[i].on_frame = on_reply;
        conn_printf(&v->conn[i], "SUB %s.%zu.* 1\r\n", v->inbox, i);
        st = conn_sync(&v->conn[i], SYNC_NS);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

enum status
overload_init(struct overload *v, const struct overload_plan *plan)
{
    const struct opts *o = plan->opts;
    double calls = o->rate * o->seconds * 1.2 + 1000;
    double attempts = calls * (strcmp(o->retry, "none") == 0 ? 1 : (double)o->retries + 1);

    memset(v, 0, sizeof(*v));
    v->net = plan->net;
    v->opts = o;
    v->out = plan->out;
    v->login = plan->login == NULL ? "" : plan->login;
    buf_init(&v->tail);
    if (parse_retry(o->retry, &v->retry) != ST_OK || o->rate <= 0 || attempts > ATTEMPTS_MAX ||
        strlen(o->subject) > 100) {
        net_fail(v->net, "a rate, a known --retry and 20 million requests at most: "
                         "less --rate, --seconds or --retries");
        return ST_INVAL;
    }
    v->patience = (int64_t)(o->patience * (double)CLOCK_S);
    v->nconn = (size_t)o->conns;
    v->call_max = (size_t)calls;
    v->attempt_max = (size_t)attempts;
    (void)snprintf(v->inbox, sizeof(v->inbox), "_INBOX.lg%d-%u", (int)getpid(), plan->index);
    v->rand[0] = 0x330e;
    v->rand[1] = (unsigned short)(o->seed + plan->index);
    v->rand[2] = (unsigned short)((o->seed + plan->index) >> 16);
    make_tail(v);
    v->conn = mem_alloc_array(v->nconn, sizeof(*v->conn));
    v->call = mem_alloc_array(v->call_max, sizeof(*v->call));
    v->attempt = mem_alloc_array(v->attempt_max, sizeof(*v->attempt));
    if (o->held > 0) {
        v->evicted_at = mem_alloc_array(EVICTED_RING, sizeof(*v->evicted_at));
    }
    if (v->conn == NULL || v->call == NULL || v->attempt == NULL || v->tail.failed ||
        (o->held > 0 && v->evicted_at == NULL)) {
        return ST_NOMEM;
    }
    return open_all(v);
}

void
overload_fini(struct overload *v)
{
    for (size_t i = 0; v->conn != NULL && i < v->nconn; i++) {
        conn_close(&v->conn[i]);
    }
    mem_free(v->conn);
    mem_free(v->call);
    mem_free(v->attempt);
    mem_free(v->evicted_at);
    delay_fini(&v->retries);
    buf_fini(&v->tail);
}
