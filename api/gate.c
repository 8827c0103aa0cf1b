/* SPDX-License-Identifier: Apache-2.0 */
/* The happy path: gate_receive copies the message and pushes it; gate_pump, called after each push
 * and each freed slot, pulls it into a slot and gives it to the host, which delivers it on the
 * loop of its origin (gate_begin … gate_sent); the first reply frees the slot (gate_slot.c).
 * In front of the queue the workload group is asked (gate_group.c), which may park or refuse it.
 * What goes wrong: no memory or no room (refused), it falls out, it expires, its connection closes
 * or its reply loses all interest (cancelled); nobody is there, the responders close, no reply
 * comes (the slot is freed, and that is counted); the gate is removed (passed on). */
#include "api/gate.h"

#include <string.h>

#include "api/admission.h"
#include "api/gate_group.h"
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
    memcpy(g->name, c->name, sizeof(g->name));
    group_room_init(&g->room, g->q, APIQ_NORMAL, g->name);
    gate_group_set(g, c->group);
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

static struct gate_asker
asker_of(const struct api_message *m)
{
    return (struct gate_asker){.account = m->origin.account,
                               .loop = m->origin.loop,
                               .no_responders = m->origin.no_responders,
                               .subject = m->subject,
                               .reply = m->reply};
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
                               .asker = asker_of(m),
                               .cid = m->origin.cid,
                               .refs = 1,
                               .data = data,
                               .size = size,
                               .hdr_len = hdr_len,
                               .subject_len = subject,
                               .reply_len = reply,
                               .reply_hash = hash_bytes(m->reply, reply)};
    r->asker.subject = put(&at, m->subject, subject);
    r->asker.reply = put(&at, m->reply, reply);
    if (size > 0) {
        memcpy(data, m->hdr == NULL ? m->data : m->hdr, size);
    }
    list_init(&r->takers);
    apiq_item_init(&r->item);
    r->item.level = APIQ_NORMAL;
    r->item.id = atomic_fetch_add(g->home->plane.last_id, 1) + 1;
    r->item.flow = m->origin.account_key;
    r->item.bytes = sizeof(*r) + subject + reply + 2 + size;
    r->item.label = r->asker.subject;
    r->item.name = m->origin.account_name;
    *out = r;
    return ST_OK;
}

/* It waits no longer. Under the lock. */
static void
count_out(struct gate_request *r, enum ledger_end e)
{
    struct gate_counts *n = &r->gate->counts;
    *(r->parked ? &n->parked : &n->queued) -= 1;
    r->parked = false;
    n->ended[e]++;
}

void
gate_end_unrun(struct gate_request *r, enum ledger_end e, int64_t drain)
{
    struct gate *g = r->gate;
    pthread_mutex_lock(&g->home->lock);
    count_out(r, e);
    pthread_mutex_unlock(&g->home->lock);
    gate_tell(g, &r->asker, e, drain);
    gate_group_leave(r);
    gate_request_free(r);
}

/* Room for the parked, if something waits for it. */
static void
make_room(struct gate *g)
{
    groups_room(g->home->plane.groups, &g->room);
}

size_t
gate_fallen(struct gate *g, struct list_node *fallen, enum ledger_end e)
{
    size_t n = 0;
    struct apiq_item *it;
    while ((it = apiq_fallen_pop(fallen)) != NULL) {
        gate_end_unrun(gate_request_of(it), e, 0);
        n++;
    }
    if (n > 0) {
        make_room(g);
    }
    return n;
}

void
gate_pass_on(struct gate_request *r)
{
    struct gate *g = r->gate;
    pthread_mutex_lock(&g->home->lock);
    count_out(r, END_PASSED_ON);
    r->state = GATE_FREE;
    r->refs = 1;
    r->open = 1;
    pthread_mutex_unlock(&g->home->lock);
    gate_group_leave(r);
    g->home->host->gate_deliver(g->home->host->ctx, r);
}

/* It has been pulled, so a slot is its own. */
static void
start(struct gate_request *r)
{
    struct gate *g = r->gate;
    struct gates *gs = g->home;
    bool unheard = r->watch &&
                   (r->was_parked || r->item.pulled_ns - r->item.pushed_ns >= WATCH_WAIT) &&
                   !gs->host->has_interest(gs->host->ctx, r->asker.account, r->asker.reply);
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
        gate_pass_on(r);
    } else {
        gate_end_unrun(r, unheard ? END_NO_INTEREST : END_NOMEM, 0);
    }
}

void
gate_pump(struct gate *g)
{
    struct apiq_item *it;
    bool pulled = false;
    for (;; pulled = true) {
        enum status st = apiq_pull(g->q, APIQ_LANE_ANY, &it);
        if (st == ST_OK) {
            start(gate_request_of(it));
        } else if (st == ST_EXPIRED) {
            gate_end_unrun(gate_request_of(it), END_EXPIRED, 0);
        } else if (st == ST_CANCELLED && atomic_load(&g->passes)) {
            gate_pass_on(gate_request_of(it));
        } else if (st == ST_CANCELLED) {
            gate_end_unrun(gate_request_of(it), END_SHUTDOWN, 0);
        } else {
            break;
        }
    }
    if (pulled) {
        make_room(g);
    }
}

/* Received, and waits from now on. */
static void
admit(struct gate_request *r, bool parked)
{
    struct gate *g = r->gate;
    pthread_mutex_lock(&g->home->lock);
    g->counts.received++;
    *(parked ? &g->counts.parked : &g->counts.queued) += 1;
    r->parked = parked;
    gates_stir(g->home);
    pthread_mutex_unlock(&g->home->lock);
}

/* Refused before a request is made of it. */
static void
refuse(struct gate *g, const struct api_message *m, enum ledger_end e, int64_t drain)
{
    struct gate_asker to = asker_of(m);
    pthread_mutex_lock(&g->home->lock);
    g->counts.received++;
    g->counts.ended[e]++;
    pthread_mutex_unlock(&g->home->lock);
    gate_tell(g, &to, e, drain);
}

static void
prepare(struct gate_request *r, const struct api_message *m, int64_t timeout)
{
    const struct api_host *host = r->gate->home->host;
    r->watch =
        m->origin.is_client && host->has_interest(host->ctx, r->asker.account, r->asker.reply);
    r->item.owner = r->watch ? r->cid : 0;
    r->item.late_ns = api_message_unread(m, &r->gate->home->clock);
    if (timeout > 0) {
        r->item.arrived_ns = m->now;
        r->item.deadline_ns = timeout;
    }
}

/* False: the queue is closed; r is gone, and was not counted. */
static bool
push(struct gate_request *r)
{
    struct gate *g = r->gate;
    struct list_node fallen;
    list_init(&fallen);
    gate_group_turn(r);
    enum status st = apiq_push(g->q, &r->item, &fallen);
    if (st == ST_CLOSED) {
        pthread_mutex_lock(&g->home->lock);
        g->counts.received--;
        g->counts.queued--;
        pthread_mutex_unlock(&g->home->lock);
        gate_group_leave(r);
        gate_request_free(r);
        return false;
    }
    if (st != ST_OK) {
        gate_end_unrun(r, admission_end_of_push(st), 0);
    }
    (void)gate_fallen(g, &fallen, END_EVICTED);
    gate_pump(g);
    return true;
}

/* Over the limit of its group, when that was asked first. As push. */
static bool
park(struct gate_request *r, const struct group_who *who)
{
    struct gate *g = r->gate;
    struct group_answer ans;
    enum ledger_end e;
    admit(r, true);
    gate_group_park(r, who, &ans);
    if (ans.verdict == GROUP_PARK) {
        return true;
    }
    if (admission_refuses(&ans, &e)) {
        gate_end_unrun(r, e, ans.drain_ns);
        return true;
    }
    r->group.permit = ans.permit;
    pthread_mutex_lock(&g->home->lock);
    r->parked = false;
    g->counts.parked--;
    g->counts.queued++;
    gates_stir(g->home);
    pthread_mutex_unlock(&g->home->lock);
    return push(r);
}

/* As gate_receive, but for gate_settle. */
static bool
take(struct gate *g, const struct api_message *m)
{
    struct group_who who;
    struct group_answer ans;
    struct gate_request *r;
    enum ledger_end e;
    int64_t timeout = 0;
    /* A header that is no time is the service's business and not ours: as if there were none. */
    if (header_timeout(m->hdr, m->hdr_len, &timeout) == ST_OK && timeout <= 0) {
        refuse(g, m, END_EXPIRED, 0);
        return true;
    }
    gate_group_ask(g, m, &who, &ans);
    if (admission_refuses(&ans, &e)) {
        refuse(g, m, e, ans.drain_ns);
        return true;
    }
    if (request_new(&r, g, m) != ST_OK) {
        refuse(g, m, END_NOMEM, 0);
        if (ans.permit != NULL) {
            groups_leave(g->home->plane.groups, ans.permit);
        }
        return true;
    }
    prepare(r, m, timeout);
    if (ans.verdict == GROUP_PARK) {
        return park(r, &who);
    }
    r->group.permit = ans.permit;
    admit(r, false);
    return push(r);
}

bool
gate_receive(struct gate *g, const struct api_message *m)
{
    bool taken = take(g, m);
    gate_settle(g->home);
    return taken;
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
        slot_leave(gs, r, END_REPLY_TIMEOUT);
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
        slot_leave(gs, r, END_PASSED_ON);
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
    return r->asker.loop;
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
            slot_leave(gs, r, END_DISCONNECT);
        }
        pthread_mutex_unlock(&gs->lock);
    }
    if (cancelled) {
        slot_done(r);
        gate_request_release(r);
        return false;
    }
    *out = (struct gate_delivery){.account = r->asker.account,
                                  .cid = r->cid,
                                  .subject = r->asker.subject,
                                  .reply = r->asker.reply,
                                  .subject_len = r->subject_len,
                                  .reply_len = r->reply_len,
                                  .data = r->data == NULL ? "" : r->data,
                                  .size = r->size,
                                  .hdr_len = r->hdr_len};
    return true;
}
