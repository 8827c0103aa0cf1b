/* SPDX-License-Identifier: Apache-2.0 */
/* Intrusive doubly linked list. A head is a node of its own; a node is in at most one list.
 * Not thread-safe: guarded by whoever owns the head. Every operation is O(1). */
#ifndef SERVER_BASE_LIST_H
#define SERVER_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_node {
    struct list_node *prev;
    struct list_node *next;
};

#define LIST_ENTRY(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* NB: the body may remove `it`, but nothing else. */
#define LIST_FOREACH_SAFE(it, tmp, head)                                                           \
    for ((it) = (head)->next, (tmp) = (it)->next; (it) != (head); (it) = (tmp), (tmp) = (it)->next)

static inline void
list_init(struct list_node *head)
{
    head->prev = head;
    head->next = head;
}

static inline bool
list_is_empty(const struct list_node *head)
{
    return head->next == head;
}

/* True for a node that is in a list; a zeroed or removed node is in none. */
static inline bool
list_is_linked(const struct list_node *node)
{
    return node->next != NULL && node->next != node;
}

static inline void
list_insert_after(struct list_node *pos, struct list_node *node)
{
    node->prev = pos;
    node->next = pos->next;
    pos->next->prev = node;
    pos->next = node;
}

static inline void
list_push_front(struct list_node *head, struct list_node *node)
{
    list_insert_after(head, node);
}

static inline void
list_push_back(struct list_node *head, struct list_node *node)
{
    list_insert_after(head->prev, node);
}

static inline void
list_remove(struct list_node *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->prev = NULL;
    node->next = NULL;
}

/* The removed first (last) node, or NULL. */
static inline struct list_node *
list_pop_front(struct list_node *head)
{
    struct list_node *node = head->next;
    if (node == head) {
        return NULL;
    }
    list_remove(node);
    return node;
}

static inline struct list_node *
list_pop_back(struct list_node *head)
{
    struct list_node *node = head->prev;
    if (node == head) {
        return NULL;
    }
    list_remove(node);
    return node;
}

/* Moves all of `from` to the end of `to`; `from` is empty after it. */
static inline void
list_splice_back(struct list_node *to, struct list_node *from)
{
    if (list_is_empty(from)) {
        return;
    }
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

#endif
