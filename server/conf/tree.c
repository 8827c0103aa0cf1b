/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conf/tree.h"

#include <stdio.h>
#include <string.h>

#include "server/base/assert.h"
#include "server/base/hash.h"
#include "server/conf/number.h"

struct conf_array {
    const struct conf_value **v; /* borrowed: in the arena */
    size_t n, cap;
};

struct entry {
    const char *key;          /* borrowed: in the arena */
    struct conf_value *value; /* borrowed: in the arena */
    bool is_repeated;
};

struct conf_map {
    struct entry *v; /* borrowed: in the arena */
    size_t n, cap;
    uint32_t *slots; /* borrowed: in the arena; index + 1 into v, 0 = free; open addressing */
    size_t n_slots;  /* a power of two, at least twice n */
};

/* Room for one more of the n elements; the old block stays in the arena. */
static void *
grown(struct arena *a, const void *old, size_t n, size_t *cap, size_t elem)
{
    size_t new_cap = *cap > 0 ? *cap * 2 : 4;
    void *v = arena_alloc(a, new_cap * elem);
    if (v == NULL) {
        return NULL;
    }
    if (n > 0) {
        memcpy(v, old, n * elem);
    }
    *cap = new_cap;
    return v;
}

struct conf_array *
conf_array_new(struct arena *a)
{
    return arena_alloc(a, sizeof(struct conf_array));
}

enum status
conf_array_add(struct arena *a, struct conf_array *v, const struct conf_value *item)
{
    if (v->n == v->cap) {
        void *bigger = grown(a, v->v, v->n, &v->cap, sizeof(*v->v));
        if (bigger == NULL) {
            return ST_NOMEM;
        }
        v->v = bigger;
    }
    v->v[v->n++] = item;
    return ST_OK;
}

size_t
conf_array_len(const struct conf_array *v)
{
    return v->n;
}

const struct conf_value *
conf_array_at(const struct conf_array *v, size_t i)
{
    ASSERT(i < v->n);
    return v->v[i];
}

struct conf_map *
conf_map_new(struct arena *a)
{
    return arena_alloc(a, sizeof(struct conf_map));
}

/* The slot of key: it holds the key, or is the free one where the key belongs. */
static uint32_t *
slot_of(const struct conf_map *m, const char *key)
{
    size_t i = (size_t)hash_bytes(key, strlen(key)) & (m->n_slots - 1);
    while (m->slots[i] != 0 && strcmp(m->v[m->slots[i] - 1].key, key) != 0) {
        i = (i + 1) & (m->n_slots - 1);
    }
    return &m->slots[i];
}

static enum status
grow_slots(struct arena *a, struct conf_map *m)
{
    size_t n_slots = m->n_slots > 0 ? m->n_slots * 2 : 8;
    uint32_t *slots = arena_alloc(a, n_slots * sizeof(*slots));
    if (slots == NULL) {
        return ST_NOMEM;
    }
    m->slots = slots;
    m->n_slots = n_slots;
    for (size_t i = 0; i < m->n; i++) {
        *slot_of(m, m->v[i].key) = (uint32_t)i + 1;
    }
    return ST_OK;
}

enum status
conf_map_put(struct arena *a, struct conf_map *m, const char *key, struct conf_value *value)
{
    if ((m->n + 1) * 2 > m->n_slots && grow_slots(a, m) != ST_OK) {
        return ST_NOMEM;
    }
    uint32_t *slot = slot_of(m, key);
    if (*slot != 0) {
        value->repeated = true;
        m->v[*slot - 1].value = value;
        m->v[*slot - 1].is_repeated = true;
        return ST_OK;
    }
    if (m->n == m->cap) {
        void *bigger = grown(a, m->v, m->n, &m->cap, sizeof(*m->v));
        if (bigger == NULL) {
            return ST_NOMEM;
        }
        m->v = bigger;
    }
    m->v[m->n++] = (struct entry){.key = key, .value = value};
    *slot = (uint32_t)m->n;
    return ST_OK;
}

struct conf_value *
conf_map_get(const struct conf_map *m, const char *key)
{
    if (m->n == 0) {
        return NULL;
    }
    uint32_t slot = *slot_of(m, key);
    return slot != 0 ? m->v[slot - 1].value : NULL;
}

bool
conf_map_is_repeated(const struct conf_map *m, size_t i)
{
    return m->v[i].is_repeated;
}

size_t
conf_map_len(const struct conf_map *m)
{
    return m->n;
}

const char *
conf_map_key(const struct conf_map *m, size_t i)
{
    ASSERT(i < m->n);
    return m->v[i].key;
}

const struct conf_value *
conf_map_at(const struct conf_map *m, size_t i)
{
    ASSERT(i < m->n);
    return m->v[i].value;
}

const char *
conf_type_name(enum conf_type type)
{
    static const char *const names[] = {
        [CONF_STRING] = "string",
        [CONF_BOOL] = "bool",
        [CONF_INT] = "int64",
        [CONF_FLOAT] = "float64",
        [CONF_DATETIME] = "time.Time",
        [CONF_ARRAY] = "[]interface {}",
        [CONF_MAP] = "map[string]interface {}",
    };
    return names[type];
}

const char *
conf_value_text(const struct conf_value *v, char out[CONF_TEXT_LEN])
{
    switch (v->type) {
    case CONF_STRING:
        return v->str;
    case CONF_BOOL:
        return v->b ? "true" : "false";
    case CONF_INT:
        snprintf(out, CONF_TEXT_LEN, "%lld", (long long)v->i);
        return out;
    case CONF_FLOAT:
        return number_format_float(v->f, out);
    case CONF_DATETIME:
    case CONF_ARRAY:
    case CONF_MAP:
        break;
    }
    return conf_type_name(v->type);
}
