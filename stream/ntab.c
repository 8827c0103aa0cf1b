/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing; a removal moves later entries of its run back. */
#include "stream/ntab.h"

#include <stdbool.h>
#include <string.h>

#include "server/base/hash.h"
#include "server/base/mem.h"

enum { NTAB_MIN = 8 };

static bool
is_it(const struct ntab_slot *s, const char *name, size_t len, uint32_t hash)
{
    return s->hash == hash && s->len == len && memcmp(s->name, name, len) == 0;
}

/* The slot of the name, or the free one where it would go. cap > 0. */
static size_t
find(const struct ntab *t, const char *name, size_t len, uint32_t hash)
{
    size_t i = hash & (t->cap - 1);
    while (t->slots[i].name != NULL && !is_it(&t->slots[i], name, len, hash)) {
        i = (i + 1) & (t->cap - 1);
    }
    return i;
}

static enum status
grow(struct ntab *t)
{
    struct ntab next = {.cap = t->cap == 0 ? NTAB_MIN : t->cap * 2, .n = t->n};
    next.slots = mem_alloc_array(next.cap, sizeof(*next.slots));
    if (next.slots == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < t->cap; i++) {
        const struct ntab_slot *s = &t->slots[i];
        if (s->name != NULL) {
            next.slots[find(&next, s->name, s->len, s->hash)] = *s;
        }
    }
    mem_free(t->slots);
    *t = next;
    return ST_OK;
}

enum status
ntab_put(struct ntab *t, const char *name, size_t len, void *value)
{
    if ((t->n + 1) * 4 > t->cap * 3) {
        enum status st = grow(t);
        if (st != ST_OK) {
            return st;
        }
    }
    uint32_t hash = (uint32_t)hash_bytes(name, len);
    size_t i = find(t, name, len, hash);
    if (t->slots[i].name != NULL) {
        return ST_EXISTS;
    }
    t->slots[i] = (struct ntab_slot){name, (uint32_t)len, hash, value};
    t->n++;
    return ST_OK;
}

void *
ntab_get(const struct ntab *t, const char *name, size_t len)
{
    if (t->n == 0) {
        return NULL;
    }
    const struct ntab_slot *s = &t->slots[find(t, name, len, (uint32_t)hash_bytes(name, len))];
    return s->name != NULL ? s->value : NULL;
}

void *
ntab_remove(struct ntab *t, const char *name, size_t len)
{
    if (t->n == 0) {
        return NULL;
    }
    size_t i = find(t, name, len, (uint32_t)hash_bytes(name, len));
    if (t->slots[i].name == NULL) {
        return NULL;
    }
    void *value = t->slots[i].value;
    size_t mask = t->cap - 1;
    for (size_t j = (i + 1) & mask; t->slots[j].name != NULL; j = (j + 1) & mask) {
        size_t home = t->slots[j].hash & mask;
        if (((j - home) & mask) >= ((j - i) & mask)) {
            t->slots[i] = t->slots[j];
            i = j;
        }
    }
    t->slots[i] = (struct ntab_slot){0};
    t->n--;
    return value;
}

void *
ntab_next(const struct ntab *t, size_t *at)
{
    while (*at < t->cap) {
        const struct ntab_slot *s = &t->slots[(*at)++];
        if (s->name != NULL) {
            return s->value;
        }
    }
    return NULL;
}

void
ntab_fini(struct ntab *t)
{
    mem_free(t->slots);
    *t = (struct ntab){0};
}
