/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome counters of an API plane, for tests. Any thread. */
#ifndef TESTS_SUPPORT_BOOKS_H
#define TESTS_SUPPORT_BOOKS_H

#include "api/api.h"
#include "api/ledger.h"

/* Fails the test unless received = answered + refused + evicted + expired + cancelled + parked +
 * queued + running, in each level and each account. */
void books_check(struct api *a);

struct ledger_counts books_level(struct api *a, enum apiq_level level);
/* Over all levels. */
struct ledger_counts books_sum(struct api *a);
uint64_t books_ended(struct api *a, enum ledger_outcome o);
uint64_t books_queued(struct api *a);
uint64_t books_parked(struct api *a);
uint64_t books_running(struct api *a);
/* Parked, queued and running. */
uint64_t books_open(struct api *a);

#endif
