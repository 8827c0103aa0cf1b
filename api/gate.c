/* SPDX-License-Identifier: Apache-2.0 */
/* The happy path: gate_receive copies the message and pushes it; gate_pump, called after each push
 * and each freed slot, pulls it into a slot and gives it to the host, which delivers it on the
 * loop of its origin (gate_begin … gate_sent); the first reply frees the slot (gate_slot.c).
 * What goes wrong: no memory or no room (refused), it falls out, it expires, its connection closes
 * or its reply loses all interest (cancelled); nobody is there, the responders close, no reply
 * comes (the slot is freed, and that is counted); the gate is removed (passed on). */
#include "api/gate.h"

#include <string.h>

#include "api/gate_priv.h"
#include "api/gate_request.h"
#include "api/gate_slot.h"
#include "api/header.h"
#include "server/base/mem.h"

/* Whether the reply still has a reader is not worth a look-up where the request hardly waited. */
#define WATCH_WAIT CLOCK_MS

enum status
gate_new(struct gate **out, struct gates *gs, const struct gate_conf *c)
{
    struct gate *g = mem_alloc(sizeof(*g));
    if (g == NULL) {
        return ST_NOMEM;
    }
    if (apiq_new(&g->q, &gs->clock, (unsigned)c->limit) != ST_OK) {
        mem_free(g);
        return ST_NOMEM;
    }
    atomic_init(&g->refs, 1);
    g->home = gs;
    g->conf = *c;
    list_init(&g->running);
    *out = g;
    return ST_OK;
}

struct gate *
gate_ref(struct gate *g)
{
    atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
    return g;
}

void
gate_unref(struct gate *g)
{
    if (g != NULL && atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) == 1) {
        apiq_free(g->q);
        mem_free(g);
    }
}

/* A text behind the struct, with a NUL. */
static const char *
put(char **at, const char *s, size_t n)
{
    char *p = *at;
    memcpy(p, s, n);
    p[n] = '\0';
    *at = p + n + 1;
    return p;
}

static enum status
request_new(struct gate_request **out, struct gate *g, const struct api_message *m)
{
    size_t subject = strlen(m->subject);
    size_t reply = strlen(m->reply);
    size_t hdr_len = m->hdr == NULL ? 0 : m->hdr_len;
    size_t size = hdr_len + m->data_len;
    struct gate_request *r = mem_alloc_raw(sizeof(*r) + subject + reply + 2);
    char *data = size > 0 ? mem_alloc_raw(size) : NULL;
    if (r == NULL || (data == NULL && size > 0)) {
        mem_free(r);
        mem_free(data);
        return ST_NOMEM;
    }
    char *at = (char *)(r + 1);
    *r = (struct gate_request){.gate = gate_ref(g),
                               .account = m->origin.account,
                               .loop = m->origin.loop,
                               .cid = m->origin.cid,
                               .refs = 1,
                               .data = data,
                               .size = size,
                               .hdr_len = hdr_len,
                               .subject_len = subject,
                               .reply_len = reply,
                               .reply_hash = hash_bytes(m->reply, reply)};
    r->subject = put(&at, m->subject, subject);
    r->reply = put(&at, m->reply, reply);
    if (size > 0) {
        memcpy(data, m->hdr == NULL ? m->data : m->hdr, size);
    }
    list_init(&r->takers);
    apiq_item_init(&r->item);
    r->item.level = APIQ_NORMAL;
    r->item.flow = m->origin.account_key;
    r->item.bytes = sizeof(*r) + subject + reply + 2 + size;
    r->item.label = r->subject;
    r->item.name = m->origin.account_name;
    *out = r;
    return ST_OK;
}

/* Ends a request that waits or has just been pulled, and holds no slot. */
static void
end_unrun(struct gate_request *r, enum gate_end e)
{
    struct gate *g = r->gate;
    struct gate_asker to = {r->account, r->loop, r->subject, r->reply};
    pthread_mutex_lock(&g->home->lock);
    g->counts.queued--;
    g->counts.ended[e]++;
    pthread_mutex_unlock(&g->home->lock);
    gate_tell(g, &to, e);
    gate_request_free(r);
}

size_t
gate_fallen(struct gate *g, struct list_node *fallen, enum gate_end e)
{
    (void)g;
    size_t n = 0;
    struct apiq_item *it;
    while ((it = apiq_fallen_pop(fallen)) != NULL) {
        end_unrun(gate_request_of(it), e);
        n++;
    }
    return n;
}

/* The gate is removed: as without one. */
static void
pass_on(struct gate_request *r)
{
    struct gate *g = r->gate;
    pthread_mutex_lock(&g->home->lock);
    g->counts.queued--;
    g->counts.ended[GATE_PASSED]++;
    r->state = GATE_FREE;
    r->refs = 1;
    r->open = 1;
    pthread_mutex_unlock(&g->home->lock);
    g->home->host->gate_deliver(g->home->host->ctx, r);
}

/* It has been pulled, so a slot is its own. */
static void
start(struct gate_request *r)
{
    struct gate *g = r->gate;
    struct gates *gs = g->home;
    bool unheard = r->watch && r->item.pulled_ns - r->item.pushed_ns >= WATCH_WAIT &&
                   !gs->host->has_interest(gs->host->ctx, r->account, r->reply);
    enum status st = ST_OK;
    if (!unheard) {
        pthread_mutex_lock(&gs->lock);
        st = slot_enter(gs, r);
        pthread_mutex_unlock(&gs->lock);
    }
    if (!unheard && st == ST_OK) {
        gs->host->gate_deliver(gs->host->ctx, r);
        return;
    }
    apiq_done(g->q, &r->item);
    if (st == ST_CLOSED) {
        pass_on(r);
    } else {
        end_unrun(r, unheard ? GATE_UNHEARD : GATE_NOMEM);
    }
}

void
gate_pump(struct gate *g)
{
    struct apiq_item *it;
    for (;;) {
        enum status st = apiq_pull(g->q, APIQ_LANE_ANY, &it);
        if (st == ST_OK) {
            start(gate_request_of(it));
        } else if (st == ST_EXPIRED) {
            end_unrun(gate_request_of(it), GATE_LATE);
        } else if (st == ST_CANCELLED && atomic_load(&g->passes)) {
            pass_on(gate_request_of(it));
        } else if (st == ST_CANCELLED) {
            end_unrun(gate_request_of(it), GATE_SHUTDOWN);
        } else {
            return;
        }
    }
}

/* Received, and waits from now on. */
static void
admit(struct gate *g)
{
    struct gates *gs = g->home;
    pthread_mutex_lock(&gs->lock);
    g->counts.received++;
    g->counts.queued++;
    if (gs->resting) {
        gs->resting = false;
        pthread_cond_signal(&gs->wake);
    }
    pthread_mutex_unlock(&gs->lock);
}

static void
no_memory(struct gate *g, const struct api_message *m)
{
    struct gate_asker to = {m->origin.account, m->origin.loop, m->subject, m->reply};
    pthread_mutex_lock(&g->home->lock);
    g->counts.received++;
    g->counts.ended[GATE_NOMEM]++;
    pthread_mutex_unlock(&g->home->lock);
    gate_tell(g, &to, GATE_NOMEM);
}

/* A header that is no time is the service's business and not ours: as if there were none. */
static bool
prepare(struct gate_request *r, const struct api_message *m)
{
    const struct api_host *host = r->gate->home->host;
    int64_t timeout = 0;
    bool has = header_timeout(m->hdr, m->hdr_len, &timeout) == ST_OK;
    r->watch = m->origin.is_client && host->has_interest(host->ctx, r->account, r->reply);
    r->item.owner = r->watch ? r->cid : 0;
    if (has) {
        r->item.arrived_ns = m->now;
        r->item.deadline_ns = timeout;
    }
    return !has || timeout > 0;
}

static enum gate_end
end_of_push(enum status st)
{
    return st == ST_EXPIRED ? GATE_LATE : st == ST_NOMEM ? GATE_NOMEM : GATE_LIMIT;
}

/* False: the queue is closed; r is gone, and was not counted. */
static bool
push(struct gate *g, struct gate_request *r)
{
    struct list_node fallen;
    list_init(&fallen);
    enum status st = apiq_push(g->q, &r->item, &fallen);
    if (st == ST_CLOSED) {
        pthread_mutex_lock(&g->home->lock);
        g->counts.received--;
        g->counts.queued--;
        pthread_mutex_unlock(&g->home->lock);
        gate_request_free(r);
        return false;
    }
    if (st != ST_OK) {
        end_unrun(r, end_of_push(st));
    }
    (void)gate_fallen(g, &fallen, GATE_FULL);
    return true;
}

bool
gate_receive(struct gate *g, const struct api_message *m)
{
    struct gate_request *r;
    if (request_new(&r, g, m) != ST_OK) {
        no_memory(g, m);
        return true;
    }
    bool in_time = prepare(r, m);
    admit(g);
    if (!in_time) {
        end_unrun(r, GATE_LATE);
        return true;
    }
    if (!push(g, r)) {
        return false;
    }
    gate_pump(g);
    return true;
}

static void
all_done(struct list_node *left)
{
    struct list_node *node;
    while ((node = list_pop_front(left)) != NULL) {
        slot_done(gate_request_of(LIST_ENTRY(node, struct apiq_item, link)));
    }
}

void
gate_time_out(struct gate *g)
{
    struct gates *gs = g->home;
    struct list_node late;
    list_init(&late);
    int64_t now = clock_now(&gs->clock);
    pthread_mutex_lock(&gs->lock);
    while (g->conf.reply_timeout > 0 && !list_is_empty(&g->running)) {
        struct gate_request *r = LIST_ENTRY(g->running.next, struct gate_request, run);
        if (now - r->began < g->conf.reply_timeout) {
            break;
        }
        slot_leave(gs, r, GATE_TIMEOUT);
        list_push_back(&late, &r->item.link);
    }
    pthread_mutex_unlock(&gs->lock);
    all_done(&late);
}

void
gate_let_run(struct gate *g)
{
    struct gates *gs = g->home;
    struct list_node left;
    list_init(&left);
    pthread_mutex_lock(&gs->lock);
    g->gone = true;
    while (!list_is_empty(&g->running)) {
        struct gate_request *r = LIST_ENTRY(g->running.next, struct gate_request, run);
        slot_leave(gs, r, GATE_PASSED);
        list_push_back(&left, &r->item.link);
    }
    pthread_mutex_unlock(&gs->lock);
    all_done(&left);
}

/* ---- the host's part ---- */

void *
gate_mail(struct gate_request *r)
{
    return r->mail;
}

struct gate_request *
gate_of_mail(void *mail)
{
    return LIST_ENTRY(mail, struct gate_request, mail);
}

uint32_t
gate_loop(const struct gate_request *r)
{
    return r->loop;
}

uint64_t
gate_cid(const struct gate_request *r)
{
    return r->cid;
}

bool
gate_begin(struct gate_request *r, bool is_there, struct gate_delivery *out)
{
    struct gates *gs = r->gate->home;
    bool cancelled = false;
    if (r->watch && !is_there) {
        pthread_mutex_lock(&gs->lock);
        cancelled = r->state == GATE_RUNNING;
        if (cancelled) {
            slot_leave(gs, r, GATE_LEFT);
        }
        pthread_mutex_unlock(&gs->lock);
    }
    if (cancelled) {
        slot_done(r);
        gate_request_release(r);
        return false;
    }
    *out = (struct gate_delivery){.account = r->account,
                                  .cid = r->cid,
                                  .subject = r->subject,
                                  .reply = r->reply,
                                  .subject_len = r->subject_len,
                                  .reply_len = r->reply_len,
                                  .data = r->data == NULL ? "" : r->data,
                                  .size = r->size,
                                  .hdr_len = r->hdr_len};
    return true;
}
