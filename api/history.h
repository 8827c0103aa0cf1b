/* SPDX-License-Identifier: Apache-2.0 */
/* The last minute of the plane, a sample a second, so that an incident can be read after it; and
 * whether the plane is overloaded. A lock is inside: any thread. */
#ifndef API_HISTORY_H
#define API_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/ledger.h"
#include "server/base/status.h"

struct history;

#define HISTORY_LEN 60u
/* Overload begins with the first second that has a loss or in which the adaptive order has turned
 * to newest first, and ends after this many without. */
#define HISTORY_CALM 5u

struct history_sample {
    int64_t wall;
    uint64_t depth, running, pending, workers;
    int64_t oldest_age_ns;
    uint64_t arrivals;               /* within the second */
    uint64_t ended[LEDGER_OUTCOMES]; /* within the second */
    bool newest_first;               /* a level is served so */
    bool engaged; /* … because its backlog is old, not because it was set to lifo */
};

enum history_change { HISTORY_SAME, HISTORY_BEGINS, HISTORY_ENDS };

enum status history_new(struct history **out) MUST_CHECK;
void history_free(struct history *h);

/* Adds the sample, and says whether it begins or ends an overload. */
enum history_change history_add(struct history *h, const struct history_sample *s);

struct history_state {
    bool overloaded;
    int64_t since;   /* wall time of the last change; 0: never overloaded */
    uint64_t begins; /* overloads so far */
};

/* Samples, oldest first, into out[HISTORY_LEN]. Returns how many. */
size_t history_read(struct history *h, struct history_sample *out, struct history_state *state);

#endif
