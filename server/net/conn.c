/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: conn_new sends INFO and waits for CONNECT; conn_io.c reads and writes; the verbs in
 * proto/ act; conn_close takes the subscriptions out, writes what the socket still takes, tells
 * the API plane and the event stream, and leaves the memory to the end of the turn.
 * Failure: whatever goes wrong with one connection ends in conn_close of that one only. */
#include "server/net/conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/api.h"
#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/base/assert.h"
#include "server/base/clock.h"
#include "server/base/errtext.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/inspect.h"
#include "server/monitor/events.h"
#include "server/net/conn_free.h"
#include "server/net/conn_io.h"
#include "server/net/conn_label.h"
#include "server/net/conn_subs.h"
#include "server/net/conn_timer.h"
#include "server/net/linger.h"
#include "server/net/loop.h"
#include "server/net/peer.h"
#include "server/net/snapshot.h"
#include "server/net/stall.h"
#include "server/proto/info.h"
#include "server/proto/login.h"
#include "server/route/replies.h"
#include "server/server.h"
#include "server/server_loops.h"

/* Subscriptions that the record of a closed connection shows at most. */
enum { CLOSED_SUBS_MAX = 1000 };

static void
read_address(struct conn *c)
{
    struct sockaddr_storage ss = {0};
    socklen_t len = sizeof ss;
    if (getpeername(c->fd, (struct sockaddr *)&ss, &len) != 0) {
        return;
    }
    if (ss.ss_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)(const void *)&ss;
        c->port = ntohs(a->sin6_port);
        if (IN6_IS_ADDR_V4MAPPED(&a->sin6_addr)) {
            inet_ntop(AF_INET, &a->sin6_addr.s6_addr[12], c->host, sizeof c->host);
        } else {
            inet_ntop(AF_INET6, &a->sin6_addr, c->host, sizeof c->host);
        }
    } else if (ss.ss_family == AF_INET) {
        const struct sockaddr_in *a = (const struct sockaddr_in *)(const void *)&ss;
        c->port = ntohs(a->sin_port);
        inet_ntop(AF_INET, &a->sin_addr, c->host, sizeof c->host);
    }
}

static void
init_fields(struct conn *c, struct loop *l, int fd, uint64_t cid)
{
    c->loop = l;
    c->fd = fd;
    c->cid = cid;
    c->verbose = true; /* as in nats-server until CONNECT says otherwise */
    c->pedantic = true;
    c->echo = true;
    c->start_wall = clock_wall_ns();
    c->last_wall = c->start_wall;
    c->last_in = clock_mono_ns();
    c->ping_sent = c->last_in;
    c->parser.max_control_line = l->cfg->max_control_line;
    c->parser.max_payload = l->cfg->max_payload;
    c->parser.headers = false;
    c->auth = auth_ref(l->auth);
    int one = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) {
        char why[ERRTEXT_LEN];
        log_debug("TCP_NODELAY: %s", errtext(errno, why));
    }
    read_address(c);
}

static void
conn_refuse(struct conn *c)
{
    conn_log(c, LVL_ERROR, "maximum connections exceeded");
    conn_send_err(c, "maximum connections exceeded");
    conn_close(c, CLOSE_MAX_CONNS);
}

enum status
conn_new(struct loop *l, int fd, uint64_t cid, bool refused)
{
    ASSERT_OWNER(l);
    struct conn *c = mem_alloc(sizeof *c);
    if (c == NULL) {
        goto err_after_fd;
    }
    if (peer_new(&c->peer, l->index, cid) != ST_OK) {
        goto err_after_conn;
    }
    init_fields(c, l, fd, cid);
    c->refused = refused;
    conn_io_init(c);
    loop_add(l, c);
    conn_log(c, LVL_DEBUG, "Client connection created");
    info_send(c, false);
    if (c->closed) {
        return ST_OK;
    }
    if (refused) {
        conn_refuse(c);
    } else if (auth_is_required(c->auth)) {
        conn_timer_start(c, TIMER_AUTH);
    } else {
        login_as(c, auth_anonymous(c->auth));
    }
    return ST_OK;

err_after_conn:
    mem_free(c);
err_after_fd:
    close(fd);
    return ST_NOMEM;
}

static void
save_closed(struct conn *c, enum close_reason reason)
{
    struct loop *l = c->loop;
    struct conn_info info;
    /* Not the subscriptions of one that had very many: the copy would hold up the loop. */
    if (snapshot_conn(c, c->n_subs <= CLOSED_SUBS_MAX, &info) != ST_OK) {
        return;
    }
    info.stop_wall = clock_wall_ns();
    info.reason = mem_strdup(close_reason_text(reason));
    if (info.reason == NULL) {
        conn_info_fini(&info);
        return;
    }
    events_disconnect(l->server, &info);
    closed_ring_push(l->closed, &info);
}

static void
count_end(struct conn *c, enum close_reason reason)
{
    struct loop *l = c->loop;
    if (!c->refused) {
        server_count_conns(l->server, -1);
    }
    if (reason == CLOSE_STALE) {
        LOOP_COUNT(l->stats.stale, 1);
    }
    if (c->counted) {
        atomic_fetch_sub(&c->account->conns, 1);
        c->counted = false;
    }
}

void
conn_close(struct conn *c, enum close_reason reason)
{
    struct loop *l = c->loop;
    ASSERT_OWNER(l);
    if (c->closed) {
        return;
    }
    conn_log(c, LVL_DEBUG, "Client connection closed: %s", close_reason_text(reason));
    bool skip_flush = reason == CLOSE_READ || reason == CLOSE_WRITE ||
                      reason == CLOSE_SLOW_PENDING || reason == CLOSE_SLOW_DEADLINE;
    bool linger = !skip_flush && conn_io_write(c);
    c->closed = true;
    conn_report(c);
    count_end(c, reason);
    save_closed(c, reason);
    conn_subs_remove_all(c);
    api_conn_closed(server_api(l->server), c->cid);
    stall_forget(c);
    event_del(&c->ev_read);
    event_del(&c->ev_write);
    if (c->timer != TIMER_NONE) {
        event_del(&c->ev_timer);
    }
    if (c->is_dirty) {
        list_remove(&c->dirty);
        c->is_dirty = false;
    }
    atomic_store(&c->peer->pending, 0);
    if (!linger) {
        outbuf_clear(&c->out, &l->pool);
    }
    linger_begin(l, c->fd, &c->out);
    c->fd = -1;
    loop_remove(l, c);
}

void
conn_free(struct conn *c)
{
    ASSERT(c->closed && c->n_subs == 0);
    mem_free(c->subs);
    mem_free(c->part);
    block_unref(c->big);
    replies_free(c->replies);
    mem_free(c->name);
    mem_free(c->lang);
    mem_free(c->version);
    mem_free(c->username);
    auth_unref(c->auth);
    peer_unref(c->peer);
    mem_free(c);
}

void
conn_mark_dirty(struct conn *c)
{
    if (!c->is_dirty && !c->closed) {
        c->is_dirty = true;
        list_push_back(&c->loop->dirty, &c->dirty);
    }
}

void
conn_send(struct conn *c, const char *data, size_t n)
{
    if (c->closed) {
        return;
    }
    if (outbuf_append(&c->out, &c->loop->pool, data, n) != ST_OK) {
        conn_close(c, CLOSE_NOMEM);
        return;
    }
    conn_mark_dirty(c);
}

void
conn_sendf(struct conn *c, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (n > 0) {
        conn_send(c, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    }
}

void
conn_send_err(struct conn *c, const char *text)
{
    if (log_enabled(LVL_TRACE)) {
        conn_log(c, LVL_TRACE, "->> [-ERR %s]", text);
    }
    conn_send(c, "-ERR '", 6);
    conn_send(c, text, strlen(text));
    conn_send(c, "'\r\n", 3);
}

static void
note_activity(struct conn *c, bool came_in, bool went_out)
{
    if (came_in) {
        c->last_in = clock_mono_ns();
        c->subs_changed = false;
    }
    if (came_in || went_out) {
        c->last_wall = clock_wall_ns();
    }
}

void
conn_report(struct conn *c)
{
    struct loop_stats *s = &c->loop->stats;
    int64_t in = c->in_msgs - c->told_in_msgs;
    int64_t out = c->out_msgs - c->told_out_msgs;
    note_activity(c, in != 0 || c->subs_changed, out != 0);
    if (in == 0 && out == 0) {
        return;
    }
    int64_t in_bytes = c->in_bytes - c->told_in_bytes;
    int64_t out_bytes = c->out_bytes - c->told_out_bytes;
    LOOP_COUNT(s->in_msgs, in);
    LOOP_COUNT(s->in_bytes, in_bytes);
    LOOP_COUNT(s->out_msgs, out);
    LOOP_COUNT(s->out_bytes, out_bytes);
    if (c->account != NULL) {
        atomic_fetch_add_explicit(&c->account->in_msgs, in, memory_order_relaxed);
        atomic_fetch_add_explicit(&c->account->in_bytes, in_bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&c->account->out_msgs, out, memory_order_relaxed);
        atomic_fetch_add_explicit(&c->account->out_bytes, out_bytes, memory_order_relaxed);
    }
    c->told_in_msgs = c->in_msgs;
    c->told_in_bytes = c->in_bytes;
    c->told_out_msgs = c->out_msgs;
    c->told_out_bytes = c->out_bytes;
}

void
conn_log(const struct conn *c, int level, const char *fmt, ...)
{
    if (!log_enabled((enum log_level)level)) {
        return;
    }
    char text[3072];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    char label[CONN_LABEL_LEN];
    conn_label(c, label);
    log_write((enum log_level)level, "%s - %s", label, text);
}
