/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/net/conn.h"
#include "server/proto/info.h"
#include "server/proto/verbs.h"

void
verb_ping(struct conn *c)
{
    c->last_in = clock_mono_ns();
    if (log_enabled(LVL_TRACE)) {
        conn_log(c, LVL_TRACE, "->> [PONG]");
    }
    conn_send(c, "PONG\r\n", 6);
    /* A client that understands later INFOs learns after its first PONG where it has landed. */
    if (c->got_connect && !c->first_pong && !c->closed) {
        c->first_pong = true;
        if (c->client_proto >= 1) {
            info_send(c, true);
        }
    }
}

void
verb_pong(struct conn *c)
{
    int64_t now = clock_mono_ns();
    c->pings_out = 0;
    c->rtt = now > c->ping_sent ? now - c->ping_sent : 1;
}
