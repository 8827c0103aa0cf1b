/* SPDX-License-Identifier: Apache-2.0 */
/* Many small pieces that die together: the trees of a configuration live in one. Owned by one
 * thread. Memory is zeroed; nothing is freed before arena_fini. */
#ifndef SERVER_CONF_ARENA_H
#define SERVER_CONF_ARENA_H

#include <stddef.h>

#include "server/base/status.h"

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks; /* owned */
};

void arena_init(struct arena *a);
void arena_fini(struct arena *a);

/* NULL: out of memory. */
void *arena_alloc(struct arena *a, size_t size) MUST_CHECK;
/* A copy of n bytes with a NUL behind it, or NULL. */
char *arena_strndup(struct arena *a, const char *s, size_t n) MUST_CHECK;

#endif
