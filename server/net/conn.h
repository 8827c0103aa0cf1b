/* SPDX-License-Identifier: Apache-2.0 */
/* One client connection. Never moves between loops. Other threads know it by {loop, id} or by its
 * peer. The struct is open to net/, proto/ and route/, on the owning loop only. */
#ifndef SERVER_NET_CONN_H
#define SERVER_NET_CONN_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/base/list.h"
#include "server/base/status.h"
#include "server/net/closed.h"
#include "server/net/late.h"
#include "server/net/outbuf.h"
#include "server/proto/parser.h"

struct account;
struct auth;
struct auth_user;
struct block;
struct loop;
struct peer;
struct reply_perms;
struct sub;

/* Why reading is off; a set of bits. */
enum { PAUSE_AUTH = 1, PAUSE_STALL = 2 };

/* Which of its timeouts the timer stands for. */
enum conn_timer { TIMER_NONE, TIMER_AUTH, TIMER_PING };

/* Owner: its loop. */
struct conn {
    struct loop *loop; /* borrowed: outlives its connections */
    uint64_t cid;
    int fd;
    struct peer *peer;                  /* owned ref */
    struct list_node all, dirty, stall; /* in the loop's lists; all also links the graveyard */
    struct conn *id_next;               /* borrowed: chain of the loop's table */
    struct event ev_read, ev_write, ev_timer;

    struct parser parser;
    char *part; /* owned: the begin of an operation that is not whole, or unread input in a pause */
    size_t part_len;
    struct block *big; /* owned: a large operation being read straight into it */
    size_t big_have;
    struct outbuf out;
    struct late_conn late;

    struct account *account;      /* borrowed: accounts outlive connections; NULL before CONNECT */
    struct auth *auth;            /* ref: the snapshot that user is part of */
    const struct auth_user *user; /* borrowed: of auth; NULL before CONNECT */
    struct reply_perms *replies;  /* owned; only with allow_responses */
    struct sub **subs;            /* owned: chained table by sid */
    uint32_t n_subs, cap_subs;

    unsigned pause; /* PAUSE_… bits */
    enum conn_timer timer;
    bool closed, is_dirty, write_armed;
    bool refused;   /* over max_connections: not one of those counted */
    bool is_slow;   /* missed write_deadline and was kept (write_timeout: retry) */
    bool connected; /* CONNECT was accepted, or nothing had to be */
    bool got_connect, first_pong, counted;
    bool verbose, pedantic, echo, headers, no_responders;
    bool subs_changed; /* since the last conn_report */
    int client_proto;
    char *name, *lang, *version; /* owned or NULL: as CONNECT gave them */
    char *username;              /* owned or NULL: what CONNECT named, for logs and views */
    char host[46];
    uint16_t port;

    int64_t start_wall, last_wall; /* ns since 1970; last: message or change of a subscription */
    int64_t last_in;               /* monotonic: last data or PING of the client */
    int64_t ping_sent, rtt;        /* monotonic; ns */
    int pings_out;
    int64_t in_msgs, in_bytes, out_msgs, out_bytes, stalls;
    int64_t told_in_msgs, told_in_bytes, told_out_msgs, told_out_bytes; /* already in the totals */
    /* What was to be written when the socket became full: what is left of it, what went out since,
     * and until when (monotonic). left <= 0: nothing is under way. */
    int64_t batch_left, batch_wrote, batch_until;
    int64_t stall_until;
    struct peer *stall_on; /* owned ref: whom it waits for */
};

/* Takes fd. Called on the owning loop: sends INFO, arms the timers. refused: it is told that there
 * are too many connections, and ended. */
enum status conn_new(struct loop *l, int fd, uint64_t cid, bool refused) MUST_CHECK;

/* Ends the connection: subscriptions out, freed at the end of the turn. What waits is still written
 * (linger.h), but not after a read, write or slow-consumer end. Idempotent. */
void conn_close(struct conn *c, enum close_reason reason);

/* Queues protocol text; a connection that cannot have it is closed. */
void conn_send(struct conn *c, const char *data, size_t n);
void conn_sendf(struct conn *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "-ERR 'text'". */
void conn_send_err(struct conn *c, const char *text);

/* What was queued goes out at the end of the turn. */
void conn_mark_dirty(struct conn *c);
/* Writes what the socket takes now. */
void conn_flush(struct conn *c);
/* Adds what was counted since the last call to the totals of loop and account. */
void conn_report(struct conn *c);

/* Reading off or on again for one reason. conn_resume goes on with input that was left. */
void conn_pause(struct conn *c, unsigned why);
void conn_resume(struct conn *c, unsigned why);

/* Log lines in nats-server's form: "127.0.0.1:4222 - cid:5 - text". */
void conn_log(const struct conn *c, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
