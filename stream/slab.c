/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/slab.h"

#include <stdatomic.h>
#include <stdint.h>

#include "server/base/mem.h"

enum { FIRST = 4096, MOST = 32768, ALIGN = 16 };
#define OPEN ((uint32_t)1 << 31)

/* refs: OPEN while the maker has it, less one for each that is gone: so to take costs nothing. */
struct slab {
    _Atomic uint32_t refs;
    uint32_t taken; /* the maker's, as used and cap */
    size_t used, cap;
    _Alignas(ALIGN) char bytes[];
};

static void
let_go(struct slab *s, uint32_t n)
{
    if (atomic_fetch_sub_explicit(&s->refs, n, memory_order_acq_rel) == n) {
        mem_free(s);
    }
}

void
slab_drop(struct slab *of, void *at)
{
    if (of != NULL) {
        let_go(of, 1);
    } else {
        mem_free(at);
    }
}

void
slab_close(struct slab **open)
{
    struct slab *s = *open;
    *open = NULL;
    if (s != NULL) {
        let_go(s, OPEN - s->taken);
    }
}

static struct slab *
make(size_t cap)
{
    struct slab *s = mem_alloc_raw(sizeof(*s) + cap);
    if (s != NULL) {
        s->taken = 0;
        s->used = 0;
        s->cap = cap;
        atomic_init(&s->refs, OPEN);
    }
    return s;
}

/* A large thing has one of its own, and the open one goes on. */
static void *
take_alone(size_t n, struct slab **of)
{
    struct slab *s = make(n);
    if (s == NULL) {
        return NULL;
    }
    *of = s;
    atomic_init(&s->refs, 1);
    return s->bytes;
}

void *
slab_take(struct slab **open, size_t n, struct slab **of)
{
    *of = NULL;
    if (open == NULL) {
        return mem_alloc_raw(n);
    }
    if (n > FIRST / 2) {
        return take_alone(n, of);
    }
    struct slab *s = *open;
    size_t need = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (s == NULL || s->cap - s->used < need) {
        size_t cap = s == NULL ? FIRST : s->cap < MOST ? s->cap * 2 : MOST;
        struct slab *next = make(cap);
        if (next == NULL) {
            return NULL;
        }
        slab_close(open);
        *open = next;
        s = next;
    }
    void *at = s->bytes + s->used;
    s->used += need;
    s->taken++;
    *of = s;
    return at;
}
