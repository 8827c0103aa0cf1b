/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: the match of the subject comes from the loop's cache; receivers of this loop get the
 * message into their out-buffers; for each other loop one copy with the list of its receivers is
 * gathered and posted at the end of the turn.
 * Failure: a receiver that is gone by then is skipped; where it was chosen from a queue group,
 * another member gets the message, loop after loop until all have declined. Without memory for a
 * copy it is dropped and counted. */
#include "server/route/deliver.h"

#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "api/gate.h"
#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/base/assert.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/net/block.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/net/peer.h"
#include "server/net/stall.h"
#include "server/route/cache.h"
#include "server/route/deliver_js.h"
#include "server/route/send.h"
#include "server/route/sub.h"
#include "server/server.h"
#include "server/server_loops.h"

enum { SHARE_FROM = 4096 };

/* A message on its way to another loop, with its receivers there. */
struct transit {
    struct loop_msg msg;
    struct account *account; /* borrowed: accounts outlive loops */
    uint64_t from_cid;
    uint64_t tried;             /* as in struct inbound */
    struct gate_request *gated; /* held; or NULL */
    size_t subject_len, route_len, reply_len, size, hdr_len;
    struct block *block; /* ref or NULL: then the data is in bytes too */
    const char *data;    /* borrowed: in block or bytes */
    uint32_t n_subs, cap_subs;
    struct sub **subs; /* borrowed place: behind bytes; ref each */
    char bytes[];      /* subject, route, reply, data */
};

static void
transit_free(struct transit *t)
{
    for (uint32_t i = 0; i < t->n_subs; i++) {
        sub_unref(t->subs[i]);
    }
    block_unref(t->block);
    if (t->gated != NULL) {
        gate_let_go(t->gated);
    }
    mem_free(t);
}

static struct transit *
transit_new(const struct inbound *in, uint32_t cap_subs)
{
    bool by_ref = in->backing != NULL && in->size > SHARE_FROM;
    size_t route_len = in->route != NULL ? in->route_len : 0;
    size_t texts = in->subject_len + route_len + in->reply_len;
    size_t bytes = texts + (by_ref ? 0 : in->size);
    bytes = (bytes + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
    struct transit *t = mem_alloc_raw(sizeof *t + bytes + cap_subs * sizeof(struct sub *));
    if (t == NULL) {
        return NULL;
    }
    *t = (struct transit){.account = in->account,
                          .from_cid = in->from_cid,
                          .tried = in->tried,
                          .gated = in->gated,
                          .subject_len = in->subject_len,
                          .route_len = route_len,
                          .reply_len = in->reply_len,
                          .size = in->size,
                          .hdr_len = in->hdr_len,
                          .cap_subs = cap_subs};
    t->subs = (struct sub **)(void *)(t->bytes + bytes);
    memcpy(t->bytes, in->subject, in->subject_len);
    if (route_len > 0) {
        memcpy(t->bytes + in->subject_len, in->route, route_len);
    }
    if (in->reply_len > 0) {
        memcpy(t->bytes + in->subject_len + route_len, in->reply, in->reply_len);
    }
    if (by_ref) {
        t->block = block_ref(in->backing);
        t->data = in->data;
    } else {
        t->data = t->bytes + texts;
        if (in->size > 0) {
            memcpy(t->bytes + texts, in->data, in->size);
        }
    }
    t->msg.bytes = sizeof *t + bytes + in->size;
    if (t->gated != NULL) {
        gate_hold(t->gated);
    }
    return t;
}

static struct inbound
inbound_of(struct loop *l, const struct transit *t)
{
    const char *route = t->bytes + t->subject_len;
    return (struct inbound){.loop = l,
                            .account = t->account,
                            .from_cid = t->from_cid,
                            .subject = t->bytes,
                            .subject_len = t->subject_len,
                            .route = t->route_len > 0 ? route : NULL,
                            .route_len = t->route_len,
                            .reply = t->reply_len > 0 ? route + t->route_len : NULL,
                            .reply_len = t->reply_len,
                            .data = t->data,
                            .size = t->size,
                            .hdr_len = t->hdr_len,
                            .backing = t->block,
                            .single = t->n_subs == 1,
                            .gated = t->gated,
                            .tried = t->tried};
}

static void
let_go_backing(struct inbound *in)
{
    if (in->own_backing) {
        block_unref(in->backing);
        in->backing = NULL;
        in->own_backing = false;
    }
}

/* A gate has to know who got its request, before that one can close. */
static bool
send_here(struct inbound *in, struct sub *s)
{
    if (in->gated == NULL) {
        return send_to_sub(in, s);
    }
    gate_took(in->gated, s->cid);
    bool done = send_to_sub(in, s);
    if (!done) {
        gate_untook(in->gated, s->cid);
    }
    return done;
}

static size_t to_group_named(struct inbound *in, const struct sub *like);

static void
arrive(struct loop *l, struct loop_msg *msg)
{
    struct transit *t = LIST_ENTRY(msg, struct transit, msg);
    struct inbound in = inbound_of(l, t);
    for (uint32_t i = 0; i < t->n_subs; i++) {
        struct sub *s = t->subs[i];
        if (!send_here(&in, s) && s->queue_len > 0 && to_group_named(&in, s) == 0) {
            LOOP_COUNT(l->stats.dropped, 1);
        }
    }
    let_go_backing(&in);
    transit_free(t);
}

/* The copy of this very message for that loop: the last one gathered, if it is of this message. */
static struct transit *
transit_for(struct inbound *in, uint32_t to, struct transit **current, uint32_t cap)
{
    if (*current != NULL) {
        return *current;
    }
    struct loop *l = in->loop;
    struct transit *t = transit_new(in, cap);
    if (t == NULL) {
        LOOP_COUNT(l->stats.dropped, 1);
        return NULL;
    }
    t->msg.run = arrive;
    list_push_back(&l->out[to], &t->msg.node);
    l->out_bytes[to] += t->msg.bytes;
    *current = t;
    return t;
}

/* One message's copies for other loops while it is delivered. */
enum { MAX_LOOPS = 64 };
struct spread {
    uint32_t cap;
    struct transit *of_loop[MAX_LOOPS]; /* of those that the server has */
};

static void
spread_init(struct spread *sp, const struct loop *l, uint32_t cap)
{
    sp->cap = cap;
    memset(sp->of_loop, 0, server_n_loops(l->server) * sizeof(struct transit *));
}

static bool
to_other_loop(struct inbound *in, struct sub *s, struct spread *sp)
{
    if (in->from_cid == s->cid) {
        return false; /* a connection is on its own loop: cannot be */
    }
    struct transit *t = transit_for(in, s->loop, &sp->of_loop[s->loop], sp->cap);
    if (t == NULL) {
        return false;
    }
    ASSERT(t->n_subs < t->cap_subs);
    t->subs[t->n_subs++] = sub_ref(s);
    if (in->from != NULL) {
        stall_note(in->from, s->peer,
                   atomic_load_explicit(&s->peer->pending, memory_order_relaxed));
    }
    return true;
}

/* Calls receive with the message as the API plane knows messages. False: no memory. */
static bool
with_message(const struct inbound *in, const struct sub *s,
             bool (*receive)(const struct inbound *in, const struct sub *s,
                             const struct api_message *m))
{
    char small[1024];
    size_t need = in->subject_len + in->reply_len + 2;
    char *subject = need <= sizeof small ? small : mem_alloc_raw(need);
    if (subject == NULL) {
        LOOP_COUNT(in->loop->stats.dropped, 1);
        return false;
    }
    char *reply = subject + in->subject_len + 1;
    memcpy(subject, in->subject, in->subject_len);
    reply[-1] = '\0';
    if (in->reply_len > 0) {
        memcpy(reply, in->reply, in->reply_len);
    }
    reply[in->reply_len] = '\0';
    const struct conn *c = in->from;
    struct api_message m = {.origin = {.account = in->account,
                                       .account_name = in->account->name,
                                       .account_key = in->account->key,
                                       .loop = in->loop->index,
                                       .cid = in->from_cid,
                                       .is_client = c != NULL,
                                       .is_operator = in->account->is_system,
                                       .no_responders = c != NULL && c->no_responders,
                                       .user = c != NULL && c->user != NULL ? c->user->name : "",
                                       .client = c != NULL && c->name != NULL ? c->name : "",
                                       .host = c != NULL ? c->host : ""},
                            .subject = subject,
                            .reply = reply,
                            .hdr = in->hdr_len > 0 ? in->data : NULL,
                            .hdr_len = in->hdr_len,
                            .data = in->data + in->hdr_len,
                            .data_len = in->size - in->hdr_len,
                            .now = c != NULL && in->loop->late.arrived != 0 ? in->loop->late.arrived
                                                                            : clock_mono_ns()};
    bool taken = receive(in, s, &m);
    if (subject != small) {
        mem_free(subject);
    }
    return taken;
}

static bool
to_api(const struct inbound *in, const struct sub *s, const struct api_message *m)
{
    api_receive(server_api(in->loop->server), s->endpoint, m);
    return true;
}

static bool
to_gate(const struct inbound *in, const struct sub *s, const struct api_message *m)
{
    (void)in;
    return gate_receive(s->gate, m);
}

static bool
to_sub(struct inbound *in, struct sub *s, struct spread *sp)
{
    if (s->loop == in->loop->index) {
        return send_here(in, s);
    }
    if (s->service != NULL) {
        return deliver_js_receive(in, s->service);
    }
    if (s->endpoint != NULL) {
        return with_message(in, s, to_api);
    }
    return to_other_loop(in, s, sp);
}

static bool
was_tried(const struct inbound *in, const struct sub *s)
{
    return s->loop != in->loop->index && (in->tried >> s->loop & 1) != 0;
}

/* One member, chosen at random; the next one where it does not take the message. */
static size_t
to_group(struct inbound *in, const struct match *m, const struct match_group *g, struct spread *sp)
{
    uint32_t at = g->n > 1 ? (uint32_t)(loop_random(in->loop) % g->n) : 0;
    for (uint32_t i = 0; i < g->n; i++) {
        struct sub *s = m->subs[g->begin + (at + i) % g->n];
        if (!was_tried(in, s) && to_sub(in, s, sp)) {
            return 1;
        }
    }
    return 0;
}

static const struct match_group *
group_like(const struct match *m, const struct sub *like)
{
    for (uint32_t i = 0; i < m->n_groups; i++) {
        const struct sub *first = m->subs[m->groups[i].begin];
        if (first->queue_len == like->queue_len &&
            memcmp(sub_queue(first), sub_queue(like), like->queue_len) == 0) {
            return &m->groups[i];
        }
    }
    return NULL;
}

/* Another member of a group in place of one that is gone or may not have this message. Those of
 * this loop first: once all of them have declined, the message does not come back here. */
static size_t
to_group_named(struct inbound *in, const struct sub *like)
{
    struct match m = {0};
    size_t done = 0;
    uint64_t tried = in->tried;
    const char *route = in->route != NULL ? in->route : in->subject;
    size_t route_len = in->route != NULL ? in->route_len : in->subject_len;
    if (sublist_match(in->account->subs, route, route_len, &m) != ST_OK) {
        return 0;
    }
    const struct match_group *g = group_like(&m, like);
    for (uint32_t i = 0; g != NULL && i < g->n && done == 0; i++) {
        struct sub *s = m.subs[g->begin + i];
        done = s->loop == in->loop->index && send_here(in, s);
    }
    if (g != NULL && done == 0) {
        struct spread sp;
        spread_init(&sp, in->loop, 1);
        in->tried |= UINT64_C(1) << in->loop->index;
        done = to_group(in, &m, g, &sp);
        in->tried = tried;
    }
    match_fini(&m);
    return done;
}

size_t
deliver(struct inbound *in)
{
    const char *route = in->route != NULL ? in->route : in->subject;
    size_t route_len = in->route != NULL ? in->route_len : in->subject_len;
    const struct match *m = route_cache_match(in->loop, in->account, route, route_len);
    if (m == NULL) {
        LOOP_COUNT(in->loop->stats.dropped, 1);
        return 0;
    }
    if (m->gate != NULL && in->may_gate && in->reply_len > 0 &&
        with_message(in, m->gate, to_gate)) {
        return 1;
    }
    size_t done = 0;
    uint32_t most = m->n_plain + m->n_groups;
    struct spread sp;
    spread_init(&sp, in->loop, most);
    in->single = most <= 1;
    for (uint32_t i = 0; i < m->n_plain; i++) {
        done += to_sub(in, m->subs[i], &sp);
    }
    for (uint32_t i = 0; i < m->n_groups; i++) {
        done += to_group(in, m, &m->groups[i], &sp);
    }
    let_go_backing(in);
    return done;
}

void
deliver_flush(struct loop *l)
{
    uint32_t n = server_n_loops(l->server);
    for (uint32_t i = 0; i < n; i++) {
        if (!list_is_empty(&l->out[i])) {
            loop_post_list(server_loop(l->server, i), &l->out[i], l->out_bytes[i]);
            l->out_bytes[i] = 0;
        }
    }
}

static void
publish_posted(struct loop *l, struct loop_msg *msg)
{
    struct transit *t = LIST_ENTRY(msg, struct transit, msg);
    struct inbound in = inbound_of(l, t);
    deliver(&in);
    transit_free(t);
}

void
deliver_post(struct loop *l, const struct deliver_post *p)
{
    size_t subject_len = strlen(p->subject);
    size_t reply_len = p->reply != NULL ? strlen(p->reply) : 0;
    struct transit *t =
        mem_alloc_raw(sizeof *t + subject_len + reply_len + p->hdr_len + p->data_len);
    if (t == NULL) {
        server_count_dropped(l->server);
        return;
    }
    *t = (struct transit){.account = p->account,
                          .subject_len = subject_len,
                          .reply_len = reply_len,
                          .size = p->hdr_len + p->data_len,
                          .hdr_len = p->hdr_len};
    char *at = t->bytes;
    memcpy(at, p->subject, subject_len);
    at += subject_len;
    if (reply_len > 0) {
        memcpy(at, p->reply, reply_len);
        at += reply_len;
    }
    t->data = at;
    if (p->hdr_len > 0) {
        memcpy(at, p->hdr, p->hdr_len);
        at += p->hdr_len;
    }
    if (p->data_len > 0) {
        memcpy(at, p->data, p->data_len);
    }
    t->msg.run = publish_posted;
    t->msg.bytes = sizeof *t + subject_len + reply_len + t->size;
    loop_post(l, &t->msg);
}
