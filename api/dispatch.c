/* SPDX-License-Identifier: Apache-2.0 */
/* The happy path: dispatch_receive copies the message, books it and pushes it; a worker pulls it
 * (run_item), the endpoint fills a reply, finish books the end and publishes.
 * What goes wrong: no copy (refuse_message); the push fails or pushes others out (end_unrun,
 * dispatch_fallen); it expires or is left over at the close (drop_item); its reader is gone
 * (run_item); it is pending (dispatch_complete ends it). */
#include "api/dispatch.h"

#include <stdio.h>
#include <string.h>

#include "api/advisory.h"
#include "api/endpoint.h"
#include "api/header.h"
#include "api/plane.h"
#include "api/reply.h"
#include "api/request.h"
#include "api/settings.h"
#include "queue/apiq_view.h"
#include "server/base/assert.h"

/* Whether the reply still has a reader is not worth a look-up where the request hardly waited. */
#define WATCH_WAIT CLOCK_MS

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

/* Tells the sender; nothing where it left no reply subject. */
static void
refuse(struct api *a, const struct api_origin *to, const char *reply, const struct api_endpoint *ep,
       enum apiq_level level, enum ledger_end e)
{
    if (e == END_EVICTED || e == END_LIMIT) {
        advisory_dropped(a->advisory, 1);
    }
    if (*reply == '\0' || !reply_is_told(e)) {
        return;
    }
    struct refusal text;
    reply_refusal(&text, e, is_system_family(ep) ? a->server : NULL, ep->type,
                  reply_retry_ns(apiq_drain_ns(a->queue, level)));
    struct api_bytes body = {text.hdr[0] == '\0' ? NULL : text.hdr, strlen(text.hdr), text.body,
                             strlen(text.body)};
    a->host->publish(a->host->ctx, to->account, to->loop, reply, NULL, &body);
}

static void
refuse_message(struct api *a, const struct api_endpoint *ep, const struct api_message *m,
               enum ledger_end e)
{
    enum apiq_level level = level_of(a, ep, &m->origin);
    ledger_refused(a->ledger, &m->origin, ep, level, e, m->now);
    refuse(a, &m->origin, m->reply, ep, level, e);
}

/* Ends a request that did not run. */
static void
end_unrun(struct api *a, struct api_request *r, enum ledger_end e)
{
    ledger_end(a->ledger, &r->ticket, e);
    refuse(a, &r->origin, r->reply, r->ep, r->item.level, e);
    request_free(r);
}

size_t
dispatch_fallen(struct api *a, struct list_node *fallen, enum ledger_end why)
{
    size_t n = 0;
    struct apiq_item *it;
    while ((it = apiq_fallen_pop(fallen)) != NULL) {
        end_unrun(a, request_of(it), why);
        n++;
    }
    return n;
}

static enum ledger_end
end_of_push(enum status st)
{
    switch ((int)st) {
    case ST_EXPIRED:
        return END_EXPIRED;
    case ST_CLOSED:
        return END_CLOSED;
    case ST_NOMEM:
        return END_NOMEM;
    default:
        return END_LIMIT;
    }
}

/* What the queue has to know of it beyond the copy. timeout: of its header, if has_timeout. */
static void
prepare(struct api *a, struct api_request *r, const struct api_message *m, bool has_timeout,
        int64_t timeout)
{
    struct apiq_item *it = &r->item;
    bool limits = settings_limits(a->settings);
    it->id = atomic_fetch_add(&a->last_id, 1) + 1;
    it->level = level_of(a, r->ep, &r->origin);
    int64_t unread = clock_now(&a->clock) - m->now;
    it->late_ns = unread > CLOCK_MS ? unread : 0;
    it->order_key = endpoint_order_key(r->ep, r->origin.account_key, r->origin.cid, r->subject);
    if (*r->reply == '\0' || !limits) {
        it->deadline_ns = -1;
    } else if (has_timeout) {
        it->arrived_ns = m->now;
        it->deadline_ns = timeout;
    }
    r->watch = limits && r->origin.is_client && *r->reply != '\0' &&
               a->host->has_interest(a->host->ctx, r->origin.account, r->reply);
}

void
dispatch_receive(struct api *a, const struct api_endpoint *ep, const struct api_message *m)
{
    int64_t timeout = 0;
    enum status has =
        *m->reply == '\0' ? ST_NOTFOUND : header_timeout(m->hdr, m->hdr_len, &timeout);
    if (has == ST_INVAL) {
        refuse_message(a, ep, m, END_BAD_HEADER);
        return;
    }
    struct api_request *r;
    if (request_new(&r, a, ep, m) != ST_OK) {
        refuse_message(a, ep, m, END_NOMEM);
        return;
    }
    prepare(a, r, m, has == ST_OK, timeout);
    ledger_admit(a->ledger, &r->ticket, &r->origin, ep, r->item.level, m->now);
    if (has == ST_OK && timeout <= 0) {
        end_unrun(a, r, END_EXPIRED);
        return;
    }
    struct list_node fallen;
    list_init(&fallen);
    enum status st = apiq_push(a->queue, &r->item, &fallen);
    if (st != ST_OK) {
        end_unrun(a, r, end_of_push(st));
    }
    (void)dispatch_fallen(a, &fallen, END_EVICTED);
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
    if (r->watch && it->pulled_ns - it->pushed_ns >= WATCH_WAIT &&
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
    (void)arg;
    request_free(request_of(it));
}

static void
drop_item(struct apiq_item *it, enum status why, void *arg)
{
    end_unrun(arg, request_of(it), why == ST_EXPIRED ? END_EXPIRED : END_SHUTDOWN);
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
        request_free(r);
    }
    ledger_released(a->ledger);
}

bool
dispatch_step(struct api *a, enum apiq_lane lane)
{
    struct apiq_item *it;
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
        request_free(request_of(it));
    }
    return true;
}
