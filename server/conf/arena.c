/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conf/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "server/base/mem.h"

#define CHUNK_SIZE 8192

struct arena_chunk {
    struct arena_chunk *next; /* owned */
    size_t used, cap;
    max_align_t data[];
};

void
arena_init(struct arena *a)
{
    a->chunks = NULL;
}

void
arena_fini(struct arena *a)
{
    struct arena_chunk *c = a->chunks;
    while (c != NULL) {
        struct arena_chunk *next = c->next;
        mem_free(c);
        c = next;
    }
    a->chunks = NULL;
}

void *
arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    struct arena_chunk *c = a->chunks;
    if (c == NULL || c->cap - c->used < size) {
        size_t cap = size > CHUNK_SIZE ? size : CHUNK_SIZE;
        c = mem_alloc(sizeof(*c) + cap);
        if (c == NULL) {
            return NULL;
        }
        c->cap = cap;
        c->next = a->chunks;
        a->chunks = c;
    }
    void *p = (char *)c->data + c->used;
    c->used += size;
    return p;
}

char *
arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    if (copy != NULL && n > 0) {
        memcpy(copy, s, n);
    }
    return copy;
}
