/* SPDX-License-Identifier: Apache-2.0 */
/* Who loads the plane: the heaviest pairs of account and endpoint, in bounded memory. A new pair
 * takes the place of a light one that has nothing waiting or running; heavy ones stay. What finds
 * no place is counted under one shared pair without a name. Not thread-safe: the ledger's lock
 * guards it. */
#ifndef API_WHO_H
#define API_WHO_H

#include <stddef.h>
#include <stdint.h>

#include "api/rate.h"
#include "server/base/status.h"

struct api_endpoint;
struct who;

#define WHO_MAX 512u

struct who_pair {
    uint64_t account_key;          /* 0: the shared pair */
    const char *account;           /* borrowed: account names live until the server ends */
    const struct api_endpoint *ep; /* borrowed: endpoints are constants; NULL: the shared pair */
    struct rate arrivals;
    struct rate worker_ns;
    uint64_t waiting;
    uint64_t running;
    uint32_t next; /* in its chain, + 1; 0: the last */
};

enum status who_new(struct who **out) MUST_CHECK;
void who_free(struct who *w);

/* The pair, found or made; never NULL. It keeps its place while waiting or running is not 0. */
struct who_pair *who_get(struct who *w, uint64_t account_key, const char *account,
                         const struct api_endpoint *ep, int64_t now);

enum who_order { WHO_ARRIVALS, WHO_WORKERS, WHO_WAITING, WHO_ORDERS };

/* The heaviest, at most max, heaviest first, without those at 0. Copies. Returns how many. */
size_t who_top(const struct who *w, enum who_order order, int64_t now, struct who_pair *out,
               size_t max);

#endif
