/* SPDX-License-Identifier: Apache-2.0 */
/* The trie of wildcard subscriptions: one node a token. Part of sublist.c and guarded by its
 * lock. A node without subscriptions and children is freed at once, so churn leaves nothing. */
#ifndef SERVER_ROUTE_TRIE_H
#define SERVER_ROUTE_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "server/route/subset.h"

/* Guarded by the sublist's lock. */
struct trie_node {
    struct subset set;
    struct trie_node *parent; /* borrowed: a parent outlives its children */
    struct trie_node *one;    /* owned: child for '*' */
    struct trie_node *rest;   /* owned: child for '>' */
    struct trie_node **kids;  /* owned: open addressing by token hash; NULL while n_kids is 0 */
    uint32_t n_kids, cap_kids;
    uint32_t hash;
    uint32_t token_len;
    char token[];
};

enum status trie_root_new(struct trie_node **out) MUST_CHECK;
/* Frees the node and all below it; subscriptions still there are let go. NULL is allowed. */
void trie_free(struct trie_node *root);

/* The node for a subject, made where it is missing. ST_NOMEM: nothing was changed. */
enum status trie_make(struct trie_node *root, const char *subject, size_t n,
                      struct trie_node **out) MUST_CHECK;
/* Frees the node if nothing is in it and below it, then its parents likewise. Never the root. */
void trie_prune(struct trie_node *node);

/* Calls on_match for each set on a node that matches a literal subject; false from it stops. */
typedef bool trie_match_fn(void *arg, struct subset *set);
bool trie_match(struct trie_node *root, const char *subject, size_t n, trie_match_fn *on_match,
                void *arg);

#endif
