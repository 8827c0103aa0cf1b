/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/accept.h"

#include <stdatomic.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/priv.h"

struct arrival {
    struct loop_msg msg;
    int fd;
    uint64_t cid;
};

static void
on_arrival(struct loop *l, struct loop_msg *msg)
{
    struct arrival *a = LIST_ENTRY(msg, struct arrival, msg);
    int64_t most = l->cfg->max_connections;
    bool over = most != 0 && server_count_conns(l->server, 0) > (most > 0 ? most : 0);
    if (conn_new(l, a->fd, a->cid) != ST_OK) {
        log_error("out of memory for a connection");
        server_count_conns(l->server, -1);
    } else if (over) {
        struct conn *c = loop_find(l, a->cid);
        if (c != NULL) {
            conn_log(c, LVL_ERROR, "maximum connections exceeded");
            conn_send_err(c, "maximum connections exceeded");
            conn_close(c, CLOSE_MAX_CONNS);
        }
    }
    mem_free(a);
}

void
accept_client(struct server *s, int fd)
{
    struct arrival *a = mem_alloc(sizeof *a);
    if (a == NULL) {
        log_error("out of memory for a connection");
        close(fd);
        return;
    }
    a->msg.run = on_arrival;
    a->fd = fd;
    a->cid = atomic_fetch_add(&s->last_cid, 1) + 1;
    server_count_conns(s, 1);
    loop_post(s->loops[a->cid % s->n_loops], &a->msg);
}
