/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: event_base_loop hands out one batch of ready events; connections read, parse and
 * deliver into out-buffers; end_of_turn posts what goes to other loops, flushes each connection
 * that got something, and frees those that closed. Without events the thread sleeps in the kernel.
 * Failure: a loop that cannot be made leaves nothing behind; once it runs it only ends by
 * loop_stop. */
#include "server/net/loop.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "server/auth/auth.h"
#include "server/base/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/conn_free.h"
#include "server/net/stall.h"
#include "server/proto/info.h"
#include "server/route/cache.h"
#include "server/route/deliver.h"
#include "server/server.h"
#include "stream/js.h"

enum { ID_TABLE_MIN = 64, KEEP_CHUNKS = 64, JS_ROUNDS = 4 };

/* The loop of this thread, while it will look into its mailbox before it sleeps: no wake needed. */
static _Thread_local const struct loop *awake;

static void
run_mail(struct loop *l)
{
    struct list_node batch;
    list_init(&batch);
    pthread_mutex_lock(&l->lock);
    list_splice_back(&batch, &l->inbox);
    pthread_mutex_unlock(&l->lock);
    struct list_node *node;
    while ((node = list_pop_front(&batch)) != NULL) {
        struct loop_msg *msg = LIST_ENTRY(node, struct loop_msg, node);
        atomic_fetch_sub_explicit(&l->inbox_bytes, (int64_t)msg->bytes, memory_order_relaxed);
        msg->run(l, msg);
    }
}

static bool
take_mail(struct loop *l)
{
    uint64_t n;
    if (read(l->wake_fd, &n, sizeof n) < 0) {
        return false;
    }
    run_mail(l);
    return true;
}

static void
on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    take_mail(arg);
}

static void
wake(struct loop *l)
{
    uint64_t one = 1;
    ssize_t n = write(l->wake_fd, &one, sizeof one);
    ASSERT(n == (ssize_t)sizeof one);
}

void
loop_post_list(struct loop *l, struct list_node *list, size_t bytes)
{
    if (list_is_empty(list)) {
        return;
    }
    atomic_fetch_add_explicit(&l->inbox_bytes, (int64_t)bytes, memory_order_relaxed);
    pthread_mutex_lock(&l->lock);
    bool was_empty = list_is_empty(&l->inbox);
    list_splice_back(&l->inbox, list);
    pthread_mutex_unlock(&l->lock);
    if (was_empty && awake != l) {
        wake(l);
    }
}

void
loop_post(struct loop *l, struct loop_msg *msg)
{
    struct list_node one;
    list_init(&one);
    list_push_back(&one, &msg->node);
    loop_post_list(l, &one, msg->bytes);
}

static enum status
make_events(struct loop *l)
{
    struct event_config *cfg = event_config_new();
    if (cfg == NULL) {
        return ST_NOMEM;
    }
    event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
    l->base = event_base_new_with_config(cfg);
    event_config_free(cfg);
    if (l->base == NULL) {
        return ST_NOMEM;
    }
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->wake_fd < 0) {
        event_base_free(l->base);
        return ST_IO;
    }
    event_assign(&l->wake_ev, l->base, l->wake_fd, EV_READ | EV_PERSIST, on_wake, l);
    event_add(&l->wake_ev, NULL);
    event_assign(&l->stall_timer, l->base, -1, 0, stall_on_timer, l);
    late_init(&l->late, l->base, clock_mono_ns());
    return ST_OK;
}

static enum status
make_tables(struct loop *l, uint32_t n_loops, size_t max_closed)
{
    l->by_id = mem_alloc_array(ID_TABLE_MIN, sizeof *l->by_id);
    l->rbuf = mem_alloc_raw(LOOP_CARRY_SIZE + LOOP_READ_SIZE);
    l->out = mem_alloc_array(n_loops, sizeof *l->out);
    l->out_bytes = mem_alloc_array(n_loops, sizeof *l->out_bytes);
    if (l->by_id == NULL || l->rbuf == NULL || l->out == NULL || l->out_bytes == NULL) {
        return ST_NOMEM;
    }
    l->n_by_id = ID_TABLE_MIN;
    for (uint32_t i = 0; i < n_loops; i++) {
        list_init(&l->out[i]);
    }
    enum status st = route_cache_new(&l->cache);
    return st == ST_OK ? closed_ring_new(&l->closed, max_closed) : st;
}

static void
free_tables(struct loop *l)
{
    mem_free(l->by_id);
    mem_free(l->rbuf);
    mem_free(l->out);
    mem_free(l->out_bytes);
    route_cache_free(l->cache);
    closed_ring_free(l->closed);
    match_fini(&l->match);
    outpool_fini(&l->pool);
}

enum status
loop_new(struct loop **out, const struct loop_spec *spec)
{
    enum status st = ST_NOMEM;
    struct loop *l = mem_alloc(sizeof *l);
    if (l == NULL) {
        goto err_after_nothing;
    }
    l->index = spec->index;
    l->server = spec->server;
    list_init(&l->conns);
    list_init(&l->dirty);
    list_init(&l->stalled);
    list_init(&l->graveyard);
    list_init(&l->lingering);
    list_init(&l->inbox);
    outpool_init(&l->pool, KEEP_CHUNKS);
    pthread_mutex_init(&l->lock, NULL);
    if (getrandom(&l->rng, sizeof l->rng, 0) != (ssize_t)sizeof l->rng || l->rng == 0) {
        l->rng = 1 + (uint64_t)spec->index;
    }
    int64_t max_closed = spec->cfg->max_closed_clients / (int64_t)spec->n_loops;
    st = make_tables(l, spec->n_loops, max_closed > 0 ? (size_t)max_closed : 0);
    if (st == ST_OK) {
        st = make_events(l);
    }
    if (st != ST_OK) {
        goto err_after_loop;
    }
    l->cfg = spec->cfg;
    l->auth = spec->auth;
    l->info = spec->info;
    *out = l;
    return ST_OK;

err_after_loop:
    free_tables(l);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
err_after_nothing:
    config_unref(spec->cfg);
    auth_unref(spec->auth);
    info_unref(spec->info);
    return st;
}

static void
flush_all(struct loop *l)
{
    struct list_node *node;
    deliver_flush(l);
    while ((node = list_pop_front(&l->dirty)) != NULL) {
        struct conn *c = LIST_ENTRY(node, struct conn, dirty);
        c->is_dirty = false;
        conn_flush(c);
    }
}

void
loop_js_turn(struct loop *l)
{
    l->js_turn = true;
    awake = l;
}

/* What the turn stored is written, and its acknowledgements go out with this turn's flush. They may
 * bring more to be stored (sources, republishing), which is left to the writer after some rounds.
 */
static void
commit_turn(struct loop *l)
{
    for (int i = 0; l->js_turn && i <= JS_ROUNDS; i++) {
        l->js_turn = false;
        js_turn_end(server_js(l->server), i < JS_ROUNDS);
        if (i < JS_ROUNDS) {
            run_mail(l);
        }
    }
    awake = NULL;
    pthread_mutex_lock(&l->lock);
    bool more = !list_is_empty(&l->inbox);
    pthread_mutex_unlock(&l->lock);
    if (more) {
        wake(l);
    }
}

static void
end_of_turn(struct loop *l)
{
    struct list_node *node;
    if (l->js_turn) {
        commit_turn(l);
    }
    flush_all(l);
    stall_check(l); /* those that go on read what they had left unread */
    if (l->js_turn) {
        commit_turn(l);
    }
    flush_all(l);
    route_cache_sweep(l);
    while ((node = list_pop_front(&l->graveyard)) != NULL) {
        conn_free(LIST_ENTRY(node, struct conn, all));
    }
    if (l->js_turn) {
        wake(l); /* somebody who closed left something to store */
    }
}

static void
turn(struct loop *l)
{
    late_wait(&l->late, clock_mono_ns());
    if (event_base_loop(l->base, EVLOOP_ONCE) < 0) {
        static struct log_limit limit;
        uint64_t held;
        if (log_limit_pass(&limit, &held)) {
            log_error("I/O loop %u: the kernel refused to wait for events", l->index);
        }
    }
    end_of_turn(l);
}

static void *
run(void *arg)
{
    struct loop *l = arg;
    char name[16];
    snprintf(name, sizeof name, "io-%u", l->index);
    pthread_setname_np(pthread_self(), name);
    while (!l->stopping) {
        turn(l);
    }
    struct list_node *node;
    while ((node = l->conns.next) != &l->conns) {
        conn_close(LIST_ENTRY(node, struct conn, all), CLOSE_SHUTDOWN);
    }
    end_of_turn(l);
    /* Each of these has its time-out. */
    while (!list_is_empty(&l->lingering)) {
        turn(l);
    }
    return NULL;
}

enum status
loop_start(struct loop *l)
{
    if (pthread_create(&l->thread, NULL, run, l) != 0) {
        return ST_LIMIT;
    }
    return ST_OK;
}

static void
on_stop(struct loop *l, struct loop_msg *msg)
{
    (void)msg; /* lives on the stack of loop_stop, which waits */
    l->stopping = true;
}

void
loop_stop(struct loop *l)
{
    struct loop_msg stop = {.run = on_stop};
    loop_post(l, &stop);
    pthread_join(l->thread, NULL);
    l->thread = pthread_self();
}

bool
loop_drain(struct loop *l)
{
    /* With no connection left this only frees what the messages hold. */
    bool any = take_mail(l);
    end_of_turn(l);
    return any;
}

void
loop_free(struct loop *l)
{
    if (l == NULL) {
        return;
    }
    event_del(&l->wake_ev);
    event_del(&l->stall_timer);
    late_fini(&l->late);
    close(l->wake_fd);
    event_base_free(l->base);
    free_tables(l);
    config_unref(l->cfg);
    auth_unref(l->auth);
    info_unref(l->info);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

struct conn *
loop_find(struct loop *l, uint64_t cid)
{
    struct conn *c = l->by_id[cid & (l->n_by_id - 1)];
    while (c != NULL && c->cid != cid) {
        c = c->id_next;
    }
    return c;
}

static void
grow_ids(struct loop *l)
{
    size_t n = l->n_by_id * 2;
    if (atomic_load(&l->stats.conns) < (int64_t)l->n_by_id) {
        return;
    }
    struct conn **table = mem_alloc_array(n, sizeof *table);
    if (table == NULL) {
        return; /* longer chains, still right */
    }
    for (size_t i = 0; i < l->n_by_id; i++) {
        while (l->by_id[i] != NULL) {
            struct conn *c = l->by_id[i];
            l->by_id[i] = c->id_next;
            c->id_next = table[c->cid & (n - 1)];
            table[c->cid & (n - 1)] = c;
        }
    }
    mem_free(l->by_id);
    l->by_id = table;
    l->n_by_id = n;
}

void
loop_add(struct loop *l, struct conn *c)
{
    grow_ids(l);
    struct conn **slot = &l->by_id[c->cid & (l->n_by_id - 1)];
    c->id_next = *slot;
    *slot = c;
    list_push_back(&l->conns, &c->all);
    LOOP_COUNT(l->stats.conns, 1);
    LOOP_COUNT(l->stats.total_conns, 1);
}

void
loop_remove(struct loop *l, struct conn *c)
{
    struct conn **link = &l->by_id[c->cid & (l->n_by_id - 1)];
    while (*link != c) {
        link = &(*link)->id_next;
    }
    *link = c->id_next;
    list_remove(&c->all);
    list_push_back(&l->graveyard, &c->all);
    LOOP_COUNT(l->stats.conns, -1);
}

/* xorshift64* (Vigna, 2016): cheap and even enough to choose a queue member. */
uint64_t
loop_random(struct loop *l)
{
    l->rng ^= l->rng >> 12;
    l->rng ^= l->rng << 25;
    l->rng ^= l->rng >> 27;
    return l->rng * UINT64_C(2685821657736338717);
}
