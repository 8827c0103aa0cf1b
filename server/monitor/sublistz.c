/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/sublistz.h"

#include "server/inspect.h"
#include "server/monitor/jput.h"

static double
ratio(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

void
sublistz_put(struct jput *p, json_t *o, const struct sublist_stats *st)
{
    jput_int(p, o, "num_subscriptions", (int64_t)st->num_subs);
    jput_int(p, o, "num_cache", (int64_t)st->num_cache);
    jput_int(p, o, "num_inserts", (int64_t)st->num_inserts);
    jput_int(p, o, "num_removes", (int64_t)st->num_removes);
    jput_int(p, o, "num_matches", (int64_t)st->num_matches);
    jput_real(p, o, "cache_hit_rate", ratio(st->cache_hits, st->num_matches));
    jput_int(p, o, "max_fanout", (int64_t)st->max_fanout);
    jput_real(p, o, "avg_fanout", ratio(st->fanout_sum, st->fanout_count));
}
