/* SPDX-License-Identifier: Apache-2.0 */
/* Workload groups on the rig (tests/support/rig.h): the groups that a test sets, requests of users
 * and clients, and what was told to whom. One at a time. */
#ifndef TESTS_SUPPORT_GROUP_KIT_H
#define TESTS_SUPPORT_GROUP_KIT_H

#include "api/group_admin.h"
#include "tests/support/rig.h"

/* As rig_set_up and rig_tear_down; the latter expects that the backstop found nothing, and that
 * nothing is left parked or permitted. */
int group_kit_set_up(void **state);
int group_kit_tear_down(void **state);

/* Groups as JSON: {"name": {…}, …}, in their order. */
void group_kit_set(enum group_source source, const char *json);
/* One group "g" with that limit, size and attribute, enforced. */
void group_kit_one(int64_t limit, int64_t size, const char *attribute);

/* A request to $JS.API.NOTE from connection cid of account n and that user, with a reply. */
void group_kit_send(unsigned n, uint64_t cid, const char *user, const char *data);
/* The same with a header block. */
void group_kit_send_hdr(unsigned n, uint64_t cid, const char *user, const char *data,
                        const char *hdr);

struct group_counts group_kit_counts(const char *group);
/* Expects what must hold at any time of a group's counters. */
void group_kit_check(const struct group_counts *n);

/* Pulls one and keeps it running; its end. */
struct apiq_item *group_kit_pull(void);
void group_kit_done(struct apiq_item *it);

/* How many answers so far had that error code; 0: those without an error. Takes what was told. */
unsigned group_kit_told(int code);

#endif
