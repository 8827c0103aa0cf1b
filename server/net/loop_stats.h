/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a loop: one writer each, so that counting costs no locked instruction. */
#ifndef SERVER_NET_LOOP_STATS_H
#define SERVER_NET_LOOP_STATS_H

#include <stdatomic.h>
#include <stdint.h>

/* Written by the loop only, read by anyone (relaxed). */
struct loop_stats {
    _Atomic int64_t in_msgs, in_bytes, out_msgs, out_bytes;
    _Atomic int64_t conns, total_conns, subs, slow_consumers, stale, stalls, auth_errors;
    _Atomic int64_t matches, cache_hits, cached, fanout_max, fanout_sum, fanout_count, dropped;
};

/* On the loop only: with one writer a plain add suffices. */
#define LOOP_COUNT(counter, by)                                                                    \
    atomic_store_explicit(&(counter),                                                              \
                          atomic_load_explicit(&(counter), memory_order_relaxed) + (by),           \
                          memory_order_relaxed)

#endif
