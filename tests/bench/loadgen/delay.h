/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that come due at a time: a binary heap, earliest first. */
#ifndef TESTS_BENCH_LOADGEN_DELAY_H
#define TESTS_BENCH_LOADGEN_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct delay_item {
    int64_t at;
    uint32_t value;
};

struct delay {
    struct delay_item *heap; /* owned */
    size_t n;
    size_t cap;
};

/* Zeroed is ready. */
void delay_fini(struct delay *d);
enum status delay_push(struct delay *d, int64_t at, uint32_t value) MUST_CHECK;
/* When the first is due; INT64_MAX: there is none. */
int64_t delay_first(const struct delay *d);
/* Only where delay_first is not INT64_MAX. */
uint32_t delay_pop(struct delay *d);

#endif
