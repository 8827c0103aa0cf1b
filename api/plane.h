/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct api, for the files of api/ alone. Made and unmade by api.c. */
#ifndef API_PLANE_H
#define API_PLANE_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/api.h"
#include "api/group_entry.h"

struct advisory;
struct apiq;
struct gates;
struct catalog;
struct groups;
struct history;
struct ledger;
struct parker;
struct pool;
struct settings;
struct ticker;
struct weights;

#define PLANE_SERVER_JSON 320

/* Constant after api_new but for `closed`; what it points to has locks of its own. */
struct api {
    const struct api_host *host; /* borrowed: outlives the plane */
    struct clock clock;
    struct apiq *queue;                   /* owned */
    struct pool *pool;                    /* owned; NULL: driven by dispatch_step */
    struct ledger *ledger;                /* owned */
    struct gates *gates;                  /* owned */
    struct groups *groups;                /* owned */
    struct parker *parker;                /* owned */
    struct catalog *catalog;              /* owned */
    struct weights *weights;              /* owned */
    struct group_room rooms[APIQ_LEVELS]; /* the groups' */
    struct settings *settings;            /* owned */
    struct advisory *advisory;            /* owned */
    struct history *history;              /* owned */
    struct ticker *ticker;                /* owned */
    struct api_subscription *subs;        /* owned, with its subjects */
    size_t n_subs;
    char server[PLANE_SERVER_JSON]; /* {"name":…,"id":…}, for refusals */
    _Atomic uint64_t last_id;       /* of requests */
    atomic_bool closed;
    int64_t started; /* clock time */
};

#endif
