/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/closed.h"

#include "server/base/mem.h"
#include "server/inspect.h"

const char *
close_reason_text(enum close_reason reason)
{
#define CLOSE_TEXT(name, text) [name] = (text),
    static const char *const texts[] = {CLOSE_REASONS(CLOSE_TEXT)};
#undef CLOSE_TEXT
    return (size_t)reason < sizeof texts / sizeof texts[0] ? texts[reason] : "Unknown State";
}

/* Grows with what it holds, up to cap: a server that few clients leave needs little. */
struct closed_ring {
    struct conn_info *v; /* owned array of size entries */
    size_t cap, size, begin, n;
};

enum status
closed_ring_new(struct closed_ring **out, size_t cap)
{
    struct closed_ring *r = mem_alloc(sizeof *r);
    if (r == NULL) {
        return ST_NOMEM;
    }
    r->cap = cap;
    *out = r;
    return ST_OK;
}

void
closed_ring_free(struct closed_ring *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        conn_info_fini(&r->v[(r->begin + i) % r->size]);
    }
    mem_free(r->v);
    mem_free(r);
}

static bool
grow(struct closed_ring *r)
{
    size_t size = r->size > 0 ? r->size * 2 : 16;
    if (size > r->cap) {
        size = r->cap;
    }
    if (size == r->size) {
        return false;
    }
    /* It grows only before it wraps: begin is 0. */
    struct conn_info *v = mem_realloc(r->v, size * sizeof *v);
    if (v == NULL) {
        return false;
    }
    r->v = v;
    r->size = size;
    return true;
}

void
closed_ring_push(struct closed_ring *r, struct conn_info *info)
{
    if (r->n == r->size && (r->begin != 0 || !grow(r))) {
        if (r->n == 0) {
            conn_info_fini(info);
            return;
        }
        conn_info_fini(&r->v[r->begin]);
        r->v[r->begin] = *info;
        r->begin = (r->begin + 1) % r->size;
        return;
    }
    r->v[(r->begin + r->n) % r->size] = *info;
    r->n++;
}

size_t
closed_ring_count(const struct closed_ring *r)
{
    return r->n;
}

const struct conn_info *
closed_ring_at(const struct closed_ring *r, size_t i)
{
    return &r->v[(r->begin + i) % r->size];
}
