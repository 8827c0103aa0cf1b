/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/mem.h"

#include <stdlib.h>
#include <string.h>

#ifdef TESTING
#include <stdatomic.h>
static _Atomic long fail_at = -1;
static _Atomic int fail_fired;
static _Atomic long live;

void
mem_fail_at(long n)
{
    atomic_store(&fail_fired, 0);
    atomic_store(&fail_at, n);
}

int
mem_fail_fired(void)
{
    return atomic_load(&fail_fired);
}

long
mem_live(void)
{
    return atomic_load(&live);
}

static int
fault(void)
{
    if (atomic_load(&fail_at) < 0) {
        return 0;
    }
    if (atomic_fetch_sub(&fail_at, 1) == 0) {
        atomic_store(&fail_fired, 1);
        return 1;
    }
    return 0;
}

static void *
count_live(void *p)
{
    if (p != NULL) {
        atomic_fetch_add(&live, 1);
    }
    return p;
}

static void
count_dead(const void *p)
{
    if (p != NULL) {
        atomic_fetch_sub(&live, 1);
    }
}
#else
#define fault()       0
#define count_live(p) (p)
#define count_dead(p) ((void)0)
#endif

void *
mem_alloc(size_t size)
{
    return fault() ? NULL : count_live(calloc(1, size > 0 ? size : 1));
}

void *
mem_alloc_array(size_t n, size_t size)
{
    return fault() ? NULL : count_live(calloc(n > 0 ? n : 1, size > 0 ? size : 1));
}

void *
mem_alloc_raw(size_t size)
{
    return fault() ? NULL : count_live(malloc(size > 0 ? size : 1));
}

void *
mem_realloc(void *p, size_t size)
{
    if (p == NULL) {
        return mem_alloc_raw(size);
    }
    return fault() ? NULL : realloc(p, size > 0 ? size : 1);
}

void
mem_free(void *p)
{
    count_dead(p);
    free(p);
}

char *
mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *
mem_strndup(const char *s, size_t n)
{
    char *copy = mem_alloc_raw(n + 1);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}
