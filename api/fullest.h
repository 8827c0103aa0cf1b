/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds most, among many whose holdings change all the time: at constant cost, exact up to 16
 * and within a sixteenth above. Not thread-safe: guarded by its owner. */
#ifndef API_FULLEST_H
#define API_FULLEST_H

#include <stdint.h>

#include "server/base/list.h"

#define FULLEST_CLASSES 640u

/* Embedded in what is compared; zeroed before its first use. */
struct fullest_node {
    struct list_node node;
    uint64_t value; /* 0: it is in no list */
};

struct fullest {
    uint64_t used[FULLEST_CLASSES / 64]; /* which classes are not empty */
    struct list_node classes[FULLEST_CLASSES];
};

void fullest_init(struct fullest *f);
/* It holds value (below 2^43) from now on. 0 takes it out. */
void fullest_set(struct fullest *f, struct fullest_node *n, uint64_t value);
/* NULL: nobody holds anything. */
struct fullest_node *fullest_top(const struct fullest *f);
/* The first of the uppermost class, and the next, downwards by class; NULL after the last. For
 * listings. */
struct fullest_node *fullest_first(const struct fullest *f);
struct fullest_node *fullest_after(const struct fullest *f, const struct fullest_node *n);

#endif
