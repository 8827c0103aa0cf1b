/* SPDX-License-Identifier: Apache-2.0 */
/* What a push, a pull with its end, and an eviction cost on one thread, by how much waits. */
#include <stdio.h>
#include <stdlib.h>

#include "queue/apiq_conf.h"
#include "server/base/mem.h"

#define ROUNDS    1000000u
#define BATCH     64u
#define EVICTIONS 250000u

struct shape {
    const char *name;
    unsigned flows;
    bool keys;    /* each item has an order key and an owner */
    size_t depth; /* what waits all the time */
    enum apiq_order order;
};

static struct apiq_item *items;

static void
die(const char *what)
{
    fprintf(stderr, "bench_apiq: %s failed\n", what);
    exit(1);
}

static void
push(struct apiq *q, const struct shape *s, size_t n, struct apiq_item *it,
     struct list_node *fallen)
{
    apiq_item_init(it);
    it->level = APIQ_NORMAL;
    it->flow = n % s->flows;
    it->order_key = s->keys ? 1 + n % 1000 : 0;
    it->owner = s->keys ? 1 + n % 100 : 0;
    it->bytes = 200;
    if (apiq_push(q, it, fallen) != ST_OK) {
        die("push");
    }
}

static void
run_shape(const struct shape *s)
{
    struct apiq *q;
    struct apiq_conf conf;
    struct apiq_item *out[BATCH];
    struct list_node fallen;
    int64_t pushing = 0;
    int64_t pulling = 0;
    size_t n = 0;
    list_init(&fallen);
    if (apiq_new(&q, &clock_real, 0) != ST_OK) {
        die("new");
    }
    apiq_get_conf(q, APIQ_NORMAL, &conf);
    conf.max_entries = s->depth + BATCH;
    conf.order = s->order;
    conf.deadline_ns = 3600 * CLOCK_S;
    if (apiq_configure(q, APIQ_NORMAL, &conf, &fallen) != ST_OK) {
        die("configure");
    }
    for (; n < s->depth; n++) {
        push(q, s, n, &items[n], &fallen);
    }
    for (unsigned i = 0; i < BATCH; i++) {
        out[i] = &items[n + i];
    }
    for (unsigned round = 0; round < ROUNDS / BATCH; round++) {
        int64_t t0 = clock_mono_ns();
        for (unsigned i = 0; i < BATCH; i++) {
            push(q, s, n++, out[i], &fallen);
        }
        int64_t t1 = clock_mono_ns();
        for (unsigned i = 0; i < BATCH; i++) {
            if (apiq_pull(q, APIQ_LANE_ANY, &out[i]) != ST_OK) {
                die("pull");
            }
            apiq_done(q, out[i]);
        }
        pushing += t1 - t0;
        pulling += clock_mono_ns() - t1;
    }
    conf.max_entries = s->depth > 0 ? s->depth : 1;
    if (apiq_configure(q, APIQ_NORMAL, &conf, &fallen) != ST_OK) {
        die("configure");
    }
    int64_t t0 = clock_mono_ns();
    for (unsigned i = 0; i < EVICTIONS; i++) {
        struct apiq_item *it = apiq_fallen_pop(&fallen);
        push(q, s, n++, it != NULL ? it : out[i], &fallen);
    }
    double evict = (double)(clock_mono_ns() - t0) / EVICTIONS;
    printf("%-40s %6.0f ns push %6.0f ns pull and done %6.0f ns push that evicts\n", s->name,
           (double)pushing / ROUNDS, (double)pulling / ROUNDS, evict);
    apiq_close(q);
    while (apiq_pull(q, APIQ_LANE_ANY, &out[0]) == ST_CANCELLED) {
    }
    apiq_free(q);
}

int
main(void)
{
    const struct shape shapes[] = {
        {"one flow, nothing else waits", 1, false, 0, APIQ_ADAPTIVE},
        {"one flow, 10,000 wait", 1, false, 10000, APIQ_ADAPTIVE},
        {"one flow, 1,000,000 wait", 1, false, 1000000, APIQ_ADAPTIVE},
        {"one flow, 10,000 wait, newest first", 1, false, 10000, APIQ_LIFO},
        {"100 flows, 10,000 wait", 100, false, 10000, APIQ_ADAPTIVE},
        {"5,000 flows, 10,000 wait", 5000, false, 10000, APIQ_ADAPTIVE},
        {"100 flows, keys and owners, 10,000 wait", 100, true, 10000, APIQ_ADAPTIVE},
    };
    items = mem_alloc_array(1000000 + BATCH, sizeof(*items));
    if (items == NULL) {
        die("allocating");
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        run_shape(&shapes[i]);
    }
    mem_free(items);
    return 0;
}
