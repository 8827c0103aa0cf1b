/* SPDX-License-Identifier: Apache-2.0 */
/* A queue on a clock that tests move, and items to put into it, which say who they are by id.
 * What is not expected fails the test. One thread. */
#ifndef TESTS_SUPPORT_QUEUE_KIT_H
#define TESTS_SUPPORT_QUEUE_KIT_H

#include "queue/apiq_conf.h"
#include "queue/apiq_view.h"

#define KIT_ITEMS 20000

struct kit {
    struct clock_fake fake;
    struct clock clk;
    struct apiq *q; /* owned */
    size_t made;
    struct apiq_item *items; /* owned: KIT_ITEMS; item i has the id i + 1 */
};

/* One level is used where none is named: APIQ_NORMAL, oldest first, no deadline. */
void kit_open(struct kit *k, unsigned slots);
/* The same as a server has it: adaptive, with its limits and its deadline. */
void kit_open_adaptive(struct kit *k);
/* Closes and empties the queue; all that was pulled must have been ended. */
void kit_close(struct kit *k);

/* A new item of level APIQ_NORMAL and flow 1, not pushed yet. */
struct apiq_item *kit_item(struct kit *k);
struct apiq_item *kit_of(struct kit *k, uint64_t id);

/* Pushes, expects ST_OK and nothing fallen; returns its id. */
uint64_t kit_push(struct kit *k, struct apiq_item *it);
/* As kit_push of a new item. */
uint64_t kit_add(struct kit *k);
uint64_t kit_add_flow(struct kit *k, uint64_t flow);
uint64_t kit_add_key(struct kit *k, uint64_t order_key);
uint64_t kit_add_level(struct kit *k, enum apiq_level level);
/* Pushes a new item of that flow, expects exactly one to fall out; returns its id. */
uint64_t kit_add_evicts(struct kit *k, uint64_t flow);

/* Pulls; the id of what is to be run, 0 for ST_AGAIN. */
uint64_t kit_pull(struct kit *k);
/* Pulls, expects something expired; its id. */
uint64_t kit_expired(struct kit *k);
void kit_done(struct kit *k, uint64_t id);
/* kit_pull and kit_done. */
uint64_t kit_serve(struct kit *k);

/* Sets one level. The settings are changed by the caller in between. */
void kit_get(struct kit *k, struct apiq_conf *conf);
void kit_set(struct kit *k, const struct apiq_conf *conf);
/* Sets one member of them. */
#define KIT_SET(k, member, value)                                                                  \
    do {                                                                                           \
        struct apiq_conf kit_conf_;                                                                \
        kit_get((k), &kit_conf_);                                                                  \
        kit_conf_.member = (value);                                                                \
        kit_set((k), &kit_conf_);                                                                  \
    } while (0)
struct apiq_level_stats kit_stats(struct kit *k, enum apiq_level level);
/* Expects that the counters add up. */
void kit_check_sums(struct kit *k);

void kit_advance(struct kit *k, int64_t ns);

#endif
