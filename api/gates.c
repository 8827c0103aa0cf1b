/* SPDX-License-Identifier: Apache-2.0 */
/* The registry. Whoever changes it takes the turn first (begin_change), so that the lock need not
 * be held while the host is told and queues are changed; readers take the lock for a moment. */
#include "api/gates.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/gate_group.h"
#include "api/gate_priv.h"
#include "api/gate_request.h"
#include "api/gate_slot.h"
#include "api/group_admin.h"
#include "server/base/assert.h"
#include "server/base/log.h"
#include "server/base/mem.h"

/* How exactly deadlines and reply timeouts are kept, while anything waits. */
#define TICK (20 * CLOCK_MS)

static bool
must_tick(const struct gates *gs)
{
    for (size_t i = 0; i < gs->n; i++) {
        const struct gate *g = gs->v[i];
        if (g->counts.queued > 0 || (g->conf.reply_timeout > 0 && g->counts.running > 0)) {
            return true;
        }
    }
    return false;
}

static void *
run(void *arg)
{
    struct gates *gs = arg;
    (void)pthread_setname_np(pthread_self(), "gate-tick");
    pthread_mutex_lock(&gs->lock);
    while (!gs->stop) {
        gs->resting = !must_tick(gs);
        if (gs->resting) {
            pthread_cond_wait(&gs->wake, &gs->lock);
            continue;
        }
        struct timespec at;
        (void)clock_gettime(CLOCK_MONOTONIC, &at);
        int64_t then = (int64_t)at.tv_sec * CLOCK_S + at.tv_nsec + TICK;
        at = (struct timespec){.tv_sec = (time_t)(then / CLOCK_S),
                               .tv_nsec = (long)(then % CLOCK_S)};
        (void)pthread_cond_timedwait(&gs->wake, &gs->lock, &at);
        pthread_mutex_unlock(&gs->lock);
        gates_tick(gs);
        pthread_mutex_lock(&gs->lock);
    }
    pthread_mutex_unlock(&gs->lock);
    return NULL;
}

static void
init_sync(struct gates *gs)
{
    pthread_condattr_t attr;
    ASSERT(pthread_mutex_init(&gs->lock, NULL) == 0);
    ASSERT(pthread_condattr_init(&attr) == 0);
    ASSERT(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    ASSERT(pthread_cond_init(&gs->wake, &attr) == 0);
    ASSERT(pthread_cond_init(&gs->turn, NULL) == 0);
    pthread_condattr_destroy(&attr);
}

static void
fini_sync(struct gates *gs)
{
    pthread_cond_destroy(&gs->wake);
    pthread_cond_destroy(&gs->turn);
    pthread_mutex_destroy(&gs->lock);
}

enum status
gates_new(struct gates **out, const struct api_host *host, const struct clock *clock,
          const struct gates_plane *plane, bool thread)
{
    enum status st = ST_NOMEM;
    struct gates *gs = mem_alloc(sizeof(*gs));
    if (gs == NULL) {
        return ST_NOMEM;
    }
    gs->host = host;
    gs->clock = *clock;
    gs->plane = *plane;
    if (ktab_init(&gs->by_reply, sizeof(struct reply_entry)) != ST_OK) {
        goto err_after_alloc;
    }
    if (ktab_init(&gs->by_cid, sizeof(struct taker_entry)) != ST_OK) {
        goto err_after_reply;
    }
    init_sync(gs);
    if (thread && pthread_create(&gs->thread, NULL, run, gs) != 0) {
        st = ST_AGAIN;
        goto err_after_sync;
    }
    gs->has_thread = thread;
    *out = gs;
    return ST_OK;

err_after_sync:
    fini_sync(gs);
    ktab_fini(&gs->by_cid);
err_after_reply:
    ktab_fini(&gs->by_reply);
err_after_alloc:
    mem_free(gs);
    return st;
}

/* ---- looking ---- */

struct gate *
gates_at(struct gates *gs, size_t i)
{
    pthread_mutex_lock(&gs->lock);
    struct gate *g = i < gs->n ? gate_ref(gs->v[i]) : NULL;
    pthread_mutex_unlock(&gs->lock);
    return g;
}

static size_t
index_of(const struct gates *gs, const char *name)
{
    size_t i = 0;
    while (i < gs->n && strcmp(gs->v[i]->conf.name, name) != 0) {
        i++;
    }
    return i;
}

static struct gate *
find(struct gates *gs, const char *name)
{
    pthread_mutex_lock(&gs->lock);
    size_t i = index_of(gs, name);
    struct gate *g = i < gs->n ? gate_ref(gs->v[i]) : NULL;
    pthread_mutex_unlock(&gs->lock);
    return g;
}

/* Takes the reference. */
static bool
look(struct gates *gs, struct gate *g, struct gate_info *out)
{
    struct apiq_stats q;
    if (g == NULL) {
        return false;
    }
    apiq_stats(g->q, &q);
    struct group_info group;
    pthread_mutex_lock(&gs->lock);
    *out = (struct gate_info){.conf = g->conf, .from_config = g->from_config, .counts = g->counts};
    pthread_mutex_unlock(&gs->lock);
    out->queue = q.level[APIQ_NORMAL];
    out->drain_ns = apiq_drain_ns(g->q, APIQ_NORMAL);
    out->group_missing = out->conf.group[0] != '\0' &&
                         groups_find(gs->plane.groups, out->conf.group, &group) != ST_OK;
    gate_unref(g);
    return true;
}

size_t
gates_count(const struct gates *gs)
{
    return atomic_load(&gs->count);
}

bool
gates_info(struct gates *gs, size_t i, struct gate_info *out)
{
    return look(gs, gates_at(gs, i), out);
}

bool
gates_find(struct gates *gs, const char *name, struct gate_info *out)
{
    return look(gs, find(gs, name), out);
}

void
gates_tick(struct gates *gs)
{
    struct gate *g;
    for (size_t i = 0; (g = gates_at(gs, i)) != NULL; i++) {
        gate_time_out(g);
        gate_pump(g);
        gate_unref(g);
    }
    gate_settle(gs);
}

void
gates_conn_closed(struct gates *gs, uint64_t cid)
{
    struct gate *g;
    if (atomic_load(&gs->count) == 0) {
        return;
    }
    for (size_t i = 0; (g = gates_at(gs, i)) != NULL; i++) {
        struct list_node gone;
        list_init(&gone);
        if (apiq_cancel_owner(g->q, cid, &gone) > 0) {
            (void)gate_fallen(g, &gone, END_DISCONNECT);
        }
        gate_unref(g);
    }
    slot_conn_closed(gs, cid);
    gate_settle(gs);
}

void
gates_stir(struct gates *gs)
{
    if (gs->resting) {
        gs->resting = false;
        pthread_cond_signal(&gs->wake);
    }
}

/* ---- changing ---- */

static enum status
begin_change(struct gates *gs)
{
    pthread_mutex_lock(&gs->lock);
    while (gs->changing) {
        pthread_cond_wait(&gs->turn, &gs->lock);
    }
    bool closed = gs->closed;
    gs->changing = !closed;
    pthread_mutex_unlock(&gs->lock);
    return closed ? ST_CLOSED : ST_OK;
}

static void
end_change(struct gates *gs)
{
    pthread_mutex_lock(&gs->lock);
    gs->changing = false;
    pthread_cond_signal(&gs->turn);
    pthread_mutex_unlock(&gs->lock);
}

/* The watch of an account, found or made. Only in a change. */
static struct gate_watch *
watch_of(struct gates *gs, struct account *account, uint64_t key)
{
    struct gate_watch *w = gs->watches;
    while (w != NULL && w->account != account) {
        w = w->next;
    }
    if (w == NULL && (w = mem_alloc(sizeof(*w))) != NULL) {
        w->home = gs;
        w->account = account;
        w->account_key = key;
        w->next = gs->watches;
        gs->watches = w;
    }
    return w;
}

static enum status
insert(struct gates *gs, struct gate *g)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&gs->lock);
    if (gs->n == gs->cap) {
        size_t cap = gs->cap > 0 ? gs->cap * 2 : 8;
        struct gate **v = mem_realloc(gs->v, cap * sizeof(*v));
        st = v == NULL ? ST_NOMEM : ST_OK;
        gs->v = v == NULL ? gs->v : v;
        gs->cap = v == NULL ? gs->cap : cap;
    }
    if (st == ST_OK) {
        gs->v[gs->n++] = g;
        atomic_store(&gs->count, gs->n);
    }
    pthread_mutex_unlock(&gs->lock);
    return st;
}

/* Out of the list, not of the world; its reference goes to the caller. */
static struct gate *
take_out(struct gates *gs, size_t i)
{
    pthread_mutex_lock(&gs->lock);
    struct gate *g = gs->v[i];
    memmove(&gs->v[i], &gs->v[i + 1], (gs->n - i - 1) * sizeof(struct gate *));
    gs->n--;
    atomic_store(&gs->count, gs->n);
    pthread_mutex_unlock(&gs->lock);
    return g;
}

static enum status
set_queue(struct gate *g, const struct gate_conf *c, struct list_node *fallen)
{
    struct apiq_conf q;
    apiq_get_conf(g->q, APIQ_NORMAL, &q);
    q.order = c->discipline;
    q.max_entries = (size_t)c->request_queue_limit;
    q.deadline_ns = c->request_deadline;
    q.max_pending = 0;
    enum status st = apiq_configure(g->q, APIQ_NORMAL, &q, fallen);
    if (st == ST_OK) {
        apiq_set_slots(g->q, (unsigned)c->limit);
    }
    return st;
}

static enum status
make(struct gates *gs, const struct gate_conf *c, bool from_config, char *err)
{
    struct list_node none;
    struct gate *g;
    uint64_t key;
    list_init(&none);
    struct account *account = gs->host->account(gs->host->ctx, c->account, &key);
    if (account == NULL) {
        (void)snprintf(err, GATE_ERR_LEN, "account: there is no account \"%.200s\"", c->account);
        return ST_NOTFOUND;
    }
    (void)snprintf(err, GATE_ERR_LEN, "%s", status_text(ST_NOMEM));
    struct gate_watch *w = watch_of(gs, account, key);
    if (w == NULL || gate_new(&g, gs, c) != ST_OK) {
        return ST_NOMEM;
    }
    g->watch = w;
    g->from_config = from_config;
    enum status st = set_queue(g, c, &none);
    if (st == ST_OK) {
        st = insert(gs, g);
    }
    if (st != ST_OK) {
        gate_unref(g);
        return st;
    }
    st = gs->host->gate_open(gs->host->ctx, w, g, c->subject, &g->handle);
    if (st != ST_OK) {
        gate_unref(take_out(gs, gs->n - 1));
    }
    return st;
}

/* pass: what waits is delivered; else it is refused. What runs is no longer waited for. Returns how
 * many were passed on. */
static size_t
unmake(struct gates *gs, size_t i, bool pass)
{
    struct gate *g = take_out(gs, i);
    gs->host->gate_close(gs->host->ctx, g->watch, g->handle);
    atomic_store(&g->passes, pass);
    apiq_close(g->q);
    gate_pump(g);
    groups_close_room(gs->plane.groups, &g->room);
    pthread_mutex_lock(&gs->lock);
    size_t passed = (size_t)g->counts.ended[END_PASSED_ON];
    pthread_mutex_unlock(&gs->lock);
    gate_let_run(g);
    gate_settle(gs);
    gate_unref(g);
    return passed;
}

static enum status
change(struct gates *gs, struct gate *g, const struct gate_conf *c, bool from_config,
       size_t *evicted)
{
    struct list_node fallen;
    list_init(&fallen);
    enum status st = set_queue(g, c, &fallen);
    if (st == ST_OK) {
        pthread_mutex_lock(&gs->lock);
        g->conf = *c;
        g->from_config = g->from_config || from_config;
        gates_stir(gs);
        pthread_mutex_unlock(&gs->lock);
        gate_group_set(g, c->group);
    }
    *evicted = gate_fallen(g, &fallen, END_EVICTED);
    gate_pump(g);
    groups_room(gs->plane.groups, &g->room);
    gate_settle(gs);
    return st;
}

/* The first gate that c is in the way of: same name, or subjects that overlap; or n. */
static size_t
in_the_way(const struct gates *gs, const struct gate_conf *c)
{
    size_t i = 0;
    while (i < gs->n && strcmp(gs->v[i]->conf.name, c->name) != 0 &&
           !gate_conf_overlaps(&gs->v[i]->conf, c)) {
        i++;
    }
    return i;
}

enum status
gates_create(struct gates *gs, const struct gate_conf *c, char *err)
{
    enum status st = begin_change(gs);
    if (st != ST_OK) {
        (void)snprintf(err, GATE_ERR_LEN, "the server is shutting down");
        return st;
    }
    size_t i = in_the_way(gs, c);
    if (i < gs->n && strcmp(gs->v[i]->conf.name, c->name) == 0) {
        (void)snprintf(err, GATE_ERR_LEN, "name: there is a gate \"%s\" already", c->name);
        st = ST_EXISTS;
    } else if (i < gs->n) {
        (void)snprintf(err, GATE_ERR_LEN, "subject: \"%.160s\" overlaps \"%.120s\" of gate \"%s\"",
                       c->subject, gs->v[i]->conf.subject, gs->v[i]->conf.name);
        st = ST_EXISTS;
    } else if (gs->n >= GATES_MAX) {
        (void)snprintf(err, GATE_ERR_LEN, "there are %u gates already", GATES_MAX);
        st = ST_LIMIT;
    } else if ((st = gate_group_check(gs, c->group, err)) == ST_OK) {
        st = make(gs, c, false, err);
    }
    end_change(gs);
    return st;
}

static bool
moves(const struct gate_conf *a, const struct gate_conf *b)
{
    return strcmp(a->account, b->account) != 0 || strcmp(a->subject, b->subject) != 0;
}

/* NB: a group that is named already may be gone since, which is no reason to refuse the rest. */
static enum status
change_checked(struct gates *gs, struct gate *g, const struct gate_conf *c, size_t *evicted,
               char *err)
{
    enum status st = ST_OK;
    if (strcmp(g->conf.group, c->group) != 0) {
        st = gate_group_check(gs, c->group, err);
    }
    if (st == ST_OK && (st = change(gs, g, c, false, evicted)) != ST_OK) {
        (void)snprintf(err, GATE_ERR_LEN, "%s", status_text(st));
    }
    return st;
}

enum status
gates_update(struct gates *gs, const struct gate_conf *c, size_t *evicted, char *err)
{
    *evicted = 0;
    enum status st = begin_change(gs);
    if (st != ST_OK) {
        (void)snprintf(err, GATE_ERR_LEN, "the server is shutting down");
        return st;
    }
    size_t i = index_of(gs, c->name);
    if (i == gs->n) {
        (void)snprintf(err, GATE_ERR_LEN, "name: there is no gate \"%s\"", c->name);
        st = ST_NOTFOUND;
    } else if (moves(&gs->v[i]->conf, c)) {
        (void)snprintf(err, GATE_ERR_LEN, "%s: cannot be changed; delete and create the gate",
                       strcmp(gs->v[i]->conf.account, c->account) != 0 ? "account" : "subject");
        st = ST_INVAL;
    } else {
        st = change_checked(gs, gs->v[i], c, evicted, err);
    }
    end_change(gs);
    return st;
}

enum status
gates_delete(struct gates *gs, const char *name, size_t *passed, char *err)
{
    *passed = 0;
    enum status st = begin_change(gs);
    if (st != ST_OK) {
        (void)snprintf(err, GATE_ERR_LEN, "the server is shutting down");
        return st;
    }
    size_t i = index_of(gs, name);
    if (i == gs->n) {
        (void)snprintf(err, GATE_ERR_LEN, "name: there is no gate \"%.80s\"", name);
        st = ST_NOTFOUND;
    } else {
        *passed = unmake(gs, i, true);
    }
    end_change(gs);
    return st;
}

/* Gates of the configuration before that it no longer has, or has elsewhere; and any that are in
 * the way of its gates. */
static void
remove_for(struct gates *gs, const struct gate_conf *const *confs, size_t n)
{
    size_t i = 0;
    while (i < gs->n) {
        const struct gate *g = gs->v[i];
        bool keep = !g->from_config;
        bool same = false;
        for (size_t k = 0; k < n; k++) {
            same =
                same || (strcmp(confs[k]->name, g->conf.name) == 0 && !moves(confs[k], &g->conf));
            keep = keep && strcmp(confs[k]->name, g->conf.name) != 0 &&
                   !gate_conf_overlaps(confs[k], &g->conf);
        }
        if (keep || same) {
            i++;
            continue;
        }
        if (!g->from_config) {
            log_warn("Gate \"%s\", made over the API, makes way for one of the configuration",
                     g->conf.name);
        }
        (void)unmake(gs, i, true);
    }
}

enum status
gates_apply(struct gates *gs, const struct gate_conf *const *confs, size_t n)
{
    char err[GATE_ERR_LEN];
    enum status st = begin_change(gs);
    if (st != ST_OK) {
        return st;
    }
    remove_for(gs, confs, n);
    for (size_t k = 0; k < n && st == ST_OK; k++) {
        size_t evicted;
        size_t i = index_of(gs, confs[k]->name);
        if (i < gs->n) {
            st = change(gs, gs->v[i], confs[k], true, &evicted);
        } else {
            st = make(gs, confs[k], true, err);
        }
    }
    for (size_t i = 0; i < gs->n; i++) {
        if (gate_group_check(gs, gs->v[i]->conf.group, err) != ST_OK) {
            log_warn("Gate \"%s\" has no limit of a group now: %s", gs->v[i]->conf.name, err);
        }
    }
    end_change(gs);
    return st;
}

/* ---- the end ---- */

void
gates_close(struct gates *gs)
{
    if (begin_change(gs) != ST_OK) {
        return;
    }
    while (gs->n > 0) {
        (void)unmake(gs, gs->n - 1, false);
    }
    pthread_mutex_lock(&gs->lock);
    gs->closed = true;
    gs->stop = true;
    pthread_cond_signal(&gs->wake);
    pthread_mutex_unlock(&gs->lock);
    end_change(gs);
    if (gs->has_thread) {
        pthread_join(gs->thread, NULL);
    }
}

void
gates_free(struct gates *gs)
{
    if (gs == NULL) {
        return;
    }
    gates_close(gs);
    while (gs->watches != NULL) {
        struct gate_watch *w = gs->watches;
        gs->watches = w->next;
        mem_free(w);
    }
    ktab_fini(&gs->by_reply);
    ktab_fini(&gs->by_cid);
    fini_sync(gs);
    mem_free(gs->v);
    mem_free(gs);
}
