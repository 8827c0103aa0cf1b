/* SPDX-License-Identifier: Apache-2.0 */
/* The books of the API plane. Every request is received once and ends in exactly one way; at every
 * moment, for each level and each account,
 *   received = answered + refused + evicted + expired + cancelled + parked + queued + running
 * One lock guards all of it, so each snapshot adds up. Any thread. */
#ifndef API_LEDGER_H
#define API_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/ends.h"
#include "api/who.h"
#include "queue/item.h"
#include "server/base/clock.h"
#include "server/base/status.h"

struct api_origin;
struct ledger;

struct ledger_counts {
    uint64_t received;
    uint64_t ended[LEDGER_OUTCOMES];
    uint64_t parked; /* wait for a workload group */
    uint64_t queued;
    uint64_t running;
};

struct ledger_account;

/* A request's entry, embedded in it; the ledger's between ledger_admit and ledger_end. */
struct ledger_ticket {
    struct ledger_account *account; /* borrowed: accounts live as long as the ledger */
    struct who_pair *who;           /* borrowed: keeps its place while the request is open */
    enum apiq_level level;
    enum { TICKET_NONE, TICKET_PARKED, TICKET_QUEUED, TICKET_RUNNING, TICKET_PENDING } place;
    int64_t started; /* when it began to run */
};

enum status ledger_new(struct ledger **out, const struct clock *clock) MUST_CHECK;
void ledger_free(struct ledger *l);

/* now, here and below: a recent time of the clock, which the caller has at hand.
 * Received, and waits from now on. Never fails: an account that finds no memory is counted with
 * others under the name "". */
void ledger_admit(struct ledger *l, struct ledger_ticket *t, const struct api_origin *from,
                  const struct api_endpoint *ep, enum apiq_level level, int64_t now);
/* Received and refused at once, where there is no request to hold a ticket. */
void ledger_refused(struct ledger *l, const struct api_origin *from, const struct api_endpoint *ep,
                    enum apiq_level level, enum ledger_end e, int64_t now);
/* It waits in the parking of its workload group, and in the queue again. */
void ledger_park(struct ledger *l, struct ledger_ticket *t);
void ledger_unpark(struct ledger *l, struct ledger_ticket *t);
void ledger_start(struct ledger *l, struct ledger_ticket *t, int64_t now);
/* It runs on, but holds no worker any more. ledger_released, once, when the other thread has done
 * all it does with it, after ledger_end: ledger_wait_idle waits for that too. */
void ledger_defer(struct ledger *l, struct ledger_ticket *t);
void ledger_released(struct ledger *l);
void ledger_end(struct ledger *l, struct ledger_ticket *t, enum ledger_end e);

/* Waits until nothing is queued, runs or is yet to be released. */
void ledger_wait_idle(struct ledger *l);

struct ledger_snapshot {
    int64_t now; /* clock time */
    struct ledger_counts level[APIQ_LEVELS];
    uint64_t by_end[LEDGER_END_COUNT];
    int64_t lost_first, lost_last; /* wall times; 0: nothing was lost yet */
    double arrivals, completions;  /* a second, lately (api/rate.h) */
    double worker_ns;              /* worker time a second, lately */
    uint64_t pending;              /* of running: those that hold no worker */
};
void ledger_read(struct ledger *l, struct ledger_snapshot *out);

/* The heaviest pairs, as who_top. */
size_t ledger_who(struct ledger *l, enum who_order order, struct who_pair *out, size_t max);

struct ledger_account_info {
    const char *name; /* borrowed: account names live until the server ends; "": others */
    struct ledger_counts counts;
    int64_t lost_first, lost_last; /* wall times */
};
/* The accounts that lost most, at most max; those that lost nothing only where all. */
size_t ledger_accounts(struct ledger *l, bool all, struct ledger_account_info *out, size_t max);

/* The key of an account that has sent a request; 0: none of that name has. */
uint64_t ledger_account_key(struct ledger *l, const char *name);

#endif
