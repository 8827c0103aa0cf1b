/* SPDX-License-Identifier: Apache-2.0 */
/* What the rest of the program asks a running server (server.h, server_loops.h). */
#include <event2/event.h>
#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "server/auth/account.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/inspect.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/priv.h"
#include "server/route/deliver.h"

const char *
server_id(const struct server *s)
{
    return s->id;
}

const char *
server_name(const struct server *s)
{
    return s->name;
}

const char *
server_xkey(const struct server *s)
{
    return s->xkey;
}

int64_t
server_start_wall(const struct server *s)
{
    return s->start_wall;
}

const char *
server_host(const struct server *s)
{
    return s->host;
}

int
server_port(const struct server *s)
{
    return s->port;
}

struct config *
server_config(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    struct config *c = config_ref(s->config);
    pthread_mutex_unlock(&s->lock);
    return c;
}

int64_t
server_config_load_wall(const struct server *s)
{
    return atomic_load(&s->config_wall);
}

struct api *
server_api(struct server *s)
{
    return s->api;
}

struct js *
server_js(const struct server *s)
{
    return s->js;
}

struct monitor *
server_monitor(struct server *s)
{
    return s->monitor;
}

struct account *
server_system_account(struct server *s)
{
    return s->system;
}

uint32_t
server_n_loops(const struct server *s)
{
    return s->n_loops;
}

struct loop *
server_loop(const struct server *s, uint32_t i)
{
    return s->loops[i];
}

struct hasher *
server_hasher(const struct server *s)
{
    return s->hasher;
}

int64_t
server_count_conns(struct server *s, int64_t by)
{
    return atomic_fetch_add(&s->open_conns, by) + by;
}

void
server_count_dropped(struct server *s)
{
    atomic_fetch_add(&s->dropped, 1);
}

void
server_publish(struct server *s, struct account *acc, const char *subject, const char *reply,
               const char *data, size_t len)
{
    struct deliver_post p = {
        .account = acc, .subject = subject, .reply = reply, .data = data, .data_len = len};
    if (s->n_loops == 0) {
        return;
    }
    deliver_post(s->loops[atomic_fetch_add(&s->next_loop, 1) % s->n_loops], &p);
}

bool
server_has_interest(struct server *s, struct account *acc, const char *subject)
{
    (void)s;
    return sublist_has_interest(acc->subs, subject, strlen(subject));
}

struct close_msg {
    struct loop_msg msg;
    uint64_t cid;
    enum close_reason reason;
    const char *text; /* borrowed: static; the error that the client is told, or NULL */
};

static void
on_close(struct loop *l, struct loop_msg *msg)
{
    struct close_msg *m = LIST_ENTRY(msg, struct close_msg, msg);
    struct conn *c = loop_find(l, m->cid);
    if (c != NULL && m->text != NULL) {
        conn_log(c, LVL_ERROR, "%s", m->text);
        conn_send_err(c, m->text);
    }
    if (c != NULL) {
        conn_close(c, m->reason);
    }
    mem_free(m);
}

void
server_close_conn(struct server *s, uint64_t cid, enum close_reason reason, const char *text)
{
    /* Ids are dealt out to loops in turn (accept.c). */
    struct close_msg *m = mem_alloc(sizeof *m);
    if (m == NULL) {
        server_count_dropped(s);
        return;
    }
    m->msg.run = on_close;
    m->cid = cid;
    m->reason = reason;
    m->text = text;
    loop_post(s->loops[cid % s->n_loops], &m->msg);
}

static enum status
must_exist(struct server *s, uint64_t cid)
{
    struct inspect_query q = {.state = CONN_STATE_OPEN, .cid = cid};
    struct conn_info *v;
    size_t n;
    enum status st = inspect_conns(s, &q, &v, &n);
    if (st == ST_OK) {
        inspect_free_conns(v, n);
        st = n > 0 ? ST_OK : ST_NOTFOUND;
    }
    return st;
}

enum status
server_kick(struct server *s, uint64_t cid)
{
    enum status st = must_exist(s, cid);
    if (st == ST_OK) {
        server_close_conn(s, cid, CLOSE_KICKED, NULL);
    }
    return st;
}

enum status
server_lame_duck_conn(struct server *s, uint64_t cid)
{
    enum status st = must_exist(s, cid);
    if (st == ST_OK) {
        lame_duck_tell(s, cid);
    }
    return st;
}

static enum status
lame_duck_call(struct server *s, char **err)
{
    (void)err;
    lame_duck_begin(s);
    return ST_OK;
}

enum status
server_lame_duck(struct server *s)
{
    char *err = NULL;
    return server_call(s, lame_duck_call, &err);
}

void
server_stop(struct server *s)
{
    event_base_loopbreak(s->base);
}

bool
server_is_lame_duck(const struct server *s)
{
    return atomic_load(&s->is_lame_duck);
}
