/* SPDX-License-Identifier: Apache-2.0 */
/* Many times at which something is due, most of which never come: adding and removing cost the same
 * whatever there is, and nothing is found later than a tick. Not thread-safe. */
#ifndef API_WHEEL_H
#define API_WHEEL_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/clock.h"
#include "server/base/list.h"

#define WHEEL_TICK  (CLOCK_MS * 8)
#define WHEEL_SLOTS 1024u

/* Embedded in what is due; zeroed before its first use. */
struct wheel_node {
    struct list_node node; /* linked while it is in */
    int64_t due;
};

struct wheel {
    int64_t tick; /* all ticks up to it have been looked at */
    size_t count;
    struct list_node at_hand; /* what is left to look at of the tick behind it */
    struct list_node slots[WHEEL_SLOTS];
};

void wheel_init(struct wheel *w, int64_t now);
void wheel_add(struct wheel *w, struct wheel_node *n, int64_t due);
/* A node that is not in is left alone. */
void wheel_remove(struct wheel *w, struct wheel_node *n);

/* Looks at no more than *budget nodes and as many ticks, and lowers it by these.
 * The next that is due by now, removed; NULL with *budget > 0: there is none. */
struct wheel_node *wheel_pop(struct wheel *w, int64_t now, unsigned *budget);

/* Nothing is due before this time; INT64_MAX: nothing is in. */
int64_t wheel_next(const struct wheel *w);

#endif
