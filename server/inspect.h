/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of what the server holds, for the monitor and for events. Owned copies: nothing in
 * them points into live state. Any thread but an I/O loop; waits some ms for the loops, which
 * each contribute their own connections. */
#ifndef SERVER_INSPECT_H
#define SERVER_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct server;

struct sub_info {
    char *account; /* owned */
    char *subject; /* owned */
    char *queue;   /* owned; "" */
    char *sid;     /* owned */
    uint64_t cid;
    int64_t msgs;
    int64_t max;
};

struct conn_info {
    uint64_t cid;
    const char *kind; /* static: "Client" */
    const char *type; /* static: "nats" */
    char host[64];    /* address without port */
    uint16_t port;
    int64_t start_wall, last_activity_wall, stop_wall; /* ns since 1970; stop 0: open */
    int64_t rtt;                                       /* ns; 0: unknown */
    int64_t in_msgs, out_msgs, in_bytes, out_bytes, stalls;
    int64_t pending_bytes;
    uint32_t num_subs;
    char *account, *user, *name, *lang, *version; /* owned; "" where unknown */
    char *reason;                                 /* owned; closed ones: as nats-server words it */
    struct sub_info *subs;                        /* owned; only if asked for */
    size_t n_subs;
    bool is_tls;
};

enum conn_state { CONN_STATE_OPEN, CONN_STATE_CLOSED, CONN_STATE_ALL };

struct inspect_query {
    enum conn_state state;
    uint64_t cid;        /* 0: all */
    const char *account; /* NULL: all */
    const char *user;    /* NULL: all */
    bool subs;           /* with subscriptions */
};

/* Unordered. *out is freed with inspect_free_conns. ST_NOMEM, ST_TIMEOUT (a loop did not answer).
 */
enum status inspect_conns(struct server *s, const struct inspect_query *q, struct conn_info **out,
                          size_t *n) MUST_CHECK;
void inspect_free_conns(struct conn_info *v, size_t n);
/* Frees what is in it, not v itself. */
void conn_info_fini(struct conn_info *v);

/* All client subscriptions of an account (NULL: of all). */
enum status inspect_subs(struct server *s, const char *account, struct sub_info **out,
                         size_t *n) MUST_CHECK;
void inspect_free_subs(struct sub_info *v, size_t n);

struct sublist_stats {
    uint64_t num_subs, num_cache, num_inserts, num_removes, num_matches;
    uint64_t cache_hits, max_fanout, fanout_sum, fanout_count;
};
/* Of one account, or NULL: summed over all. ST_NOTFOUND. */
enum status inspect_sublist(struct server *s, const char *account,
                            struct sublist_stats *out) MUST_CHECK;

struct account_info {
    char *name; /* owned */
    bool is_system;
    int64_t conns, total_conns, num_subs;
    int64_t in_msgs, out_msgs, in_bytes, out_bytes, slow_consumers;
};
enum status inspect_accounts(struct server *s, struct account_info **out, size_t *n) MUST_CHECK;
void inspect_free_accounts(struct account_info *v, size_t n);

struct server_totals {
    int64_t connections, total_connections, subscriptions;
    int64_t in_msgs, out_msgs, in_bytes, out_bytes;
    int64_t in_client_msgs, in_client_bytes, out_client_msgs, out_client_bytes;
    int64_t slow_consumers, stale_connections, stalled_clients, auth_errors;
    int64_t replies_dropped; /* answers whose connection was gone or that found no memory */
};
void inspect_totals(struct server *s, struct server_totals *out);

#endif
