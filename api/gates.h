/* SPDX-License-Identifier: Apache-2.0 */
/* All gates of a server: made by the configuration or over $WLM.API.GATE, changed while requests
 * wait, looked at. Any thread. A change waits for another change; nothing else waits for it. */
#ifndef API_GATES_H
#define API_GATES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/ends.h"
#include "api/gate_conf.h"
#include "queue/apiq_view.h"
#include "server/base/clock.h"
#include "server/base/status.h"

struct api_host;
struct buf;
struct gates;
struct groups;

/* What gates need of the plane around them. */
struct gates_plane {
    struct groups *groups;     /* borrowed: outlives them */
    _Atomic uint64_t *last_id; /* borrowed, as groups: of requests */
    /* groups_tick and groups_drain have something to do at that time; any thread. */
    void (*wake)(void *arg, int64_t at);
    void *arg;
};

/* host is borrowed, plane copied. thread false: none; the owner calls gates_tick. */
enum status gates_new(struct gates **out, const struct api_host *host, const struct clock *clock,
                      const struct gates_plane *plane, bool thread) MUST_CHECK;
/* Removes all gates; what waits is refused as not executed. The host must still be there. */
void gates_close(struct gates *gs);
/* The loops must have ended, and nobody may drain the groups. NULL is allowed. */
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
 *   ST_NOTFOUND  no such gate; or account, group: there is none
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

/* At every moment received = the sum of ended + parked + queued + running. */
struct gate_counts {
    uint64_t received, parked, queued, running;
    uint64_t ended[LEDGER_END_COUNT];
};
struct gate_info {
    struct gate_conf conf;
    bool from_config;
    bool group_missing; /* conf.group is not in force (any more) */
    struct gate_counts counts;
    struct apiq_level_stats queue;
    int64_t drain_ns;
};
size_t gates_count(const struct gates *gs);
/* The i-th gate in the order of their making, or that of a name. False: there is none. */
bool gates_info(struct gates *gs, size_t i, struct gate_info *out);
bool gates_find(struct gates *gs, const char *name, struct gate_info *out);

/* Views (gate_view.c). New references, or NULL without memory. */
json_t *gates_json(struct gates *gs);
json_t *gate_info_json(const struct gate_info *info);
void gates_metrics(struct gates *gs, struct buf *b);

#endif
