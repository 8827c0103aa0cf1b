/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/theap.h"

#include "server/base/mem.h"

enum status
theap_push(struct theap *h, int64_t at, uint64_t seq)
{
    if (h->n == h->cap) {
        size_t cap = h->cap > 0 ? h->cap * 2 : 16;
        struct theap_entry *v = mem_realloc(h->v, cap * sizeof *v);
        if (v == NULL) {
            return ST_NOMEM;
        }
        h->v = v;
        h->cap = cap;
    }
    size_t i = h->n++;
    while (i > 0 && h->v[(i - 1) / 2].at > at) {
        h->v[i] = h->v[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->v[i] = (struct theap_entry){at, seq};
    return ST_OK;
}

bool
theap_pop(struct theap *h, int64_t now, struct theap_entry *out)
{
    if (h->n == 0 || h->v[0].at > now) {
        return false;
    }
    *out = h->v[0];
    struct theap_entry last = h->v[--h->n];
    size_t i = 0;
    for (size_t c = 1; c < h->n; c = 2 * i + 1) {
        if (c + 1 < h->n && h->v[c + 1].at < h->v[c].at) {
            c++;
        }
        if (h->v[c].at >= last.at) {
            break;
        }
        h->v[i] = h->v[c];
        i = c;
    }
    h->v[i] = last;
    return true;
}

int64_t
theap_next(const struct theap *h)
{
    return h->n > 0 ? h->v[0].at : INT64_MAX;
}

void
theap_fini(struct theap *h)
{
    mem_free(h->v);
    *h = (struct theap){0};
}
