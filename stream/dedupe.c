/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/dedupe.h"

#include <string.h>

#include "server/base/clock.h"
#include "server/base/list.h"
#include "server/base/mem.h"
#include "stream/ntab.h"

struct entry {
    struct list_node node;
    uint64_t seq;
    int64_t ts;
    size_t len;
    char id[];
};

struct dedupe {
    int64_t window;
    struct ntab ids;
    struct list_node order; /* oldest first; owned */
};

enum status
dedupe_new(struct dedupe **out, int64_t window)
{
    struct dedupe *d = mem_alloc(sizeof *d);
    if (d == NULL) {
        return ST_NOMEM;
    }
    d->window = window;
    list_init(&d->order);
    *out = d;
    return ST_OK;
}

static void
drop(struct dedupe *d, struct entry *e)
{
    if (ntab_get(&d->ids, e->id, e->len) == e) {
        ntab_remove(&d->ids, e->id, e->len);
    }
    list_remove(&e->node);
    mem_free(e);
}

void
dedupe_free(struct dedupe *d)
{
    if (d == NULL) {
        return;
    }
    struct list_node *it, *tmp;
    LIST_FOREACH_SAFE(it, tmp, &d->order)
    {
        list_remove(it);
        mem_free(LIST_ENTRY(it, struct entry, node));
    }
    ntab_fini(&d->ids);
    mem_free(d);
}

void
dedupe_set_window(struct dedupe *d, int64_t window)
{
    d->window = window;
}

uint64_t
dedupe_find(struct dedupe *d, const char *id, size_t len, int64_t now)
{
    const struct entry *e = ntab_get(&d->ids, id, len);
    return e != NULL && now - e->ts < d->window ? e->seq : 0;
}

enum status
dedupe_add(struct dedupe *d, const char *id, size_t len, uint64_t seq, int64_t ts)
{
    (void)dedupe_expire(d, ts);
    struct entry *e = ntab_get(&d->ids, id, len);
    if (e != NULL) {
        drop(d, e);
    }
    e = mem_alloc(sizeof *e + len + 1);
    if (e == NULL) {
        return ST_NOMEM;
    }
    e->seq = seq;
    e->ts = ts;
    e->len = len;
    memcpy(e->id, id, len);
    if (ntab_put(&d->ids, e->id, len, e) != ST_OK) {
        mem_free(e);
        return ST_NOMEM;
    }
    list_push_back(&d->order, &e->node);
    return ST_OK;
}

void
dedupe_forget(struct dedupe *d, const char *id, size_t len, uint64_t seq)
{
    struct entry *e = ntab_get(&d->ids, id, len);
    if (e != NULL && e->seq == seq) {
        drop(d, e);
    }
}

int64_t
dedupe_expire(struct dedupe *d, int64_t now)
{
    while (!list_is_empty(&d->order)) {
        struct entry *e = LIST_ENTRY(d->order.next, struct entry, node);
        if (now - e->ts < d->window) {
            return clock_after(e->ts, d->window);
        }
        drop(d, e);
    }
    return INT64_MAX;
}

size_t
dedupe_count(const struct dedupe *d)
{
    return d->ids.n;
}
