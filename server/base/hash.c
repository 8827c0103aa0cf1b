/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/hash.h"

#include <stdatomic.h>
#include <sys/random.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma GCC diagnostic pop

static _Atomic uint64_t secret;

static uint64_t
draw_seed(void)
{
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn || drawn == 0) {
        drawn = (uint64_t)(uintptr_t)&drawn | 1;
    }
    uint64_t none = 0;
    return atomic_compare_exchange_strong(&secret, &none, drawn) ? drawn : none;
}

uint64_t
hash_bytes(const void *data, size_t n)
{
    uint64_t s = atomic_load_explicit(&secret, memory_order_relaxed);
    if (s == 0) {
        s = draw_seed();
    }
    return XXH3_64bits_withSeed(data, n, s);
}

uint64_t
hash_seeded(const void *data, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, n, seed);
}
