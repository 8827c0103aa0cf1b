/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/conn_subs.h"

#include <stdatomic.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/base/hash.h"
#include "server/base/mem.h"
#include "server/net/loop.h"
#include "server/server.h"
#include "stream/js.h"

static struct sub **
slot_of(const struct conn *c, const char *sid, size_t n)
{
    return &c->subs[hash_bytes(sid, n) & (c->cap_subs - 1)];
}

struct sub *
conn_subs_find(const struct conn *c, const char *sid, size_t n)
{
    if (c->cap_subs == 0) {
        return NULL;
    }
    struct sub *s = *slot_of(c, sid, n);
    while (s != NULL && (s->sid_len != n || memcmp(sub_sid(s), sid, n) != 0)) {
        s = s->hnext;
    }
    return s;
}

static void
tell_jetstream(const struct conn *c, const struct sub *s)
{
    struct js *js = server_js(c->loop->server);
    if (js != NULL) {
        js_interest_changed(js, c->account, sub_subject(s), s->subject_len);
    }
}

static enum status
grow(struct conn *c)
{
    if (c->n_subs < c->cap_subs) {
        return ST_OK;
    }
    uint32_t cap = c->cap_subs > 0 ? c->cap_subs * 2 : 4;
    struct sub **table = mem_alloc_array(cap, sizeof *table);
    if (table == NULL) {
        return c->cap_subs > 0 ? ST_OK : ST_NOMEM; /* longer chains, still right */
    }
    struct sub **old = c->subs;
    uint32_t old_cap = c->cap_subs;
    c->subs = table;
    c->cap_subs = cap;
    for (uint32_t i = 0; i < old_cap; i++) {
        while (old[i] != NULL) {
            struct sub *s = old[i];
            old[i] = s->hnext;
            struct sub **slot = slot_of(c, sub_sid(s), s->sid_len);
            s->hnext = *slot;
            *slot = s;
        }
    }
    mem_free(old);
    return ST_OK;
}

enum status
conn_subs_add(struct conn *c, const struct sub_spec *spec)
{
    struct sub *s;
    enum status st = grow(c);
    if (st != ST_OK) {
        return st;
    }
    st = sub_new(&s, spec, c->peer);
    if (st != ST_OK) {
        return st;
    }
    s->conn = c;
    st = sublist_insert(c->account->subs, s);
    if (st != ST_OK) {
        sub_unref(s);
        return st;
    }
    struct sub **slot = slot_of(c, spec->sid, spec->sid_len);
    s->hnext = *slot;
    *slot = s;
    c->n_subs++;
    atomic_fetch_add_explicit(&c->account->client_subs, 1, memory_order_relaxed);
    LOOP_COUNT(c->loop->stats.subs, 1);
    tell_jetstream(c, s);
    return ST_OK;
}

/* s has left the table. */
static void
let_go(struct conn *c, struct sub *s)
{
    s->conn = NULL;
    s->hnext = NULL;
    sublist_remove(c->account->subs, s);
    atomic_fetch_sub_explicit(&c->account->client_subs, 1, memory_order_relaxed);
    LOOP_COUNT(c->loop->stats.subs, -1);
    c->n_subs--;
    tell_jetstream(c, s);
    sub_unref(s);
}

void
conn_subs_remove(struct conn *c, struct sub *s)
{
    struct sub **link = slot_of(c, sub_sid(s), s->sid_len);
    while (*link != s) {
        link = &(*link)->hnext;
    }
    *link = s->hnext;
    let_go(c, s);
}

void
conn_subs_remove_all(struct conn *c)
{
    for (uint32_t i = 0; i < c->cap_subs; i++) {
        while (c->subs[i] != NULL) {
            struct sub *s = c->subs[i];
            c->subs[i] = s->hnext;
            let_go(c, s);
        }
    }
}

static struct sub *
first_from(const struct conn *c, uint32_t slot)
{
    while (slot < c->cap_subs && c->subs[slot] == NULL) {
        slot++;
    }
    return slot < c->cap_subs ? c->subs[slot] : NULL;
}

struct sub *
conn_subs_first(const struct conn *c)
{
    return first_from(c, 0);
}

struct sub *
conn_subs_next(const struct conn *c, const struct sub *s)
{
    if (s->hnext != NULL) {
        return s->hnext;
    }
    return first_from(c, (uint32_t)(slot_of(c, sub_sid(s), s->sid_len) - c->subs) + 1);
}
