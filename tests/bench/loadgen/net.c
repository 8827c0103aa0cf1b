/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/net.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/mem.h"

#define READ_SIZE      (256 * 1024)
#define CARRY_MAX      (8 * 1024 * 1024)
#define SCRATCH_SIZE   (CARRY_MAX + READ_SIZE)
#define OUT_MAX        ((size_t)2 * 1024 * 1024 * 1024)
#define COMPACT_MIN    (1024 * 1024)
#define READS_PER_TURN 4
#define EVENTS         256
#define HANDSHAKE_S    5

void
net_fail(struct net *n, const char *fmt, ...)
{
    va_list ap;

    if (n->failure[0] != '\0') {
        return;
    }
    va_start(ap, fmt);
    (void)vsnprintf(n->failure, sizeof(n->failure), fmt, ap);
    va_end(ap);
}

static bool
is_loopback(const struct sockaddr *addr)
{
    if (addr->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)addr;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *in6 = (const void *)addr;
    return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static enum status
look_up(struct net *n, const char *host, const char *port)
{
    const struct addrinfo want = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;

    if (getaddrinfo(host, port, &want, &list) != 0) {
        return ST_NOTFOUND;
    }
    memcpy(&n->addr, list->ai_addr, list->ai_addrlen);
    n->addr_len = list->ai_addrlen;
    freeaddrinfo(list);
    return ST_OK;
}

enum status
net_init(struct net *n, const char *host, const char *port, enum net_reach reach)
{
    enum status st;

    memset(n, 0, sizeof(*n));
    st = look_up(n, host, port);
    if (st != ST_OK) {
        return st;
    }
    if (reach == NET_LOOPBACK && !is_loopback((const struct sockaddr *)&n->addr)) {
        return ST_PERM;
    }
    n->scratch = mem_alloc_raw(SCRATCH_SIZE);
    if (n->scratch == NULL) {
        return ST_NOMEM;
    }
    n->epfd = epoll_create1(EPOLL_CLOEXEC);
    if (n->epfd < 0) {
        mem_free(n->scratch);
        return ST_IO;
    }
    return ST_OK;
}

void
net_fini(struct net *n)
{
    (void)close(n->epfd);
    mem_free(n->scratch);
}

static void
watch(struct conn *c, bool write)
{
    struct epoll_event ev = {.events = EPOLLIN | (write ? (uint32_t)EPOLLOUT : 0U),
                             .data = {.ptr = c}};
    c->want_write = write;
    if (epoll_ctl(c->net->epfd, EPOLL_CTL_MOD, c->fd, &ev) != 0) {
        net_fail(c->net, "epoll_ctl: %s", strerror(errno));
    }
}

size_t
conn_send(struct conn *c, const char *p, size_t n)
{
    ssize_t got = send(c->fd, p, n, MSG_NOSIGNAL);

    if (got < 0 && errno != EAGAIN && errno != EINTR) {
        net_fail(c->net, "the server closed a connection while we wrote: %s", strerror(errno));
        return 0;
    }
    if (got < (ssize_t)n) {
        watch(c, true);
    }
    return got < 0 ? 0 : (size_t)got;
}

size_t
conn_pending(const struct conn *c)
{
    return c->out.len - c->out_off;
}

void
conn_put(struct conn *c, const char *p, size_t n)
{
    if (conn_pending(c) > OUT_MAX) {
        net_fail(c->net, "the server does not read: 2 GiB are waiting to be sent");
        return;
    }
    if (c->out_off > COMPACT_MIN && c->out_off > c->out.len / 2) {
        c->out.len -= c->out_off;
        memmove(c->out.data, c->out.data + c->out_off, c->out.len);
        c->out_off = 0;
    }
    buf_append(&c->out, p, n);
    if (c->out.failed) {
        net_fail(c->net, "out of memory");
    }
}

void
conn_printf(struct conn *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&c->out, fmt, ap);
    va_end(ap);
    if (c->out.failed) {
        net_fail(c->net, "out of memory");
    }
}

void
conn_flush(struct conn *c)
{
    if (c->want_write || c->hold || conn_pending(c) == 0) {
        return;
    }
    c->out_off += conn_send(c, c->out.data + c->out_off, conn_pending(c));
    if (c->out_off == c->out.len) {
        buf_reset(&c->out);
        c->out_off = 0;
    }
}

static void
on_writable(struct conn *c)
{
    c->want_write = false;
    conn_flush(c);
    if (!c->want_write) {
        watch(c, false);
    }
}

static void
on_control(struct conn *c, const struct frame *f)
{
    switch (f->kind) {
    case FRAME_PING:
        conn_put(c, "PONG\r\n", 6);
        conn_flush(c);
        break;
    case FRAME_PONG:
        c->pongs++;
        break;
    case FRAME_ERR:
        c->errors++;
        net_fail(c->net, "the server says -ERR%.*s", (int)f->data.n, f->data.p);
        break;
    case FRAME_INFO:
        (void)snprintf(c->net->info, sizeof(c->net->info), "%.*s", (int)f->data.n, f->data.p);
        break;
    case FRAME_OK:
    case FRAME_MSG:
        break;
    }
}

/* Skips messages whose line is the same as the last one's. Returns the bytes skipped. */
static size_t
count_repeated(struct conn *c, const char *p, size_t n)
{
    size_t at = 0;

    if (c->head_len == 0) {
        return 0;
    }
    while (n - at >= c->frame_len && memcmp(p + at, c->head, c->head_len) == 0) {
        c->msgs++;
        at += c->frame_len;
    }
    return at;
}

static void
on_message(struct conn *c, const char *p, const struct frame *f)
{
    c->msgs++;
    if (c->counting) {
        if (f->head < NET_HEAD_MAX) {
            memcpy(c->head, p, f->head);
            c->head_len = f->head;
            c->frame_len = f->total;
        }
        return;
    }
    if (c->on_frame != NULL) {
        c->on_frame(c, f);
    }
}

/* Returns how many of the n bytes were whole frames. */
static size_t
consume(struct conn *c, const char *p, size_t n)
{
    size_t at = 0;
    struct frame f;

    while (at < n) {
        at += count_repeated(c, p + at, n - at);
        if (at >= n) {
            break;
        }
        enum status st = wire_next(p + at, n - at, &f);
        if (st == ST_AGAIN) {
            break;
        }
        if (st != ST_OK) {
            net_fail(c->net, "the server sent what is not the protocol: %.40s", p + at);
            break;
        }
        if (f.kind == FRAME_MSG) {
            on_message(c, p + at, &f);
        } else {
            on_control(c, &f);
        }
        at += f.total;
    }
    return at;
}

/* One read. False: there is no more for now. */
static bool
read_once(struct conn *c)
{
    struct net *n = c->net;
    size_t have = c->carry.len;

    if (have > CARRY_MAX) {
        net_fail(n, "a frame of more than 8 MiB");
        return false;
    }
    ssize_t got = recv(c->fd, n->scratch + have, READ_SIZE, 0);
    if (got < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            net_fail(n, "the server closed a connection: %s", strerror(errno));
        }
        return false;
    }
    if (got == 0) {
        net_fail(n, "the server closed a connection");
        return false;
    }
    if (have > 0) {
        memcpy(n->scratch, c->carry.data, have);
        buf_reset(&c->carry);
    }
    size_t all = have + (size_t)got;
    size_t done = consume(c, n->scratch, all);
    if (done < all) {
        buf_append(&c->carry, n->scratch + done, all - done);
        if (c->carry.failed) {
            net_fail(n, "out of memory");
        }
    }
    return got == READ_SIZE;
}

enum status
net_turn(struct net *n, int64_t wait_ns)
{
    struct epoll_event ev[EVENTS];
    struct timespec ts = {.tv_sec = wait_ns / CLOCK_S, .tv_nsec = wait_ns % CLOCK_S};
    int got = epoll_pwait2(n->epfd, ev, EVENTS, &ts, NULL);

    if (got < 0 && errno != EINTR) {
        net_fail(n, "epoll: %s", strerror(errno));
    }
    for (int i = 0; i < got; i++) {
        struct conn *c = ev[i].data.ptr;
        if (ev[i].events & EPOLLOUT) {
            on_writable(c);
        }
        if (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
            for (int k = 0; k < READS_PER_TURN && read_once(c); k++) {
            }
        }
    }
    return n->failure[0] == '\0' ? ST_OK : ST_CLOSED;
}

/* Waits for INFO (pongs == 0) or for that many PONGs. */
static enum status
await(struct conn *c, uint64_t pongs)
{
    struct pollfd pfd = {.fd = c->fd, .events = POLLIN};

    while (c->net->failure[0] == '\0') {
        if (pongs == 0 ? c->net->info[0] != '\0' : c->pongs >= pongs) {
            return ST_OK;
        }
        if (poll(&pfd, 1, HANDSHAKE_S * 1000) <= 0) {
            return ST_TIMEOUT;
        }
        (void)read_once(c);
    }
    return ST_CLOSED;
}

static enum status
handshake(struct conn *c, const char *extra)
{
    struct net *n = c->net;

    n->info[0] = '\0';
    if (await(c, 0) != ST_OK) {
        return ST_CLOSED;
    }
    if (strstr(n->info, "\"tls_required\":true") != NULL) {
        net_fail(n, "the server wants TLS, which is not spoken here");
        return ST_UNSUPPORTED;
    }
    conn_printf(c,
                "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\","
                "\"protocol\":1,\"headers\":true,\"no_responders\":true,\"echo\":true%s",
                extra);
    if (n->user != NULL) {
        conn_printf(c, ",\"user\":\"%s\",\"pass\":\"%s\"", n->user, n->pass == NULL ? "" : n->pass);
    }
    conn_printf(c, "}\r\nPING\r\n");
    c->out_off += conn_send(c, c->out.data, c->out.len);
    if (conn_pending(c) > 0) {
        return ST_IO;
    }
    buf_reset(&c->out);
    c->out_off = 0;
    return await(c, 1);
}

enum status
conn_open(struct conn *c, struct net *n, const char *extra)
{
    const struct timeval patience = {.tv_sec = HANDSHAKE_S}; /* of connect() */
    int one = 1;

    c->net = n;
    buf_init(&c->out);
    buf_init(&c->carry);
    c->fd = socket(n->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        net_fail(n, "socket: %s", strerror(errno));
        return ST_IO;
    }
    struct epoll_event ev = {.events = EPOLLIN, .data = {.ptr = c}};
    if (setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
        setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
        connect(c->fd, (struct sockaddr *)&n->addr, n->addr_len) != 0 ||
        fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(n->epfd, EPOLL_CTL_ADD, c->fd, &ev) != 0) {
        net_fail(n, "cannot connect: %s", strerror(errno));
        return ST_IO;
    }
    if (handshake(c, extra) != ST_OK) {
        net_fail(n, "no INFO or no PONG within %d s", HANDSHAKE_S);
        return ST_CLOSED;
    }
    c->pongs = 0;
    return ST_OK;
}

void
conn_close(struct conn *c)
{
    if (c->net == NULL) {
        return;
    }
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    buf_fini(&c->out);
    buf_fini(&c->carry);
    memset(c, 0, sizeof(*c));
}

enum status
conn_sync(struct conn *c, int64_t timeout_ns)
{
    uint64_t want = c->pongs + 1;
    int64_t end = clock_mono_ns() + timeout_ns;

    conn_put(c, "PING\r\n", 6);
    conn_flush(c);
    while (c->pongs < want) {
        if (clock_mono_ns() > end) {
            net_fail(c->net, "no PONG within %lld ms", (long long)(timeout_ns / CLOCK_MS));
        }
        enum status st = net_turn(c->net, 10 * CLOCK_MS);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}
