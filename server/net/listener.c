/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/errtext.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/net/accept.h"

enum { BACKLOG = 4096, ACCEPTS_A_TURN = 64, BACK_OFF_MS = 10 };

struct listener {
    struct server *server; /* borrowed: outlives it */
    int fd;
    struct event ev;
    struct event back_off; /* after an accept that failed for want of something */
};

static void
on_back_off(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct listener *l = arg;
    event_add(&l->ev, NULL);
}

static void
wait_for_room(struct listener *l)
{
    static struct log_limit limit;
    char why[ERRTEXT_LEN];
    uint64_t held;
    if (log_limit_pass(&limit, &held)) {
        log_error("Temporary Client Accept Error (%s), sleeping %dms (%llu more like this)",
                  errtext(errno, why), BACK_OFF_MS, (unsigned long long)held);
    }
    struct timeval tv = {0, (suseconds_t)BACK_OFF_MS * 1000};
    event_del(&l->ev);
    event_add(&l->back_off, &tv);
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct listener *l = arg;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client >= 0) {
            accept_client(l->server, client);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            wait_for_room(l);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

static int
open_socket(const struct addrinfo *ai)
{
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    int one = 1;
    int zero = 0;
    (void)!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (ai->ai_family == AF_INET6) {
        (void)!setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    }
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

static int
bound_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {.v6 = {0}};
    socklen_t len = sizeof at;
    if (getsockname(fd, &at.any, &len) != 0) {
        return 0;
    }
    return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
}

/* As in Go, "0.0.0.0" and "" listen on IPv4 and IPv6 alike where the machine has both. */
static const char *
widest(const char *host)
{
    return host == NULL || host[0] == '\0' || strcmp(host, "0.0.0.0") == 0 ? "::" : host;
}

static enum status
open_at(const char *host, int port, int *fd)
{
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    *fd = -1;
    snprintf(service, sizeof service, "%d", port < 0 ? 0 : port);
    if (getaddrinfo(host, service, &hints, &list) != 0) {
        return ST_INVAL;
    }
    *fd = open_socket(list);
    freeaddrinfo(list);
    return *fd >= 0 ? ST_OK : ST_IO;
}

enum status
listener_new(struct listener **out, struct server *s, struct event_base *base, const char *host,
             int port, int *bound)
{
    struct listener *l = mem_alloc(sizeof *l);
    if (l == NULL) {
        return ST_NOMEM;
    }
    enum status st = open_at(widest(host), port, &l->fd);
    if (st == ST_IO && errno == EAFNOSUPPORT) {
        st = open_at(host, port, &l->fd); /* no IPv6 here */
    }
    if (st != ST_OK) {
        int saved = errno;
        mem_free(l);
        errno = saved;
        return st;
    }
    l->server = s;
    *bound = bound_port(l->fd);
    event_assign(&l->ev, base, l->fd, EV_READ | EV_PERSIST, on_accept, l);
    event_assign(&l->back_off, base, -1, 0, on_back_off, l);
    event_add(&l->ev, NULL);
    *out = l;
    return ST_OK;
}

void
listener_free(struct listener *l)
{
    if (l == NULL) {
        return;
    }
    event_del(&l->ev);
    event_del(&l->back_off);
    close(l->fd);
    mem_free(l);
}
