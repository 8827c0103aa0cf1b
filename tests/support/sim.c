/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "queue/apiq_view.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

struct request {
    struct apiq_item item;
    struct request *next; /* borrowed: the queue of drain_all, lives till the end of the run */
    double sent;
    double took; /* < 0: not answered in time */
    bool counts; /* it was run while requests were still sent */
};

struct sim {
    const struct sim_conf *conf;
    struct sim_result *res;
    struct clock_fake fake;
    struct apiq *q;
    uint64_t rng;
    double now;
    struct request *all; /* owned */
    size_t made;
    size_t cap;
    size_t runs; /* while requests are sent */
    size_t late;
    double *times; /* owned: of those in time */
    struct request *head, *tail;
    size_t depth;
    struct request *serving[SIM_SERVERS];
    double ends[SIM_SERVERS];
};

struct sim_conf
sim_conf_default(void)
{
    struct sim_conf c = {
        .load = 1.0,
        .capacity = 290.0,
        .servers = 1,
        .seconds = 45.0,
        .patience = 1.0,
        .seed = 1,
    };
    apiq_conf_default(APIQ_NORMAL, &c.apiq);
    c.apiq.deadline_ns = CLOCK_S;
    c.apiq.max_entries = 1000;
    return c;
}

/* splitmix64 */
static double
uniform(struct sim *s)
{
    uint64_t z = (s->rng += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double
exponential(struct sim *s, double mean)
{
    return -log(uniform(s)) * mean;
}

static double
resume_at(const struct sim_conf *c)
{
    return c->pause_at + c->pause;
}

static bool
in_pause(const struct sim_conf *c, double t)
{
    return c->pause > 0.0 && t >= c->pause_at && t < resume_at(c);
}

static double
service_time(struct sim *s)
{
    const struct sim_conf *c = s->conf;
    double mean = (double)c->servers / c->capacity;
    mean /= 1.0 + c->drift * sin(s->now * 3.14159265358979 / 10.0);
    double t = c->steady ? mean : exponential(s, mean);
    /* What runs at the stop goes on after it. */
    bool cut = c->pause > 0.0 && s->now < c->pause_at && s->now + t >= c->pause_at;
    return cut ? t + c->pause : t;
}

static void
set_time(struct sim *s, double t)
{
    s->now = t;
    atomic_store(&s->fake.t, (int64_t)(t * (double)CLOCK_S) + 1);
}

static void
start(struct sim *s, unsigned server, struct request *r)
{
    double age = s->now - r->sent;
    r->counts = s->now <= s->conf->seconds;
    if (r->counts) {
        s->res->oldest = age > s->res->oldest ? age : s->res->oldest;
        s->runs++;
    }
    s->serving[server] = r;
    s->ends[server] = s->now + service_time(s);
}

static struct request *
take_drain_all(struct sim *s)
{
    struct request *r = s->head;
    if (r != NULL) {
        s->head = r->next;
        s->depth--;
    }
    return r;
}

static struct request *
take_apiq(struct sim *s)
{
    for (;;) {
        struct apiq_item *it;
        enum status st = apiq_pull(s->q, APIQ_LANE_ANY, &it);
        if (st == ST_EXPIRED) {
            s->res->expired++;
            continue;
        }
        return st == ST_OK ? LIST_ENTRY(it, struct request, item) : NULL;
    }
}

static void
fill_servers(struct sim *s)
{
    for (unsigned i = 0; i < s->conf->servers; i++) {
        if (s->serving[i] == NULL) {
            struct request *r = s->conf->drain_all ? take_drain_all(s) : take_apiq(s);
            if (r == NULL) {
                return;
            }
            start(s, i, r);
        }
    }
}

static void
push_drain_all(struct sim *s, struct request *r)
{
    if (s->depth >= s->conf->apiq.max_entries) {
        s->res->evicted += s->depth;
        s->head = NULL;
        s->depth = 0;
    }
    if (s->head == NULL) {
        s->head = r;
    } else {
        s->tail->next = r;
    }
    s->tail = r;
    s->depth++;
}

static void
push_apiq(struct sim *s, struct request *r)
{
    struct list_node fallen;
    list_init(&fallen);
    apiq_item_init(&r->item);
    r->item.level = APIQ_NORMAL;
    r->item.flow = 1;
    r->item.deadline_ns = s->conf->tell ? (int64_t)(s->conf->patience * (double)CLOCK_S) : 0;
    if (s->conf->connections > 0) {
        r->item.late_ns = (int64_t)((s->now - r->sent) * (double)CLOCK_S);
        r->item.arrived_ns = atomic_load(&s->fake.t) - r->item.late_ns;
    }
    enum status st = apiq_push(s->q, &r->item, &fallen);
    ASSERT(st == ST_OK || st == ST_EXPIRED);
    s->res->expired += st == ST_EXPIRED ? 1 : 0;
    while (apiq_fallen_pop(&fallen) != NULL) {
        s->res->evicted++;
    }
}

static void
arrive(struct sim *s, double sent)
{
    ASSERT(s->made < s->cap);
    struct request *r = &s->all[s->made++];
    r->sent = sent;
    r->took = -1.0;
    if (s->conf->drain_all) {
        push_drain_all(s, r);
    } else {
        push_apiq(s, r);
    }
}

static void
end(struct sim *s, unsigned server)
{
    struct request *r = s->serving[server];
    double took = s->now - r->sent;
    s->serving[server] = NULL;
    if (took <= s->conf->patience) {
        r->took = took;
        s->times[s->res->in_time++] = took;
    } else {
        s->res->late++;
        s->late += r->counts ? 1 : 0;
    }
    if (!s->conf->drain_all) {
        apiq_done(s->q, &r->item);
    }
}

/* The server that ends first, or `servers`. */
static unsigned
first_end(const struct sim *s)
{
    unsigned best = s->conf->servers;
    for (unsigned i = 0; i < s->conf->servers; i++) {
        if (s->serving[i] != NULL && (best == s->conf->servers || s->ends[i] < s->ends[best])) {
            best = i;
        }
    }
    return best;
}

/* All that was sent in the pause, connection by connection; gives when the next one is sent. */
static double
arrive_after_pause(struct sim *s, double sent, double gap)
{
    const struct sim_conf *c = s->conf;
    double *times = mem_alloc_array(s->cap, sizeof(*times));
    size_t n = 0;
    ASSERT(times != NULL);
    for (; in_pause(c, sent); sent += exponential(s, gap)) {
        ASSERT(n < s->cap);
        times[n++] = sent;
    }
    set_time(s, resume_at(c));
    for (unsigned k = 0; k < c->connections; k++) {
        for (size_t i = k; i < n; i += c->connections) {
            arrive(s, times[i]);
        }
    }
    mem_free(times);
    return sent;
}

static int
compare_sent(const void *a, const void *b)
{
    double x = ((const struct request *)a)->sent;
    double y = ((const struct request *)b)->sent;
    return x < y ? -1 : x > y;
}

static void
run(struct sim *s)
{
    const struct sim_conf *c = s->conf;
    double gap = 1.0 / (c->load * c->capacity);
    double sent = exponential(s, gap);
    while (true) {
        if (c->connections > 0 && in_pause(c, sent)) {
            sent = arrive_after_pause(s, sent, gap);
        }
        double at = in_pause(c, sent) ? resume_at(c) : sent;
        unsigned server = first_end(s);
        bool idle = server == c->servers;
        if (sent < c->seconds && (idle || at <= s->ends[server])) {
            set_time(s, at);
            arrive(s, sent);
            sent += exponential(s, gap);
        } else if (!idle) {
            set_time(s, s->ends[server]);
            end(s, server);
        } else {
            return;
        }
        fill_servers(s);
    }
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The first second after the pause from which on every second is good. */
static double
recovery(const struct sim *s)
{
    if (s->conf->pause <= 0.0) {
        return 0.0;
    }
    double bad_until = 0.0;
    double from = resume_at(s->conf);
    size_t i = 0;
    for (double at = from; at + 1.0 <= s->conf->seconds; at += 1.0) {
        size_t n = 0;
        size_t good = 0;
        while (i < s->made && s->all[i].sent < at) {
            i++;
        }
        for (; i < s->made && s->all[i].sent < at + 1.0; i++) {
            n++;
            good += s->all[i].took >= 0.0 ? 1 : 0;
        }
        if ((double)good < 0.99 * (double)n) {
            bad_until = at + 1.0 - from;
        }
    }
    return bad_until;
}

static void
summarise(struct sim *s)
{
    struct sim_result *r = s->res;
    /* NB: the queue is empty, so nothing points into it any more. */
    qsort(s->all, s->made, sizeof(*s->all), compare_sent);
    r->sent = s->made;
    r->goodput = (double)r->in_time / s->conf->seconds;
    r->success = s->made > 0 ? (double)r->in_time / (double)s->made : 0.0;
    r->wasted = s->runs > 0 ? (double)s->late / (double)s->runs : 0.0;
    r->recovery = recovery(s);
    qsort(s->times, r->in_time, sizeof(*s->times), compare);
    if (r->in_time > 0) {
        r->p50 = s->times[r->in_time / 2];
        r->p99 = s->times[r->in_time * 99 / 100];
    }
}

void
sim_run(const struct sim_conf *conf, struct sim_result *out)
{
    struct sim s = {.conf = conf, .res = out, .rng = conf->seed};
    struct clock clk = clock_fake_of(&s.fake);
    struct list_node none;
    ASSERT(conf->servers >= 1 && conf->servers <= SIM_SERVERS);
    memset(out, 0, sizeof(*out));
    list_init(&none);
    s.cap = (size_t)(conf->load * conf->capacity * conf->seconds * 1.2) + 1000;
    s.all = mem_alloc_array(s.cap, sizeof(*s.all));
    s.times = mem_alloc_array(s.cap, sizeof(*s.times));
    ASSERT(s.all != NULL && s.times != NULL);
    set_time(&s, 0.0);
    ASSERT(apiq_new(&s.q, &clk, 0) == ST_OK);
    ASSERT(apiq_configure(s.q, APIQ_NORMAL, &conf->apiq, &none) == ST_OK);
    run(&s);
    summarise(&s);
    struct apiq_stats st;
    apiq_stats(s.q, &st);
    out->switches = st.level[APIQ_NORMAL].switches;
    ASSERT(out->sent == out->in_time + out->late + out->expired + out->evicted);
    apiq_free(s.q);
    mem_free(s.all);
    mem_free(s.times);
}
