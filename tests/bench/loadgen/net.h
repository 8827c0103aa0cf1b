/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to the server under test, on one epoll loop in one thread. Light on purpose: one
 * shared read buffer, frames are read in place, and a connection that only counts what it gets
 * recognises a repeated line without parsing it. */
#ifndef TESTS_BENCH_LOADGEN_NET_H
#define TESTS_BENCH_LOADGEN_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "server/base/buf.h"
#include "server/base/status.h"
#include "tests/bench/loadgen/wire.h"

#define NET_HEAD_MAX 128

struct net {
    int epfd;
    struct sockaddr_storage addr; /* of the server */
    socklen_t addr_len;
    char *scratch;     /* owned: where all connections read */
    const char *user;  /* borrowed from the options; NULL: no authentication */
    const char *pass;  /* borrowed from the options */
    char failure[256]; /* why the run cannot go on; "" while it can */
    char info[2048];   /* the start of the last INFO */
};

/* One connection. Open to the modes, which read its counters. Owned by its maker. */
struct conn {
    struct net *net; /* borrowed: outlives its connections */
    int fd;
    bool counting;   /* set: messages are counted, on_frame does not hear of them */
    bool want_write; /* the socket was full; cleared when it takes bytes again */
    bool hold;       /* set by a flood inside a block: the out-buffer waits for its end */
    struct buf out;  /* bytes that the socket has not taken yet, from out_off on */
    size_t out_off;
    struct buf carry; /* the part of a frame that has been read */
    uint64_t msgs;    /* messages received */
    uint64_t pongs;
    uint64_t errors;         /* -ERR lines */
    char head[NET_HEAD_MAX]; /* the last MSG line of a counting connection */
    size_t head_len;
    size_t frame_len;
    void (*on_frame)(struct conn *c, const struct frame *f); /* messages; may be NULL */
    void *arg;                                               /* borrowed: the mode's */
};

/* Where a run may be aimed: this is a weapon. */
enum net_reach { NET_LOOPBACK, NET_ANYWHERE };

/* The first address of that host. ST_NOTFOUND: there is no such host; ST_PERM: not within reach;
 * net_fini only after ST_OK. */
enum status net_init(struct net *n, const char *host, const char *port,
                     enum net_reach reach) MUST_CHECK;
void net_fini(struct net *n);

/* Notes why the run cannot go on; the first reason stays. */
void net_fail(struct net *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Handles what the sockets have, waiting at most wait_ns for the first of it. ST_CLOSED: a
 * connection broke or the server is not a NATS server; net->failure says more. */
enum status net_turn(struct net *n, int64_t wait_ns) MUST_CHECK;

/* Connects, waits for INFO, sends CONNECT and waits for PONG (5 s at most each).
 * extra: more members for CONNECT's JSON, "" for none. conn_close on every path. */
enum status conn_open(struct conn *c, struct net *n, const char *extra) MUST_CHECK;
/* A zeroed or closed connection is allowed. */
void conn_close(struct conn *c);

/* Appends to the out-buffer; conn_flush (or net_turn) sends. A failure shows in net->failure. */
void conn_put(struct conn *c, const char *p, size_t n);
void conn_printf(struct conn *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void conn_flush(struct conn *c);
size_t conn_pending(const struct conn *c);

/* Sends from the caller's memory: how many bytes the socket took (0: full, want_write is set).
 * Only while conn_pending is 0. */
size_t conn_send(struct conn *c, const char *p, size_t n);

/* PING, and turns the loop until its PONG is there: all that was sent has been processed. */
enum status conn_sync(struct conn *c, int64_t timeout_ns) MUST_CHECK;

#endif
