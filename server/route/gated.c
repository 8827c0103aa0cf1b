/* SPDX-License-Identifier: Apache-2.0 */
/* A gate is a subscription of the server's in the account, in a queue group that no client can name
 * (a blank), so that caches of matches learn of it as of any other. What it lets through is posted
 * to the loop of the requester and delivered there as the publish would have been. */
#include "server/route/gated.h"

#include <stdatomic.h>
#include <string.h>

#include "api/gate.h"
#include "server/auth/account.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/route/deliver.h"
#include "server/route/no_responders.h"
#include "server/route/sub.h"
#include "server/server_loops.h"

enum status
gated_open(struct gate_watch *w, struct gate *g, const char *subject, struct sub **out)
{
    struct sub_spec spec = {.subject = subject,
                            .subject_len = strlen(subject),
                            .queue = " ",
                            .queue_len = 1,
                            .sid = ""};
    enum status st = sub_new(out, &spec, NULL);
    if (st != ST_OK) {
        return st;
    }
    (*out)->gate = gate_ref(g);
    atomic_store_explicit(&w->account->gates, w, memory_order_release);
    st = sublist_insert(w->account->subs, *out);
    if (st != ST_OK) {
        sub_unref(*out);
    }
    return st;
}

void
gated_close(struct gate_watch *w, struct sub *s)
{
    sublist_remove(w->account->subs, s);
    sub_unref(s);
}

static void
on_loop(struct loop *l, struct loop_msg *msg)
{
    struct gate_request *r = gate_of_mail(msg);
    uint64_t cid = gate_cid(r);
    struct conn *c = cid != 0 ? loop_find(l, cid) : NULL;
    struct gate_delivery d;
    if (!gate_begin(r, c != NULL, &d)) {
        return;
    }
    struct inbound in = {.loop = l,
                         .account = d.account,
                         .from = c,
                         .from_cid = cid,
                         .subject = d.subject,
                         .subject_len = d.subject_len,
                         .reply = d.reply,
                         .reply_len = d.reply_len,
                         .data = d.data,
                         .size = d.size,
                         .hdr_len = d.hdr_len,
                         .gated = r};
    size_t n = deliver(&in);
    if (n == 0 && c != NULL) {
        no_responders(c, &in);
    }
    gate_sent(r, n);
}

_Static_assert(sizeof(struct loop_msg) <= GATE_MAIL_SIZE, "the room in a gate's request");

void
gated_deliver(struct server *s, struct gate_request *r)
{
    struct loop_msg *msg = gate_mail(r);
    *msg = (struct loop_msg){.run = on_loop};
    loop_post(server_loop(s, gate_loop(r)), msg);
}
