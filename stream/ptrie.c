/* SPDX-License-Identifier: Apache-2.0 */
/* A tree by tokens, DEPTH_MAX of them: the depth of the recursion must not be the clients' choice.
 * A pattern stands where it ends, has its '>', or is cut off; so what stands on the way of a filter
 * may meet it, and is compared with it in full. */
#include "stream/ptrie.h"

#include <string.h>

#include "server/base/assert.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/ntab.h"

enum { DEPTH_MAX = 16 };

struct entry {
    struct entry *next;  /* owned */
    const char *pattern; /* borrowed until it is removed */
    void *value;         /* borrowed */
};

struct ptrie_node {
    struct ntab literals;    /* owned: nodes by token */
    struct ptrie_node *star; /* owned: of the token '*' */
    struct entry *here;      /* owned */
    char token[];
};

static struct ptrie_node *
node_new(const char *token, size_t n)
{
    struct ptrie_node *node = mem_alloc(sizeof(*node) + n + 1);
    if (node != NULL) {
        memcpy(node->token, token, n);
    }
    return node;
}

static bool
is_token(const char *token, size_t n, char c)
{
    return n == 1 && token[0] == c;
}

static struct ptrie_node *
child(const struct ptrie_node *node, const char *token, size_t n)
{
    return is_token(token, n, '*') ? node->star : ntab_get(&node->literals, token, n);
}

static struct ptrie_node *
make_child(struct ptrie_node *node, const char *token, size_t n)
{
    struct ptrie_node *made = node_new(token, n);
    if (made == NULL) {
        return NULL;
    }
    if (is_token(token, n, '*')) {
        node->star = made;
        return made;
    }
    if (ntab_put(&node->literals, made->token, n, made) != ST_OK) {
        mem_free(made);
        return NULL;
    }
    return made;
}

static bool
is_bare(const struct ptrie_node *node)
{
    return node->here == NULL && node->star == NULL && node->literals.n == 0;
}

static void
node_free(struct ptrie_node *node)
{
    ntab_fini(&node->literals);
    mem_free(node);
}

/* The nodes from the root to where a pattern stands. */
struct path {
    struct ptrie_node *node[DEPTH_MAX + 1]; /* borrowed */
    size_t n;
};

/* Makes what is missing if `make`. False: it is not there, or no memory; the path is what is. */
static bool
descend(struct ptrie *t, const char *pattern, bool make, struct path *path)
{
    size_t len = strlen(pattern);
    path->n = 0;
    if (t->root == NULL && make) {
        t->root = node_new("", 0);
    }
    if (t->root == NULL) {
        return false;
    }
    path->node[path->n++] = t->root;
    for (size_t at = 0; at < len && path->n <= DEPTH_MAX;) {
        struct ptrie_node *node = path->node[path->n - 1];
        size_t n = subject_token_len(pattern, len, at);
        if (is_token(pattern + at, n, '>')) {
            break;
        }
        struct ptrie_node *next = child(node, pattern + at, n);
        if (next == NULL && make) {
            next = make_child(node, pattern + at, n);
        }
        if (next == NULL) {
            return false;
        }
        path->node[path->n++] = next;
        at += n + 1;
    }
    return true;
}

/* Frees the end of the path that holds nothing any more. */
static void
prune(struct ptrie *t, struct path *path)
{
    while (path->n > 0 && is_bare(path->node[path->n - 1])) {
        struct ptrie_node *gone = path->node[--path->n];
        struct ptrie_node *up = path->n > 0 ? path->node[path->n - 1] : NULL;
        if (up == NULL) {
            t->root = NULL;
        } else if (up->star == gone) {
            up->star = NULL;
        } else {
            (void)ntab_remove(&up->literals, gone->token, strlen(gone->token));
        }
        node_free(gone);
    }
}

enum status
ptrie_add(struct ptrie *t, const char *pattern, void *value)
{
    struct path path;
    struct entry *e = mem_alloc(sizeof(*e));
    if (!descend(t, pattern, e != NULL, &path) || e == NULL) {
        prune(t, &path);
        mem_free(e);
        return ST_NOMEM;
    }
    struct ptrie_node *node = path.node[path.n - 1];
    *e = (struct entry){node->here, pattern, value};
    node->here = e;
    return ST_OK;
}

void
ptrie_remove(struct ptrie *t, const char *pattern, const void *value)
{
    struct path path;
    bool there = descend(t, pattern, false, &path);
    ASSERT(there);
    struct entry **at = &path.node[path.n - 1]->here;
    while (*at != NULL && ((*at)->pattern != pattern || (*at)->value != value)) {
        at = &(*at)->next;
    }
    ASSERT(*at != NULL);
    struct entry *gone = *at;
    *at = gone->next;
    mem_free(gone);
    prune(t, &path);
}

/* ---- the walk ---- */

struct walk {
    const char *filter;
    size_t n;
    ptrie_fn *fn;
    void *arg;
};

static bool
visit_here(const struct walk *w, const struct ptrie_node *node)
{
    for (const struct entry *e = node->here; e != NULL; e = e->next) {
        if (subject_overlaps(e->pattern, strlen(e->pattern), w->filter, w->n) &&
            !w->fn(w->arg, e->pattern, e->value)) {
            return false;
        }
    }
    return true;
}

/* at: of the filter's token that the node's children are compared with; SIZE_MAX: '>' was there,
 * which all of them meet. */
static bool
visit(const struct walk *w, const struct ptrie_node *node, size_t at)
{
    bool more = visit_here(w, node);
    bool all = at == SIZE_MAX;
    if (!more || (!all && at >= w->n)) {
        return more;
    }
    const char *token = w->filter + (all ? 0 : at);
    size_t n = all ? 0 : subject_token_len(w->filter, w->n, at);
    size_t next = all || is_token(token, n, '>') ? SIZE_MAX : at + n + 1;
    if (node->star != NULL && !visit(w, node->star, next)) {
        return false;
    }
    if (next != SIZE_MAX && !is_token(token, n, '*')) {
        const struct ptrie_node *one = ntab_get(&node->literals, token, n);
        return one == NULL || visit(w, one, next);
    }
    size_t i = 0;
    const struct ptrie_node *one;
    while ((one = ntab_next(&node->literals, &i)) != NULL) {
        if (!visit(w, one, next)) {
            return false;
        }
    }
    return true;
}

void
ptrie_overlaps(const struct ptrie *t, const char *filter, size_t n, ptrie_fn *fn, void *arg)
{
    const struct walk w = {filter, n, fn, arg};
    if (t->root != NULL) {
        (void)visit(&w, t->root, 0);
    }
}

static void
forget(struct ptrie_node *node)
{
    struct ptrie_node *one;
    size_t i = 0;
    while ((one = ntab_next(&node->literals, &i)) != NULL) {
        forget(one);
    }
    if (node->star != NULL) {
        forget(node->star);
    }
    while (node->here != NULL) {
        struct entry *e = node->here;
        node->here = e->next;
        mem_free(e);
    }
    node_free(node);
}

void
ptrie_fini(struct ptrie *t)
{
    if (t->root != NULL) {
        forget(t->root);
    }
    *t = (struct ptrie){0};
}
