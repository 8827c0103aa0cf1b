/* SPDX-License-Identifier: Apache-2.0 */
/* An account: its own subject space and its counters. Made by the main thread (start, reload),
 * then shared by all threads; never freed before the server ends, so that requests and events may
 * name it by pointer. Exports and imports will hang here. */
#ifndef SERVER_AUTH_ACCOUNT_H
#define SERVER_AUTH_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/base/status.h"
#include "server/route/sublist.h"

struct gate_watch;

/* name, key, subs: constant. Limits: written by the main thread at a reload. Counters: relaxed. */
struct account {
    char *name;                       /* owned */
    uint64_t key;                     /* a number of its own, never 0 */
    struct sublist *subs;             /* owned */
    bool is_system, has_services;     /* set by the main thread before clients can come */
    struct gate_watch *_Atomic gates; /* borrowed: the API plane's; NULL: never had a gate */
    _Atomic bool in_use;              /* named by the configuration in force */
    _Atomic int64_t max_conns, max_subs, max_payload; /* < 0: none */
    _Atomic int64_t conns, total_conns, client_subs;
    _Atomic int64_t in_msgs, in_bytes, out_msgs, out_bytes, slow_consumers;
    struct account *next; /* owned: the registry's list */
};

enum status account_new(struct account **out, const char *name, uint64_t key) MUST_CHECK;
void account_free(struct account *a);

#endif
