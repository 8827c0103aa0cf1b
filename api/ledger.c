/* SPDX-License-Identifier: Apache-2.0 */
#include "api/ledger.h"

#include <pthread.h>
#include <string.h>

#include "api/host.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

#define BUCKETS      1024u
#define ACCOUNTS_MAX 16384u

/* Guarded by the ledger's lock; lives as long as the ledger. */
struct ledger_account {
    uint64_t key;
    const char *name;            /* borrowed: account names live until the server ends */
    struct ledger_account *next; /* owned; of its bucket */
    struct ledger_counts counts;
    int64_t lost_first, lost_last;
};

/* Its `lock` guards everything in it. */
struct ledger {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct clock clock;
    struct who *who;                        /* owned */
    struct ledger_account *bucket[BUCKETS]; /* owned */
    size_t n_accounts;
    struct ledger_account others;
    struct ledger_snapshot sum;
    struct rate arrivals, completions, worker_ns;
    uint64_t open; /* queued or running, and once more for each that is to be released */
};

enum status
ledger_new(struct ledger **out, const struct clock *clock)
{
    struct ledger *l = mem_alloc(sizeof(*l));
    if (l == NULL) {
        return ST_NOMEM;
    }
    enum status st = who_new(&l->who);
    if (st != ST_OK) {
        mem_free(l);
        return st;
    }
    l->clock = *clock;
    l->others.name = "";
    ASSERT(pthread_mutex_init(&l->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&l->idle, NULL) == 0);
    *out = l;
    return ST_OK;
}

void
ledger_free(struct ledger *l)
{
    if (l == NULL) {
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        while (l->bucket[i] != NULL) {
            struct ledger_account *a = l->bucket[i];
            l->bucket[i] = a->next;
            mem_free(a);
        }
    }
    who_free(l->who);
    pthread_cond_destroy(&l->idle);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

static struct ledger_account *
account_get(struct ledger *l, const struct api_origin *from)
{
    uint64_t key = from->account_key;
    struct ledger_account **at = &l->bucket[key % BUCKETS]; /* keys are the server's numbers */
    for (struct ledger_account *a = *at; a != NULL; a = a->next) {
        if (a->key == key) {
            return a;
        }
    }
    struct ledger_account *a = l->n_accounts < ACCOUNTS_MAX ? mem_alloc(sizeof(*a)) : NULL;
    if (a == NULL) {
        return &l->others;
    }
    l->n_accounts++;
    a->key = key;
    a->name = from->account_name;
    a->next = *at;
    *at = a;
    return a;
}

static struct ledger_account *
receive(struct ledger *l, const struct api_origin *from, enum apiq_level level, int64_t now)
{
    struct ledger_account *a = account_get(l, from);
    a->counts.received++;
    l->sum.level[level].received++;
    rate_add(&l->arrivals, 1, now, RATE_NOW);
    return a;
}

static void
lost(struct ledger *l, struct ledger_account *a)
{
    int64_t wall = clock_wall_ns();
    a->lost_last = l->sum.lost_last = wall;
    a->lost_first = a->lost_first == 0 ? wall : a->lost_first;
    l->sum.lost_first = l->sum.lost_first == 0 ? wall : l->sum.lost_first;
}

static void
count_end(struct ledger *l, struct ledger_account *a, enum apiq_level level, enum ledger_end e)
{
    enum ledger_outcome o = ledger_outcome_of(e);
    a->counts.ended[o]++;
    l->sum.level[level].ended[o]++;
    l->sum.by_end[e]++;
    if (o != LEDGER_ANSWERED) {
        lost(l, a);
    }
}

void
ledger_admit(struct ledger *l, struct ledger_ticket *t, const struct api_origin *from,
             const struct api_endpoint *ep, enum apiq_level level, int64_t now)
{
    pthread_mutex_lock(&l->lock);
    t->account = receive(l, from, level, now);
    t->who = who_get(l->who, from->account_key, from->account_name, ep, now);
    t->level = level;
    t->place = TICKET_QUEUED;
    rate_add(&t->who->arrivals, 1, now, RATE_RECENT);
    t->who->waiting++;
    t->account->counts.queued++;
    l->sum.level[level].queued++;
    l->open++;
    pthread_mutex_unlock(&l->lock);
}

void
ledger_refused(struct ledger *l, const struct api_origin *from, const struct api_endpoint *ep,
               enum apiq_level level, enum ledger_end e, int64_t now)
{
    pthread_mutex_lock(&l->lock);
    struct ledger_account *a = receive(l, from, level, now);
    struct who_pair *w = who_get(l->who, from->account_key, from->account_name, ep, now);
    rate_add(&w->arrivals, 1, now, RATE_RECENT);
    count_end(l, a, level, e);
    pthread_mutex_unlock(&l->lock);
}

static void
move(struct ledger *l, struct ledger_ticket *t, bool park)
{
    uint64_t in = park ? 1 : (uint64_t)-1;
    pthread_mutex_lock(&l->lock);
    ASSERT(t->place == (park ? TICKET_QUEUED : TICKET_PARKED));
    t->place = park ? TICKET_PARKED : TICKET_QUEUED;
    t->account->counts.parked += in;
    t->account->counts.queued -= in;
    l->sum.level[t->level].parked += in;
    l->sum.level[t->level].queued -= in;
    pthread_mutex_unlock(&l->lock);
}

void
ledger_park(struct ledger *l, struct ledger_ticket *t)
{
    move(l, t, true);
}

void
ledger_unpark(struct ledger *l, struct ledger_ticket *t)
{
    move(l, t, false);
}

void
ledger_start(struct ledger *l, struct ledger_ticket *t, int64_t now)
{
    pthread_mutex_lock(&l->lock);
    ASSERT(t->place == TICKET_QUEUED);
    t->place = TICKET_RUNNING;
    t->started = now;
    t->who->waiting--;
    t->who->running++;
    t->account->counts.queued--;
    t->account->counts.running++;
    l->sum.level[t->level].queued--;
    l->sum.level[t->level].running++;
    pthread_mutex_unlock(&l->lock);
}

static void
worked(struct ledger *l, struct ledger_ticket *t, int64_t now)
{
    rate_add(&t->who->worker_ns, (double)(now - t->started), now, RATE_RECENT);
    rate_add(&l->worker_ns, (double)(now - t->started), now, RATE_NOW);
}

void
ledger_defer(struct ledger *l, struct ledger_ticket *t)
{
    int64_t now = clock_now(&l->clock);
    pthread_mutex_lock(&l->lock);
    ASSERT(t->place == TICKET_RUNNING);
    t->place = TICKET_PENDING;
    l->sum.pending++;
    l->open++;
    worked(l, t, now);
    pthread_mutex_unlock(&l->lock);
}

static void
close_one(struct ledger *l)
{
    if (--l->open == 0) {
        pthread_cond_broadcast(&l->idle);
    }
}

void
ledger_end(struct ledger *l, struct ledger_ticket *t, enum ledger_end e)
{
    int64_t now = clock_now(&l->clock);
    pthread_mutex_lock(&l->lock);
    ASSERT(t->place != TICKET_NONE);
    if (t->place == TICKET_QUEUED || t->place == TICKET_PARKED) {
        bool parked = t->place == TICKET_PARKED;
        struct ledger_counts *a = &t->account->counts;
        struct ledger_counts *s = &l->sum.level[t->level];
        t->who->waiting--;
        --*(parked ? &a->parked : &a->queued);
        --*(parked ? &s->parked : &s->queued);
    } else {
        t->who->running--;
        t->account->counts.running--;
        l->sum.level[t->level].running--;
        rate_add(&l->completions, 1, now, RATE_NOW);
        if (t->place == TICKET_PENDING) {
            l->sum.pending--;
        } else {
            worked(l, t, now);
        }
    }
    t->place = TICKET_NONE;
    count_end(l, t->account, t->level, e);
    close_one(l);
    pthread_mutex_unlock(&l->lock);
}

void
ledger_released(struct ledger *l)
{
    pthread_mutex_lock(&l->lock);
    close_one(l);
    pthread_mutex_unlock(&l->lock);
}

void
ledger_wait_idle(struct ledger *l)
{
    pthread_mutex_lock(&l->lock);
    while (l->open > 0) {
        pthread_cond_wait(&l->idle, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
}

void
ledger_read(struct ledger *l, struct ledger_snapshot *out)
{
    int64_t now = clock_now(&l->clock);
    pthread_mutex_lock(&l->lock);
    *out = l->sum;
    out->now = now;
    out->arrivals = rate_per_sec(&l->arrivals, now, RATE_NOW);
    out->completions = rate_per_sec(&l->completions, now, RATE_NOW);
    out->worker_ns = rate_per_sec(&l->worker_ns, now, RATE_NOW);
    pthread_mutex_unlock(&l->lock);
}

size_t
ledger_who(struct ledger *l, enum who_order order, struct who_pair *out, size_t max)
{
    int64_t now = clock_now(&l->clock);
    pthread_mutex_lock(&l->lock);
    size_t n = who_top(l->who, order, now, out, max);
    pthread_mutex_unlock(&l->lock);
    return n;
}

static uint64_t
lost_count(const struct ledger_counts *c)
{
    return c->ended[LEDGER_REFUSED] + c->ended[LEDGER_EVICTED] + c->ended[LEDGER_EXPIRED] +
           c->ended[LEDGER_CANCELLED];
}

/* Inserts by what was lost, then by what was received. Returns the new count. */
static size_t
insert(struct ledger_account_info *out, size_t n, size_t max, const struct ledger_account *a)
{
    uint64_t x = lost_count(&a->counts);
    size_t at = n;
    while (at > 0 && (lost_count(&out[at - 1].counts) < x ||
                      (lost_count(&out[at - 1].counts) == x &&
                       out[at - 1].counts.received < a->counts.received))) {
        at--;
    }
    if (at == max) {
        return n;
    }
    size_t keep = n < max ? n : max - 1;
    memmove(&out[at + 1], &out[at], (keep - at) * sizeof(*out));
    out[at] = (struct ledger_account_info){a->name, a->counts, a->lost_first, a->lost_last};
    return keep + 1;
}

size_t
ledger_accounts(struct ledger *l, bool all, struct ledger_account_info *out, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i <= BUCKETS; i++) {
        const struct ledger_account *a = i == BUCKETS ? &l->others : l->bucket[i];
        for (; a != NULL; a = a->next) {
            if (a->counts.received > 0 && (all || a->lost_last != 0)) {
                n = insert(out, n, max, a);
            }
        }
    }
    pthread_mutex_unlock(&l->lock);
    return n;
}

uint64_t
ledger_account_key(struct ledger *l, const char *name)
{
    uint64_t key = 0;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < BUCKETS && key == 0; i++) {
        for (const struct ledger_account *a = l->bucket[i]; a != NULL && key == 0; a = a->next) {
            key = strcmp(a->name, name) == 0 ? a->key : 0;
        }
    }
    pthread_mutex_unlock(&l->lock);
    return key;
}
