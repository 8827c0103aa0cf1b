/* SPDX-License-Identifier: Apache-2.0 */
/* The subscriptions of one account, found by subject: literal subjects in a hash table, wildcard
 * subjects in a trie of tokens. Any thread; a read-write lock inside, held for look-ups and
 * changes only.
 *
 * Each match comes with a stamp of three generations. A cached match stays valid while its stamp
 * is current: a literal subscription changes one of 1,024 generations (by hash of its subject), a
 * wildcard one that begins with a literal token one of 256 (by hash of that token), any other the
 * one for all. So subscriptions that come and go on _INBOX.… leave matches of other subjects. */
#ifndef SERVER_ROUTE_SUBLIST_H
#define SERVER_ROUTE_SUBLIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct sub;
struct sublist;

struct sublist_stamp {
    uint32_t literal, first, any;
};

/* The members of one queue group in a match; several ranges of one name are merged. */
struct match_group {
    uint32_t begin; /* into subs */
    uint32_t n;
};

/* A match: each sub referenced. Grows; reused from call to call. Owned by one thread. */
struct match {
    struct sub **subs; /* owned array, ref each: plain ones first, then the groups */
    uint32_t n_plain, n_subs, cap_subs;
    struct match_group *groups; /* owned */
    uint32_t n_groups, cap_groups;
    struct sub *gate; /* ref: the gate in front of the subject, or NULL; none of subs */
    struct sublist_stamp stamp;
};

enum status sublist_new(struct sublist **out) MUST_CHECK;
/* All subscriptions must have been removed, but for the services, which it lets go. */
void sublist_free(struct sublist *l);

/* Takes a reference of its own. The subject must be valid (subject_is_valid). One with a gate needs
 * a queue name of its own; it is no interest and is not counted. */
enum status sublist_insert(struct sublist *l, struct sub *s) MUST_CHECK;
/* Lets the reference go. False: it was not in the list. */
bool sublist_remove(struct sublist *l, struct sub *s);

/* Replaces the content of m with what matches a literal subject. On ST_NOMEM m is empty. */
enum status sublist_match(struct sublist *l, const char *subject, size_t n,
                          struct match *m) MUST_CHECK;
/* True if at least one subscription matches. */
bool sublist_has_interest(struct sublist *l, const char *subject, size_t n);
/* True if somebody subscribed to just that subject, wildcards do not count, in that queue group
 * ("": in none). */
bool sublist_has_literal(struct sublist *l, const char *subject, size_t n, const char *queue);

/* Where the three generations of one subject are: to be kept beside a cached match of it. Good as
 * long as the list. */
struct sublist_watch {
    const _Atomic uint32_t *literal, *first, *any;
};
struct sublist_watch sublist_watch(struct sublist *l, const char *subject, size_t n);

/* True if the match of that stamp still holds. */
static inline bool
sublist_is_current(const struct sublist_watch *w, const struct sublist_stamp *stamp)
{
    return atomic_load_explicit(w->literal, memory_order_acquire) == stamp->literal &&
           atomic_load_explicit(w->first, memory_order_acquire) == stamp->first &&
           atomic_load_explicit(w->any, memory_order_acquire) == stamp->any;
}

struct sublist_counts {
    uint64_t subs, inserts, removes;
};
void sublist_counts(struct sublist *l, struct sublist_counts *out);

void match_reset(struct match *m);
void match_fini(struct match *m);

#endif
