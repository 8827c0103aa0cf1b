/* SPDX-License-Identifier: Apache-2.0 */
/* The happy path: dispatch_receive copies the message, books it and pushes it; a worker pulls it
 * (run_item), the endpoint fills a reply, finish books the end and publishes.
 * What goes wrong: no copy (refuse_message); the push fails or pushes others out (end_unrun,
 * dispatch_fallen); it expires or is left over at the close (drop_item); its reader is gone
 * (run_item); it is pending (dispatch_complete ends it). */
#include "api/dispatch.h"

#include <stdio.h>
#include <string.h>

#include "api/admission.h"
#include "api/advisory.h"
#include "api/endpoint.h"
#include "api/group.h"
#include "api/header.h"
#include "api/parker.h"
#include "api/plane.h"
#include "api/refuse_some.h"
#include "api/reply.h"
#include "api/request.h"
#include "api/settings.h"
#include "api/weights.h"
#include "queue/apiq_view.h"
#include "server/base/assert.h"

/* Whether the reply still has a reader is not worth a look-up where the request hardly waited. */
#define WATCH_WAIT CLOCK_MS
/* How many one thread lets in before it goes on with its own work. */
#define DRAIN_ROUND 64u

static bool
is_system_family(const struct api_endpoint *ep)
{
    return strncmp(ep->subjects[0], "$SYS.", 5) == 0;
}

static enum apiq_level
level_of(const struct api *a, const struct api_endpoint *ep, const struct api_origin *from)
{
    if (!settings_limits(a->settings)) {
        return APIQ_NORMAL;
    }
    bool lift = (ep->flags & API_EP_LIFT) != 0 && from->is_operator;
    return lift ? APIQ_OPERATOR : ep->level;
}

/* Who is refused, and what for. */
struct told {
    const struct api_origin *to;
    const char *reply;
    const struct api_endpoint *ep;
    enum apiq_level level;
    int64_t drain; /* how long the backlog takes that stood in its way; 0: the queue's */
};

/* Tells the sender; nothing where it left no reply subject. */
static void
refuse(struct api *a, const struct told *t, enum ledger_end e)
{
    if (e == END_EVICTED || e == END_LIMIT) {
        advisory_dropped(a->advisory, 1);
    }
    if (*t->reply == '\0' || !reply_is_told(e)) {
        return;
    }
    struct refusal text;
    int64_t drain = t->drain > 0 ? t->drain : apiq_drain_ns(a->queue, t->level);
    reply_refusal(&text, e, is_system_family(t->ep) ? a->server : NULL, t->ep->type,
                  reply_retry_ns(drain));
    struct api_bytes body = {text.hdr[0] == '\0' ? NULL : text.hdr, strlen(text.hdr), text.body,
                             strlen(text.body)};
    a->host->publish(a->host->ctx, t->to->account, t->to->loop, t->reply, NULL, &body);
}

static void
refuse_message(struct api *a, const struct api_endpoint *ep, const struct api_message *m,
               enum ledger_end e, int64_t drain)
{
    enum apiq_level level = level_of(a, ep, &m->origin);
    ledger_refused(a->ledger, &m->origin, ep, level, e, m->now);
    refuse(a, &(struct told){&m->origin, m->reply, ep, level, drain}, e);
}

/* The request is over: its memory goes, its permit is free for the next (dispatch_pump). */
static void
let_go(struct api *a, struct api_request *r)
{
    struct group_bucket *permit = r->group.permit;
    request_free(r);
    if (permit != NULL) {
        groups_leave(a->groups, permit);
    }
}

/* Ends a request that did not run. */
static void
end_unrun(struct api *a, struct api_request *r, enum ledger_end e, int64_t drain)
{
    ledger_end(a->ledger, &r->ticket, e);
    refuse(a, &(struct told){&r->origin, r->reply, r->ep, r->item.level, drain}, e);
    let_go(a, r);
}

static size_t
end_fallen(struct api *a, struct list_node *fallen, enum ledger_end why)
{
    size_t n = 0;
    struct apiq_item *it;
    while ((it = apiq_fallen_pop(fallen)) != NULL) {
        end_unrun(a, request_of(it), why, 0);
        n++;
    }
    return n;
}

size_t
dispatch_fallen(struct api *a, struct list_node *fallen, enum ledger_end why)
{
    size_t n = end_fallen(a, fallen, why);
    dispatch_pump(a, DISPATCH_ALL_LEVELS);
    return n;
}

void
dispatch_pump(struct api *a, unsigned levels)
{
    if (!groups_any(a->groups)) {
        return;
    }
    for (unsigned i = 0; i < APIQ_LEVELS; i++) {
        if ((levels & 1U << i) != 0) {
            groups_room(a->groups, &a->rooms[i]);
        }
    }
    if (groups_drain(a->groups, DRAIN_ROUND)) {
        parker_at(a->parker, 0);
    }
}

/* What the queue has to know of it beyond the copy. timeout: of its header, or 0. */
static void
prepare(struct api *a, struct api_request *r, const struct api_message *m, int64_t timeout,
        int64_t unread)
{
    struct apiq_item *it = &r->item;
    bool limits = settings_limits(a->settings);
    it->id = atomic_fetch_add(&a->last_id, 1) + 1;
    it->level = level_of(a, r->ep, &r->origin);
    it->weight = weights_of(a->weights, r->origin.account_name);
    it->late_ns = unread;
    it->order_key = endpoint_order_key(r->ep, r->origin.account_key, r->origin.cid, r->subject);
    if (*r->reply == '\0' || !limits) {
        it->deadline_ns = -1;
    } else if (timeout > 0) {
        it->arrived_ns = m->now;
        it->deadline_ns = timeout;
    }
    r->watch = limits && r->origin.is_client && *r->reply != '\0' &&
               a->host->has_interest(a->host->ctx, r->origin.account, r->reply);
}

/* Pushes it into the queue, whatever falls out for it. */
static void
enqueue(struct api *a, struct api_request *r)
{
    struct list_node fallen;
    list_init(&fallen);
    enum apiq_level level = r->item.level;
    enum status st = apiq_push(a->queue, &r->item, &fallen);
    if (st != ST_OK) {
        end_unrun(a, r, admission_end_of_push(st), 0);
    } else if (list_is_empty(&fallen)) {
        return;
    }
    (void)end_fallen(a, &fallen, END_EVICTED);
    dispatch_pump(a, 1U << level);
}

/* ---- workload groups ---- */

static enum status
offer(struct group_entry *e)
{
    struct api_request *r = request_of_entry(e);
    struct api *a = r->api;
    ledger_unpark(a->ledger, &r->ticket);
    enum status st = apiq_offer(a->queue, &r->item);
    if (st == ST_AGAIN) {
        ledger_park(a->ledger, &r->ticket);
    } else if (st != ST_OK) {
        end_unrun(a, r, admission_end_of_push(st), 0);
        st = ST_OK;
    }
    return st;
}

static void
drop(struct group_entry *e, enum group_why why)
{
    struct api_request *r = request_of_entry(e);
    end_unrun(r->api, r, admission_end_of_drop(why), 0);
}

static void
chase(struct group_room *room, uint64_t owner)
{
    struct api *a = LIST_ENTRY(room - room->level, struct api, rooms);
    struct list_node gone;
    list_init(&gone);
    (void)apiq_cancel_owner(room->queue, owner, &gone);
    (void)end_fallen(a, &gone, END_DISCONNECT);
}

static const struct group_ops group_ops = {.offer = offer, .drop = drop, .chase = chase};

/* Over the limit of its group. */
static void
park(struct api *a, struct api_request *r, const struct group_who *who)
{
    struct group_answer ans;
    enum ledger_end why;
    struct list_node displaced;
    list_init(&displaced);
    int64_t unread = r->item.late_ns;
    r->was_parked = true;
    r->item.late_ns = 0; /* it waits here now; NB: another thread may let it in at once */
    admission_entry(&r->group, &group_ops, &a->rooms[r->item.level], &r->item);
    ledger_park(a->ledger, &r->ticket);
    groups_park(a->groups, &r->group, who, &displaced, &ans);
    (void)groups_drop(&displaced, GROUP_DISPLACED);
    if (ans.verdict == GROUP_PARK) {
        parker_at(a->parker, ans.due);
    } else if (admission_refuses(&ans, &why)) {
        end_unrun(a, r, why, ans.drain_ns);
    } else {
        r->group.permit = ans.permit;
        r->item.late_ns = unread;
        ledger_unpark(a->ledger, &r->ticket);
        enqueue(a, r);
    }
    dispatch_pump(a, 0);
}

static void
ask_groups(struct api *a, const struct api_endpoint *ep, const struct api_message *m,
           struct group_who *who, struct group_answer *out)
{
    const struct api_origin *o = &m->origin;
    *out = (struct group_answer){.verdict = GROUP_NONE};
    if (!groups_any(a->groups) || !settings_limits(a->settings) ||
        level_of(a, ep, o) == APIQ_OPERATOR) {
        return;
    }
    admission_who(who, m);
    who->order_key = endpoint_order_key(ep, o->account_key, o->cid, m->subject);
    groups_enter(a->groups, who, out);
}

/* No request can be made of it: a permit that it has goes back. */
static void
refuse_without_memory(struct api *a, const struct api_endpoint *ep, const struct api_message *m,
                      struct group_bucket *permit)
{
    refuse_message(a, ep, m, END_NOMEM, 0);
    if (permit != NULL) {
        groups_leave(a->groups, permit);
        dispatch_pump(a, 0);
    }
}

/* It lay unread so long that it is not worth a copy. timeout: of its header, or 0. */
static bool
is_too_late(const struct api *a, const struct api_endpoint *ep, const struct api_message *m,
            int64_t timeout, int64_t unread)
{
    if (unread == 0 || *m->reply == '\0' || !settings_limits(a->settings)) {
        return false;
    }
    return apiq_refuses_late(a->queue, level_of(a, ep, &m->origin), m->origin.account_key, unread,
                             timeout);
}

/* Why nothing of it is kept, as far as it says so itself. *timeout: of its header, or 0. */
static bool
is_refused(const struct api *a, const struct api_endpoint *ep, const struct api_message *m,
           int64_t unread, int64_t *timeout, enum ledger_end *why)
{
    enum status has = *m->reply == '\0' ? ST_NOTFOUND : header_timeout(m->hdr, m->hdr_len, timeout);
    if (has == ST_INVAL) {
        *why = END_BAD_HEADER;
        return true;
    }
    if (has == ST_OK && *timeout <= (settings_limits(a->settings) ? unread : 0)) {
        *why = END_EXPIRED;
        return true;
    }
    if (is_too_late(a, ep, m, *timeout, unread)) {
        *why = END_LIMIT;
        return true;
    }
    return refuse_some_hits(m->subject, why);
}

void
dispatch_receive(struct api *a, const struct api_endpoint *ep, const struct api_message *m)
{
    int64_t timeout = 0;
    int64_t unread = api_message_unread(m, &a->clock);
    enum ledger_end why;
    if (is_refused(a, ep, m, unread, &timeout, &why)) {
        refuse_message(a, ep, m, why, 0);
        return;
    }
    struct group_who who;
    struct group_answer ans;
    ask_groups(a, ep, m, &who, &ans);
    if (admission_refuses(&ans, &why)) {
        refuse_message(a, ep, m, why, ans.drain_ns);
        return;
    }
    struct api_request *r;
    if (request_new(&r, a, ep, m) != ST_OK) {
        refuse_without_memory(a, ep, m, ans.permit);
        return;
    }
    prepare(a, r, m, timeout, unread);
    r->group.permit = ans.permit;
    ledger_admit(a->ledger, &r->ticket, &r->origin, ep, r->item.level, m->now);
    if (ans.verdict == GROUP_PARK) {
        park(a, r, &who);
    } else {
        enqueue(a, r);
    }
}

static void
publish_reply(const struct api_request *r, const struct reply *out)
{
    const struct api *a = r->api;
    if (*r->reply == '\0' || out->none) {
        return;
    }
    struct api_bytes body = {out->hdr, out->hdr == NULL ? 0 : strlen(out->hdr),
                             out->body.data == NULL ? "" : out->body.data, out->body.len};
    a->host->publish(a->host->ctx, r->origin.account, r->origin.loop, r->reply, NULL, &body);
}

/* An endpoint that failed without a body of its own: says so, also without memory. */
static void
publish_failure(const struct api_request *r, enum status st)
{
    const struct api *a = r->api;
    char text[512];
    bool sys = is_system_family(r->ep);
    bool mem = st == ST_NOMEM;
    if (*r->reply == '\0') {
        return;
    }
    int n = snprintf(text, sizeof(text),
                     "{%s%s%s%s%s%s\"error\":{\"code\":%d,\"err_code\":%d,\"description\":\"%s\"}}",
                     sys ? "\"server\":" : "", sys ? a->server : "", sys ? "," : "",
                     r->ep->type == NULL ? "" : "\"type\":\"",
                     r->ep->type == NULL ? "" : r->ep->type, r->ep->type == NULL ? "" : "\",",
                     mem ? 503 : 500, mem ? ERR_RESOURCES : ERR_INTERNAL,
                     mem ? "insufficient resources" : status_text(st));
    struct api_bytes body = {NULL, 0, text, (size_t)n};
    a->host->publish(a->host->ctx, r->origin.account, r->origin.loop, r->reply, NULL, &body);
}

/* The request has run: books it, then answers it. */
static void
finish(struct api_request *r, enum status st, struct reply *out)
{
    ledger_end(r->api->ledger, &r->ticket, st == ST_OK ? END_ANSWERED : END_FAILED);
    if (st != ST_OK && out->body.len == 0 && !out->none) {
        publish_failure(r, st);
    } else {
        publish_reply(r, out);
    }
}

static enum status
run_item(struct apiq_item *it, unsigned worker, void *arg)
{
    struct api *a = arg;
    struct api_request *r = request_of(it);
    (void)worker;
    dispatch_pump(a, 1U << it->level);
    if (r->watch && (r->was_parked || it->pulled_ns - it->pushed_ns >= WATCH_WAIT) &&
        !a->host->has_interest(a->host->ctx, r->origin.account, r->reply)) {
        ledger_end(a->ledger, &r->ticket, END_NO_INTEREST);
        return ST_OK;
    }
    ledger_start(a->ledger, &r->ticket, it->pulled_ns);
    struct reply out;
    reply_init(&out);
    enum status st = r->ep->run(a, r, &out);
    if (st != ST_PENDING) {
        finish(r, st, &out);
    }
    reply_fini(&out);
    return st;
}

static void
end_item(struct apiq_item *it, void *arg)
{
    let_go(arg, request_of(it));
    dispatch_pump(arg, 0);
}

static void
drop_item(struct apiq_item *it, enum status why, void *arg)
{
    unsigned level = 1U << it->level;
    end_unrun(arg, request_of(it), why == ST_EXPIRED ? END_EXPIRED : END_SHUTDOWN, 0);
    dispatch_pump(arg, level);
}

struct pool_ops
dispatch_pool_ops(struct api *a)
{
    return (struct pool_ops){.run = run_item, .end = end_item, .drop = drop_item, .arg = a};
}

void
dispatch_defer(struct api_request *r)
{
    struct api *a = r->api;
    ledger_defer(a->ledger, &r->ticket);
    if (a->pool != NULL) {
        pool_defer(a->pool, &r->item);
    } else {
        apiq_defer(a->queue, &r->item);
    }
}

void
dispatch_complete(struct api_request *r, enum status st, struct reply *out)
{
    struct api *a = r->api;
    finish(r, st, out);
    if (a->pool != NULL) {
        pool_complete(a->pool, &r->item);
    } else {
        apiq_done(a->queue, &r->item);
        end_item(&r->item, a);
    }
    ledger_released(a->ledger);
}

bool
dispatch_step(struct api *a, enum apiq_lane lane)
{
    struct apiq_item *it;
    dispatch_pump(a, 0);
    enum status st = apiq_pull(a->queue, lane, &it);
    if (st == ST_EXPIRED || st == ST_CANCELLED) {
        drop_item(it, st, a);
        return true;
    }
    if (st != ST_OK) {
        return false;
    }
    if (run_item(it, 0, a) != ST_PENDING) {
        apiq_done(a->queue, it);
        end_item(it, a);
    }
    return true;
}
