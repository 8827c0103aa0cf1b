/* SPDX-License-Identifier: Apache-2.0 */
/* What workload groups cost a request on one thread: admission with its release, by how many groups
 * there are and what they match, medians over batches; and how long a client with 10,000 parked
 * requests takes to leave. */
#include <stdio.h>
#include <stdlib.h>

#include "api/group_admin.h"
#include "queue/apiq_conf.h"
#include "server/base/mem.h"

#define BATCH  1000u
#define ROUNDS 400u

static struct groups *gs;

static void
die(const char *what)
{
    (void)fprintf(stderr, "bench_groups: %s failed\n", what);
    exit(1);
}

static void
set(unsigned n, const char *user, enum group_attribute attribute, int64_t limit)
{
    static struct group_conf conf[GROUPS_MAX];
    for (unsigned i = 0; i < n; i++) {
        char name[16];
        char err[128];
        (void)snprintf(name, sizeof(name), "g%u", i);
        if (group_conf_init(&conf[i], name, err, sizeof(err)) != ST_OK) {
            die("group_conf_init");
        }
        /* Only the last one matches. */
        (void)snprintf(conf[i].user, sizeof(conf[i].user), "%s", i + 1 < n ? "nobody-*" : user);
        (void)snprintf(conf[i].subject, sizeof(conf[i].subject), "$JS.API.>");
        conf[i].limit = limit;
        conf[i].size = 10000;
        conf[i].attribute = attribute;
    }
    if (groups_set(gs, GROUP_FROM_CONFIG, conf, n) != ST_OK) {
        die("groups_set");
    }
}

static int
by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static void
admit(const char *what)
{
    static int64_t took[ROUNDS];
    struct group_who who = {.account = "SHOP",
                            .account_key = 7,
                            .user = "checkout-17",
                            .client = "cart",
                            .subject = "$JS.API.CONSUMER.INFO.ORDERS.worker"};
    for (unsigned r = 0; r < ROUNDS; r++) {
        int64_t begin = clock_mono_ns();
        for (unsigned i = 0; i < BATCH; i++) {
            struct group_answer ans = {.verdict = GROUP_NONE};
            if (groups_any(gs)) {
                groups_enter(gs, &who, &ans);
            }
            if (ans.permit != NULL) {
                groups_leave(gs, ans.permit);
            }
        }
        took[r] = clock_mono_ns() - begin;
    }
    qsort(took, ROUNDS, sizeof(took[0]), by_value);
    int64_t median = took[ROUNDS / 2];
    (void)printf("%-44s %7.0f ns\n", what, (double)median / BATCH);
}

/* ---- mass cancel --------------------------------------------------------------------------------
 */

#define CANCELLED 10000u

static size_t dropped;

static enum status
offer(struct group_entry *e)
{
    (void)e;
    return ST_OK;
}

static void
drop(struct group_entry *e, enum group_why why)
{
    (void)e;
    (void)why;
    dropped++;
}

static const struct group_ops ops = {.offer = offer, .drop = drop};

/* From the departure of a client with 10,000 parked requests to a depth of 0. */
static void
cancel_all(void)
{
    static struct group_entry v[CANCELLED];
    struct group_who who = {.account = "SHOP", .account_key = 7, .user = "checkout-17"};
    struct group_answer ans;
    struct group_room room;
    struct apiq *q;
    who.client = "cart";
    who.subject = "$JS.API.CONSUMER.INFO.ORDERS.worker";
    if (apiq_new(&q, &clock_real, 0) != ST_OK) {
        die("apiq_new");
    }
    group_room_init(&room, q, APIQ_NORMAL, NULL);
    set(1, "checkout-*", GROUP_BY_USER, 1);
    groups_enter(gs, &who, &ans);
    struct group_bucket *permit = ans.permit;
    for (unsigned i = 0; i < CANCELLED; i++) {
        struct list_node displaced;
        list_init(&displaced);
        v[i] = (struct group_entry){
            .ops = &ops, .room = &room, .owner = 1, .bytes = 100, .label = "", .name = ""};
        groups_park(gs, &v[i], &who, &displaced, &ans);
        if (ans.verdict != GROUP_PARK) {
            die("groups_park");
        }
    }
    int64_t begin = clock_mono_ns();
    size_t n = groups_cancel_owner(gs, 1);
    int64_t took = clock_mono_ns() - begin;
    struct groups_totals t;
    groups_totals(gs, &t);
    if (n != CANCELLED || dropped != CANCELLED || t.parked != 0 || t.running != 1) {
        die("the cancelling");
    }
    groups_leave(gs, permit);
    (void)printf("%-44s %7.2f ms\n", "10,000 parked cancelled: depth 0 after", (double)took / 1e6);
    set(0, "", GROUP_BY_GROUP, 1);
    apiq_free(q);
}

int
main(void)
{
    if (groups_new(&gs, &clock_real) != ST_OK) {
        die("groups_new");
    }
    admit("no groups");
    set(1, "other", GROUP_BY_GROUP, 8);
    admit("1 group, no match");
    set(1, "checkout-*", GROUP_BY_GROUP, 8);
    admit("1 group, a match, one bucket");
    set(1, "checkout-*", GROUP_BY_USER, 8);
    admit("1 group, a bucket for each user");
    set(10, "checkout-*", GROUP_BY_USER, 8);
    admit("10 groups, the last matches");
    set(100, "checkout-*", GROUP_BY_USER, 8);
    admit("100 groups, the last matches");
    cancel_all();
    set(0, "", GROUP_BY_GROUP, 1);
    groups_free(gs);
    return 0;
}
