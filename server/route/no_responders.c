/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route/no_responders.h"

#include <stdio.h>

#include "server/auth/account.h"
#include "server/net/conn.h"
#include "server/route/deliver.h"
#include "server/route/sub.h"

/* The client's own subscription that would get a reply. */
static const struct sub *
sub_for_reply(const struct conn *c, const struct inbound *in, struct match *m)
{
    if (sublist_match(c->account->subs, in->reply, in->reply_len, m) != ST_OK) {
        return NULL;
    }
    for (uint32_t i = 0; i < m->n_plain; i++) {
        if (m->subs[i]->cid == c->cid) {
            return m->subs[i];
        }
    }
    return NULL;
}

void
no_responders(struct conn *c, const struct inbound *in)
{
    if (!c->no_responders || c->closed) {
        return;
    }
    struct match m = {0};
    const struct sub *s = sub_for_reply(c, in, &m);
    if (s != NULL) {
        static const char status[] = "NATS/1.0 503\r\nNats-Subject: ";
        size_t n = sizeof status - 1 + in->subject_len + 4;
        char line[64];
        int len = snprintf(line, sizeof line, " %zu %zu\r\n", n, n);
        conn_send(c, "HMSG ", 5);
        conn_send(c, in->reply, in->reply_len);
        conn_send(c, " ", 1);
        conn_send(c, sub_sid(s), s->sid_len);
        conn_send(c, line, (size_t)len);
        conn_send(c, status, sizeof status - 1);
        conn_send(c, in->subject, in->subject_len);
        conn_send(c, "\r\n\r\n\r\n", 6);
    }
    match_fini(&m);
}
