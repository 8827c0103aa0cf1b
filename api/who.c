/* SPDX-License-Identifier: Apache-2.0 */
#include "api/who.h"

#include <string.h>

#include "server/base/mem.h"

#define BUCKETS 1024u
#define SAMPLES 8u

/* The ledger's lock guards it. */
struct who {
    struct who_pair pair[WHO_MAX];
    struct who_pair shared;
    uint32_t n;               /* pairs in use */
    uint32_t bucket[BUCKETS]; /* index + 1 of the first of a chain; 0: empty */
    uint64_t random;
};

enum status
who_new(struct who **out)
{
    struct who *w = mem_alloc(sizeof(*w));
    if (w == NULL) {
        return ST_NOMEM;
    }
    w->shared.account = "";
    w->random = UINT64_C(0x9e3779b97f4a7c15);
    *out = w;
    return ST_OK;
}

void
who_free(struct who *w)
{
    mem_free(w);
}

/* Neither part is chosen by a client, so a plain mix will do. */
static uint32_t
bucket_of(uint64_t account_key, const struct api_endpoint *ep)
{
    uint64_t h = (account_key ^ (uint64_t)(uintptr_t)ep << 8) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32) % BUCKETS;
}

static uint32_t
next_random(struct who *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (uint32_t)(w->random >> 32);
}

static void
unchain(struct who *w, uint32_t i)
{
    uint32_t *at = &w->bucket[bucket_of(w->pair[i].account_key, w->pair[i].ep)];
    while (*at != i + 1) {
        at = &w->pair[*at - 1].next;
    }
    *at = w->pair[i].next;
}

/* A place for a new pair, or NULL: the lightest of some idle ones, drawn by lot. With 8 draws the
 * heavy ones are practically never the lightest. */
static struct who_pair *
place(struct who *w, int64_t now)
{
    if (w->n < WHO_MAX) {
        return &w->pair[w->n++];
    }
    struct who_pair *best = NULL;
    for (unsigned i = 0; i < SAMPLES; i++) {
        struct who_pair *p = &w->pair[next_random(w) % WHO_MAX];
        if (p->waiting == 0 && p->running == 0 &&
            (best == NULL || rate_sum(&p->arrivals, now, RATE_RECENT) <
                                 rate_sum(&best->arrivals, now, RATE_RECENT))) {
            best = p;
        }
    }
    if (best != NULL) {
        unchain(w, (uint32_t)(best - w->pair));
    }
    return best;
}

struct who_pair *
who_get(struct who *w, uint64_t account_key, const char *account, const struct api_endpoint *ep,
        int64_t now)
{
    uint32_t b = bucket_of(account_key, ep);
    for (uint32_t i = w->bucket[b]; i != 0; i = w->pair[i - 1].next) {
        struct who_pair *p = &w->pair[i - 1];
        if (p->account_key == account_key && p->ep == ep) {
            return p;
        }
    }
    struct who_pair *p = place(w, now);
    if (p == NULL) {
        return &w->shared;
    }
    *p = (struct who_pair){
        .account_key = account_key, .account = account, .ep = ep, .next = w->bucket[b]};
    w->bucket[b] = (uint32_t)(p - w->pair) + 1;
    return p;
}

static double
weight(const struct who_pair *p, enum who_order order, int64_t now)
{
    switch (order) {
    case WHO_ARRIVALS:
        return rate_sum(&p->arrivals, now, RATE_RECENT);
    case WHO_WORKERS:
        return rate_sum(&p->worker_ns, now, RATE_RECENT);
    case WHO_WAITING:
    case WHO_ORDERS:
    default:
        return (double)p->waiting;
    }
}

size_t
who_top(const struct who *w, enum who_order order, int64_t now, struct who_pair *out, size_t max)
{
    size_t n = 0;
    for (uint32_t i = 0; i <= w->n && max > 0; i++) {
        const struct who_pair *p = i == w->n ? &w->shared : &w->pair[i];
        double x = weight(p, order, now);
        if (x < 1e-3 || (n == max && x <= weight(&out[n - 1], order, now))) {
            continue;
        }
        size_t at = n < max ? n++ : n - 1;
        while (at > 0 && weight(&out[at - 1], order, now) < x) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = *p;
    }
    return n;
}
