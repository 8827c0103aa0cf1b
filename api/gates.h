/* SPDX-License-Identifier: Apache-2.0 */
/* All gates of a server: made by the configuration or over $WLM.API.GATE, changed while requests
 * wait, looked at. Any thread. A change waits for another change; nothing else waits for it. */
#ifndef API_GATES_H
#define API_GATES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/gate_conf.h"
#include "queue/apiq_view.h"
#include "server/base/clock.h"
#include "server/base/status.h"

struct api_host;
struct buf;
struct gates;

#define GATES_MAX 1000u

/* host is borrowed. thread false: none; the owner calls gates_tick. */
enum status gates_new(struct gates **out, const struct api_host *host, const struct clock *clock,
                      bool thread) MUST_CHECK;
/* Removes all gates; what waits is refused as not executed. The host must still be there. */
void gates_close(struct gates *gs);
/* The loops must have ended. NULL is allowed. */
void gates_free(struct gates *gs);

/* Answers what has expired, ends what has waited too long for a reply. */
void gates_tick(struct gates *gs);

/* The configuration's gates: those that are new are made, those that are there already changed,
 * those that it no longer has removed. Gates made over the API stay, but for those that are in the
 * way, which are removed with a warning in the log. */
enum status gates_apply(struct gates *gs, const struct gate_conf *const *confs,
                        size_t n) MUST_CHECK;

/* Over the API. err (GATE_ERR_LEN) says what is wrong, naming the field:
 *   ST_EXISTS    the name is taken, or the subject overlaps that of another gate
 *   ST_NOTFOUND  no such gate; or account: there is none
 *   ST_INVAL     account and subject cannot be changed
 *   ST_LIMIT     GATES_MAX
 *   ST_CLOSED, ST_NOMEM */
enum status gates_create(struct gates *gs, const struct gate_conf *c, char *err) MUST_CHECK;
/* *evicted: how many of the waiting no longer fitted. */
enum status gates_update(struct gates *gs, const struct gate_conf *c, size_t *evicted,
                         char *err) MUST_CHECK;
/* What waits is passed on: delivered at once, oldest first, as without a gate. */
enum status gates_delete(struct gates *gs, const char *name, size_t *passed, char *err) MUST_CHECK;

/* A connection has closed: what it has waiting ends, and what it was to answer frees its slot. */
void gates_conn_closed(struct gates *gs, uint64_t cid);

/* How a request of a gate ends, and which of the five outcomes that is. */
#define GATE_ENDS(X)                                                                               \
    X(GATE_REPLIED, GATE_ANSWERED, "replied")                                                      \
    X(GATE_NOBODY, GATE_ANSWERED, "no_responders")  /* delivered to nobody, who said so */         \
    X(GATE_GONE, GATE_ANSWERED, "responder_gone")   /* delivered; they closed */                   \
    X(GATE_TIMEOUT, GATE_ANSWERED, "reply_timeout") /* delivered; none came in time */             \
    X(GATE_PASSED, GATE_ANSWERED, "passed_on")      /* delivered; the gate was removed */          \
    X(GATE_LIMIT, GATE_REFUSED, "limit")            /* it alone is over the limit */               \
    X(GATE_NOMEM, GATE_REFUSED, "memory")           /* none for its copy */                        \
    X(GATE_FULL, GATE_EVICTED, "evicted")           /* fell out of the full queue */               \
    X(GATE_LATE, GATE_EXPIRED, "expired")           /* its deadline passed */                      \
    X(GATE_LEFT, GATE_CANCELLED, "disconnect")      /* its connection closed */                    \
    X(GATE_UNHEARD, GATE_CANCELLED, "no_interest")  /* nobody hears its reply any more */          \
    X(GATE_SHUTDOWN, GATE_CANCELLED, "shutdown")    /* waited when the server stopped */

enum gate_outcome {
    GATE_ANSWERED,
    GATE_REFUSED,
    GATE_EVICTED,
    GATE_EXPIRED,
    GATE_CANCELLED,
    GATE_OUTCOMES
};
#define GATE_END_ENUM(name, outcome, text) name,
enum gate_end { GATE_ENDS(GATE_END_ENUM) GATE_END_COUNT };
#undef GATE_END_ENUM
enum gate_outcome gate_outcome_of(enum gate_end e);
const char *gate_end_name(enum gate_end e);
const char *gate_outcome_name(enum gate_outcome o);

/* At every moment received = the sum of ended + queued + running. */
struct gate_counts {
    uint64_t received, queued, running;
    uint64_t ended[GATE_END_COUNT];
};
struct gate_info {
    struct gate_conf conf;
    bool from_config;
    struct gate_counts counts;
    struct apiq_level_stats queue;
    int64_t drain_ns;
};
/* The i-th gate in the order of their making, or that of a name. False: there is none. */
bool gates_info(struct gates *gs, size_t i, struct gate_info *out);
bool gates_find(struct gates *gs, const char *name, struct gate_info *out);

/* Views (gate_view.c). New references, or NULL without memory. */
json_t *gates_json(struct gates *gs);
json_t *gate_info_json(const struct gate_info *info);
void gates_metrics(struct gates *gs, struct buf *b);

#endif
