/* SPDX-License-Identifier: Apache-2.0 */
/* What workload groups cost a request on one thread: admission with its release, by how many groups
 * there are and what they match; and parking with letting in. Medians over batches. */
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
    (void)printf("%-44s %7.0f ns\n", what, (double)took[ROUNDS / 2] / BATCH);
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
    set(0, "", GROUP_BY_GROUP, 1);
    groups_free(gs);
    return 0;
}
