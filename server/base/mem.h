/* SPDX-License-Identifier: Apache-2.0 */
/* The only allocator. Any thread. Each call may return NULL, and the caller answers for it
 * (ST_NOMEM). Built with -DTESTING, the n-th call from now can be made to fail. */
#ifndef SERVER_BASE_MEM_H
#define SERVER_BASE_MEM_H

#include <stddef.h>

#include "server/base/status.h"

/* Zeroed memory. Freed with mem_free. size 0 gives a valid, empty block. */
void *mem_alloc(size_t size) MUST_CHECK;

/* n * size zeroed bytes; NULL also where the product overflows. */
void *mem_alloc_array(size_t n, size_t size) MUST_CHECK;

/* As mem_alloc, not zeroed: for byte buffers that are written before they are read. */
void *mem_alloc_raw(size_t size) MUST_CHECK;

/* Grows or shrinks p (NULL: allocates), new bytes not zeroed. On NULL, p is still valid. */
void *mem_realloc(void *p, size_t size) MUST_CHECK;

/* NULL is allowed. */
void mem_free(void *p);

char *mem_strdup(const char *s) MUST_CHECK;

/* A copy of n bytes with a NUL behind it. */
char *mem_strndup(const char *s, size_t n) MUST_CHECK;

#ifdef TESTING
/* Makes the n-th call from now (0 = the next) fail, and none after it; n < 0: none.
 * Process-wide, also for libraries that were told to use mem_* . */
void mem_fail_at(long n);
/* True if the fault armed by mem_fail_at has fired. */
int mem_fail_fired(void);
/* Blocks allocated and not yet freed, process-wide: for leak checks in sweeps. */
long mem_live(void);
#endif

#endif
