/* SPDX-License-Identifier: Apache-2.0 */
/* Gates without a server: the test is the host that delivers, and moves the clock. After each step
 * the books of the gate "g" must add up. One at a time. */
#ifndef TESTS_SUPPORT_GATEKIT_H
#define TESTS_SUPPORT_GATEKIT_H

#include "api/gate.h"
#include "api/gates.h"
#include "api/group_admin.h"
#include "tests/support/fakehost.h"

#define RESPONDER 100u /* the first connection that requests are delivered to */

struct gatekit {
    struct fakehost host;
    struct clock_fake now;
    struct gates *gates;
    struct groups *groups;
    _Atomic uint64_t last_id;
    _Atomic int64_t woken; /* the earliest time for which they were woken; INT64_MAX: not */
    char err[GATE_ERR_LEN];
};
extern struct gatekit gatekit;

/* For cmocka: a gate "g" in front of svc.> of account A2, with two slots. */
int gatekit_set_up(void **state);
int gatekit_tear_down(void **state);

/* What gates_new is given: the groups of the kit. */
struct gates_plane gatekit_plane(void);
/* One workload group "w", as JSON of GROUP.CREATE; NULL: none. */
void gatekit_group(const char *json);
/* Its counters; fails the test if they do not add up, or the backstop found something. */
struct group_counts gatekit_group_counts(void);
/* The gate "g" with so many slots and that group. */
void gatekit_grouped(const char *json, int64_t slots);
/* So many are parked in the group, all of the gate "g"; so many permits are taken. */
void gatekit_parked(uint64_t n);
void gatekit_permits(uint64_t n);
/* What the thread api-park does in a server. */
void gatekit_park(void);

/* The settings of a gate of account A2. */
struct gate_conf gatekit_conf(const char *name, const char *subject, int64_t limit);
/* The gate "g" now; fails the test if its books do not add up. */
struct gate_info gatekit_look(void);
void gatekit_expect_ended(enum ledger_end e, uint64_t n);
void gatekit_update(const struct gate_conf *c, size_t evicted);

/* A request of connection cid whose reply subject and payload are the same text. */
void gatekit_ask(uint64_t cid, const char *what);
void gatekit_ask_with(uint64_t cid, const char *what, const char *hdr);
/* It lay unread for so many ns. */
void gatekit_ask_late(uint64_t cid, const char *what, int64_t unread);

/* The next one let through must be that one; it is delivered to so many connections, which count
 * up from RESPONDER. Or there must be none. */
void gatekit_delivered(const char *what, unsigned receivers);
void gatekit_none_delivered(void);

/* A publish to that subject in the account of the last gate made. */
void gatekit_reply(const char *subject);

/* The next message told must be for that reply subject, have that in its headers, and say the same
 * in its payload, but for a status 503, which has none. Or there must be none. */
void gatekit_told(const char *subject, const char *in_header);
void gatekit_nobody_told(void);

#endif
