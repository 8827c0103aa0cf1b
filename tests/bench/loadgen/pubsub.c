/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/pubsub.h"

#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"

#define DRAIN_NS (10 * CLOCK_S)
#define SYNC_NS  (30 * CLOCK_S)
#define WAIT_NS  (CLOCK_MS / 2)

enum status
pubsub_init(struct pubsub *p, struct bench *b)
{
    memset(p, 0, sizeof(*p));
    p->b = b;
    p->copies = 1;
    p->npub = (size_t)b->opts->pubs;
    p->nsub = (size_t)b->opts->subs;
    p->pub = mem_alloc_array(p->npub, sizeof(*p->pub));
    p->flood = mem_alloc_array(p->npub, sizeof(*p->flood));
    p->sub = mem_alloc_array(p->nsub, sizeof(*p->sub));
    if (p->pub == NULL || p->flood == NULL || p->sub == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < p->npub; i++) {
        flood_init(&p->flood[i], b->opts->rate / (double)p->npub);
        enum status st = conn_open(&p->pub[i], &b->net, "");
        if (st != ST_OK) {
            return st;
        }
    }
    for (size_t i = 0; i < p->nsub; i++) {
        p->sub[i].counting = true;
        enum status st = conn_open(&p->sub[i], &b->net, "");
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

void
pubsub_fini(struct pubsub *p)
{
    for (size_t i = 0; p->pub != NULL && p->flood != NULL && i < p->npub; i++) {
        conn_close(&p->pub[i]);
        flood_fini(&p->flood[i]);
    }
    for (size_t i = 0; p->sub != NULL && i < p->nsub; i++) {
        conn_close(&p->sub[i]);
    }
    mem_free(p->pub);
    mem_free(p->flood);
    mem_free(p->sub);
}

enum status
pubsub_start(struct pubsub *p)
{
    for (size_t i = 0; i < p->nsub; i++) {
        enum status st = conn_sync(&p->sub[i], SYNC_NS);
        if (st != ST_OK) {
            return st;
        }
    }
    for (size_t i = 0; i < p->npub; i++) {
        if (buf_status(&p->flood[i].block) != ST_OK) {
            return ST_NOMEM;
        }
        p->flood[i].start = clock_mono_ns();
    }
    return ST_OK;
}

uint64_t
pubsub_sent(const struct pubsub *p)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->npub; i++) {
        n += p->flood[i].sent;
    }
    return n;
}

uint64_t
pubsub_received(const struct pubsub *p)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->nsub; i++) {
        n += p->sub[i].msgs;
    }
    return n;
}

/* Messages that have not reached all that should get them. */
static uint64_t
on_their_way(const struct pubsub *p)
{
    double done = (double)pubsub_received(p) / p->copies;
    double open = (double)pubsub_sent(p) - done;
    return open > 0 ? (uint64_t)open : 0;
}

enum status
pubsub_turn(struct pubsub *p)
{
    int64_t now = clock_mono_ns();
    uint64_t open = on_their_way(p);
    uint64_t window = (uint64_t)p->b->opts->window;
    uint64_t allow = open < window ? window - open : 0;
    bool more = false;

    for (size_t i = 0; i < p->npub; i++) {
        more |= flood_pump(&p->flood[i], &p->pub[i], allow / p->npub, now);
    }
    return net_turn(&p->b->net, more ? 0 : WAIT_NS);
}

enum status
pubsub_run(struct pubsub *p, double seconds)
{
    int64_t end = clock_mono_ns() + (int64_t)(seconds * (double)CLOCK_S);

    while (clock_mono_ns() < end) {
        enum status st = pubsub_turn(p);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

enum status
pubsub_drain(struct pubsub *p)
{
    int64_t end = clock_mono_ns() + DRAIN_NS;

    for (size_t i = 0; i < p->npub; i++) {
        enum status st = flood_finish(&p->flood[i], &p->pub[i]);
        if (st != ST_OK) {
            return st;
        }
    }
    while (on_their_way(p) > 0 && clock_mono_ns() < end) {
        enum status st = net_turn(&p->b->net, CLOCK_MS);
        if (st != ST_OK) {
            return st;
        }
    }
    double lost = (double)pubsub_sent(p) * p->copies - (double)pubsub_received(p);
    json_object_set_new(p->b->out, "lost", json_integer((json_int_t)lost));
    return ST_OK;
}

enum status
pubsub_measure(struct pubsub *p)
{
    const struct opts *o = p->b->opts;
    struct meter from;
    struct meter to;
    enum status st = pubsub_start(p);

    if (st == ST_OK) {
        st = pubsub_run(p, o->warmup);
    }
    if (st != ST_OK) {
        return st;
    }
    uint64_t got = pubsub_received(p);
    meter_take(&from, (pid_t)o->pid);
    st = pubsub_run(p, o->seconds);
    if (st != ST_OK) {
        return st;
    }
    meter_take(&to, (pid_t)o->pid);
    meter_report(p->b->out, &from, &to, pubsub_received(p) - got);
    return pubsub_drain(p);
}
