/* SPDX-License-Identifier: Apache-2.0 */
/* --count subscriptions with wildcards of three shapes, spread over --subs connections; then
 * publishes on 300,000 different subjects in turn, each matching exactly one of them, so that
 * it is matching which is measured and not a cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/bench/loadgen/pubsub.h"

#define GROUPS       1000
#define BLOCK_MSGS   100
#define BLOCKS       3000
#define SUBJECT_MAX  256
#define SUBS_A_WRITE 1000
#define SYNC_NS      (60 * CLOCK_S)

struct wild {
    struct pubsub p;     /* its connections; its floods are not used */
    struct flood *block; /* owned: BLOCKS of them, sent one after the other */
    size_t at;
    uint64_t sent;
};

/* Subscription k, and a subject that only it matches. */
static void
names(const char *prefix, unsigned long k, unsigned long any, char *sub, char *subject)
{
    unsigned long a = k % GROUPS;
    unsigned long z = k / GROUPS;

    switch (k % 3) {
    case 0:
        (void)snprintf(sub, SUBJECT_MAX, "%s.a.%lu.*.%lu", prefix, a, z);
        (void)snprintf(subject, SUBJECT_MAX, "%s.a.%lu.%lu.%lu", prefix, a, any, z);
        break;
    case 1:
        (void)snprintf(sub, SUBJECT_MAX, "%s.b.%lu.%lu.>", prefix, a, z);
        (void)snprintf(subject, SUBJECT_MAX, "%s.b.%lu.%lu.%lu", prefix, a, z, any);
        break;
    default:
        (void)snprintf(sub, SUBJECT_MAX, "%s.*.%lu.c%lu", prefix, a, z);
        (void)snprintf(subject, SUBJECT_MAX, "%s.x%lu.%lu.c%lu", prefix, any, a, z);
        break;
    }
}

static enum status
fill(struct wild *w)
{
    const struct opts *o = w->p.b->opts;
    unsigned short rand[3] = {1, 2, (unsigned short)o->seed};
    char sub[SUBJECT_MAX];
    char subject[SUBJECT_MAX];

    w->block = mem_alloc_array(BLOCKS, sizeof(*w->block));
    if (w->block == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        flood_init(&w->block[i], 0);
        for (size_t j = 0; j < BLOCK_MSGS; j++) {
            unsigned long k = (unsigned long)nrand48(rand) % (unsigned long)o->count;
            names(o->subject, k, (unsigned long)(i * BLOCK_MSGS + j), sub, subject);
            flood_add(&w->block[i], subject, (size_t)o->size);
        }
        enum status st = buf_status(&w->block[i].block);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status
subscribe(struct wild *w)
{
    const struct opts *o = w->p.b->opts;
    char sub[SUBJECT_MAX];
    char subject[SUBJECT_MAX];
    enum status st = ST_OK;

    for (unsigned long k = 0; st == ST_OK && k < (unsigned long)o->count; k++) {
        struct conn *c = &w->p.sub[k % w->p.nsub];
        names(o->subject, k, 0, sub, subject);
        conn_printf(c, "SUB %s %lu\r\n", sub, k + 1);
        if (k % SUBS_A_WRITE == 0) {
            conn_flush(c);
            st = net_turn(&w->p.b->net, 0);
        }
    }
    for (size_t i = 0; st == ST_OK && i < w->p.nsub; i++) {
        st = conn_sync(&w->p.sub[i], SYNC_NS);
    }
    return st;
}

static enum status
publish(struct wild *w, double seconds)
{
    int64_t end = clock_mono_ns() + (int64_t)(seconds * (double)CLOCK_S);
    uint64_t window = (uint64_t)w->p.b->opts->window;
    int64_t now;

    while ((now = clock_mono_ns()) < end) {
        bool idle = false;
        for (int i = 0; i < 32 && !idle; i++) {
            struct flood *f = &w->block[w->at];
            bool begun = f->off > 0;
            if (!begun && w->sent - pubsub_received(&w->p) + BLOCK_MSGS > window) {
                idle = true;
                break;
            }
            uint64_t before = f->sent;
            (void)flood_pump(f, &w->p.pub[0], BLOCK_MSGS, now);
            w->sent += f->sent - before;
            idle = f->off > 0 || (!begun && f->sent == before);
            w->at = idle ? w->at : (w->at + 1) % BLOCKS;
        }
        enum status st = net_turn(&w->p.b->net, idle ? CLOCK_MS / 2 : 0);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status
drain(struct wild *w)
{
    int64_t end = clock_mono_ns() + 10 * CLOCK_S;
    enum status st = flood_finish(&w->block[w->at], &w->p.pub[0]);

    while (st == ST_OK && pubsub_received(&w->p) < w->sent && clock_mono_ns() < end) {
        st = net_turn(&w->p.b->net, CLOCK_MS);
    }
    json_int_t lost = (json_int_t)w->sent - (json_int_t)pubsub_received(&w->p);
    json_object_set_new(w->p.b->out, "lost", json_integer(lost));
    return st;
}

static enum status
measure(struct wild *w)
{
    const struct opts *o = w->p.b->opts;
    json_t *out = w->p.b->out;
    pid_t pid = (pid_t)o->pid;
    struct meter from;
    struct meter to;

    int64_t before = meter_memory_kib(pid, "VmRSS");
    meter_take(&from, pid);
    enum status st = subscribe(w);
    if (st != ST_OK) {
        return st;
    }
    meter_take(&to, pid);
    int64_t after = meter_memory_kib(pid, "VmRSS");
    json_object_set_new(out, "subscribe_seconds",
                        json_real((double)(to.at - from.at) / (double)CLOCK_S));
    json_object_set_new(out, "rss_before_kib", json_integer(before));
    json_object_set_new(out, "rss_after_kib", json_integer(after));
    json_object_set_new(out, "subscriptions_kib", json_integer(after - before));

    st = publish(w, o->warmup);
    if (st != ST_OK) {
        return st;
    }
    uint64_t got = pubsub_received(&w->p);
    meter_take(&from, pid);
    st = publish(w, o->seconds);
    if (st != ST_OK) {
        return st;
    }
    meter_take(&to, pid);
    meter_report(out, &from, &to, pubsub_received(&w->p) - got);
    return drain(w);
}

static enum status
run(struct bench *b)
{
    struct wild w;
    enum status st;

    memset(&w, 0, sizeof(w));
    st = pubsub_init(&w.p, b);
    if (st == ST_OK) {
        st = fill(&w);
    }
    if (st == ST_OK) {
        st = measure(&w);
    }
    for (size_t i = 0; w.block != NULL && i < BLOCKS; i++) {
        flood_fini(&w.block[i]);
    }
    mem_free(w.block);
    pubsub_fini(&w.p);
    return st;
}

const struct mode mode_wild = {
    .name = "wild",
    .doc = "memory of --count wildcard subscriptions on --subs connections, then the match rate; "
           "unit: a message that matched one of them and was delivered",
    .uses = "count, subs, size, window, subject, seed; rate must be max",
    .needs_rate = true,
    .run = run,
};
