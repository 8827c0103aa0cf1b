/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route/trie.h"

#include <string.h>

#include "server/base/assert.h"
#include "server/base/hash.h"
#include "server/base/mem.h"
#include "server/base/subject.h"

static uint32_t
token_hash(const char *s, size_t n)
{
    return (uint32_t)hash_bytes(s, n);
}

static enum status
node_new(struct trie_node **out, struct trie_node *parent, const char *token, size_t n)
{
    struct trie_node *node = mem_alloc(sizeof *node + n);
    if (node == NULL) {
        return ST_NOMEM;
    }
    node->parent = parent;
    node->token_len = (uint32_t)n;
    if (n > 0) {
        memcpy(node->token, token, n);
        node->hash = token_hash(token, n);
    }
    *out = node;
    return ST_OK;
}

enum status
trie_root_new(struct trie_node **out)
{
    return node_new(out, NULL, NULL, 0);
}

void
trie_free(struct trie_node *root)
{
    if (root == NULL) {
        return;
    }
    for (uint32_t i = 0; i < root->cap_kids; i++) {
        trie_free(root->kids[i]);
    }
    trie_free(root->one);
    trie_free(root->rest);
    mem_free(root->kids);
    subset_fini(&root->set);
    mem_free(root);
}

static bool
has_token(const struct trie_node *node, const char *s, size_t n, uint32_t hash)
{
    return node->hash == hash && node->token_len == n && memcmp(node->token, s, n) == 0;
}

static struct trie_node *
find_kid(const struct trie_node *node, const char *s, size_t n)
{
    if (node->n_kids == 0) {
        return NULL;
    }
    uint32_t hash = token_hash(s, n);
    uint32_t mask = node->cap_kids - 1;
    for (uint32_t i = hash & mask; node->kids[i] != NULL; i = (i + 1) & mask) {
        if (has_token(node->kids[i], s, n, hash)) {
            return node->kids[i];
        }
    }
    return NULL;
}

static void
place_kid(struct trie_node **kids, uint32_t cap, struct trie_node *kid)
{
    uint32_t i = kid->hash & (cap - 1);
    while (kids[i] != NULL) {
        i = (i + 1) & (cap - 1);
    }
    kids[i] = kid;
}

static enum status
grow_kids(struct trie_node *node)
{
    /* Never more than three quarters full. */
    if ((node->n_kids + 1) * 4 <= node->cap_kids * 3) {
        return ST_OK;
    }
    uint32_t cap = node->cap_kids > 0 ? node->cap_kids * 2 : 2;
    struct trie_node **kids = mem_alloc_array(cap, sizeof(struct trie_node *));
    if (kids == NULL) {
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < node->cap_kids; i++) {
        if (node->kids[i] != NULL) {
            place_kid(kids, cap, node->kids[i]);
        }
    }
    mem_free(node->kids);
    node->kids = kids;
    node->cap_kids = cap;
    return ST_OK;
}

static enum status
make_kid(struct trie_node *node, const char *s, size_t n, struct trie_node **out)
{
    struct trie_node **slot = NULL;
    if (n == 1 && (s[0] == '*' || s[0] == '>')) {
        slot = s[0] == '*' ? &node->one : &node->rest;
        *out = *slot;
    } else {
        *out = find_kid(node, s, n);
    }
    if (*out != NULL) {
        return ST_OK;
    }
    if (slot == NULL && grow_kids(node) != ST_OK) {
        return ST_NOMEM;
    }
    enum status st = node_new(out, node, s, n);
    if (st != ST_OK) {
        return st;
    }
    if (slot != NULL) {
        *slot = *out;
    } else {
        place_kid(node->kids, node->cap_kids, *out);
        node->n_kids++;
    }
    return ST_OK;
}

enum status
trie_make(struct trie_node *root, const char *subject, size_t n, struct trie_node **out)
{
    struct trie_node *node = root;
    for (size_t at = 0; at <= n;) {
        size_t len = subject_token_len(subject, n, at);
        struct trie_node *kid;
        if (make_kid(node, subject + at, len, &kid) != ST_OK) {
            trie_prune(node);
            return ST_NOMEM;
        }
        node = kid;
        at += len + 1;
    }
    *out = node;
    return ST_OK;
}

/* Closes the gap that an entry leaves, so that probing needs no tombstones. */
static void
remove_kid(struct trie_node *node, const struct trie_node *kid)
{
    uint32_t mask = node->cap_kids - 1;
    uint32_t hole = kid->hash & mask;
    while (node->kids[hole] != kid) {
        hole = (hole + 1) & mask;
    }
    node->kids[hole] = NULL;
    for (uint32_t i = (hole + 1) & mask; node->kids[i] != NULL; i = (i + 1) & mask) {
        uint32_t home = node->kids[i]->hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            node->kids[hole] = node->kids[i];
            node->kids[i] = NULL;
            hole = i;
        }
    }
    node->n_kids--;
    if (node->n_kids == 0) {
        mem_free(node->kids);
        node->kids = NULL;
        node->cap_kids = 0;
    }
}

void
trie_prune(struct trie_node *node)
{
    while (node->parent != NULL && subset_is_empty(&node->set) && node->n_kids == 0 &&
           node->one == NULL && node->rest == NULL) {
        struct trie_node *parent = node->parent;
        if (parent->one == node) {
            parent->one = NULL;
        } else if (parent->rest == node) {
            parent->rest = NULL;
        } else {
            remove_kid(parent, node);
        }
        trie_free(node);
        node = parent;
    }
}

bool
trie_match(struct trie_node *root, const char *subject, size_t n, trie_match_fn *on_match,
           void *arg)
{
    struct trie_node *node = root;
    for (size_t at = 0; at <= n;) {
        size_t len = subject_token_len(subject, n, at);
        size_t next = at + len + 1;
        if (node->rest != NULL && !on_match(arg, &node->rest->set)) {
            return false;
        }
        if (node->one != NULL) {
            /* The branch of '*' is taken by recursion, the literal one by the loop. */
            bool go_on = next > n ? on_match(arg, &node->one->set)
                                  : trie_match(node->one, subject + next, n - next, on_match, arg);
            if (!go_on) {
                return false;
            }
        }
        node = find_kid(node, subject + at, len);
        if (node == NULL) {
            return true;
        }
        at = next;
    }
    return on_match(arg, &node->set);
}
