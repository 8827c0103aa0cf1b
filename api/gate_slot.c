/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs. A request enters at its pull (slot_enter) and is found again by its reply subject, by
 * the connections that got it, and by its age. `open` counts where a reply can still come from:
 * its delivery that is not over, copies on their way to other loops, connections that got it. At
 * zero nobody is left to answer. Whoever comes first of all that ends it calls slot_leave, once,
 * and then slot_done. */
#include <string.h>

#include "api/gate_slot.h"

#include "api/gate_group.h"
#include "api/gate_priv.h"
#include "api/gate_request.h"
#include "server/base/assert.h"
#include "server/base/mem.h"

static uint64_t
reply_key(uint64_t account_key, uint64_t hash)
{
    return hash ^ (account_key * UINT64_C(0x9e3779b97f4a7c15));
}

static _Atomic uint32_t *
watch_count(const struct gate_request *r)
{
    return &r->gate->watch->count[r->reply_hash % GATE_WATCH_SLOTS];
}

enum status
slot_enter(struct gates *gs, struct gate_request *r)
{
    bool created;
    struct gate *g = r->gate;
    uint64_t key = reply_key(g->watch->account_key, r->reply_hash);
    if (g->gone) {
        return ST_CLOSED;
    }
    struct reply_entry *entry = ktab_get(&gs->by_reply, key, &created);
    if (entry == NULL) {
        return ST_NOMEM;
    }
    if (created) {
        list_init(&entry->requests);
    }
    list_push_back(&entry->requests, &r->same_reply);
    list_push_back(&g->running, &r->run);
    atomic_fetch_add_explicit(watch_count(r), 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&g->watch->running, 1, memory_order_relaxed);
    r->state = GATE_RUNNING;
    r->refs = 2;
    r->open = 1;
    r->began = r->item.pulled_ns;
    g->counts.queued--;
    g->counts.running++;
    return ST_OK;
}

/* Does not touch its request's list. */
static void
forget_taker(struct gates *gs, struct gate_taker *t)
{
    struct taker_entry *entry = ktab_find(&gs->by_cid, t->cid);
    list_remove(&t->by_cid);
    if (list_is_empty(&entry->takers)) {
        ktab_del(&gs->by_cid, entry);
    }
    t->r->open--;
    t->cid = 0;
    if (t != &t->r->first) {
        mem_free(t);
    }
}

void
slot_leave(struct gates *gs, struct gate_request *r, enum ledger_end e)
{
    struct gate *g = r->gate;
    struct list_node *node;
    struct list_node *next;
    uint64_t key = reply_key(g->watch->account_key, r->reply_hash);
    ASSERT(r->state == GATE_RUNNING);
    LIST_FOREACH_SAFE(node, next, &r->takers)
    {
        forget_taker(gs, LIST_ENTRY(node, struct gate_taker, by_request));
    }
    list_init(&r->takers);
    list_remove(&r->same_reply);
    list_remove(&r->run);
    struct reply_entry *entry = ktab_find(&gs->by_reply, key);
    if (list_is_empty(&entry->requests)) {
        ktab_del(&gs->by_reply, entry);
    }
    atomic_fetch_sub_explicit(watch_count(r), 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&g->watch->running, 1, memory_order_relaxed);
    r->state = GATE_FREE;
    g->counts.running--;
    g->counts.ended[e]++;
}

struct gate_request *
slot_find(struct gates *gs, const struct gate_watch *w, const char *reply, size_t n)
{
    struct reply_entry *entry =
        ktab_find(&gs->by_reply, reply_key(w->account_key, hash_bytes(reply, n)));
    if (entry == NULL) {
        return NULL;
    }
    struct list_node *node;
    struct list_node *next;
    LIST_FOREACH_SAFE(node, next, &entry->requests)
    {
        struct gate_request *r = LIST_ENTRY(node, struct gate_request, same_reply);
        if (r->gate->watch == w && r->reply_len == n && memcmp(r->asker.reply, reply, n) == 0) {
            return r;
        }
    }
    return NULL;
}

void
gate_request_free(struct gate_request *r)
{
    mem_free(r->data);
    gate_unref(r->gate);
    mem_free(r);
}

void
gate_request_release(struct gate_request *r)
{
    struct gates *gs = r->gate->home;
    pthread_mutex_lock(&gs->lock);
    bool last = --r->refs == 0;
    pthread_mutex_unlock(&gs->lock);
    if (last) {
        gate_request_free(r);
    }
}

void
slot_done(struct gate_request *r)
{
    struct gate *g = gate_ref(r->gate);
    apiq_done(g->q, &r->item);
    gate_group_leave(r);
    gate_request_release(r);
    gate_pump(g);
    gate_settle(g->home);
    gate_unref(g);
}

/* Under the lock. True: nobody is left to answer, it has left; slot_done must follow. */
static bool
close_one(struct gates *gs, struct gate_request *r)
{
    r->open--;
    if (r->open > 0 || r->state != GATE_RUNNING) {
        return false;
    }
    slot_leave(gs, r, END_RESPONDER_GONE);
    return true;
}

void
gate_took(struct gate_request *r, uint64_t cid)
{
    struct gates *gs = r->gate->home;
    bool created;
    pthread_mutex_lock(&gs->lock);
    struct taker_entry *entry =
        r->state == GATE_RUNNING ? ktab_get(&gs->by_cid, cid, &created) : NULL;
    if (entry != NULL) {
        if (created) {
            list_init(&entry->takers);
        }
        struct gate_taker *t = r->first.cid == 0 ? &r->first : mem_alloc(sizeof(*t));
        if (t != NULL) {
            *t = (struct gate_taker){.r = r, .cid = cid};
            list_push_back(&entry->takers, &t->by_cid);
            list_push_back(&r->takers, &t->by_request);
            r->open++;
        } else if (created) {
            ktab_del(&gs->by_cid, entry);
        }
    }
    pthread_mutex_unlock(&gs->lock);
}

/* The delivery holds `open`, so that none of this ends the request. */
void
gate_untook(struct gate_request *r, uint64_t cid)
{
    struct gates *gs = r->gate->home;
    struct list_node *node;
    struct list_node *next;
    pthread_mutex_lock(&gs->lock);
    LIST_FOREACH_SAFE(node, next, &r->takers)
    {
        struct gate_taker *t = LIST_ENTRY(node, struct gate_taker, by_request);
        if (t->cid == cid) {
            list_remove(node);
            forget_taker(gs, t);
            break;
        }
    }
    pthread_mutex_unlock(&gs->lock);
}

void
gate_hold(struct gate_request *r)
{
    struct gates *gs = r->gate->home;
    pthread_mutex_lock(&gs->lock);
    r->refs++;
    r->open++;
    pthread_mutex_unlock(&gs->lock);
}

void
gate_let_go(struct gate_request *r)
{
    struct gates *gs = r->gate->home;
    pthread_mutex_lock(&gs->lock);
    bool left = close_one(gs, r);
    pthread_mutex_unlock(&gs->lock);
    if (left) {
        slot_done(r);
    }
    gate_request_release(r);
}

void
gate_sent(struct gate_request *r, size_t receivers)
{
    struct gates *gs = r->gate->home;
    bool left = false;
    mem_free(r->data);
    r->data = NULL;
    pthread_mutex_lock(&gs->lock);
    if (receivers == 0 && r->state == GATE_RUNNING) {
        slot_leave(gs, r, END_NO_RESPONDERS);
        left = true;
        r->open--;
    } else {
        left = close_one(gs, r);
    }
    pthread_mutex_unlock(&gs->lock);
    if (left) {
        slot_done(r);
    }
    gate_request_release(r);
}

void
gate_replied(struct gate_watch *w, const char *subject, size_t n)
{
    struct gates *gs = w->home;
    pthread_mutex_lock(&gs->lock);
    struct gate_request *r = slot_find(gs, w, subject, n);
    if (r != NULL) {
        slot_leave(gs, r, END_REPLIED);
    }
    pthread_mutex_unlock(&gs->lock);
    if (r != NULL) {
        slot_done(r);
    }
}

void
slot_conn_closed(struct gates *gs, uint64_t cid)
{
    struct list_node left;
    struct list_node *node;
    struct taker_entry *entry;
    list_init(&left);
    pthread_mutex_lock(&gs->lock);
    while ((entry = ktab_find(&gs->by_cid, cid)) != NULL) {
        struct gate_taker *t = LIST_ENTRY(entry->takers.next, struct gate_taker, by_cid);
        struct gate_request *r = t->r;
        list_remove(&t->by_request);
        forget_taker(gs, t);
        if (r->open == 0) {
            slot_leave(gs, r, END_RESPONDER_GONE);
            list_push_back(&left, &r->item.link);
        }
    }
    pthread_mutex_unlock(&gs->lock);
    while ((node = list_pop_front(&left)) != NULL) {
        slot_done(gate_request_of(LIST_ENTRY(node, struct apiq_item, link)));
    }
}
