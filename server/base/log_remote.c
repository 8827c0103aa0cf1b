/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/log_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/mem.h"

enum { LINE_CAP = 8192, CONNECT_PATIENCE_S = 5 };

struct log_remote {
    struct sockaddr_storage addr;
    socklen_t addr_len;
    int type; /* SOCK_DGRAM or SOCK_STREAM */
    int fd;   /* -1: none */
    int64_t next_try_ns;
    char host[HOST_NAME_MAX + 1]; /* this machine's name */
};

static enum status
resolve(struct log_remote *r, const char *where)
{
    char host[256];
    const char *colon = strrchr(where, ':');
    size_t len = colon != NULL ? (size_t)(colon - where) : strlen(where);
    if (len == 0 || len >= sizeof host) {
        return ST_INVAL;
    }
    if (where[0] == '[' && where[len - 1] == ']') {
        where++;
        len -= 2;
    }
    snprintf(host, sizeof host, "%.*s", (int)len, where);
    const struct addrinfo hints = {.ai_socktype = r->type};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, colon != NULL ? colon + 1 : "514", &hints, &found) != 0) {
        errno = 0;
        return ST_IO;
    }
    memcpy(&r->addr, found->ai_addr, found->ai_addrlen);
    r->addr_len = found->ai_addrlen;
    freeaddrinfo(found);
    return ST_OK;
}

static enum status
parse(struct log_remote *r, const char *url)
{
    r->type = SOCK_DGRAM;
    if (strncmp(url, "unix://", 7) == 0) {
        struct sockaddr_un un = {.sun_family = AF_UNIX};
        if (url[7] == '\0' || strlen(url + 7) >= sizeof un.sun_path) {
            return ST_INVAL;
        }
        memcpy(un.sun_path, url + 7, strlen(url + 7));
        memcpy(&r->addr, &un, sizeof un);
        r->addr_len = sizeof un;
        return ST_OK;
    }
    if (strncmp(url, "tcp://", 6) == 0) {
        r->type = SOCK_STREAM;
    } else if (strncmp(url, "udp://", 6) != 0) {
        return ST_INVAL;
    }
    return resolve(r, url + 6);
}

/* With `patience` it waits for a tcp connection, else it lets it come about by itself. */
static enum status
dial(struct log_remote *r, bool patience)
{
    r->fd = socket(r->addr.ss_family, r->type | SOCK_CLOEXEC | (patience ? 0 : SOCK_NONBLOCK), 0);
    if (r->fd < 0) {
        return ST_IO;
    }
    const struct timeval limit = {.tv_sec = CONNECT_PATIENCE_S};
    setsockopt(r->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(r->fd, (const struct sockaddr *)&r->addr, r->addr_len) != 0 &&
        errno != EINPROGRESS) {
        int saved = errno;
        close(r->fd);
        r->fd = -1;
        errno = saved;
        return ST_IO;
    }
    return ST_OK;
}

enum status
log_remote_open(struct log_remote **out, const char *url)
{
    struct log_remote *r = mem_alloc(sizeof *r);
    if (r == NULL) {
        return ST_NOMEM;
    }
    r->fd = -1;
    if (gethostname(r->host, sizeof r->host) != 0) {
        snprintf(r->host, sizeof r->host, "localhost");
    }
    enum status st = parse(r, url);
    if (st == ST_OK) {
        st = dial(r, true);
    }
    if (st != ST_OK) {
        log_remote_close(r);
        return st;
    }
    *out = r;
    return ST_OK;
}

void
log_remote_send(struct log_remote *r, int priority, const char *text, size_t len)
{
    if (r->fd < 0) {
        int64_t now = clock_mono_ns();
        if (now < r->next_try_ns || dial(r, false) != ST_OK) {
            r->next_try_ns = now < r->next_try_ns ? r->next_try_ns : now + CLOCK_S;
            return;
        }
        r->next_try_ns = now + CLOCK_S;
    }
    char line[LINE_CAP];
    char stamp[CLOCK_RFC3339_LEN];
    int64_t now = clock_wall_ns();
    clock_rfc3339(now - now % CLOCK_S, stamp);
    int n = snprintf(line, sizeof line - 1, "<%d>%s %s sluice[%d]: %.*s", LOG_DAEMON | priority,
                     stamp, r->host, (int)getpid(), (int)(len < LINE_CAP ? len : LINE_CAP), text);
    size_t size = n < (int)sizeof line - 1 ? (size_t)n : sizeof line - 2;
    line[size++] = '\n';
    ssize_t sent = send(r->fd, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    /* A part of a line in a stream would spoil the next one. A datagram is whole or not there. */
    bool lost = r->type == SOCK_STREAM && (sent < 0 ? errno != EAGAIN : (size_t)sent < size);
    if (lost || (sent < 0 && (errno == ENOTCONN || errno == ECONNREFUSED))) {
        close(r->fd);
        r->fd = -1;
    }
}

void
log_remote_close(struct log_remote *r)
{
    if (r == NULL) {
        return;
    }
    if (r->fd >= 0) {
        close(r->fd);
    }
    mem_free(r);
}
