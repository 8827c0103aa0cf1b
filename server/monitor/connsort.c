/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/connsort.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/assert.h"
#include "server/inspect.h"

static int64_t
uptime_of(const struct conn_info *c, int64_t now)
{
    return (c->stop_wall != 0 ? c->stop_wall : now) - c->start_wall;
}

/* Each gives a number that sorts ascending. */
typedef int64_t value_fn(const struct conn_info *c, int64_t now);

#define VALUE_FN(name, expr)                                                                       \
    static int64_t name(const struct conn_info *c, int64_t now)                                    \
    {                                                                                              \
        (void)now;                                                                                 \
        return (expr);                                                                             \
    }
VALUE_FN(by_cid, (int64_t)c->cid)
VALUE_FN(by_subs, -(int64_t)c->num_subs)
VALUE_FN(by_pending, -c->pending_bytes)
VALUE_FN(by_msgs_to, -c->out_msgs)
VALUE_FN(by_msgs_from, -c->in_msgs)
VALUE_FN(by_bytes_to, -c->out_bytes)
VALUE_FN(by_bytes_from, -c->in_bytes)
VALUE_FN(by_last, -c->last_activity_wall)
VALUE_FN(by_idle, c->last_activity_wall)
VALUE_FN(by_uptime, uptime_of(c, now))
VALUE_FN(by_stop, -c->stop_wall)
VALUE_FN(by_rtt, -c->rtt)
#undef VALUE_FN

static const struct {
    const char *key;
    value_fn *value; /* NULL: by reason */
} keys[] = {
    {"", by_cid},
    {"cid", by_cid},
    {"start", by_cid},
    {"subs", by_subs},
    {"pending", by_pending},
    {"msgs_to", by_msgs_to},
    {"msgs_from", by_msgs_from},
    {"bytes_to", by_bytes_to},
    {"bytes_from", by_bytes_from},
    {"last", by_last},
    {"idle", by_idle},
    {"uptime", by_uptime},
    {"stop", by_stop},
    {"reason", NULL},
    {"rtt", by_rtt},
};

struct order {
    value_fn *value;
    int64_t now;
};

static int
compare(const void *pa, const void *pb, void *arg)
{
    const struct conn_info *a = *(struct conn_info *const *)pa;
    const struct conn_info *b = *(struct conn_info *const *)pb;
    const struct order *o = arg;
    int diff = 0;
    if (o->value != NULL) {
        int64_t va = o->value(a, o->now);
        int64_t vb = o->value(b, o->now);
        diff = (va > vb) - (va < vb);
    } else {
        diff = strcmp(a->reason, b->reason);
    }
    return diff != 0 ? diff : (a->cid > b->cid) - (a->cid < b->cid);
}

bool
connsort_is_known(const char *key)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

void
connsort(struct conn_info **v, size_t n, const char *key, int64_t now)
{
    size_t i = 0;
    while (strcmp(keys[i].key, key) != 0) {
        i++;
        ASSERT(i < sizeof keys / sizeof keys[0]);
    }
    struct order o = {keys[i].value, now};
    if (n > 1) {
        qsort_r(v, n, sizeof *v, compare, &o);
    }
}
