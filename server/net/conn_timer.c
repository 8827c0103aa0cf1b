/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/conn_timer.h"

#include <event2/event.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/config.h"
#include "server/net/loop.h"
#include "server/proto/verbs.h"

/* As nats-server: the first ping after 2 s (so that a round-trip time is known soon), and one at
 * least every hour for the same reason. */
#define FIRST_PING   (2 * CLOCK_S)
#define RTT_INTERVAL (3600 * CLOCK_S)

static void on_timer(evutil_socket_t fd, short what, void *arg);

static void
arm(struct conn *c, int64_t ns)
{
    struct timeval tv = {(time_t)(ns / CLOCK_S), (suseconds_t)(ns % CLOCK_S / 1000)};
    event_add(&c->ev_timer, &tv);
}

void
conn_timer_start(struct conn *c, enum conn_timer what)
{
    if (c->timer == TIMER_NONE) {
        event_assign(&c->ev_timer, c->loop->base, -1, 0, on_timer, c);
    }
    event_del(&c->ev_timer);
    c->timer = what;
    if (what == TIMER_AUTH) {
        arm(c, c->loop->cfg->auth_timeout);
    } else if (what == TIMER_PING) {
        int64_t first = c->loop->cfg->ping_interval;
        if (first > FIRST_PING) {
            first = FIRST_PING;
        }
        /* Up to 20 % later, so that many that came at once are not pinged at once. */
        arm(c, first + (int64_t)(loop_random(c->loop) % (uint64_t)(first / 5 + 1)));
    }
}

static void
on_ping_timer(struct conn *c)
{
    const struct config *cfg = c->loop->cfg;
    int64_t now = clock_mono_ns();
    conn_log(c, LVL_DEBUG, "Client Ping Timer");
    bool need_rtt = c->rtt == 0 || now - c->ping_sent > RTT_INTERVAL;
    if (now - c->last_in >= cfg->ping_interval || need_rtt) {
        if (c->pings_out + 1 > cfg->ping_max) {
            conn_log(c, LVL_DEBUG, "Stale Client Connection - Closing");
            conn_send_err(c, "Stale Connection");
            conn_close(c, CLOSE_STALE);
            return;
        }
        c->pings_out++;
        c->ping_sent = now;
        if (log_enabled(LVL_TRACE)) {
            conn_log(c, LVL_TRACE, "->> [PING]");
        }
        conn_send(c, "PING\r\n", 6);
    }
    if (!c->closed) {
        arm(c, cfg->ping_interval);
    }
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct conn *c = arg;
    if (c->timer == TIMER_AUTH) {
        verbs_auth_timeout(c);
    } else {
        on_ping_timer(c);
    }
}
