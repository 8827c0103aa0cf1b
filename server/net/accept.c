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
    bool refused;
};

static void
on_arrival(struct loop *l, struct loop_msg *msg)
{
    struct arrival *a = LIST_ENTRY(msg, struct arrival, msg);
    if (conn_new(l, a->fd, a->cid, a->refused) != ST_OK) {
        log_error("out of memory for a connection");
        if (!a->refused) {
            server_count_conns(l->server, -1);
        }
    }
    mem_free(a);
}

/* Decided here, where connections come one by one. What is refused does not count. */
static bool
is_over(struct server *s)
{
    int64_t most = s->config->max_connections;
    bool over = most < 0 || (most > 0 && server_count_conns(s, 0) >= most);
    if (!over) {
        server_count_conns(s, 1);
    }
    return over;
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
    a->refused = is_over(s);
    loop_post(s->loops[a->cid % s->n_loops], &a->msg);
}
