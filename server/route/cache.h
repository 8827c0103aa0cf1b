/* SPDX-License-Identifier: Apache-2.0 */
/* A loop's cache of matches, so that a subject published again needs no look-up in the shared
 * trie. Fixed size, one entry a slot. A subject is kept from its second use on: reply subjects,
 * used once, never push others out. Entries that subscriptions have outdated (see the stamps in
 * sublist.h) are replaced when they are next asked for, or swept. Owned by its loop. */
#ifndef SERVER_ROUTE_CACHE_H
#define SERVER_ROUTE_CACHE_H

#include <stddef.h>

#include "server/base/status.h"
#include "server/route/sublist.h"

struct account;
struct loop;
struct route_cache;

enum status route_cache_new(struct route_cache **out) MUST_CHECK;
void route_cache_free(struct route_cache *c);

/* What matches the subject in the account: the cached match, or l->match made anew. Good until the
 * next call, as deliveries may end subscriptions but not free them. NULL: no memory. */
const struct match *route_cache_match(struct loop *l, struct account *a, const char *subject,
                                      size_t n);

/* Lets a few outdated entries go, so that those nobody asks for again do not hold subscriptions of
 * connections that have gone. Once a turn. */
void route_cache_sweep(struct loop *l);

#endif
