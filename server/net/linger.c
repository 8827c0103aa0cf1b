/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/linger.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/assert.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/loop.h"

enum { LINGER_IOVS = 64 };
#define LINGER_MAX (2 * CLOCK_S)

/* Owner: its loop. */
struct lingering {
    struct list_node node;
    struct loop *loop; /* borrowed: does not end before it */
    int fd;
    struct outbuf out;
    struct event ev;
    int64_t until;
};

/* A peer that still sends would answer our close with a reset and lose the error it was sent. */
static void
hang_up(int fd)
{
    char waste[4096];
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < 16 && recv(fd, waste, sizeof waste, MSG_DONTWAIT) > 0; i++) {
    }
    close(fd);
}

static void
end(struct lingering *g)
{
    event_del(&g->ev);
    list_remove(&g->node);
    outbuf_clear(&g->out, &g->loop->pool);
    hang_up(g->fd);
    mem_free(g);
}

/* False: the peer has gone. */
static bool
write_some(struct lingering *g)
{
    struct iovec iov[LINGER_IOVS];
    while (g->out.pending > 0) {
        int n = outbuf_iov(&g->out, iov, LINGER_IOVS);
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n};
        ssize_t wrote = sendmsg(g->fd, &msg, MSG_NOSIGNAL);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return errno == EAGAIN || errno == ENOBUFS;
        }
        outbuf_consume(&g->out, &g->loop->pool, (size_t)wrote);
    }
    return true;
}

static void
arm(struct lingering *g, int64_t left)
{
    struct timeval tv = {(time_t)(left / CLOCK_S), (suseconds_t)(left % CLOCK_S / 1000)};
    event_add(&g->ev, &tv);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    struct lingering *g = arg;
    int64_t left = g->until - clock_mono_ns();
    bool broken = (what & EV_WRITE) == 0 || !write_some(g);
    if (broken || left <= 0 || g->out.pending == 0) {
        end(g);
    } else {
        arm(g, left);
    }
}

void
linger_begin(struct loop *l, int fd, struct outbuf *out)
{
    ASSERT_OWNER(l);
    struct lingering *g = out->pending > 0 ? mem_alloc(sizeof *g) : NULL;
    if (g == NULL) {
        outbuf_clear(out, &l->pool);
        hang_up(fd);
        return;
    }
    int64_t most = l->cfg->write_deadline;
    if (most <= 0 || most > LINGER_MAX) {
        most = LINGER_MAX;
    }
    g->loop = l;
    g->fd = fd;
    g->out = *out;
    *out = (struct outbuf){0};
    g->until = clock_mono_ns() + most;
    event_assign(&g->ev, l->base, fd, EV_WRITE, on_writable, g);
    list_push_back(&l->lingering, &g->node);
    arm(g, most);
}
